"""Quantized numbers, computed as what they mean: in float32, rounded to the nearest even and kept in their range."""

from __future__ import annotations

from graphir.converters.mxnet.exporting.context import Entry, ExportNode, row, table
from graphir.converters.mxnet.exporting.ops.casting import FORMATS, narrowed
from graphir.converters.mxnet.exporting.ops.steps import along, cast, emit_as, operand_dtype
from graphir.ops import quantization as ir
from graphir.ops.base import normalize_axis
from graphir.types import DType


def _limits(dtype: DType) -> tuple[int, int]:
    """Return the least and the greatest integer of a dtype."""
    if dtype.value.startswith("u"):
        return 0, (1 << dtype.bits) - 1
    return -(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1


def _spread(node: ExportNode[ir.QuantizeLinear | ir.DequantizeLinear], slot: int) -> Entry:
    """Return a scale or zero point in float32, as a tensor that broadcasts to x: one number, one a slice, or one a
    block."""
    op, value = node.op, node.input(slot)
    entry = cast(node, node.entry(slot), operand_dtype(node, slot), DType.FLOAT32)
    if value.rank is None:
        node.refuse(f"the number of axes of {value.name} is unknown; state the inputs' shapes")
    if getattr(op, "block_size", 0):
        axis = normalize_axis(op.axis, node.rank())
        (size,) = node.fixed(node.shape()[axis : axis + 1], node.input(0).name)
        entry = node.step("repeat", entry, suffix=f"blocks{slot}", repeats=op.block_size, axis=axis)
        if size % op.block_size:
            entry = node.step("slice_axis", entry, suffix=f"part{slot}", axis=axis, begin=0, end=size)
        return entry
    if value.rank == 0 or value.shape == (1,):
        return entry
    rank = node.rank()
    return along(entry, node, normalize_axis(op.axis, rank), rank, f"along{slot}")


def _applied(node: ExportNode[ir.QuantizeLinear | ir.DequantizeLinear], op: str, data: Entry, slot: int) -> Entry:
    """Return the data and a scale or zero point: as an attribute where it is one number."""
    number = node.number(slot)
    if number is None:
        return node.step(f"broadcast_{op}", data, _spread(node, slot), suffix=f"{op}{slot}")
    name = {"add": "plus", "sub": "minus"}.get(op, op)
    if number == 0 and op in ("add", "sub"):
        return data
    return node.step(f"_{name}_scalar", data, suffix=f"{op}{slot}", scalar=number)


def _quantized(node: ExportNode[ir.QuantizeLinear], data: Entry, dtype: DType) -> Entry:
    """float32 numbers rounded to the nearest even integers, the zero point added, and saturated."""
    if not dtype.is_integer:
        return _quantized_float(node, data, dtype)
    result = node.step("_npi_around", data, suffix="rounded", decimals=0)
    if node.optional(2) is not None:
        result = _applied(node, "add", result, 2)
    low, high = _limits(dtype)
    return node.step("clip", result, suffix="saturated", a_min=low, a_max=high)


def _quantized_float(node: ExportNode[ir.QuantizeLinear], data: Entry, dtype: DType) -> Entry:
    if dtype not in FORMATS:
        node.refuse(f"MXNet has no tensors of {dtype}, and no rounding to its numbers")
    return narrowed(node, data, DType.FLOAT32, dtype, saturate=node.op.saturate)


def export_quantize(node: ExportNode[ir.QuantizeLinear]) -> None:
    """The quotient, rounded, moved and limited."""
    op = node.op
    wanted = node.result.dtype
    if wanted is None:
        node.refuse("the dtype of its result is unknown")
    data = cast(node, node.entry(0), operand_dtype(node, 0), DType.FLOAT32)
    scaled = _applied(node, "div", data, 1)
    if (op.precision or node.input(1).dtype) is DType.FLOAT16:
        scaled = node.export.cast(node.export.cast(scaled, DType.FLOAT16), DType.FLOAT32)
    emit_as(node, _quantized(node, scaled, wanted), DType.FLOAT32)


def export_dequantize(node: ExportNode[ir.DequantizeLinear]) -> None:
    """What x has above its zero point, times the scale."""
    source = operand_dtype(node, 0)
    middle = DType.INT32 if source is DType.INT32 and node.optional(2) is not None else DType.FLOAT32
    data = cast(node, node.entry(0), source, middle)
    if node.optional(2) is not None and node.number(2) != 0:
        if middle is DType.INT32:
            data = node.step("broadcast_sub", data, node.export.cast(_spread(node, 2), middle), suffix="above")
        else:
            data = _applied(node, "sub", data, 2)
    result = _applied(node, "mul", cast(node, data, middle, DType.FLOAT32), 1)
    emit_as(node, result, DType.FLOAT32)


def export_dynamic_quantize(node: ExportNode[ir.DynamicQuantizeLinear]) -> None:
    """The scale and the zero point from the range of x, widened to hold 0, and x quantized by them."""
    data = node.entry(0)
    low = node.step("_minimum_scalar", node.step("min", data), suffix="low", scalar=0.0)
    high = node.step("_maximum_scalar", node.step("max", data), suffix="high", scalar=0.0)
    span = node.step("elemwise_sub", high, low, suffix="span")
    flat = node.step("_equal_scalar", span, suffix="flat", scalar=0.0)
    scale = node.step("elemwise_add", node.step("_div_scalar", span, scalar=255.0), flat, suffix="scale")
    index = node.step("_rminus_scalar", node.step("elemwise_div", low, scale), suffix="place", scalar=0.0)
    limited = node.step("clip", index, suffix="limited", a_min=0, a_max=255)
    zero = node.step("_npi_around", limited, suffix="zero", decimals=0)
    counts = node.step("_npi_around", node.step("broadcast_div", data, scale), suffix="counts", decimals=0)
    moved = node.step("broadcast_add", counts, zero, suffix="moved")
    emit_as(node, node.step("clip", moved, suffix="saturated", a_min=0, a_max=255), DType.FLOAT32)
    node.bind(scale, 1)
    emit_as(node, zero, DType.FLOAT32, 2)


EXPORTS = table(
    row(ir.QuantizeLinear, export_quantize),
    row(ir.DequantizeLinear, export_dequantize),
    row(ir.DynamicQuantizeLinear, export_dynamic_quantize),
)
