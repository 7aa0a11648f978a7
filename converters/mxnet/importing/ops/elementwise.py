"""Elementwise operators: unary, binary with and without broadcasting, with scalars, comparisons."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from graphir.converters.kernel.importing import direct
from graphir.converters.kernel.numbers import converted
from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode, to_single
from graphir.converters.mxnet.importing.ops.elementwise_unary import COMPOSITIONS
from graphir.converters.mxnet.importing.ops.integers import distance, modulo, power, with_integers
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import elementwise as ir
from graphir.ops.base import Operator
from graphir.ops.shape import Expand, Reshape, Shape
from graphir.types import DType, TensorType

Operands = Callable[[ImportNode], tuple[Value, Value]]
Combine = Callable[[ImportNode, Value, Value], Value]


def of(operands: Operands, combine: Combine | Operator, *, reverse: bool = False) -> ImportFunction:
    """Return what combines two operands, with `reverse` the second and the first."""
    function = by(combine) if isinstance(combine, Operator) else combine

    def import_pair(node: ImportNode) -> Value:
        left, right = operands(node)
        return function(node, right, left) if reverse else function(node, left, right)

    return import_pair


def by(op: Operator) -> Combine:
    """Return the IR's operator of two operands."""
    return lambda node, left, right: node.emit(op, left, right)


def tensors(node: ImportNode) -> tuple[Value, Value]:
    """Return both inputs, as `broadcast_*` takes them."""
    return node.input(0), node.input(1)


def alike(node: ImportNode) -> tuple[Value, Value]:
    """Return both inputs, of one shape. Raises ShapeError."""
    node.same_shapes(node.input(0), node.input(1))
    return node.input(0), node.input(1)


def raised(op: ir.Pow) -> Combine:
    """Return a power."""
    return lambda node, left, right: power(node, op, left, right)


def as_data(op: Operator, node: ImportNode, left: Value, right: Value, *, negate: bool=False) -> Value:
    """Import a comparison, which gives 0 and 1 in the first operand's dtype."""
    result = node.step(op, left, right)
    if negate:
        result = node.step(ir.Not(), result)
    return node.emit(ir.Cast(left.dtype or DType.FLOAT32), result)


def logical(op: Operator, node: ImportNode) -> Value:
    """Import a logical operator on tensors of numbers, where anything but 0 is true."""
    truths = [node.cast(value, DType.BOOL) for value in node.inputs]
    return node.emit(ir.Cast(node.input(0).dtype or DType.FLOAT32), node.step(op, *truths))


def import_mod(node: ImportNode) -> Value:
    """Return the remainder of two tensors."""
    left, right = node.input(0), node.input(1)
    if node.op == "_mod":
        node.same_shapes(left, right)
        node.graph.refine(right, TensorType(left.dtype))
    return modulo(node, left, right)


def import_add_n(node: ImportNode) -> Value:
    """Return the sum of any number of tensors of one shape."""
    values = node.inputs
    if len(values) == 1:
        return values[0]
    node.same_shapes(*values)
    if len(values) > 2 and (values[0].dtype is None or values[0].dtype.is_float):
        return node.emit(ir.Sum(), *values)
    total = values[0]
    for value in values[1:-1]:  # ONNX's Sum knows no integers
        total = node.step(ir.Add(same_shape=True), total, value, suffix="sum")
    return node.emit(ir.Add(same_shape=True), total, values[-1])


def import_clip(node: ImportNode) -> Value:
    """Limits to [a_min, a_max]: a_max where x > a_max, else a_min where x < a_min, else x."""
    data = node.input(0)
    dtype = data.dtype or DType.FLOAT32
    low, high = (to_single(float(node.attrs[name])) for name in ("a_min", "a_max"))
    if low > high or not all(_is_limit(limit, dtype) for limit in (low, high)):
        return _clip_by_parts(node, data, low, high)
    # Onnxruntime takes the largest finite numbers for limits that are left out, which infinities would not survive.
    low, high = (-math.inf if math.isnan(low) else low), (math.inf if math.isnan(high) else high)
    is_open = [math.isinf(limit) and not dtype.is_float for limit in (low, high)]
    limits = (node.scalar_like(data, limit) for limit in (low, high))
    lower, upper = (None if left_out else limit for left_out, limit in zip(is_open, limits, strict=True))
    return node.emit(ir.Clip(), data, lower, upper)


def _is_limit(limit: float, dtype: DType) -> bool:
    """Return whether elements of the dtype can be held against the limit in their own dtype."""
    if dtype.is_float or math.isnan(limit):
        return True
    # MXNet compares as float32, in which integers beyond 2^24 are rounded.
    return abs(limit) < 1 << 24 and converted(limit, dtype) == math.trunc(limit)


def _clip_by_parts(node: ImportNode, data: Value, low: float, high: float) -> Value:
    """Return the definition itself: for limits in the wrong order, and for those that integers cannot hold."""
    wide = data if data.dtype is None or data.dtype.is_float else node.cast(data, DType.FLOAT32)
    result = data
    for limit, compare in ((low, ir.Less()), (high, ir.Greater())):
        beyond = node.step(compare, wide, node.scalar_like(wide, limit))
        result = node.step(ir.Where(), beyond, node.scalar_like(data, limit), result, suffix="limited")
    return result


def import_identity(node: ImportNode) -> Value:
    """Operators that pass their first input on."""
    return node.input(0)


def import_cast(node: ImportNode) -> Value:
    """Conversion to the attribute `dtype`."""
    wanted, data = DType.of(node.attrs["dtype"]), node.input(0)
    if wanted is DType.BFLOAT16 and data.dtype is not DType.BFLOAT16:
        node.decide(
            DecisionKind.ROUNDING,
            "MXNet's Cast drops the bits that bfloat16 lacks; here they are rounded to the nearest, as amp_cast does",
        )
    return node.emit(ir.Cast(wanted), data)


AMP = (DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32)


def import_amp_cast(node: ImportNode) -> Value:
    """Conversion of data of 16 and 32 floating bits to the attribute `dtype`; other data pass."""
    data = node.input(0)
    passes = data.dtype is not None and data.dtype not in AMP
    return data if passes else node.emit(ir.Cast(DType.of(node.attrs["dtype"])), data)


def import_amp_multicast(node: ImportNode) -> Sequence[Value]:
    """Return all inputs of 16 and 32 floating bits in float32 if one is, else in the dtype of the first input,
    whichever that is; with `cast_narrow` in the narrowest among them, of float16 and bfloat16 the last."""
    values = node.inputs
    if any(value.dtype is None for value in values):
        node.refuse("the dtype of an input is unknown; state the inputs' dtypes")
    floats = [value.dtype for value in values if value.dtype is not None and value.dtype in AMP]
    if not floats:
        return values
    if node.attrs["cast_narrow"]:
        dtype = min(reversed(floats), key=lambda result: result.bits)
    else:
        first = values[0].dtype
        assert first is not None
        dtype = DType.FLOAT32 if DType.FLOAT32 in floats else first
    return [
        node.cast(value, dtype) if value.dtype in floats and value.dtype is not dtype else value
        for value in values
    ]


def import_where(node: ImportNode) -> Value:
    """x where the condition is not 0, else y; a condition of fewer axes runs along the first ones."""
    condition, x, y = node.take_inputs(3)
    alike = [x, y, *([condition] if condition.rank is not None and condition.rank == x.rank else [])]
    for value in alike:  # MXNet wants them alike, which says how large zeros of open sizes are
        for other in alike:
            node.graph.refine(value, TensorType(None, other.shape))
    if condition.dtype is not DType.BOOL:
        condition = node.cast(condition, DType.BOOL)
    if condition.rank is not None and x.rank is not None and condition.rank != x.rank:
        condition = _along_the_first(node, condition, x)
    return node.emit(ir.Where(), condition, x, y)


def _along_the_first(node: ImportNode, condition: Value, x: Value) -> Value:
    """Return a condition whose elements each choose a stretch of x, as MXNet divides the places of x by their
    number."""
    rank, wanted = node.rank(condition), node.rank(x)
    if rank < wanted and (rank == 1 or node.shape(condition) == node.shape(x)[:rank]):
        kept = [-1] if rank == 1 else [0] * rank
        return node.step(Reshape(), condition, node.vector(kept + [1] * (wanted - rank)), suffix="rows")
    if math.prod(node.sizes(condition)) != math.prod(node.sizes(x)):
        node.refuse(f"a condition {condition.type} for operands {x.type}, whose first axes are others")
    return node.step(Reshape(), condition, node.vector(node.sizes(x)), suffix="places")


def filled_like(fill: float, node: ImportNode) -> Value:
    """`zeros_like` and `ones_like`: data times 0 would keep infinities and NaN, so the shape is taken alone."""
    data = node.input(0)
    return node.emit(Expand(), node.scalar_like(data, fill), node.step(Shape(), data))


def import_negative(node: ImportNode) -> Value:
    """-x, which for unsigned integers wraps around."""
    data = node.input(0)
    if data.dtype is not None and data.dtype.value.startswith("u"):
        return node.emit(ir.Sub(), node.scalar_like(data, 0), data)
    return node.emit(ir.Neg(), data)


def import_sign(node: ImportNode) -> Value:
    """Return -1, 0 or 1, in a strict import 0 of NaN."""
    data = node.input(0)
    is_float = data.dtype is not None and data.dtype.is_float
    if not is_float or not node.is_strict("NaN gives what the runtime has; in MXNet it gives 0"):
        return node.emit(ir.Sign(), data)
    return node.emit(ir.Where(), node.step(ir.IsNaN(), data), node.scalar_like(data, 0.0), node.step(ir.Sign(), data))


def import_abs(node: ImportNode) -> Value:
    """|x|; MXNet takes integers of 64 bits as float64, which rounds them beyond 2^53."""
    data = node.input(0)
    if data.dtype is not DType.INT64:
        return node.emit(ir.Abs(), data)
    node.decide(DecisionKind.INTEGER_DATA, "int64 data goes through abs as float64, which rounds beyond 2^53")
    return node.emit(ir.Cast(DType.INT64), node.step(ir.Abs(), node.cast(data, DType.FLOAT64)))


SAME = {"same_shape": True}
ARITHMETIC: dict[str, type[Operator]] = {"add": ir.Add, "sub": ir.Sub, "mul": ir.Mul, "div": ir.Div}
COMPARISONS: dict[str, tuple[type[Operator], bool]] = {
    "equal": (ir.Equal, False),
    "not_equal": (ir.Equal, True),
    "greater": (ir.Greater, False),
    "greater_equal": (ir.GreaterOrEqual, False),
    "lesser": (ir.Less, False),
    "lesser_equal": (ir.LessOrEqual, False),
}
UNARY: dict[str, Operator] = {
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
    "reciprocal": ir.Reciprocal(),
    "sin": ir.Sin(),
    "sinh": ir.Sinh(),
    "sqrt": ir.Sqrt(),
    "tan": ir.Tan(),
}
LOGICAL: dict[str, Operator] = {"and": ir.And(), "or": ir.Or(), "xor": ir.Xor()}


def _table() -> dict[str, ImportFunction]:
    result: dict[str, ImportFunction] = {name: direct(op) for name, op in UNARY.items()}
    for name, kind in ARITHMETIC.items():
        result[f"elemwise_{name}"] = of(tensors, kind(**SAME))
        result[f"broadcast_{name}"] = of(tensors, kind())
    for name, (op, negate) in COMPARISONS.items():
        result[f"broadcast_{name}"] = of(tensors, partial(as_data, op(), negate=negate))
        result[f"_{name}"] = of(tensors, partial(as_data, op(**SAME), negate=negate))
    for name, combine in LOGICAL.items():
        result[f"broadcast_logical_{name}"] = partial(logical, combine)
        result[f"_logical_{name}"] = partial(logical, type(combine)(**SAME))
    return result


IMPORTS: dict[str, ImportFunction] = with_integers(_table() | COMPOSITIONS) | {
    "abs": import_abs,
    "negative": import_negative,
    "sign": import_sign,
    "_maximum": of(alike, ir.Max()),
    "_minimum": of(alike, ir.Min()),
    "_power": of(tensors, raised(ir.Pow(same_shape=True))),
    "_mod": import_mod,
    "_hypot": of(alike, distance),
    "broadcast_maximum": of(tensors, ir.Max()),
    "broadcast_minimum": of(tensors, ir.Min()),
    "broadcast_power": of(tensors, raised(ir.Pow())),
    "broadcast_mod": import_mod,
    "broadcast_hypot": of(tensors, distance),
    "logical_not": partial(logical, ir.Not()),
    "add_n": import_add_n,
    "clip": import_clip,
    "where": import_where,
    "Cast": import_cast,
    "amp_cast": import_amp_cast,
    "amp_multicast": import_amp_multicast,
    "_grad_add": of(tensors, ir.Add(same_shape=True)),
    "_contrib_gradientmultiplier": import_identity,
    "_contrib_sign_ste": import_sign,
    "_copy": import_identity,
    "BlockGrad": import_identity,
    "_identity_with_attr_like_rhs": import_identity,
    "IdentityAttachKLSparseReg": import_identity,
    "zeros_like": partial(filled_like, 0.0),
    "ones_like": partial(filled_like, 1.0),
}
