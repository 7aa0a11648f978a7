"""Operators on bits."""

from __future__ import annotations

from graphir.converters.mxnet.exporting.context import AnyNode, Entry, ExportFunction, ExportNode, row, table
from graphir.converters.mxnet.exporting.ops.steps import cast
from graphir.ops import bitwise as ir
from graphir.types import DType


def bitwise(name: str) -> ExportFunction:
    """and, or, xor: of a wider dtype too, which extends the sign of numbers that have one."""
    return lambda node: node.emit(f"_npi_bitwise_{name}", node.entry(0), node.entry(1))


def _is_unsigned(dtype: DType | None) -> bool:
    return dtype is not None and dtype.value.startswith("u")


def _factor(node: AnyNode) -> tuple[Entry, Entry | None]:
    """Return the power of two that belongs to each shift, and where shifts are within the number's bits (None:
    everywhere)."""
    dtype, value = node.input(1).dtype, node.input(1)
    assert dtype is not None
    amounts = None if value.tensor is None else value.tensor.numpy().astype("int64")
    if amounts is not None and amounts.size and amounts.min() >= 0 and amounts.max() < dtype.bits - 1:
        return node.constant(1 << amounts, node.dtype(), "power"), None
    data = node.entry(1)
    inside = node.step("_lesser_scalar", data, suffix="below", scalar=dtype.bits)
    limited = node.step("_minimum_scalar", data, suffix="limited", scalar=dtype.bits - 1)
    if not _is_unsigned(dtype):
        above = node.step("_greater_equal_scalar", data, suffix="above", scalar=0)
        inside = node.step("elemwise_mul", inside, above, suffix="inside")
        limited = node.step("_maximum_scalar", limited, suffix="positive", scalar=0)
    wide = DType.INT64 if node.dtype() is DType.INT64 else DType.INT32
    power = node.step("_rpower_scalar", cast(node, limited, node.dtype(), wide), suffix="power", scalar=2)
    return cast(node, power, wide, node.dtype()), inside


def export_bit_shift(node: ExportNode[ir.BitShift]) -> None:
    """To the left a product with a power of two; to the right a quotient, of ~x where x is negative.

    Beyond the number's bits nothing is left of it but the sign, to the right.
    """
    factor, inside = _factor(node)
    if node.op.direction is ir.ShiftDirection.LEFT:
        factor = factor if inside is None else node.step("elemwise_mul", factor, inside, suffix="factor")
        node.emit("broadcast_mul", node.entry(0), factor)
        return
    data = node.entry(0)
    signs = None
    if not _is_unsigned(node.input(0).dtype):
        signs = node.step("negative", node.step("_lesser_scalar", data, suffix="minus", scalar=0), suffix="signs")
        data = node.step("_npi_bitwise_xor", data, signs, suffix="turned")
    result = node.step("broadcast_div", data, factor, suffix="quotient")
    if inside is not None:
        result = node.step("broadcast_mul", result, inside, suffix="kept")
    if signs is not None:
        result = node.step("_npi_bitwise_xor", result, signs, suffix="shifted")
    node.bind(result)


EXPORTS = table(
    row(ir.BitwiseAnd, bitwise("and")),
    row(ir.BitwiseOr, bitwise("or")),
    row(ir.BitwiseXor, bitwise("xor")),
    row(ir.BitwiseNot, lambda node: node.emit("_npi_bitwise_not", node.entry(0))),
    row(ir.BitShift, export_bit_shift),
)
