"""What MXNet's functions of real numbers give for integers: computed in float64 or float32, the fraction dropped.

A result that does not fit the integers becomes what x86 makes of it, the lowest integer: onnxruntime's Cast does the
same. Functions for which onnxruntime has no kernel in float64 are composed of those that it has: in float32 the dropped
fraction of a large result would be wrong by whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from graphir.converters.mxnet.importing.context import Imported, ImportFunction, ImportNode
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import elementwise as ir
from graphir.ops.base import Operator
from graphir.types import DType

Composition = Callable[[ImportNode, Value], Value]


def is_integer(value: Value) -> bool:
    """Return whether the elements are known to be integers."""
    return value.dtype is not None and value.dtype.is_integer


def on_integers(
    function: ImportFunction, composition: Composition | None, node: ImportNode, *, wide: DType=DType.FLOAT64
) -> Imported:
    """`function` for floats; for integers the composition, or else the function, of the data as `wide`."""
    data = node.input(0)
    if data.dtype is DType.FLOAT64 and composition in SPANNING:
        node.decide(
            DecisionKind.COMPOSITION, f"{node.op} of float64 is composed: onnxruntime has it in float32 only"
        )
        return composition(node, data)
    if data.dtype is None or not data.dtype.is_integer:
        return function(node)
    node.decide(
        DecisionKind.INTEGER_DATA, f"{data.dtype} data goes through {node.op} as {wide}; the fraction is dropped"
    )
    inner = node.over(*_widened(node, wide), suffix=str(wide))
    result = function(inner) if composition is None else composition(inner, inner.input(0))
    assert isinstance(result, Value)
    return node.emit(ir.Cast(data.dtype), result)


def _widened(node: ImportNode, wide: DType) -> list[Value]:
    results: dict[Value, Value] = {}
    for value in node.inputs:
        if value not in results:
            results[value] = node.cast(value, wide) if is_integer(value) else value
    return [results[value] for value in node.inputs]


def import_whole(node: ImportNode) -> Value:
    """Return a function that rounds, of integers: they are round, but those of 64 bits go through float64."""
    data = node.input(0)
    assert data.dtype is not None
    if data.dtype.bits < 64:
        return node.emit(ir.Identity(), data)
    node.decide(DecisionKind.INTEGER_DATA, f"{data.dtype} data goes through float64, which rounds beyond 2^53")
    return node.emit(ir.Cast(data.dtype), node.cast(data, DType.FLOAT64))


def whole(function: ImportFunction) -> ImportFunction:
    """`function` for floats, `import_whole` for integers."""
    return lambda node: import_whole(node) if is_integer(node.input(0)) else function(node)


def _exponentials(node: ImportNode, data: Value) -> tuple[Value, Value]:
    half = node.scalar_like(data, 0.5)
    up, down = node.step(ir.Exp(), data, suffix="up"), node.step(ir.Exp(), node.step(ir.Neg(), data), suffix="down")
    return node.step(ir.Mul(), up, half, suffix="half_up"), node.step(ir.Mul(), down, half, suffix="half_down")


def _sinh(node: ImportNode, data: Value) -> Value:
    """(e^x - e^-x) / 2."""
    return node.step(ir.Sub(), *_exponentials(node, data))


def _cosh(node: ImportNode, data: Value) -> Value:
    """(e^x + e^-x) / 2."""
    return node.step(ir.Add(), *_exponentials(node, data))


def _tan(node: ImportNode, data: Value) -> Value:
    """sin(x) / cos(x)."""
    return node.step(ir.Div(), node.step(ir.Sin(), data), node.step(ir.Cos(), data))


def _root_beyond(node: ImportNode, data: Value, offset: float) -> Value:
    return node.step(ir.Sqrt(), node.step(ir.Add(), data, node.scalar_like(data, offset), suffix="beyond"))


def _arcsinh(node: ImportNode, data: Value) -> Value:
    """sign(x) log(|x| + sqrt(x^2 + 1))."""
    size = node.step(ir.Abs(), data)
    square = node.step(ir.Mul(), size, size, suffix="square")
    result = node.step(ir.Log(), node.step(ir.Add(), size, _root_beyond(node, square, 1.0), suffix="sum"))
    return node.step(ir.Mul(), node.step(ir.Sign(), data), result)


def _arccosh(node: ImportNode, data: Value) -> Value:
    """log(x + sqrt(x - 1) sqrt(x + 1)), which below 1 is not a number whatever is rounded."""
    root = node.step(ir.Mul(), _root_beyond(node, data, -1.0), _root_beyond(node, data, 1.0), suffix="root")
    return node.step(ir.Log(), node.step(ir.Add(), data, root, suffix="sum"))


def in_single(op: Operator, node: ImportNode, data: Value) -> Value:
    """Import a function whose few results for integers are far enough from whole numbers that float32 tells them."""
    result = node.step(op, node.cast(data, DType.FLOAT32, suffix="single"))
    return node.cast(result, DType.FLOAT64, suffix="double")


def saturating(least: float, node: ImportNode, data: Value) -> Value:
    """Import a function of which only 0, and -1 and 1 from `least` on, are left when the fraction is dropped."""
    far = node.step(ir.GreaterOrEqual(), node.step(ir.Abs(), data), node.scalar_like(data, least))
    return node.step(ir.Mul(), node.step(ir.Sign(), data), node.cast(far, DType.FLOAT64, suffix="far"))


def logarithm(base: float, node: ImportNode, data: Value) -> Value:
    """log(x) / log(base), a little above so that powers of the base keep their whole number."""
    result = node.step(ir.Mul(), node.step(ir.Log(), data), node.scalar_like(data, 1 / math.log(base)))
    return node.step(ir.Add(), result, node.scalar_like(data, 2e-14), suffix="above")


def _cbrt(node: ImportNode, data: Value) -> Value:
    """sign(x) |x|^(1/3), or the whole number next to it where that is the root."""
    size = node.step(ir.Abs(), data)
    root = node.step(ir.Pow(), size, node.scalar_like(data, 1 / 3))
    near = node.step(ir.Round(), root)
    cube = node.step(ir.Mul(), node.step(ir.Mul(), near, near, suffix="square"), near, suffix="cube")
    root = node.step(ir.Where(), node.step(ir.Equal(), cube, size), near, root, suffix="root")
    return node.step(ir.Mul(), node.step(ir.Sign(), data), root)


def import_sigmoid(node: ImportNode) -> Value:
    """1 / (1 + e^-x) of integers: x is negated as an integer, of which the lowest has no -x."""
    data = node.input(0)
    assert data.dtype is not None
    small = data.dtype.bits < 32
    negated = node.step(ir.Neg(), node.cast(data, DType.INT32) if small else data)
    bottom = node.step(ir.Exp(), node.cast(negated, DType.FLOAT64, suffix="wide"))
    bottom = node.step(ir.Add(), bottom, node.constant(1.0, DType.FLOAT64), suffix="bottom")
    node.decide(
        DecisionKind.INTEGER_DATA, f"{data.dtype} data goes through sigmoid as float64; the fraction is dropped"
    )
    return node.emit(ir.Cast(data.dtype), node.step(ir.Reciprocal(), bottom))


# Functions whose results, or arguments, span more than float32 holds: of float64 data too they are composed.
SPANNING: frozenset[Composition] = frozenset({_arccosh, _arcsinh, _cosh, _sinh, _tan})

COMPOSITIONS: dict[str, Composition | None] = {
    "arccos": partial(in_single, ir.Acos()),
    "arccosh": _arccosh,
    "arcsin": partial(in_single, ir.Asin()),
    "arcsinh": _arcsinh,
    "arctan": partial(in_single, ir.Atan()),
    "arctanh": partial(in_single, ir.Atanh()),
    "cbrt": _cbrt,
    "cos": None,
    "cosh": _cosh,
    "erf": partial(saturating, 6.0),
    "exp": None,
    "expm1": None,
    "log": None,
    "log10": partial(logarithm, 10.0),
    "log1p": None,
    "log2": partial(logarithm, 2.0),
    "rcbrt": lambda node, data: node.step(ir.Reciprocal(), data),
    "reciprocal": None,
    "rsqrt": None,
    "sin": None,
    "sinh": _sinh,
    "softsign": lambda node, data: node.step(
        ir.Div(), data, node.step(ir.Add(), node.step(ir.Abs(), data), node.scalar_like(data, 1.0))
    ),
    "sqrt": None,
    "tan": _tan,
    "tanh": partial(saturating, 20.0),
}
IN_SINGLE = ("degrees", "radians", "square")
ROUNDING = ("_contrib_round_ste", "ceil", "fix", "floor", "rint", "round", "trunc")


def with_integers(table: dict[str, ImportFunction]) -> dict[str, ImportFunction]:
    """Return the table, its functions of real numbers taking integers too."""
    result = dict(table)
    for name, function in table.items():
        if name in COMPOSITIONS:
            result[name] = partial(on_integers, function, COMPOSITIONS[name])
        elif name in IN_SINGLE:
            result[name] = partial(on_integers, function, None, wide=DType.FLOAT32)
        elif name in ROUNDING:
            result[name] = whole(function)
    return result


def power(node: ImportNode, op: ir.Pow, base: Value, exponent: Value) -> Value:
    """Return the base raised to the power. Integers go through float32, the fraction dropped, as in MXNet."""
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
    """Return the remainder with the sign of the divisor, which is known: C's fmod, plus the divisor where its sign
    differs."""
    rest = node.step(ir.Mod(fmod=True), left, right, suffix="fmod")
    zero = node.scalar_like(left, 0)
    other = node.step(ir.Less() if positive else ir.Greater(), rest, zero, suffix="other_sign")
    return node.emit(ir.Where(), other, node.step(ir.Add(), rest, right, suffix="moved"), rest)


def modulo(node: ImportNode, left: Value, right: Value) -> Value:
    """Return the remainder with the divisor's sign; where the divisor is 0, MXNet gives 0."""
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
    """Return whether the elements may be below 0."""
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
