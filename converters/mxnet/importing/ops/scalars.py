"""Operators of a tensor and the attribute `scalar`.

MXNet 1.9.1 computes integers that meet a scalar with is_int False in float64, and bool data in int64 (float64 with
is_int False); that is the result's dtype too, also of a comparison. Before anything else the scalar is converted to
that dtype, as C converts: for integers 0.5 is 0, and NaN the lowest integer.
"""

from __future__ import annotations

import math
from functools import partial

from graphir.converters.kernel.numbers import converted
from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.ops.elementwise import LOGICAL, as_data, of, raised
from graphir.converters.mxnet.importing.ops.integers import distance, modulo, remainder_of_floats
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import elementwise as ir
from graphir.ops.base import Operator
from graphir.ops.shape import Expand, Shape
from graphir.types import DType


def computed_dtype(node: ImportNode, data: Value) -> DType:
    """Return the dtype in which MXNet computes and answers; float32 where the data's is unknown."""
    dtype = data.dtype or DType.FLOAT32
    if dtype.is_float:
        return dtype
    if not node.attrs.get("is_int", True):
        return DType.FLOAT64
    return DType.INT64 if dtype is DType.BOOL else dtype


def operands(node: ImportNode) -> tuple[Value, Value]:
    """Return the data and the scalar, both in the dtype of the computation."""
    data, scalar = node.input(0), float(node.attrs["scalar"])
    dtype = computed_dtype(node, data)
    if data.dtype is not None and dtype is not data.dtype:
        node.decide(DecisionKind.SCALAR, f"{data.dtype} data became {dtype}, as MXNet computes it with {scalar:.9g}")
        data = node.cast(data, dtype)
    result = converted(scalar, dtype)
    if result != scalar and not dtype.is_float:
        node.decide(DecisionKind.SCALAR, f"the scalar {scalar:.9g} became {result} for {dtype} data, as MXNet does")
    return data, node.constant(result, dtype)


def _number(node: ImportNode, data: Value) -> float:
    """Return the scalar as the computation sees it."""
    result = converted(float(node.attrs["scalar"]), data.dtype or DType.FLOAT32)
    return math.copysign(math.inf, result) if data.dtype is DType.FLOAT16 and abs(result) >= 65520 else result


def divide(node: ImportNode, data: Value, scalar: Value) -> Value:
    """Return data / scalar."""
    if not data.dtype or data.dtype.is_float or _number(node, data):
        return node.emit(ir.Div(), data, scalar)
    node.refuse(f"it divides {data.dtype} data by {node.attrs['scalar']:.9g}, which is 0 for integers")


def divide_scalar(node: ImportNode, scalar: Value, data: Value) -> Value:
    """Return scalar / data; integers go through float32, the fraction dropped."""
    dtype = data.dtype
    if dtype is None or dtype.is_float:
        return node.emit(ir.Div(), scalar, data)
    node.decide(
        DecisionKind.INTEGER_DATA, f"{node.attrs['scalar']:.9g} is divided by {dtype} data in float32, as MXNet does"
    )
    wide = [node.cast(value, DType.FLOAT32, suffix="single") for value in (scalar, data)]
    return node.emit(ir.Cast(dtype), node.step(ir.Div(), *wide, suffix="quotient"))


def take_remainder(node: ImportNode, data: Value, scalar: Value) -> Value:
    """Return the remainder of the data divided by the scalar, with the scalar's sign; 0 for a divisor of 0."""
    number = _number(node, data)
    if number == 0 or (abs(number) == 1 and data.dtype is not None and data.dtype.is_integer):
        return node.emit(Expand(), node.scalar_like(data, 0), node.step(Shape(), data))
    if data.dtype is DType.INT64:
        return modulo(node, data, scalar)
    if data.dtype is not None and data.dtype.is_integer:
        return node.emit(ir.Mod(), data, scalar)
    return remainder_of_floats(node, data, scalar, positive=number > 0 or math.isnan(number))


def scalar_logical(op: Operator, node: ImportNode) -> Value:
    """Import a logical operator on the data and the scalar."""
    data, _ = operands(node)
    scalar = node.constant(bool(_number(node, data)))
    return node.emit(ir.Cast(data.dtype or DType.FLOAT32), node.step(op, node.cast(data, DType.BOOL), scalar))


def import_smooth_l1(node: ImportNode) -> Value:
    """(s x)^2 / 2 where -1 / s^2 <= x <= 1 / s^2, else |x| - 1 / (2 s^2); s in the data's dtype.

    Computed in float32, of float64 in its own: the square of an s of float16 overflows in that from 256 on.
    With m = min(|x|, 1 / s^2) it is s^2 m (|x| - m / 2), for an s whose square is neither 0 nor infinite.
    """
    data, _ = operands(node)
    dtype = data.dtype or DType.FLOAT32
    kept = dtype in (DType.FLOAT32, DType.FLOAT64)
    wide = data if kept else node.cast(data, DType.FLOAT32, suffix="single")
    square, bound = _square(_number(node, data), wide.dtype or DType.FLOAT32)
    if math.isfinite(square) and math.isfinite(bound):
        result = _smooth(node, wide, square, bound)
    else:
        result = _smooth_by_parts(node, wide, square, bound)
    return result if kept else node.emit(ir.Cast(dtype), result)


def _square(scalar: float, dtype: DType) -> tuple[float, float]:
    """Return the scalar's square and its reciprocal in the dtype, either of which may be infinite."""
    import numpy as np

    with np.errstate(all="ignore"):
        kind = dtype.numpy().type
        square = kind(scalar) * kind(scalar)
        return float(square), float(kind(1) / square)


def _smooth(node: ImportNode, data: Value, square: float, bound: float) -> Value:
    size = node.step(ir.Abs(), data)
    near = node.step(ir.Min(), size, node.scalar_like(data, bound), suffix="near")
    half = node.step(ir.Mul(), near, node.scalar_like(data, 0.5), suffix="half")
    rest = node.step(ir.Sub(), size, half, suffix="rest")
    if square != 1:
        near = node.step(ir.Mul(), near, node.scalar_like(data, square), suffix="scaled")
    return node.emit(ir.Mul(), near, rest)


def _smooth_by_parts(node: ImportNode, data: Value, square: float, bound: float) -> Value:
    """Both parts in full, of which the bound chooses: the way to what MXNet gives for 0, infinity and NaN."""
    size = node.step(ir.Abs(), data)
    linear = node.step(ir.Sub(), size, node.scalar_like(data, 0.5 * bound), suffix="linear")
    half = node.step(ir.Mul(), data, node.scalar_like(data, 0.5), suffix="half")
    curve = node.step(ir.Mul(), half, data, suffix="curve")
    curve = node.step(ir.Mul(), curve, node.scalar_like(data, square), suffix="scaled")
    far = node.step(ir.Greater(), size, node.scalar_like(data, bound))
    return node.emit(ir.Where(), far, linear, curve)


ARITHMETIC: dict[str, Operator] = {"plus": ir.Add(), "minus": ir.Sub(), "mul": ir.Mul()}
COMPARISONS: dict[str, tuple[Operator, bool]] = {
    "equal": (ir.Equal(), False),
    "not_equal": (ir.Equal(), True),
    "greater": (ir.Greater(), False),
    "greater_equal": (ir.GreaterOrEqual(), False),
    "lesser": (ir.Less(), False),
    "lesser_equal": (ir.LessOrEqual(), False),
}

IMPORTS: dict[str, ImportFunction] = {
    **{f"_{name}_scalar": of(operands, op) for name, op in ARITHMETIC.items()},
    **{f"_{name}_scalar": of(operands, partial(as_data, op, negate=negate))
       for name, (op, negate) in COMPARISONS.items()},
    **{f"_logical_{name}_scalar": partial(scalar_logical, op) for name, op in LOGICAL.items()},
    "_rminus_scalar": of(operands, ir.Sub(), reverse=True),
    "_div_scalar": of(operands, divide),
    "_rdiv_scalar": of(operands, divide_scalar, reverse=True),
    "_power_scalar": of(operands, raised(ir.Pow())),
    "_rpower_scalar": of(operands, raised(ir.Pow()), reverse=True),
    "_mod_scalar": of(operands, take_remainder),
    "_rmod_scalar": of(operands, modulo, reverse=True),
    "_maximum_scalar": of(operands, ir.Max()),
    "_minimum_scalar": of(operands, ir.Min()),
    "_hypot_scalar": of(operands, distance),
    "smooth_l1": import_smooth_l1,
}
