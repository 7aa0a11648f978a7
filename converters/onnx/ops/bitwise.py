"""Operators on bits, and CastLike."""

from __future__ import annotations

from graphir.converters.onnx.exporting.context import ExportNode, direct, onnx_value, row, table
from graphir.converters.onnx.importing.context import ImportTable
from graphir.converters.onnx.importing.context import direct as import_direct
from graphir.ops import bitwise as ir
from graphir.types import DType

# The opset from which a dtype can be cast to and from, for those that came after opset 13.
CAST_SINCE = {
    DType.FLOAT8E4M3FN: 19,
    DType.FLOAT8E4M3FNUZ: 19,
    DType.FLOAT8E5M2: 19,
    DType.FLOAT8E5M2FNUZ: 19,
    DType.INT4: 21,
    DType.UINT4: 21,
    DType.FLOAT4E2M1: 23,
    DType.FLOAT8E8M0: 24,
    DType.INT2: 25,
    DType.UINT2: 25,
}


def export_bit_shift(node: ExportNode[ir.BitShift]) -> None:
    """BitShift, before opset 28 of unsigned numbers only."""
    if node.opset < 28 and node.dtype().value.startswith("int"):
        node.refuse(f"BitShift of the signed {node.dtype()} exists from opset 28 on, the target is {node.opset}")
    node.emit("BitShift", node.input_names(), direction=node.op.direction.value)


def export_cast_like(node: ExportNode[ir.CastLike]) -> None:
    """CastLike; before opset 15 a Cast to the dtype that is known."""
    op = node.op
    names = node.input_names()
    for value in node.node.inputs:
        dtype = None if value is None else value.dtype
        since = 1 if dtype is None else CAST_SINCE.get(dtype, 1)
        if since > node.opset:
            node.refuse(f"casts from and to {dtype} exist from opset {since} on, the target is {node.opset}")
    if node.opset < 24 and op.round_mode is not ir.RoundMode.UP and node.dtype(1) is DType.FLOAT8E8M0:
        node.refuse(f"a cast's round_mode exists from opset 24 on, the target is {node.opset}")
    saturate = None if op.saturate or node.opset < 19 else 0
    round_mode = None if op.round_mode is ir.RoundMode.UP or node.opset < 24 else op.round_mode.value
    if node.opset < 15:
        node.emit("Cast", names[:1], to=onnx_value(node.dtype(1)))
    else:
        node.emit("CastLike", names, saturate=saturate, round_mode=round_mode)


EXPORTS = table(
    row(ir.BitwiseAnd, direct(since=18)),
    row(ir.BitwiseOr, direct(since=18)),
    row(ir.BitwiseXor, direct(since=18)),
    row(ir.BitwiseNot, direct(since=18)),
    row(ir.BitShift, export_bit_shift),
    row(ir.BitCast, direct(since=26)),
    row(ir.CastLike, export_cast_like),
)

IMPORTS: ImportTable = {
    "BitwiseAnd": {18: import_direct(ir.BitwiseAnd)},
    "BitwiseOr": {18: import_direct(ir.BitwiseOr)},
    "BitwiseXor": {18: import_direct(ir.BitwiseXor)},
    "BitwiseNot": {18: import_direct(ir.BitwiseNot)},
    "BitShift": {11: import_direct(ir.BitShift)},
    "BitCast": {26: import_direct(ir.BitCast)},
    "CastLike": {15: import_direct(ir.CastLike)},
}

__all__ = ["EXPORTS", "IMPORTS"]
