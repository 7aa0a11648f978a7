"""Numbers stored in few bits. Sums of their products are computed in float64, which holds them exactly."""

from __future__ import annotations

import numpy as np

from graphir.converters.pytorch.exporting.context import (
    AnyNode,
    ExportNode,
    Expr,
    binary,
    call,
    calls,
    number_text,
    row,
    table,
)
from graphir.converters.pytorch.exporting.ops.convolution import conv_parts
from graphir.converters.pytorch.exporting.ops.elementwise import LARGEST, converted
from graphir.ops import quantization as ir
from graphir.ops.base import normalize_axis
from graphir.types import DType

LIMITS = {
    DType.INT8: (-128, 127), DType.UINT8: (0, 255), DType.INT16: (-32768, 32767), DType.UINT16: (0, 65535),
}  # fmt: skip
FLOATS = frozenset({DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64})


def part_of(node: ExportNode[ir.QuantizeLinear] | ExportNode[ir.DequantizeLinear], slot: int) -> Expr:
    """Return a scale or zero point: a number, or a tensor that broadcasts with the first operand."""
    op, rank, shape = node.op, node.rank(), node.shape(slot)
    number = node.number(slot)
    if number is not None:
        return number
    data = node.tensor(slot)
    if node.dtype(slot) is DType.UINT16:
        data = Expr(node.cast(data, DType.INT32))
    if not op.block_size:
        after = 0 if shape in ((), (1,)) else rank - 1 - normalize_axis(op.axis, rank)
        if rank == 0 and shape:
            return Expr(f"{data.atom}.reshape(())")
        return Expr(f"{data.atom}.reshape(-1{', 1' * after})") if after else data
    axis = normalize_axis(op.axis, rank)
    whole = Expr(f"{data.atom}.repeat_interleave({op.block_size}, {axis})")
    size, blocks = node.shape()[axis], shape[axis]
    is_exact = isinstance(size, int) and isinstance(blocks, int) and size == blocks * op.block_size
    name = "scales" if slot == 1 else "zeros"
    return node.step(whole if is_exact else f"{whole}.narrow({axis}, 0, {node.size(0, axis)})", name)


def less(data: Expr, zero: Expr) -> Expr:
    """Numbers less a zero point."""
    if zero in ("0", "0.0"):
        return data
    return binary("+", data, zero[1:]) if zero.startswith("-") else binary("-", data, zero)


def saturated(node: AnyNode, data: Expr, zero: Expr | None, dtype: DType, *, saturate: bool = True) -> str:
    """Quotients of a dtype in that of the result: rounded to even, moved by the zero point, in its range."""
    to = node.result_dtype()
    if to in LARGEST:
        return converted(node, data, dtype, to, saturate=saturate)
    if to not in LIMITS:
        node.refuse(f"PyTorch has no tensors of {to}")
    rounded = Expr(f"{data.atom}.round()")
    if to.bits > 8 and dtype in (DType.FLOAT16, DType.BFLOAT16):
        rounded = Expr(f"{rounded}.float()")
    if zero not in (None, "0"):
        assert zero is not None
        is_negative = zero.startswith("-")
        rounded = binary("-", rounded, zero[1:]) if is_negative else binary("+", rounded, zero)
    low, high = LIMITS[to]
    return node.cast(f"{rounded.atom}.clamp({low}, {high})", to)


def export_quantize(node: ExportNode[ir.QuantizeLinear]) -> None:
    """A quotient in the dtype of the scale or in the one that is stated, rounded and saturated."""
    op, dtype, narrow = node.op, node.dtype(), node.dtype(1)
    wide = op.precision or (narrow if narrow in FLOATS else DType.FLOAT32 if narrow.is_float else DType.FLOAT64)
    data, scale = node.tensor(), part_of(node, 1)
    if dtype is not wide and (dtype.is_float or wide is not DType.FLOAT32):
        data = Expr(node.cast(data, wide))
    if scale != node.number(1) and narrow is not wide:
        scale = Expr(node.cast(scale, wide))
    zero = None if node.optional(2) is None or node.result_dtype() in LARGEST else part_of(node, 2)
    quotient = data if scale == "1.0" else binary("/", data, scale)
    node.emit(saturated(node, quotient, zero, wide, saturate=op.saturate))


def export_dequantize(node: ExportNode[ir.DequantizeLinear]) -> None:
    """The difference times the scale, in float32."""
    dtype, data = node.dtype(), node.tensor()
    zero = None if node.optional(2) is None or dtype in LARGEST else part_of(node, 2)
    if zero is None:
        data = Expr(f"{data.atom}.float()")
    elif dtype is DType.INT32:
        data = Expr(f"{less(data, zero).atom}.float()")
    else:
        data = less(Expr(f"{data.atom}.float()"), zero)
    scale = part_of(node, 1)
    product = binary("*", data, scale)
    is_wide = node.dtype(1) is DType.FLOAT32 or scale == node.number(1)
    is_done = node.result_dtype() is DType.FLOAT32 and (is_wide or node.dtype(1) is not DType.FLOAT64)
    node.emit(product if is_done else node.cast(product, node.result_dtype()))


def difference(node: AnyNode, slot: int, zero_slot: int, shape: str) -> Expr:
    """Return an operand less its zero point, in float64; a vector of zero points gets a shape by `shape`, a method's
    call."""
    data = Expr(f"{node.tensor(slot).atom}.double()")
    zeros = node.weight(zero_slot)
    if node.optional(zero_slot) is None or node.dtype(slot) in LARGEST or (zeros and not zeros.numpy().any()):
        return data
    number = node.number(zero_slot)
    return less(data, along(node, zero_slot, shape) if number is None else number)


def along(node: AnyNode, slot: int, shape: str) -> Expr:
    """Return a scale or zero point as a tensor; a vector of several gets a shape by `shape`."""
    data = node.tensor(slot)
    is_vector = node.rank(slot) == 1 and node.shape(slot) != (1,)
    return Expr(f"{data.atom}{shape}") if is_vector else data


def requantized(node: AnyNode, product: str, shapes: dict[int, str], zero_slot: int, zero_shape: str = "") -> None:
    """A sum of products times the first two scales by the third one, which are in the slots of `shapes`."""
    scales = [tensor for slot in shapes if (tensor := node.weight(slot)) is not None]
    x_scale, w_scale, y_scale = (along(node, slot, shape) for slot, shape in shapes.items())
    scale = binary("/", binary("*", x_scale, w_scale), y_scale)
    if len(scales) == 3 and all(tensor.size == 1 for tensor in scales):
        x, w, y = (np.float32(tensor.numpy().reshape(-1)[0]) for tensor in scales)
        scale = number_text(x * w / y, DType.FLOAT32)
    zero = node.number(zero_slot) or along(node, zero_slot, zero_shape)
    scaled = binary("*", node.step(f"{Expr(product).atom}.float()", "sums"), scale)
    node.emit(saturated(node, scaled, zero, DType.FLOAT32))


def export_qlinear_matmul(node: ExportNode[ir.QLinearMatMul]) -> None:
    """`@` of float64; of the first matrix and of the result a vector states the rows, of the second one the columns."""
    rows = ".unsqueeze(-1)"
    product = binary("@", difference(node, 0, 2, rows), difference(node, 3, 5, ""))
    requantized(node, product.atom, {1: rows, 4: "", 6: rows}, 7, rows)


def export_conv_integer(node: ExportNode[ir.ConvInteger]) -> None:
    """F.conv of float64."""
    node.emit(node.cast(node.step(conv(node, (0, 2), (1, 3)), "sums"), DType.INT32))


def conv(node: AnyNode, data: tuple[int, int], filters: tuple[int, int], bias: int | None = None) -> str:
    """F.conv of operands in slots, each with the slot of its zero point."""
    ones = ", 1" * (node.rank(filters[0]) - 1)
    x, kernel, options = conv_parts(node, difference(node, *data, ""), filters[0])
    if bias is not None and node.optional(bias) is not None:
        options["bias"] = f"{node.tensor(bias).atom}.double()"
    return call(f"F.conv{len(kernel)}d", x, difference(node, *filters, f".reshape(-1{ones})"), **options)


def export_qlinear_conv(node: ExportNode[ir.QLinearConv]) -> None:
    """F.conv of float64, times the scales; those of the filters are one a channel."""
    channels = f".reshape(-1{', 1' * (node.rank(3) - 2)})"
    requantized(node, conv(node, (0, 2), (3, 5), 8), {1: "", 4: channels, 6: ""}, 7)


EXPORTS = table(
    row(ir.QuantizeLinear, export_quantize),
    row(ir.DequantizeLinear, export_dequantize),
    row(ir.DynamicQuantizeLinear, calls("dynamic_quantize")),
    row(ir.QLinearConv, export_qlinear_conv),
    row(ir.ConvInteger, export_conv_integer),
    row(ir.QLinearMatMul, export_qlinear_matmul),
)
