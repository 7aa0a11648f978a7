"""Random numbers. MXNet's generators draw others than those of the source, and have one seed for all operators."""

from __future__ import annotations

from functools import partial
from typing import Any

from graphir.converters.mxnet.exporting.context import AnyNode, Entry, ExportNode, row, table
from graphir.decisions import DecisionKind
from graphir.ops import random as ir
from graphir.types import DType

FLOATS = (DType.FLOAT16, DType.FLOAT32, DType.FLOAT64)
Drawn = ir.RandomNormal | ir.RandomUniform
DrawnLike = ir.RandomNormalLike | ir.RandomUniformLike


def _decide(node: ExportNode[Drawn | DrawnLike | ir.Multinomial]) -> None:
    seed = node.op.seed
    stated = "" if seed is None else f"; the seed {seed:g} is dropped: call mx.random.seed"
    node.decide(
        DecisionKind.RANDOM_NUMBERS, f"drawn by MXNet's generator: of the same distribution, but others{stated}"
    )


def _attributes(node: ExportNode[Drawn | DrawnLike]) -> dict[str, Any]:
    """Return the numbers that fix the distribution."""
    op = node.op
    if isinstance(op, ir.RandomNormal | ir.RandomNormalLike):
        return {"loc": op.mean, "scale": op.scale}
    return {"low": op.low, "high": op.high}


def _dtype(node: AnyNode, dtype: DType | None) -> DType:
    if dtype is None or dtype not in FLOATS:
        node.refuse(f"MXNet draws numbers of float16, float32 and float64, not of {dtype}")
    return dtype


def drawn(name: str, node: ExportNode[Drawn]) -> None:
    """Numbers in a stated shape."""
    _decide(node)
    dtype = _dtype(node, node.op.dtype)
    node.emit(name, shape=node.op.shape or (1,), dtype=dtype.value, **_attributes(node))


def drawn_like(name: str, node: ExportNode[DrawnLike]) -> None:
    """Numbers in the shape, and the dtype, of a tensor."""
    _decide(node)
    dtype = _dtype(node, node.result.dtype)
    like = node.export.cast(node.entry(0), dtype) if node.dtype() is not dtype else node.entry(0)
    node.emit(name, like, **_attributes(node))


def _as_result(node: AnyNode, entry: Entry, stored: DType) -> None:
    """The numbers in the result's dtype."""
    wanted = node.result.dtype
    if wanted is stored or wanted is None or wanted is DType.BOOL:
        node.export.rename(entry[0], node.stem)
        node.bind(entry, carried=stored)
    else:
        node.emit("Cast", entry, dtype=wanted.value)


def export_multinomial(node: ExportNode[ir.Multinomial]) -> None:
    """_sample_multinomial of the probabilities."""
    _decide(node)
    _dtype(node, node.dtype())
    chances = node.step("softmax", node.entry(0), suffix="probabilities", axis=-1)
    index = node.step("_sample_multinomial", chances, suffix="draw", shape=(node.op.sample_size,), dtype="int32")
    _as_result(node, index, DType.INT32)


EXPORTS = table(
    row(ir.RandomNormal, partial(drawn, "_random_normal")),
    row(ir.RandomUniform, partial(drawn, "_random_uniform")),
    row(ir.RandomNormalLike, partial(drawn_like, "_random_normal_like")),
    row(ir.RandomUniformLike, partial(drawn_like, "_random_uniform_like")),
    row(ir.Multinomial, export_multinomial),
)
