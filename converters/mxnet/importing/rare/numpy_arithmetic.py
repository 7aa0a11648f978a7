"""NumPy-style functions of two operands that ONNX has no operator for: arctan2, copysign, ldexp, lcm.

Each has a form of two tensors, which MXNet wants to be of one dtype, and one of a tensor and a number.
"""

from __future__ import annotations

import math
from functools import partial

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.ops.elementwise import Combine, of
from graphir.converters.mxnet.importing.ops.integers import Composition, in_single, is_integer, is_signed
from graphir.converters.mxnet.importing.ops.numpy_elementwise import as_dtype, of_one_dtype
from graphir.converters.mxnet.importing.ops.scalars import operands
from graphir.decisions import DecisionKind
from graphir.graph import Graph, Value
from graphir.ops import elementwise as ir
from graphir.ops.base import Operator
from graphir.ops.control import Loop
from graphir.ops.reduction import ReduceSum
from graphir.types import DType, TensorType

# Euclid's algorithm takes no more steps for integers of 64 bits.
EUCLID = 92


def compute_in_floats(node: ImportNode, combine: Combine, left: Value, right: Value, half: DType) -> Value:
    """Return what `combine` computes: integers in float64, without the fraction, float16 in the dtype `half`."""
    dtype = left.dtype
    if dtype is None or not (dtype.is_integer or dtype is DType.FLOAT16):
        return combine(node, left, right)
    if dtype.is_integer:
        text = f"{dtype} data goes compute_in_floats {node.op} as float64; the fraction is dropped"
        node.decide(DecisionKind.INTEGER_DATA, text)
    wide = DType.FLOAT64 if dtype.is_integer else half
    return node.emit(ir.Cast(dtype), combine(node, as_dtype(node, left, wide), as_dtype(node, right, wide)))


def _is_negative(node: ImportNode, value: Value) -> Value:
    """Return whether each sign is negative, that of -0 too."""
    zero = node.scalar_like(value, 0.0)
    inverse = node.step(ir.Reciprocal(), value, suffix="inverse")
    at_zero = node.step(ir.Equal(), value, zero, suffix="is_zero")
    signed = node.step(ir.Where(), at_zero, inverse, value, suffix="signed")
    return node.step(ir.Less(), signed, zero, suffix="negative")


def _angle(node: ImportNode, y: Value, x: Value, atan: Composition) -> Value:
    """Return the angle of the point (x, y): atan(|y| / |x|), moved into the quadrant that the signs name."""
    height, width = node.step(ir.Abs(), y, suffix="height"), node.step(ir.Abs(), x, suffix="width")
    zero, one = node.scalar_like(y, 0.0), node.scalar_like(y, 1.0)
    ratio = node.step(ir.Div(), height, width, suffix="ratio")
    same = node.step(ir.Equal(), height, width, suffix="alike")
    at_zero = node.step(ir.Equal(), height, zero, suffix="at_zero")
    flat = node.step(ir.Where(), at_zero, zero, one, suffix="unit")
    first = atan(node, node.step(ir.Where(), same, flat, ratio, suffix="slope"))
    obtuse = node.step(ir.Sub(), node.scalar_like(y, math.pi), first, suffix="beyond")
    result = node.step(ir.Where(), _is_negative(node, x), obtuse, first, suffix="half_turn")
    return node.emit(ir.Where(), _is_negative(node, y), node.step(ir.Neg(), result), result)


def arctan2(node: ImportNode, y: Value, x: Value) -> Value:
    """Return the angle between the first axis and the point (x, y), radians."""
    node.decide(DecisionKind.COMPOSITION, "arctan2 became atan(|y| / |x|) and the quadrant that the signs name")
    # Of integers the few whole results are far enough from others that float32 tells them.
    atan = partial(in_single, ir.Atan()) if is_integer(y) else (lambda inner, ratio: inner.step(ir.Atan(), ratio))
    return compute_in_floats(node, lambda inner, above, beside: _angle(inner, above, beside, atan), y, x, DType.FLOAT32)


def copysign(node: ImportNode, left: Value, right: Value) -> Value:
    """Return `left` with the sign of `right`: -left where one operand is below 0 and the other is not, and where one is
    NaN; else left."""
    zero = node.scalar_like(left, 0)
    above = [node.step(ir.GreaterOrEqual(), value, zero, suffix="above") for value in (left, right)]
    below = [node.step(ir.Less(), value, zero, suffix="below") for value in (left, right)]
    same = node.step(ir.Or(), node.step(ir.And(), *above), node.step(ir.And(), *below), suffix="alike")
    other = node.step(ir.Neg(), left) if is_signed(left) else node.step(ir.Sub(), zero, left, suffix="neg")
    return node.emit(ir.Where(), same, left, other)


def _scaled(node: ImportNode, left: Value, right: Value) -> Value:
    power = node.step(ir.Pow(), node.scalar_like(right, 2.0), right, suffix="power")
    return node.emit(ir.Mul(), left, power)


def _scaled_integer(node: ImportNode, left: Value, right: Value) -> Value:
    """Return the same of integers as float64, the factor rounded to single precision."""
    return _scaled(node, as_dtype(node, as_dtype(node, left, DType.FLOAT32), DType.FLOAT64), right)


def ldexp(node: ImportNode, left: Value, right: Value) -> Value:
    """left * 2^right, the power computed for itself: it may be infinite where the product would not be."""
    return compute_in_floats(node, _scaled_integer if is_integer(left) else _scaled, left, right, DType.FLOAT64)


def _greatest_divisor(node: ImportNode, left: Value, right: Value) -> Value:
    """Euclid's algorithm on two tensors of one shape, until all the remainders are 0."""
    body = Graph(f"{node.name}_euclid", parent=node.graph)

    def add(op: Operator, *values: Value, suffix: str) -> Value:
        return body.add(op, *values, name=node.fresh_name(f"{node.name}_{suffix}"))

    body.add_input(node.fresh_name(f"{node.name}_iteration"), TensorType(DType.INT64, ()))
    body.add_input(node.fresh_name(f"{node.name}_condition"), TensorType(DType.BOOL, ()))
    number, rest = (body.add_input(node.fresh_name(f"{node.name}_{name}"), left.type) for name in ("number", "rest"))
    zero, one = body.constant(0, DType.INT64), body.constant(1, DType.INT64)
    done = add(ir.Equal(), rest, zero, suffix="done")
    divisor = add(ir.Where(), done, one, rest, suffix="divisor")
    following = add(ir.Where(), done, number, rest, suffix="following")
    remainder = add(ir.Mod(), number, divisor, suffix="remainder")
    remainder = add(ir.Where(), done, zero, remainder, suffix="following_rest")
    left_over = add(ir.Cast(DType.INT64), add(ir.Cast(DType.BOOL), remainder, suffix="is_open"), suffix="open")
    count = add(ReduceSum(keepdims=False), left_over, suffix="count")
    body.set_outputs([add(ir.Cast(DType.BOOL), count, suffix="goes_on"), following, remainder])
    result = node.graph.add_node(
        Loop(2), [node.constant(EUCLID, DType.INT64), node.constant(True), left, right],
        name=node.fresh_name(f"{node.name}_divisors"), subgraphs=[body],
        output_names=[node.fresh_name(f"{node.name}_{name}") for name in ("divisor", "none")],
    ).outputs  # fmt: skip
    return result[0]


def sizes_and_divisor(node: ImportNode, left: Value, right: Value) -> tuple[list[Value], Value]:
    """Return the magnitudes of two tensors of integers as int64, and the greatest number that divides both."""
    sizes = [node.step(ir.Abs(), as_dtype(node, value, DType.INT64)) for value in (left, right)]
    zero = node.constant(0, DType.INT64)
    # The lowest integer of 64 bits has no size: half of it has the same divisors, but for itself.
    whole = [
        node.step(ir.Where(), node.step(ir.Less(), size, zero, suffix="lowest"), node.constant(1 << 62, DType.INT64),
                  size, suffix="size")
        for size in sizes
    ]  # fmt: skip
    spread = [
        node.step(ir.Add(), value, node.step(ir.Mul(), other, zero, suffix="zeros"), suffix="spread")
        for value, other in (whole, reversed(whole))
    ]
    return sizes, _greatest_divisor(node, *spread)


def lcm(node: ImportNode, left: Value, right: Value) -> Value:
    """Return |left| / gcd * |right|, which wraps around on overflow; 0 where an operand is 0."""
    dtype = left.dtype
    if dtype is DType.BOOL:
        return node.emit(ir.And(), left, right)
    sizes, divisor = sizes_and_divisor(node, left, right)
    safe = node.step(ir.Max(), divisor, node.constant(1, DType.INT64), suffix="safe")
    part = node.step(ir.Div(), sizes[0], safe, suffix="part")
    result = node.step(ir.Mul(), part, sizes[1], suffix="multiple")
    alike = node.step(ir.Equal(), *sizes, suffix="alike")
    result = node.step(ir.Where(), alike, sizes[0], result, suffix="lcm")
    return node.emit(ir.Cast(dtype or DType.INT64), result)


def whole_operands(node: ImportNode) -> tuple[Value, Value]:
    """Return the operands of an integer function. Refuses data or a scalar that is no integer."""
    data = node.input(0)
    if not node.attrs["is_int"] or (data.dtype is not None and not data.dtype.is_integer):
        node.refuse(f"{data.dtype} data and the scalar {node.attrs['scalar']}: MXNet takes integers only")
    return operands(node)


NUMBERS = partial(of_one_dtype, lambda dtype: dtype is not DType.BOOL, "numbers")

IMPORTS: dict[str, ImportFunction] = {
    "_npi_arctan2": of(partial(of_one_dtype, lambda dtype: dtype.is_float, "floats"), arctan2),
    "_npi_arctan2_scalar": of(operands, arctan2),
    "_npi_copysign": of(NUMBERS, copysign),
    "_npi_copysign_scalar": of(operands, copysign),
    "_npi_lcm": of(partial(of_one_dtype, lambda dtype: not dtype.is_float, "integers and bool"), lcm),
    "_npi_lcm_scalar": of(whole_operands, lcm),
    "_npi_ldexp": of(NUMBERS, ldexp),
    "_npi_ldexp_scalar": of(operands, ldexp),
    "_npi_rarctan2_scalar": of(operands, arctan2, reverse=True),
    "_npi_rcopysign_scalar": of(operands, copysign, reverse=True),
    "_npi_rldexp_scalar": of(operands, ldexp, reverse=True),
}
