"""Products of quantized matrices, computed in float64 or float32 without loss."""

from __future__ import annotations

from graphir.converters.mxnet.exporting.context import Entry, ExportNode, ExportTable
from graphir.converters.mxnet.exporting.ops.linear import matrix_product
from graphir.ops.linear import MatMulInteger
from graphir.ops.quantization import QLinearMatMul
from graphir.types import DType

EXACT_COLUMNS = 1 << 8
"""Sums of so many products of 9-bit integers are below 2^24: float32 holds them."""


def _number_dtype(node: ExportNode, slot: int) -> DType:
    """The dtype in which the sums of the products over the last axis of an operand are exact."""
    columns = node.shape(slot)[-1]
    return DType.FLOAT32 if isinstance(columns, int) and columns < EXACT_COLUMNS else DType.FLOAT64


def _centred(node: ExportNode, slot: int, zero: int, dtype: DType, row: bool) -> Entry:
    """An operand less its zero point: a number, or one for each row (else column) of the matrices."""
    entry = node.export.cast(node.entry(slot), dtype)
    value = node.optional(zero)
    if value is None:
        return entry
    number = node.number(zero)
    if number is not None:
        return entry if number == 0 else node.step("_minus_scalar", entry, suffix=f"centred{slot}", scalar=number)
    offset = node.export.cast(node.entry(zero), dtype)
    return node.step("broadcast_sub", entry, _by_row(node, offset, zero, row), suffix=f"centred{slot}")


def _by_row(node: ExportNode, entry: Entry, slot: int, row: bool) -> Entry:
    """A vector with one element for each row as a column; one with an element for each column stays."""
    shape = node.shape(slot)
    return node.step("expand_dims", entry, suffix=f"column{slot}", axis=1) if row and len(shape) == 1 else entry


def _sums(node: ExportNode, slots: tuple[int, int], left: Entry, right: Entry) -> Entry:
    name, entries, attributes = matrix_product(node, slots, left, right)
    return node.step(name, *entries, suffix="product", **attributes)


def export_matmul_integer(node: ExportNode) -> None:
    """dot or batch_dot of the operands less their zero points."""
    dtype = _number_dtype(node, 0)
    left, right = _centred(node, 0, 2, dtype, True), _centred(node, 1, 3, dtype, False)
    node.emit("Cast", _sums(node, (0, 1), left, right), dtype=DType.INT32.value)


def _scaled(node: ExportNode, entry: Entry, slot: int, row: bool, op: str) -> Entry:
    scale = node.export.cast(node.entry(slot), DType.FLOAT32)
    number = node.number(slot)
    if number is not None:
        return node.step(f"_{op}_scalar", entry, suffix=f"scaled{slot}", scalar=number)
    return node.step(f"broadcast_{op}", entry, _by_row(node, scale, slot, row), suffix=f"scaled{slot}")


def export_quantized_matmul(node: ExportNode) -> None:
    """The product less the zero points, scaled, rounded (of two to the even one) and limited to the result's range."""
    wanted = node.input(7).dtype
    if wanted not in (DType.INT8, DType.UINT8):
        node.refuse(f"MXNet has no {wanted}")
    dtype = _number_dtype(node, 0)
    left, right = _centred(node, 0, 2, dtype, True), _centred(node, 3, 5, dtype, False)
    found = _sums(node, (0, 3), left, right)
    if dtype is not DType.FLOAT32:
        found = node.step("Cast", found, suffix="sums", dtype=DType.FLOAT32.value)
    found = _scaled(node, found, 1, True, "mul")
    found = _scaled(node, found, 4, False, "mul")
    found = _scaled(node, found, 6, True, "div")
    found = rounded_to_even(node, found)
    zero = node.export.cast(node.entry(7), DType.FLOAT32)
    found = node.step("broadcast_add", found, _by_row(node, zero, 7, True), suffix="shifted")
    low, high = (-128, 127) if wanted is DType.INT8 else (0, 255)
    limited = node.step("clip", found, a_min=low, a_max=high)
    node.emit("Cast", limited, dtype=wanted.value)


def rounded_to_even(node: ExportNode, entry: Entry) -> Entry:
    """The nearest integers, of two that are equally near the even one."""
    raised = node.step("_plus_scalar", entry, suffix="raised", scalar=0.5)
    upper = node.step("floor", raised)
    odd = node.step("_mod_scalar", upper, suffix="odd", scalar=2)
    between = node.step("_equal", raised, upper, suffix="between")
    return node.step("elemwise_sub", upper, node.step("elemwise_mul", odd, between, suffix="excess"), suffix="even")


EXPORTS: ExportTable = {MatMulInteger: export_matmul_integer, QLinearMatMul: export_quantized_matmul}

__all__ = ["EXPORTS", "rounded_to_even"]
