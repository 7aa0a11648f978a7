"""Random numbers: PyTorch draws others than ONNX from the same seed."""

from __future__ import annotations

from graphir.converters.pytorch.exporting.context import AnyNode, ExportNode, Expr, binary, call, dtype_text, row, table
from graphir.converters.pytorch.exporting.expression import tuple_of
from graphir.converters.pytorch.exporting.ops.activation import float_text
from graphir.decisions import DecisionKind
from graphir.ops import random as ir
from graphir.types import DType


def _decide(node: AnyNode) -> None:
    node.decide(DecisionKind.RANDOM_NUMBERS, "PyTorch draws other random numbers, also from the same seed")


def _drawn(node: AnyNode, function: str) -> Expr:
    """Numbers of the result's shape and dtype."""
    _decide(node)
    sizes = node.op.shape if isinstance(node.op, ir.RandomNormal | ir.RandomUniform) else node.sizes_of()
    dtype = dtype_text(node.result_dtype())
    return Expr(call(function, tuple_of(sizes), dtype=dtype, device=str(node.device)))


def export_normal(node: ExportNode[ir.RandomNormal | ir.RandomNormalLike]) -> None:
    """torch.randn, scaled and shifted."""
    numbers = _drawn(node, "torch.randn")
    if node.op.scale != 1:
        numbers = binary("*", numbers, float_text(node.op.scale))
    if node.op.mean != 0:
        numbers = binary("+", numbers, float_text(node.op.mean))
    node.emit(numbers, keeps=True)


def export_uniform(node: ExportNode[ir.RandomUniform | ir.RandomUniformLike]) -> None:
    """torch.rand, scaled and shifted."""
    numbers, low, width = _drawn(node, "torch.rand"), node.op.low, node.op.high - node.op.low
    if width != 1:
        numbers = binary("*", numbers, float_text(width))
    if low != 0:
        numbers = binary("+", numbers, float_text(low))
    node.emit(numbers, keeps=True)


def export_multinomial(node: ExportNode[ir.Multinomial]) -> None:
    """torch.multinomial of the probabilities."""
    _decide(node)
    if node.op.sample_size < 1:
        node.refuse(f"sample_size {node.op.sample_size}; torch.multinomial draws one class or more")
    chances = call(f"{node.tensor().atom}.softmax", "1")
    drawn = call("torch.multinomial", chances, str(node.op.sample_size), replacement="True")
    node.emit(drawn if node.op.dtype is DType.INT64 else node.cast(drawn, node.op.dtype), keeps=True)


EXPORTS = table(
    row(ir.RandomNormal, export_normal),
    row(ir.RandomNormalLike, export_normal),
    row(ir.RandomUniform, export_uniform),
    row(ir.RandomUniformLike, export_uniform),
    row(ir.Multinomial, export_multinomial),
)
