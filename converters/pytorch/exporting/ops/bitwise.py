"""Bits of integers, and conversions to the dtype of another operand."""

from __future__ import annotations

from graphir.converters.pytorch.exporting.context import ExportNode, call, dtype_text, row, table
from graphir.converters.pytorch.exporting.ops.elementwise import convert, infix, prefix
from graphir.ops import bitwise as ir
from graphir.types import DType


def export_shift(node: ExportNode[ir.BitShift]) -> None:
    """`<<` or `>>`; uint64 has no sign that would move in."""
    is_right = node.op.direction is ir.Direction.RIGHT
    if is_right and node.dtype() is DType.UINT64:
        node.emit(call(node.function("shift_right_uint64"), node.tensor(0), node.tensor(1)))
    else:
        infix(">>" if is_right else "<<")(node)


def export_bitcast(node: ExportNode[ir.BitCast]) -> None:
    """view, which reads the same bits as another dtype."""
    node.emit(f"{node.tensor().atom}.view({dtype_text(node.op.to)})")


def export_cast_like(node: ExportNode[ir.CastLike]) -> None:
    """`.to` the dtype of the other operand, which is known."""
    convert(node, node.dtype(1), saturate=node.op.saturate)


EXPORTS = table(
    row(ir.BitwiseAnd, infix("&")),
    row(ir.BitwiseOr, infix("|")),
    row(ir.BitwiseXor, infix("^")),
    row(ir.BitwiseNot, prefix("~")),
    row(ir.BitShift, export_shift),
    row(ir.BitCast, export_bitcast),
    row(ir.CastLike, export_cast_like),
)

__all__ = ["EXPORTS"]
