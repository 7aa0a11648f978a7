"""Random numbers: the same distributions, drawn by other generators."""

from __future__ import annotations

from graphir.converters.mxnet.context import ImportFunction, ImportNode
from graphir.graph import Value
from graphir.ops import random as ir
from graphir.ops.elementwise import Cast, Log
from graphir.ops.shape import Reshape, Squeeze, Unsqueeze
from graphir.types import DType


def _decide(node: ImportNode) -> None:
    node.decide("random numbers", "drawn by the runtime's generator: of the same distribution, but others")


def _size(node: ImportNode) -> tuple[int, ...]:
    """The stated shape; MXNet takes none for one number."""
    return tuple(node.attrs["shape"] or ()) or (() if node.np_shape else (1,))


def _dtype(node: ImportNode) -> DType:
    stated = node.attrs["dtype"]
    return DType.FLOAT32 if stated in (None, "None") else DType.of(stated)


def import_uniform(node: ImportNode) -> Value:
    """Numbers spread evenly from `low` to `high`."""
    _decide(node)
    attrs = node.attrs
    return node.emit(ir.RandomUniform(_size(node), _dtype(node), low=attrs["low"], high=attrs["high"]))


def import_normal(node: ImportNode) -> Value:
    """Numbers with a normal distribution around `loc`."""
    _decide(node)
    attrs = node.attrs
    return node.emit(ir.RandomNormal(_size(node), _dtype(node), mean=attrs["loc"], scale=attrs["scale"]))


def import_uniform_like(node: ImportNode) -> Value:
    """The same in the shape and dtype of the input."""
    _decide(node)
    return node.emit(ir.RandomUniformLike(low=node.attrs["low"], high=node.attrs["high"]), node.input(0))


def import_normal_like(node: ImportNode) -> Value:
    """The same in the shape and dtype of the input."""
    _decide(node)
    return node.emit(ir.RandomNormalLike(mean=node.attrs["loc"], scale=node.attrs["scale"]), node.input(0))


def import_multinomial(node: ImportNode) -> Value:
    """Classes drawn with the probabilities of each row: (N, classes) gives (N, *shape)."""
    attrs = node.attrs
    if attrs["get_prob"]:
        node.refuse("get_prob True; ONNX's Multinomial gives no probabilities")
    _decide(node)
    data, wanted = node.input(0), DType.of(attrs["dtype"])
    rank = node.rank(data)
    if rank not in (1, 2):
        node.refuse(f"{data.type}, expected one or two axes")
    if rank == 1:
        data = node.step(Unsqueeze(), data, node.vector([0]))
    count = 1
    for size in attrs["shape"]:
        count *= size
    chances = node.step(Log(), data)
    found = node.step(ir.Multinomial(DType.INT32, count), chances, suffix="draw")
    if wanted is not DType.INT32:
        found = node.step(Cast(wanted), found)
    if len(attrs["shape"]) != 1:
        found = node.step(Reshape(), found, node.vector([-1, *attrs["shape"]]))
    if rank == 2:
        return found
    if not attrs["shape"]:
        return node.emit(Reshape(), found, node.vector([1]))
    return node.emit(Squeeze(), found, node.vector([0]))


IMPORTS: dict[str, ImportFunction] = {
    "_random_uniform": import_uniform,
    "_random_normal": import_normal,
    "_random_uniform_like": import_uniform_like,
    "_random_normal_like": import_normal_like,
    "_sample_multinomial": import_multinomial,
}

__all__ = ["IMPORTS"]
