"""Arithmetic of two operands that ONNX says otherwise than MXNet: powers, remainders, distances."""

from __future__ import annotations

from graphir.converters.mxnet.importing.context import ImportNode
from graphir.converters.mxnet.importing.ops.integers import is_integer
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import elementwise as ir
from graphir.types import DType


def truth(node: ImportNode, value: Value) -> Value:
    """Whether each element is not zero."""
    return node.cast(value, DType.BOOL)


def power(node: ImportNode, op: ir.Pow, base: Value, exponent: Value) -> Value:
    """The base raised to the power. Integers go through float32, the fraction dropped, as in MXNet."""
    if not is_integer(base):
        return node.emit(op, base, exponent)
    assert base.dtype is not None
    node.decide(
        DecisionKind.INTEGER_DATA, f"{base.dtype} data is raised to its power in float32; the fraction is dropped"
    )
    wide = [
        node.cast(value, DType.FLOAT32, suffix=suffix)
        for value, suffix in ((base, "base"), (exponent, "exponent"))
    ]
    return node.emit(ir.Cast(base.dtype), node.step(op, *wide, suffix="power"))


def remainder_of_floats(node: ImportNode, left: Value, right: Value, *, positive: bool) -> Value:
    """The remainder with the sign of the divisor, which is known: C's fmod, plus the divisor where its sign differs."""
    rest = node.step(ir.Mod(fmod=True), left, right, suffix="fmod")
    zero = node.scalar_like(left, 0)
    other = node.step(ir.Less() if positive else ir.Greater(), rest, zero, suffix="other_sign")
    return node.emit(ir.Where(), other, node.step(ir.Add(), rest, right, suffix="moved"), rest)


def modulo(node: ImportNode, left: Value, right: Value) -> Value:
    """The remainder with the divisor's sign; where the divisor is 0, MXNet gives 0."""
    if left.dtype is DType.INT64:
        return _modulo_of_doubles(node, left, right)
    if is_integer(right):  # of integers -1 and 1 leave none either, and -1 cannot divide the lowest one
        none = node.step(ir.Less(), right, node.scalar_like(right, 2), suffix="small")
        if is_signed(right):
            above = node.step(ir.Greater(), right, node.scalar_like(right, -2), suffix="above")
            none = node.step(ir.And(), none, above, suffix="without_rest")
        safe = node.step(ir.Where(), none, node.scalar_like(right, 1), right, suffix="divisor")
        return node.emit(ir.Mod(), left, safe)
    absent = node.step(ir.Equal(), right, node.scalar_like(right, 0), suffix="by_zero")
    return node.emit(ir.Where(), absent, node.scalar_like(left, 0), node.step(ir.Mod(), left, right))


def _modulo_of_doubles(node: ImportNode, left: Value, right: Value) -> Value:
    """MXNet divides integers as float64, in which those of 64 bits lose bits beyond 2^53."""
    left, right = (node.cast(value, DType.FLOAT64, suffix="double") for value in (left, right))
    zero = node.scalar_like(right, 0)
    absent = node.step(ir.Equal(), right, zero, suffix="by_zero")
    rest = node.step(ir.Mod(), left, node.step(ir.Where(), absent, node.scalar_like(right, 1), right, suffix="divisor"))
    return node.emit(ir.Cast(DType.INT64), node.step(ir.Where(), absent, zero, rest, suffix="rest"))


def is_signed(value: Value) -> bool:
    """Whether the elements may be below 0."""
    return value.dtype is not None and not value.dtype.value.startswith("u")


def _through_single(node: ImportNode, value: Value) -> Value:
    single = node.cast(value, DType.FLOAT32, suffix="single")
    return node.cast(single, DType.FLOAT64, suffix="double")


def distance(node: ImportNode, left: Value, right: Value) -> Value:
    """Return sqrt(a^2 + b^2). Integers go through float32, as in MXNet.

    In a strict import of floats it is infinite where a or b is, and the larger is taken out of the root, so that no
    square overflows: m sqrt(1 + (n / m)^2).
    """
    if is_integer(left):
        assert left.dtype is not None
        node.decide(
            DecisionKind.INTEGER_DATA, f"{left.dtype} data goes through hypot as float32; the fraction is dropped"
        )
        left_double, right_double = (_through_single(node, value) for value in (left, right))
        squares = [node.step(ir.Mul(), value, value, suffix="square") for value in (left_double, right_double)]
        root = node.step(ir.Sqrt(), node.step(ir.Add(), *squares, suffix="sum"))
        return node.emit(ir.Cast(left.dtype), node.cast(root, DType.FLOAT32, suffix="single"))
    if not node.is_strict("squares beyond float32 are infinite or 0; NaN beside an infinity gives NaN"):
        return _distance_of_floats(node, left, right)
    sizes = [node.step(ir.Abs(), value) for value in (left, right)]
    larger, smaller = node.step(ir.Max(), *sizes), node.step(ir.Min(), *sizes)
    one = node.scalar_like(left, 1)
    alike = node.step(ir.Equal(), larger, smaller, suffix="alike")
    ratio = node.step(ir.Where(), alike, one, node.step(ir.Div(), smaller, larger), suffix="ratio")
    root = node.step(ir.Sqrt(), node.step(ir.Add(), node.step(ir.Mul(), ratio, ratio, suffix="square"), one))
    infinite = node.step(ir.Or(), *(node.step(ir.IsInf(), size) for size in sizes), suffix="infinite")
    far = node.scalar_like(left, float("inf"))
    return node.emit(ir.Where(), infinite, far, node.step(ir.Mul(), larger, root, suffix="root"))


def _distance_of_floats(node: ImportNode, left: Value, right: Value) -> Value:
    """Return the root of the sum of the squares; those of float16 have room in float32."""
    half = left.dtype is DType.FLOAT16
    values = [node.cast(value, DType.FLOAT32) if half else value for value in (left, right)]
    squares = [node.step(ir.Mul(), value, value, suffix="square") for value in values]
    total = node.step(ir.Add(), *squares, suffix="sum")
    return node.emit(ir.Cast(DType.FLOAT16), node.step(ir.Sqrt(), total)) if half else node.emit(ir.Sqrt(), total)
