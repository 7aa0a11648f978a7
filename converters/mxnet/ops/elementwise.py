"""Elementwise operators: unary, binary with and without broadcasting, with scalars, comparisons."""

from __future__ import annotations

import math

from graphir.converters.mxnet.context import ImportFunction, ImportNode
from graphir.converters.mxnet.ops.elementwise_unary import COMPOSITIONS
from graphir.graph import Value
from graphir.ops import elementwise as ir
from graphir.ops.base import Operator
from graphir.ops.shape import Expand, Reshape, Shape
from graphir.types import DType, TensorType


def unary(op: Operator) -> ImportFunction:
    """A unary operator that the IR has under another name."""

    def import_unary(node: ImportNode) -> Value:
        return node.emit(op, node.input(0))

    return import_unary


def binary(op: Operator, *, alike: bool = False) -> ImportFunction:
    """A binary operator that the IR has: `elemwise_*` with equal shapes, `broadcast_*` without.

    `alike`: MXNet wants equal shapes, of which the IR's operator knows nothing.
    """

    def import_binary(node: ImportNode) -> Value:
        if alike:
            node.same_shapes(node.input(0), node.input(1))
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
    """`data op scalar`, or `scalar op data` with `reverse`.

    Integers meet a scalar that the file calls no integer as float64, and so is the result.
    """

    def import_scalar(node: ImportNode) -> Value:
        data = _scalar_operand(node)
        scalar = number(node, data)
        return node.emit(op, scalar, data) if reverse else node.emit(op, data, scalar)

    return import_scalar


def power(node: ImportNode, op: ir.Pow, base: Value, exponent: Value) -> Value:
    """The base raised to the power. ONNX has powers of floats, int32 and int64; others are cast and wrap around."""
    dtype = base.dtype
    if dtype is None or not dtype.is_integer or dtype in (DType.INT32, DType.INT64):
        return node.emit(op, base, exponent)
    wide = DType.INT64 if dtype in (DType.UINT32, DType.UINT64) else DType.INT32
    base = node.step(ir.Cast(wide), base, suffix="base")
    exponent = node.step(ir.Cast(wide), exponent, suffix="exponent")
    return node.emit(ir.Cast(dtype), node.step(op, base, exponent, suffix="power"))


def power_of(op: ir.Pow) -> ImportFunction:
    """A tensor raised to the power of another."""
    return lambda node: power(node, op, node.input(0), node.input(1))


def import_power_scalar(node: ImportNode) -> Value:
    """The data raised to the power of the attribute `scalar`."""
    data = _scalar_operand(node)
    return power(node, ir.Pow(), data, number(node, data))


def import_rpower_scalar(node: ImportNode) -> Value:
    """The attribute `scalar` raised to the power of the data."""
    data = _scalar_operand(node)
    return power(node, ir.Pow(), number(node, data), data)


def _scalar_operand(node: ImportNode) -> Value:
    data = node.input(0)
    if data.dtype is None or data.dtype.is_float or node.attrs.get("is_int", True):
        return data
    node.decide("scalar", f"{data.dtype} data became float64, as is_int is False for {node.attrs['scalar']}")
    return node.step(ir.Cast(DType.FLOAT64), data)


def modulo(node: ImportNode, left: Value, right: Value, *, zero: bool = True) -> Value:
    """The remainder with the divisor's sign; where the divisor is 0 (`zero`: it may be), MXNet gives 0."""
    if not zero:
        return node.emit(ir.Mod(), left, right)
    absent = node.step(ir.Equal(), right, node.scalar_like(right, 0), suffix="by_zero")
    if right.dtype is not None and right.dtype.is_integer:
        safe = node.step(ir.Where(), absent, node.scalar_like(right, 1), right, suffix="divisor")
        return node.emit(ir.Mod(), left, safe)
    return node.emit(ir.Where(), absent, node.scalar_like(left, 0), node.step(ir.Mod(), left, right))


def import_mod(node: ImportNode) -> Value:
    """The remainder of two tensors."""
    left, right = node.input(0), node.input(1)
    if node.op == "_mod":
        node.same_shapes(left, right)
        node.graph.refine(right, TensorType(left.dtype))
    return modulo(node, left, right)


def import_mod_scalar(node: ImportNode) -> Value:
    """The remainder of the data divided by the attribute `scalar`."""
    data = _scalar_operand(node)
    if float(node.attrs["scalar"]) == 0:
        return node.emit(Expand(), node.scalar_like(data, 0), node.step(Shape(), data))
    return modulo(node, data, number(node, data), zero=False)


def import_rmod_scalar(node: ImportNode) -> Value:
    """The remainder of the attribute `scalar` divided by the data."""
    data = _scalar_operand(node)
    return modulo(node, number(node, data), data)


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
    """A comparison with the attribute `scalar`, which stays as it is: integers compare with 1.5 too."""

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
    node.same_shapes(*values)
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


def import_amp_cast(node: ImportNode) -> Value:
    """Conversion of floating data to the attribute `dtype`; other data pass."""
    data = node.input(0)
    return data if data.dtype is not None and not data.dtype.is_float else import_cast(node)


def import_amp_multicast(node: ImportNode) -> list[Value]:
    """All floating inputs in the widest dtype among them, or with `cast_narrow` in the narrowest."""
    values = node.inputs()
    if any(value.dtype is None for value in values):
        node.refuse("the dtype of an input is unknown; state the inputs' dtypes")
    floats = [value.dtype for value in values if value.dtype is not None and value.dtype.is_float]
    if not floats:
        return values
    choose = min if node.attrs["cast_narrow"] else max
    dtype = choose(floats, key=lambda found: found.bits)
    return [
        node.step(ir.Cast(dtype), value) if value.dtype in floats and value.dtype is not dtype else value
        for value in values
    ]


def import_where(node: ImportNode) -> Value:
    """x where the condition is not 0, else y; a condition vector chooses whole rows."""
    condition, x, y = node.inputs()
    for value, other in ((x, y), (y, x)):  # MXNet wants them alike, which says how large zeros of open sizes are
        node.graph.refine(value, TensorType(None, other.shape))
    if condition.dtype is not DType.BOOL:
        condition = _truth(node, condition)
    if condition.rank == 1 and (x.rank or 1) > 1:
        condition = node.step(Reshape(), condition, node.vector([-1] + [1] * (node.rank(x) - 1)), suffix="rows")
    return node.emit(ir.Where(), condition, x, y)


def filled_like(fill: float) -> ImportFunction:
    """`zeros_like` and `ones_like`: data times 0 would keep infinities and NaN, so the shape is taken alone."""

    def import_filled(node: ImportNode) -> Value:
        data = node.input(0)
        return node.emit(Expand(), node.scalar_like(data, fill), node.step(Shape(), data))

    return import_filled


def import_hypot(node: ImportNode) -> Value:
    """sqrt(a^2 + b^2)."""
    left = node.input(0)
    right = node.input(1) if len(node) > 1 else number(node, left)
    if node.op == "_hypot":
        node.same_shapes(left, right)
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
        found[f"_logical_{name}"] = logical(type(combine)(**SAME))
        found[f"_logical_{name}_scalar"] = scalar_logical(combine)
    return found


IMPORTS: dict[str, ImportFunction] = _table() | COMPOSITIONS | {
    "_rminus_scalar": with_scalar(ir.Sub(), reverse=True),
    "_rdiv_scalar": with_scalar(ir.Div(), reverse=True),
    "_power_scalar": import_power_scalar,
    "_rpower_scalar": import_rpower_scalar,
    "_mod_scalar": import_mod_scalar,
    "_rmod_scalar": import_rmod_scalar,
    "_maximum_scalar": with_scalar(ir.Max()),
    "_minimum_scalar": with_scalar(ir.Min()),
    "_hypot_scalar": import_hypot,
    "_maximum": binary(ir.Max(), alike=True),
    "_minimum": binary(ir.Min(), alike=True),
    "_power": power_of(ir.Pow(same_shape=True)),
    "_mod": import_mod,
    "_hypot": import_hypot,
    "broadcast_maximum": binary(ir.Max()),
    "broadcast_minimum": binary(ir.Min()),
    "broadcast_power": power_of(ir.Pow()),
    "broadcast_mod": import_mod,
    "broadcast_hypot": import_hypot,
    "logical_not": import_logical_not,
    "add_n": import_add_n,
    "clip": import_clip,
    "where": import_where,
    "Cast": import_cast,
    "amp_cast": import_amp_cast,
    "amp_multicast": import_amp_multicast,
    "_grad_add": binary(ir.Add(same_shape=True)),
    "_contrib_gradientmultiplier": import_identity,
    "_copy": import_identity,
    "BlockGrad": import_identity,
    "_identity_with_attr_like_rhs": import_identity,
    "IdentityAttachKLSparseReg": import_identity,
    "zeros_like": filled_like(0.0),
    "ones_like": filled_like(1.0),
}

__all__ = ["IMPORTS"]
