"""Operators on bits, and CastLike."""

from __future__ import annotations

import numpy as np

from graphir.converters.onnx.dtypes import CODES
from graphir.converters.onnx.exporting.context import AnyNode, ExportNode, born, direct, onnx_value, row, table
from graphir.converters.onnx.importing.context import ImportTable, direct_rows
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
    """Write BitShift, before opset 28 of unsigned numbers only."""
    if node.opset < 28 and node.dtype().value.startswith("int"):
        node.demand(28, f"BitShift of the signed {node.dtype()} exists")
    node.emit("BitShift", node.input_names(), direction=node.op.direction.value)


def compose_bitwise(node: AnyNode) -> None:
    """Before opset 18: the bytes of both operands, as int64, looked up together in a table of what a & b is.

    a | b is a + b - (a & b), and a ^ b is a + b - 2 (a & b); int64 wraps around, and so does the Cast back.
    """
    dtype = node.dtype()
    left, right = (node.step("Cast", [name], to=CODES[DType.INT64], suffix="wide") for name in node.input_names())
    both = _common_bits(node, left, right, dtype.bits // 8)
    if not isinstance(node.op, ir.BitwiseAnd):
        total = node.step("Add", [left, right], suffix="total")
        twice = isinstance(node.op, ir.BitwiseXor)
        twofold = node.step("Add", [both, both], suffix="twofold") if twice else both
        both = node.step("Sub", [total, twofold], suffix="bits")
    node.emit("Cast", [both], to=CODES[dtype])


def _common_bits(node: AnyNode, left: str, right: str, count: int) -> str:
    """a & b of the lowest `count` bytes of int64 operands."""
    numbers = np.arange(256)
    bytes_ = node.constant((numbers[:, None] & numbers[None, :]).reshape(-1).astype(np.uint8), suffix="bytes")
    width = node.constant(256, DType.INT64)
    result, rest = "", [left, right]
    for index in range(count):
        low = [node.step("Mod", [name, width], suffix="byte") for name in rest]
        row_ = node.step("Add", [node.step("Mul", [low[0], width], suffix="row"), low[1]], suffix="place")
        both = node.step("Cast", [node.step("Gather", [bytes_, row_])], to=CODES[DType.INT64], suffix="both")
        if index:
            both = node.step("Mul", [both, node.constant(1 << 8 * index, DType.INT64)], suffix="moved")
        result = node.step("Add", [result, both], suffix="sum") if index else both
        if index + 1 < count:
            pairs = zip(rest, low, strict=True)
            rest = [node.step("Div", [node.step("Sub", [*pair]), width], suffix="rest") for pair in pairs]
    return result


def compose_bitwise_not(node: ExportNode[ir.BitwiseNot]) -> None:
    """Before opset 18: -1 - x, which of unsigned numbers keeps the low bits."""
    wide = node.step("Cast", node.input_names(), to=CODES[DType.INT64], suffix="wide")
    node.emit("Cast", [node.step("Sub", [node.constant(-1, DType.INT64), wide])], to=CODES[node.dtype()])


def export_cast_like(node: ExportNode[ir.CastLike]) -> None:
    """Write CastLike; before opset 15 a Cast to the dtype that is known."""
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
    row(ir.BitwiseAnd, born(18, compose_bitwise)),
    row(ir.BitwiseOr, born(18, compose_bitwise)),
    row(ir.BitwiseXor, born(18, compose_bitwise)),
    row(ir.BitwiseNot, born(18, compose_bitwise_not)),
    row(ir.BitShift, export_bit_shift),
    row(ir.BitCast, direct(since=26)),
    row(ir.CastLike, export_cast_like),
)

IMPORTS: ImportTable = {
    **direct_rows(ir.BitwiseAnd, ir.BitwiseOr, ir.BitwiseXor, ir.BitwiseNot, since=18),
    "BitShift": {11: import_direct(ir.BitShift)},
    "BitCast": {26: import_direct(ir.BitCast)},
    "CastLike": {15: import_direct(ir.CastLike)},
}
