"""Numbers stored in few bits: x = (q - zero_point) * scale, with one scale, or one for each part of the tensor."""

from __future__ import annotations

from graphir.errors import ShapeError
from graphir.padding import Explicit, Padding
from graphir.types import (
    UNKNOWN,
    Dim,
    DType,
    Shape,
    TensorType,
    ceildiv,
    format_shape,
    unify_dim,
    unify_dtype,
    unify_shape,
)

from .base import Operand, Operator, expect_number, family, normalize_axis, operator, refine
from .convolution import Conv
from .dtypes import BYTES, FLOAT32, FLOATS_OF_8_BITS, INT32, QUANTIZED, SINGLE_FLOATS
from .linear import MatMul
from .traits import DecisionTrait, Rounding
from .work import ONLY_MACS, Each


def _scale_shape(x: Shape | None, scale: Shape | None, axis: int, block_size: int) -> Shape | None:
    """Return what the scale's shape must be, given X's and the scale's own; None where that is open. Raises
    ShapeError."""
    if x is None:
        return scale
    if block_size:
        index = normalize_axis(axis, len(x))
        return (*x[:index], ceildiv(x[index], block_size), *x[index + 1 :])
    if scale is None or len(scale) == 0:
        return scale
    if len(scale) != 1:
        raise ShapeError(f"the scale has the shape {format_shape(scale)}, expected a scalar or a vector")
    if scale[0] == 1 or not isinstance(scale[0], int) or len(x) < 2:
        return scale  # one entry for the whole tensor, or perhaps
    return (x[normalize_axis(axis, len(x))],)


@family
class _Scaled(Operator):
    """What the two directions share: a scale and a zero point of one shape, where a scalar counts as one element."""

    axis: int = 1
    block_size: int = 0

    def check_attributes(self) -> None:
        self.demand(self.block_size >= 0, "block_size", "0 (no blocks) or more")

    def scale_shape(self, x: TensorType, scale: TensorType, zero: Operand) -> Shape | None:
        """Return the shape of the scale and of the zero point, None if it is open. Raises ShapeError."""
        stated = scale.shape if zero is None or zero.shape is None else zero.shape
        if not self.block_size and {scale.shape, stated} == {(), (1,)}:
            return None
        wanted = _scale_shape(x.shape, stated, self.axis, self.block_size)
        try:
            return unify_shape(unify_shape(wanted, scale.shape), stated)
        except ShapeError:
            shapes = [format_shape(operand.shape) for operand in (scale, zero) if operand is not None]
            raise ShapeError(
                f"scale and zero point have the shapes {' and '.join(shapes)}, expected {format_shape(wanted)}"
            ) from None


@operator
class QuantizeLinear(_Scaled):
    """x / y_scale, rounded to the nearest even, plus y_zero_point, saturated to the range of the result's dtype.

    The scale is a scalar, a vector along `axis`, or with a `block_size` of the shape of x with the axis divided by it.
    The result has the zero point's dtype or `output_dtype` (uint8 without either). `precision` is the dtype of the
    division, the scale's if None. Source: ONNX QuantizeLinear-28.
    """

    inputs = ("x", "y_scale", "y_zero_point?")
    outputs = ("y",)
    takes = (SINGLE_FLOATS | INT32, SINGLE_FLOATS | INT32 | {DType.FLOAT8E8M0}, QUANTIZED)
    rounding = Rounding.QUANTIZES
    work = Each(4)  # quotient, rounding, zero point, limits
    output_dtype: DType | None = None
    precision: DType | None = None
    saturate: bool = True

    def infer(self, x: TensorType, scale: TensorType, zero: Operand = None) -> TensorType:
        self.scale_shape(x, scale, zero)
        if zero is None:
            return TensorType(self.output_dtype or DType.UINT8, x.shape)
        return TensorType(unify_dtype(zero.dtype, self.output_dtype), x.shape)

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        x, scale = operands[:2]
        zero = operands[2] if len(operands) > 2 else None
        assert x is not None
        assert scale is not None
        shape = self.scale_shape(x, scale, zero)
        types = [refine(x, results[0].shape), refine(scale, shape)]
        return (*types, *(refine(operand, shape, results[0].dtype) for operand in operands[2:]))


@operator
class DequantizeLinear(_Scaled):
    """(x - x_zero_point) * x_scale, of `output_dtype` or, if None, of the scale's dtype.

    The scale is a scalar, a vector along `axis`, or with a `block_size` of the shape of x with the axis divided by it.
    Source: ONNX DequantizeLinear-28.
    """

    inputs = ("x", "x_scale", "x_zero_point?")
    outputs = ("y",)
    takes = (QUANTIZED | INT32, SINGLE_FLOATS | {DType.FLOAT8E8M0}, QUANTIZED | INT32)
    rounding, stays_wide = Rounding.ROUNDS, Rounding.QUANTIZES.stays_wide
    work = Each(2)
    output_dtype: DType | None = None

    def infer(self, x: TensorType, scale: TensorType, zero: Operand = None) -> TensorType:
        self.scale_shape(x, scale, zero)
        if zero is not None:
            unify_dtype(x.dtype, zero.dtype)
        return TensorType(self.output_dtype or scale.dtype, x.shape)

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        x, scale = operands[:2]
        zero = operands[2] if len(operands) > 2 else None
        assert x is not None
        assert scale is not None
        shape = self.scale_shape(x, scale, zero)
        dtype = x.dtype if zero is None else unify_dtype(x.dtype, zero.dtype)
        types = [
            refine(x, results[0].shape, dtype),
            refine(scale, shape, None if self.output_dtype else results[0].dtype),
        ]
        return (*types, *(refine(operand, shape, dtype) for operand in operands[2:]))


@operator
class DynamicQuantizeLinear(Operator):
    """x as uint8, with the scale and the zero point that its own range (widened to hold 0) gives.

    Results: y of x's shape, a float32 scale and a uint8 zero point, both scalars.
    Source: ONNX DynamicQuantizeLinear-11.
    """

    inputs = ("x",)
    outputs = ("y", "y_scale", "y_zero_point")
    takes = (FLOAT32,)
    rounding = Rounding.QUANTIZES
    work = Each(6)

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        return TensorType(DType.UINT8, x.shape), TensorType(DType.FLOAT32, ()), TensorType(DType.UINT8, ())

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        return (refine(operands[0], results[0].shape, DType.FLOAT32),)


@family
class _QuantizedConv(Operator):
    """What the convolutions of integers share: the attributes of Conv and its shape rule."""

    kernel_shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    dilations: tuple[int, ...] = ()
    padding: Padding = Explicit()
    group: int = 1

    def conv(self) -> Conv:
        """Return the convolution of real numbers with the same attributes."""
        return Conv(self.kernel_shape, self.strides, self.dilations, self.padding, self.group)


@operator
class QLinearConv(_QuantizedConv):
    """Conv of quantized X with quantized W, requantized; `B` is int32 with scale x_scale * w_scale and zero point 0.

    Each operand has its scale and zero point behind it; those of w may be vectors, one entry for each filter.
    The result has y_zero_point's dtype. Source: ONNX QLinearConv-10.
    """

    inputs = ("x", "x_scale", "x_zero_point", "w", "w_scale", "w_zero_point", "y_scale", "y_zero_point", "B?")
    outputs = ("y",)
    takes = (BYTES, FLOAT32, BYTES, BYTES, FLOAT32, BYTES, FLOAT32, BYTES, INT32)
    rounding = Rounding.QUANTIZES
    work = Each(4)

    def infer(self, *operands: TensorType) -> TensorType:
        x, _, x_zero, w, _, w_zero, _, y_zero = operands[:8]
        unify_dtype(x.dtype, x_zero.dtype)
        unify_dtype(w.dtype, w_zero.dtype)
        for slot in (1, 2, 6, 7):
            expect_number(operands[slot], self.inputs[slot])
        return TensorType(y_zero.dtype, self.conv().shape_of(x, w, *operands[8:]))

    def macs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> Dim:
        return self.conv().macs((operands[0], operands[3]), results)


@operator
class ConvInteger(_QuantizedConv):
    """Conv of 8-bit integers less their zero points, as int32. Source: ONNX ConvInteger-10."""

    inputs = ("x", "w", "x_zero_point?", "w_zero_point?")
    outputs = ("y",)
    takes = (BYTES, BYTES, BYTES, BYTES)
    rounding, decides, stays_wide = Rounding.EXACT, DecisionTrait.NOTHING, Rounding.QUANTIZES.stays_wide
    work = ONLY_MACS

    def infer(self, x: TensorType, w: TensorType, x_zero: Operand = None, w_zero: Operand = None) -> TensorType:
        for operand, zero, name in ((x, x_zero, "x"), (w, w_zero, "w")):
            if operand.dtype not in (None, DType.INT8, DType.UINT8):
                raise ShapeError(f"{name} is {operand.dtype}, expected int8 or uint8")
            if zero is not None:
                unify_dtype(operand.dtype, zero.dtype)
        return TensorType(DType.INT32, self.conv().shape_of(x, w))

    def macs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> Dim:
        return self.conv().macs((operands[0], operands[1]), results)


@operator
class QLinearMatMul(Operator):
    """MatMul of quantized matrices, requantized to y_zero_point's dtype. Each operand has its scale and zero point.

    Source: ONNX QLinearMatMul-21.
    """

    inputs = ("a", "a_scale", "a_zero_point", "b", "b_scale", "b_zero_point", "y_scale", "y_zero_point")
    outputs = ("y",)
    takes = (
        FLOATS_OF_8_BITS | BYTES,
        SINGLE_FLOATS,
        FLOATS_OF_8_BITS | BYTES,
        FLOATS_OF_8_BITS | BYTES,
        SINGLE_FLOATS,
        FLOATS_OF_8_BITS | BYTES,
        SINGLE_FLOATS,
        FLOATS_OF_8_BITS | BYTES,
    )
    rounding = Rounding.QUANTIZES
    work = Each(4)

    def infer(self, *operands: TensorType) -> TensorType:
        a, _, a_zero, b, _, b_zero, _, y_zero = operands
        unify_dtype(a.dtype, a_zero.dtype)
        unify_dtype(b.dtype, b_zero.dtype)
        return TensorType(y_zero.dtype, MatMul().product_shape(a.shape, b.shape))

    def macs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> Dim:
        a, b = operands[0], operands[3]
        if a is None or b is None or not a.shape:
            return UNKNOWN
        inner = unify_dim(a.shape[-1], b.shape[-2] if b.shape and len(b.shape) > 1 else UNKNOWN)
        return results[0].elements() * inner


OPERATORS = (QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear, QLinearConv, ConvInteger, QLinearMatMul)
