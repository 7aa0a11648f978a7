"""Elementwise operators: unary, binary with and without broadcasting, with scalars, comparisons."""

from __future__ import annotations

import math

from graphir.graph import Value
from graphir.ops import elementwise as ir
from graphir.ops.base import Operator
from graphir.types import DType

from ..context import ImportFunction, ImportNode


def unary(op: Operator) -> ImportFunction:
    """A unary operator that the IR has under another name."""

    def import_unary(node: ImportNode) -> Value:
        return node.emit(op, node.input(0))

    return import_unary


def binary(op: Operator) -> ImportFunction:
    """A binary operator that the IR has: `elemwise_*` with equal shapes, `broadcast_*` without."""

    def import_binary(node: ImportNode) -> Value:
        return node.emit(op, node.input(0), node.input(1))

    return import_binary


def number(node: ImportNode, data: Value) -> Value:
    """The attribute `scalar` as a constant. For integer data MXNet drops its fraction, which is a decision."""
    scalar = float(node.attrs["scalar"])
    dtype = data.dtype or DType.FLOAT32
    if (dtype.is_integer or dtype is DType.BOOL) and not scalar.is_integer():
        node.decide("scalar", f"the scalar {scalar} is cut to {math.trunc(scalar)} for {dtype} data, as MXNet does")
        scalar = math.trunc(scalar)
    return node.scalar_like(data, scalar)


def with_scalar(op: Operator, *, reverse: bool = False) -> ImportFunction:
    """`data op scalar`, or `scalar op data` with `reverse`."""

    def import_scalar(node: ImportNode) -> Value:
        data = node.input(0)
        scalar = number(node, data)
        return node.emit(op, scalar, data) if reverse else node.emit(op, data, scalar)

    return import_scalar


def _as_data(node: ImportNode, condition: Value, like: Value) -> Value:
    """MXNet's comparisons give 0 and 1 in the operands' dtype."""
    return node.emit(ir.Cast(like.dtype or DType.FLOAT32), condition)


def comparison(op: Operator, *, negate: bool = False) -> ImportFunction:
    """A comparison of two tensors."""

    def import_comparison(node: ImportNode) -> Value:
        left, right = node.input(0), node.input(1)
        found = node.step(op, left, right)
        if negate:
            found = node.step(ir.Not(), found)
        return _as_data(node, found, left)

    return import_comparison


def scalar_comparison(op: Operator, *, negate: bool = False) -> ImportFunction:
    """A comparison with the attribute `scalar`, which stays as it is: 1.5 is no integer, but integers compare with it."""

    def import_comparison(node: ImportNode) -> Value:
        data = node.input(0)
        compared, scalar = data, float(node.attrs["scalar"])
        if data.dtype is not None and not data.dtype.is_float and not scalar.is_integer():
            compared = node.step(ir.Cast(DType.FLOAT32), data)
        found = node.step(op, compared, node.scalar_like(compared, scalar))
        if negate:
            found = node.step(ir.Not(), found)
        return _as_data(node, found, data)

    return import_comparison


def _truth(node: ImportNode, value: Value) -> Value:
    """Whether each element is not zero."""
    return node.step(ir.Cast(DType.BOOL), value)


def logical(op: Operator) -> ImportFunction:
    """A logical operator on two tensors of numbers, where anything but 0 is true."""

    def import_logical(node: ImportNode) -> Value:
        left = node.input(0)
        return _as_data(node, node.step(op, _truth(node, left), _truth(node, node.input(1))), left)

    return import_logical


def scalar_logical(op: Operator) -> ImportFunction:
    """A logical operator on a tensor and the attribute `scalar`."""

    def import_logical(node: ImportNode) -> Value:
        data = node.input(0)
        scalar = node.constant(bool(node.attrs["scalar"]))
        return _as_data(node, node.step(op, _truth(node, data), scalar), data)

    return import_logical


def import_logical_not(node: ImportNode) -> Value:
    """1 where the element is 0, else 0."""
    data = node.input(0)
    return _as_data(node, node.step(ir.Not(), _truth(node, data)), data)


def import_add_n(node: ImportNode) -> Value:
    """The sum of any number of tensors of one shape."""
    values = node.inputs()
    if len(values) == 1:
        return values[0]
    return node.emit(ir.Sum() if len(values) > 2 else ir.Add(same_shape=True), *values)


def import_clip(node: ImportNode) -> Value:
    """Limits to [a_min, a_max]; a limit that is not finite limits nothing."""
    data = node.input(0)
    low, high = node.attrs["a_min"], node.attrs["a_max"]
    lower = None if low is None or math.isinf(low) else node.scalar_like(data, low)
    upper = None if high is None or math.isinf(high) else node.scalar_like(data, high)
    return node.emit(ir.Clip(), data, lower, upper)


def import_identity(node: ImportNode) -> Value:
    """Operators that pass their first input on."""
    return node.input(0)


def import_cast(node: ImportNode) -> Value:
    """Conversion to the attribute `dtype`."""
    return node.emit(ir.Cast(DType.of(node.attrs["dtype"])), node.input(0))


def import_square(node: ImportNode) -> Value:
    """x * x."""
    data = node.input(0)
    return node.emit(ir.Mul(), data, data)


def import_rsqrt(node: ImportNode) -> Value:
    """1 / sqrt(x)."""
    return node.emit(ir.Reciprocal(), node.step(ir.Sqrt(), node.input(0)))


def import_where(node: ImportNode) -> Value:
    """x where the condition is not 0, else y; a condition vector chooses whole rows."""
    condition, x, y = node.inputs()
    if condition.dtype is not DType.BOOL:
        condition = _truth(node, condition)
    if condition.rank == 1 and (x.rank or 1) > 1:
        from graphir.ops.shape import Reshape

        condition = node.step(Reshape(), condition, node.vector([-1] + [1] * (node.rank(x) - 1)), suffix="rows")
    return node.emit(ir.Where(), condition, x, y)


def filled_like(fill: float) -> ImportFunction:
    """`zeros_like` and `ones_like`: data times 0 would keep infinities and NaN, so the shape is taken alone."""

    def import_filled(node: ImportNode) -> Value:
        from graphir.ops.shape import Expand, Shape

        data = node.input(0)
        return node.emit(Expand(), node.scalar_like(data, fill), node.step(Shape(), data))

    return import_filled


def scaled(factor: float, op: Operator | None = None) -> ImportFunction:
    """`op` (if given) of the data, times a constant."""

    def import_scaled(node: ImportNode) -> Value:
        data = node.input(0)
        value = data if op is None else node.step(op, data)
        return node.emit(ir.Mul(), value, node.scalar_like(data, factor))

    return import_scaled


def import_hypot(node: ImportNode) -> Value:
    """sqrt(a^2 + b^2)."""
    left = node.input(0)
    right = node.input(1) if len(node) > 1 else number(node, left)
    total = node.step(ir.Add(), node.step(ir.Mul(), left, left), node.step(ir.Mul(), right, right))
    return node.emit(ir.Sqrt(), total)


SAME = {"same_shape": True}
ARITHMETIC: dict[str, tuple[type[Operator], str]] = {
    "add": (ir.Add, "plus"),
    "sub": (ir.Sub, "minus"),
    "mul": (ir.Mul, "mul"),
    "div": (ir.Div, "div"),
}
COMPARISONS: dict[str, tuple[type[Operator], bool]] = {
    "equal": (ir.Equal, False),
    "not_equal": (ir.Equal, True),
    "greater": (ir.Greater, False),
    "greater_equal": (ir.GreaterOrEqual, False),
    "lesser": (ir.Less, False),
    "lesser_equal": (ir.LessOrEqual, False),
}
UNARY: dict[str, Operator] = {
    "abs": ir.Abs(),
    "arccos": ir.Acos(),
    "arccosh": ir.Acosh(),
    "arcsin": ir.Asin(),
    "arcsinh": ir.Asinh(),
    "arctan": ir.Atan(),
    "arctanh": ir.Atanh(),
    "ceil": ir.Ceil(),
    "cos": ir.Cos(),
    "cosh": ir.Cosh(),
    "erf": ir.Erf(),
    "exp": ir.Exp(),
    "floor": ir.Floor(),
    "log": ir.Log(),
    "negative": ir.Neg(),
    "reciprocal": ir.Reciprocal(),
    "rint": ir.Round(),
    "sign": ir.Sign(),
    "sin": ir.Sin(),
    "sinh": ir.Sinh(),
    "sqrt": ir.Sqrt(),
    "tan": ir.Tan(),
}
LOGICAL: dict[str, Operator] = {"and": ir.And(), "or": ir.Or(), "xor": ir.Xor()}


def _table() -> dict[str, ImportFunction]:
    found: dict[str, ImportFunction] = {name: unary(op) for name, op in UNARY.items()}
    for name, (op, scalar_name) in ARITHMETIC.items():
        found[f"elemwise_{name}"] = binary(op(**SAME))
        found[f"broadcast_{name}"] = binary(op())
        found[f"_{scalar_name}_scalar"] = with_scalar(op())
    for name, (op, negate) in COMPARISONS.items():
        found[f"broadcast_{name}"] = comparison(op(), negate=negate)
        found[f"_{name}"] = comparison(op(**SAME), negate=negate)
        found[f"_{name}_scalar"] = scalar_comparison(op(), negate=negate)
    for name, combine in LOGICAL.items():
        found[f"broadcast_logical_{name}"] = logical(combine)
        found[f"_logical_{name}"] = logical(combine)
        found[f"_logical_{name}_scalar"] = scalar_logical(combine)
    return found


IMPORTS: dict[str, ImportFunction] = _table() | {
    "_rminus_scalar": with_scalar(ir.Sub(), reverse=True),
    "_rdiv_scalar": with_scalar(ir.Div(), reverse=True),
    "_power_scalar": with_scalar(ir.Pow()),
    "_rpower_scalar": with_scalar(ir.Pow(), reverse=True),
    "_mod_scalar": with_scalar(ir.Mod()),
    "_rmod_scalar": with_scalar(ir.Mod(), reverse=True),
    "_maximum_scalar": with_scalar(ir.Max()),
    "_minimum_scalar": with_scalar(ir.Min()),
    "_hypot_scalar": import_hypot,
    "_maximum": binary(ir.Max()),
    "_minimum": binary(ir.Min()),
    "_power": binary(ir.Pow(same_shape=True)),
    "_mod": binary(ir.Mod(same_shape=True)),
    "_hypot": import_hypot,
    "broadcast_maximum": binary(ir.Max()),
    "broadcast_minimum": binary(ir.Min()),
    "broadcast_power": binary(ir.Pow()),
    "broadcast_mod": binary(ir.Mod()),
    "broadcast_hypot": import_hypot,
    "logical_not": import_logical_not,
    "add_n": import_add_n,
    "clip": import_clip,
    "square": import_square,
    "rsqrt": import_rsqrt,
    "where": import_where,
    "Cast": import_cast,
    "amp_cast": import_cast,
    "_copy": import_identity,
    "BlockGrad": import_identity,
    "Dropout": import_identity,
    "_identity_with_attr_like_rhs": import_identity,
    "IdentityAttachKLSparseReg": import_identity,
    "zeros_like": filled_like(0.0),
    "ones_like": filled_like(1.0),
    "degrees": scaled(180 / math.pi),
    "radians": scaled(math.pi / 180),
    "log2": scaled(1 / math.log(2), ir.Log()),
    "log10": scaled(1 / math.log(10), ir.Log()),
}

__all__ = ["IMPORTS"]
