"""Elementwise operators that MXNet has since 2.0, digamma among them."""

from __future__ import annotations

import math
from functools import partial, reduce

import numpy as np

from graphir.converters.kernel.numbers import converted
from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.ops.elementwise import of
from graphir.converters.mxnet.importing.ops.integers import is_integer, is_signed
from graphir.converters.mxnet.importing.ops.numpy_elementwise import (
    as_dtype,
    common_dtype,
    in_common_dtype,
    same_dtypes,
    unless_bool,
)
from graphir.converters.mxnet.importing.ops.scalars import operands
from graphir.converters.mxnet.importing.rare.numpy_arithmetic import sizes_and_divisor
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import activation
from graphir.ops import elementwise as ir
from graphir.ops.base import Operator
from graphir.ops.indexing import Gather
from graphir.types import DType


def floor_divide(node: ImportNode, left: Value, right: Value) -> Value:
    """Return the quotient rounded down; that of integers is computed in float64, as MXNet does."""
    if not is_integer(left):
        return node.emit(ir.Floor(), node.step(ir.Div(), left, right, suffix="quotient"))
    assert left.dtype is not None
    wide = (node.step(ir.Cast(DType.FLOAT64), value, suffix="double") for value in (left, right))
    quotient = node.step(ir.Floor(), node.step(ir.Div(), *wide, suffix="quotient"))
    return node.emit(ir.Cast(left.dtype), quotient)


def fmod(node: ImportNode, left: Value, right: Value) -> Value:
    """Return the remainder with the sign of what is divided; 0 where the divisor is 0. Integers are divided as
    float64."""
    if is_integer(left):
        assert left.dtype is not None
        wide = (node.step(ir.Cast(DType.FLOAT64), value, suffix="double") for value in (left, right))
        return node.emit(ir.Cast(left.dtype), node.step(ir.Where(), *_rest(node, *wide), suffix="rest"))
    return node.emit(ir.Where(), *_rest(node, left, right))


def _rest(node: ImportNode, left: Value, right: Value) -> tuple[Value, Value, Value]:
    """Return whether the divisor is 0, 0, and the remainder."""
    absent = node.step(ir.Equal(), right, node.scalar_like(right, 0), suffix="by_zero")
    return absent, node.scalar_like(left, 0), node.step(ir.Mod(fmod=True), left, right, suffix="remainder")


def extreme(op: Operator, node: ImportNode, left: Value, right: Value) -> Value:
    """Return the larger or smaller operand; of a number and NaN the number."""
    if is_integer(left):
        return node.emit(op, left, right)
    result = node.step(op, left, right, suffix="of_both")
    either = node.step(ir.Where(), node.step(ir.IsNaN(), right), left, result, suffix="without_right")
    return node.emit(ir.Where(), node.step(ir.IsNaN(), left), right, either)


def log_add_exp(node: ImportNode, left: Value, right: Value) -> Value:
    """log(e^a + e^b): the larger plus log(1 + e^-|a - b|), and a + log 2 where both are equal, infinite ones too."""
    dtype = left.dtype
    if is_integer(left):
        left, right = (node.step(ir.Cast(DType.FLOAT64), value, suffix="double") for value in (left, right))
    distance = node.step(ir.Abs(), node.step(ir.Sub(), left, right, suffix="difference"))
    more = node.step(activation.Softplus(), node.step(ir.Neg(), distance), suffix="more")
    sums = node.step(ir.Add(), node.step(ir.Max(), left, right, suffix="larger"), more, suffix="apart")
    twice = node.step(ir.Add(), left, node.scalar_like(left, math.log(2)), suffix="twice")
    alike = node.step(ir.Equal(), left, right, suffix="alike")
    if dtype is None or dtype.is_float:
        return node.emit(ir.Where(), alike, twice, sums)
    return node.emit(ir.Cast(dtype), node.step(ir.Where(), alike, twice, sums, suffix="logarithm"))


def import_log_add_exp(node: ImportNode) -> Value:
    """log(e^a + e^b) of floats."""
    left, right = node.input(0), node.input(1)
    if is_integer(left) or is_integer(right) or DType.BOOL in (left.dtype, right.dtype):
        node.refuse(f"operands of {left.dtype} and {right.dtype}: MXNet takes floats only")
    dtype = common_dtype(node, left, right)
    return log_add_exp(node, as_dtype(node, left, dtype), as_dtype(node, right, dtype))


def gcd(node: ImportNode, left: Value, right: Value) -> Value:
    """Return the greatest integer that divides both; of 0 and a number its magnitude."""
    dtype, _ = _of_bits(node, left)
    return node.emit(ir.Cast(dtype), sizes_and_divisor(node, left, right)[1])


def whole_operands(node: ImportNode) -> tuple[Value, Value]:
    """Return integers and the scalar, which loses its fraction."""
    data, number = node.input(0), float(node.attrs["scalar"])
    dtype, _ = _of_bits(node, data)
    scalar = converted(number, dtype)
    if scalar != number:
        node.decide(DecisionKind.SCALAR, f"the scalar {number:.9g} became {scalar} for {dtype} data")
    return data, node.constant(scalar, dtype)


def logical(op: Operator) -> ImportFunction:
    """An operator on whether the elements of two tensors are not 0."""
    return lambda node: node.emit(op, node.cast(node.input(0), DType.BOOL), node.cast(node.input(1), DType.BOOL))


def logical_scalar(op: Operator, node: ImportNode) -> Value:
    """Return the same of a tensor and the scalar."""
    data = node.cast(node.input(0), DType.BOOL)
    return node.emit(op, data, node.constant(float(node.attrs["scalar"]) != 0, DType.BOOL))


def shift_left(node: ImportNode, left: Value, right: Value) -> Value:
    """Return the bits moved up; nothing stays of what is moved by all bits or by a negative number."""
    dtype, bits = _of_bits(node, left)
    moved = node.step(ir.Mul(), left, _powers(node, right, dtype, bits), suffix="moved")
    return node.emit(ir.Where(), _within(node, right, bits), moved, node.scalar_like(left, 0))


def shift_right(node: ImportNode, left: Value, right: Value) -> Value:
    """Return the bits moved down: a division by a power of 2, rounded down, so that signed numbers keep their sign."""
    dtype, bits = _of_bits(node, left)
    most = bits - 1 if is_signed(left) else bits
    power = _powers(node, right, dtype, most)
    rest = node.step(ir.Mod(), left, power, suffix="rest")
    moved = node.step(ir.Div(), node.step(ir.Sub(), left, rest, suffix="whole"), power, suffix="moved")
    zero = node.scalar_like(left, 0)
    beyond = zero
    if is_signed(left):
        negative = node.step(ir.Less(), left, zero, suffix="negative")
        beyond = node.step(ir.Where(), negative, node.scalar_like(left, -1), zero, suffix="sign")
    return node.emit(ir.Where(), _within(node, right, most), moved, beyond)


def _of_bits(node: ImportNode, value: Value) -> tuple[DType, int]:
    if not is_integer(value) or value.dtype is None:
        node.refuse(f"an operand of {value.dtype}; only integers have bits that move")
    return value.dtype, value.dtype.bits


def _powers(node: ImportNode, places: Value, dtype: DType, count: int) -> Value:
    """2 to the power of the places, those outside of 0 to `count` - 1 brought into it."""
    numbers = np.array([1 << index for index in range(count)], np.uint64).astype(dtype.numpy())
    wide = node.step(ir.Cast(DType.INT64), places, suffix="places")
    least, most = node.constant(0, DType.INT64), node.constant(count - 1, DType.INT64)
    stored = node.step(ir.Min(), node.step(ir.Max(), wide, least), most, suffix="held")
    return node.step(Gather(), node.graph.constant(numbers), stored, suffix="powers")


def _within(node: ImportNode, places: Value, count: int) -> Value:
    wide = node.step(ir.Cast(DType.INT64), places, suffix="places")
    above = node.step(ir.GreaterOrEqual(), wide, node.constant(0, DType.INT64), suffix="not_negative")
    below = node.step(ir.Less(), wide, node.constant(count, DType.INT64), suffix="below")
    return node.step(ir.And(), above, below, suffix="within")


STEPS = 10  # from x to x + 10, where the series below is exact to a double's last digits
SERIES = (-1 / 12, 1 / 120, -1 / 252, 1 / 240, -1 / 132, 691 / 32760)  # of 1 / x^2


def import_digamma(node: ImportNode) -> Value:
    """Return the derivative of log gamma, in float64; infinite at 0 and the negative integers, as in MXNet.

    psi(x) is psi(x + n) less 1 / x + ... + 1 / (x + n - 1), and psi(1 - x) - pi / tan(pi x) for x below 0.
    """
    data = node.input(0)
    if data.dtype is not None and not data.dtype.is_float:
        node.refuse(f"{data.dtype} data; MXNet takes floats only")
    node.decide(
        DecisionKind.COMPOSITION,
        "ONNX has no digamma: its model composes it in float64, with an error below 1e-14 of its terms",
    )
    x = as_dtype(node, data, DType.FLOAT64)
    zero, one = node.constant(0.0, DType.FLOAT64), node.constant(1.0, DType.FLOAT64)
    low = node.step(ir.LessOrEqual(), x, zero, suffix="low")
    positive = node.step(ir.Where(), low, node.step(ir.Sub(), one, x, suffix="mirrored"), x, suffix="positive")
    outcome = _of_positive(node, positive)
    whole = node.step(ir.Round(), x, suffix="whole")
    turn = node.step(ir.Mul(), node.step(ir.Sub(), x, whole), node.constant(math.pi, DType.FLOAT64), suffix="turn")
    mirror = node.step(ir.Div(), node.constant(math.pi, DType.FLOAT64), node.step(ir.Tan(), turn), suffix="mirror")
    below = node.step(ir.Sub(), outcome, mirror, suffix="below")
    pole = node.step(ir.And(), low, node.step(ir.Equal(), x, whole), suffix="pole")
    below = node.step(ir.Where(), pole, node.constant(math.inf, DType.FLOAT64), below, suffix="with_poles")
    result = node.step(ir.Where(), low, below, outcome, suffix="digamma")
    return node.emit(ir.Cast(data.dtype or DType.FLOAT32), result)


def _of_positive(node: ImportNode, x: Value) -> Value:
    def add(left: Value, right: Value) -> Value:
        return node.step(ir.Add(), left, right)

    shifts = [node.step(ir.Add(), x, node.constant(float(k), DType.FLOAT64)) for k in range(STEPS)]
    lost = reduce(add, [node.step(ir.Reciprocal(), shift) for shift in shifts])
    far = node.step(ir.Add(), x, node.constant(float(STEPS), DType.FLOAT64), suffix="far")
    inverse = node.step(ir.Reciprocal(), far, suffix="inverse")
    square = node.step(ir.Mul(), inverse, inverse, suffix="square")
    series = node.constant(SERIES[-1], DType.FLOAT64)
    for factor in SERIES[-2::-1]:
        series = add(node.step(ir.Mul(), series, square), node.constant(factor, DType.FLOAT64))
    half = node.step(ir.Mul(), inverse, node.constant(0.5, DType.FLOAT64), suffix="half")
    main = node.step(ir.Sub(), node.step(ir.Log(), far), half, suffix="main")
    return node.step(ir.Sub(), add(main, node.step(ir.Mul(), series, square)), lost, suffix="of_positive")


IMPORTS: dict[str, ImportFunction] = {
    "_npi_bitwise_left_shift": of(in_common_dtype, unless_bool(shift_left)),
    "_npi_bitwise_right_shift": of(in_common_dtype, unless_bool(shift_right)),
    "_npi_floor_divide": of(in_common_dtype, unless_bool(floor_divide)),
    "_npi_floor_divide_scalar": of(operands, floor_divide),
    "_npi_fmax": of(same_dtypes, unless_bool(partial(extreme, ir.Max()))),
    "_npi_fmax_scalar": of(operands, partial(extreme, ir.Max())),
    "_npi_fmin": of(same_dtypes, unless_bool(partial(extreme, ir.Min()))),
    "_npi_fmin_scalar": of(operands, partial(extreme, ir.Min())),
    "_npi_fmod": of(same_dtypes, unless_bool(fmod)),
    "_npi_fmod_scalar": of(operands, fmod),
    "_npi_gcd": of(same_dtypes, unless_bool(gcd)),
    "_npi_gcd_scalar": of(whole_operands, gcd),
    "_npi_logaddexp": import_log_add_exp,
    "_npi_logaddexp_scalar": of(operands, log_add_exp),
    "_npi_logical_and": logical(ir.And()),
    "_npi_logical_and_scalar": partial(logical_scalar, ir.And()),
    "_npi_logical_or": logical(ir.Or()),
    "_npi_logical_or_scalar": partial(logical_scalar, ir.Or()),
    "_npi_logical_xor": logical(ir.Xor()),
    "_npi_logical_xor_scalar": partial(logical_scalar, ir.Xor()),
    "_npi_rfloor_divide_scalar": of(operands, floor_divide, reverse=True),
    "_npi_rfmod_scalar": of(operands, fmod, reverse=True),
    "digamma": import_digamma,
}
