"""Elementwise operators of MXNet's NumPy-style interface, of one and of two tensors.

Most are classic operators under another name. Two tensors may have different dtypes: both are converted to the wider
one, where any float is wider than every integer and those wider than bool. Comparisons and predicates answer bool.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.ops import activation, elementwise, scalars
from graphir.converters.mxnet.importing.ops.elementwise import Combine, by, of
from graphir.converters.mxnet.importing.ops.integers import distance, modulo, power
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import elementwise as ir
from graphir.ops.base import Operator
from graphir.types import DType


def common_dtype(node: ImportNode, left: Value, right: Value) -> DType | None:
    """Return the dtype of the result of two operands; None where one is unknown. Refuses signed with unsigned bytes."""
    first, second = left.dtype, right.dtype
    if first is None or second is None or first is second:
        return first or second
    floats = [dtype for dtype in (first, second) if dtype.is_float]
    if floats:
        return max(floats, key=lambda dtype: dtype.bits)
    if DType.BOOL not in (first, second) and first.bits == second.bits:
        node.refuse(f"operands of {first} and {second}, of which MXNet knows no common dtype")
    return second if first is DType.BOOL or (second is not DType.BOOL and second.bits > first.bits) else first


def as_dtype(node: ImportNode, value: Value, dtype: DType | None) -> Value:
    """Return the value in the dtype."""
    return value if dtype is None or value.dtype in (None, dtype) else node.cast(value, dtype)


def in_common_dtype(node: ImportNode, *, integers: bool = True) -> tuple[Value, Value]:
    """Return both operands in their common dtype.

    Without `integers` MXNet takes different dtypes of integers only if the shapes differ.
    """
    left, right = node.input(0), node.input(1)
    dtype = common_dtype(node, left, right)
    of_one_shape = node.sizes_if_known(left) is not None and left.shape == right.shape
    if left.dtype is not right.dtype and not integers and of_one_shape and dtype is not None and not dtype.is_float:
        node.refuse(f"operands of {left.dtype} and {right.dtype} and one shape, which MXNet does not take")
    return as_dtype(node, left, dtype), as_dtype(node, right, dtype)


def unless_bool(combine: Combine | Operator, of_bool: Operator | None = None) -> Combine:
    """Import an operator that for bool is `of_bool`; None: MXNet refuses bool."""
    function = by(combine) if isinstance(combine, Operator) else combine

    def combine_numbers(node: ImportNode, left: Value, right: Value) -> Value:
        if DType.BOOL not in (left.dtype, right.dtype):
            return function(node, left, right)
        if of_bool is None:
            node.refuse("operands of bool, which MXNet refuses")
        return node.emit(of_bool, left, right)

    return combine_numbers


def import_power(node: ImportNode) -> Value:
    """Return a power; of a float and an integer it is computed in float64, in which large integers stay odd or even."""
    left, right = node.input(0), node.input(1)
    dtype = common_dtype(node, left, right)
    integers = [value.dtype is not None and value.dtype.is_integer for value in (left, right)]
    if dtype in (DType.FLOAT16, DType.FLOAT32) and any(integers):
        wide = (as_dtype(node, value, DType.FLOAT64) for value in (left, right))
        return node.emit(ir.Cast(dtype), node.step(ir.Pow(), *wide, suffix="power"))
    left, right = as_dtype(node, left, dtype), as_dtype(node, right, dtype)
    if dtype is DType.BOOL:  # 0 only for 0 to the power of 1
        return node.emit(ir.Or(), left, node.step(ir.Not(), right))
    return power(node, ir.Pow(), left, right)


def import_true_divide(node: ImportNode) -> Value:
    """left / right; integers and bool become float32, or the dtype of the float that they meet."""
    left, right = node.input(0), node.input(1)
    dtype = common_dtype(node, left, right)
    floats = [value.dtype for value in (left, right) if value.dtype is not None and value.dtype.is_float]
    if dtype is not None and left.dtype is not right.dtype and len(floats) != 1:
        node.refuse(f"operands of {left.dtype} and {right.dtype}, which MXNet takes for no {node.op}")
    dtype = DType.FLOAT32 if dtype is not None and not dtype.is_float else dtype
    return node.emit(ir.Div(), as_dtype(node, left, dtype), as_dtype(node, right, dtype))


def same_dtypes(node: ImportNode) -> tuple[Value, Value]:
    """Both operands, refused unless they have one dtype."""
    left, right = node.input(0), node.input(1)
    if None not in (left.dtype, right.dtype) and left.dtype is not right.dtype:
        node.refuse(f"operands of {left.dtype} and {right.dtype}, which MXNet wants to be one")
    return left, right


def of_one_dtype(takes: Callable[[DType], bool], what: str, node: ImportNode) -> tuple[Value, Value]:
    """Both operands, of one dtype that MXNet `takes`; `what` says which those are."""
    left, right = same_dtypes(node)
    if left.dtype is not None and not takes(left.dtype):
        node.refuse(f"operands of {left.dtype}: MXNet takes {what} only")
    return left, right


def comparison(
    op: Operator, node: ImportNode, left: Value, right: Value, *, of_bool: Combine | None=None, negate: bool=False
) -> Value:
    """Import a comparison that answers bool; for bool operands it is `of_bool`, if there is that."""
    if of_bool is not None and left.dtype is DType.BOOL:
        return of_bool(node, left, right)
    if not negate:
        return node.emit(op, left, right)
    return node.emit(ir.Not(), node.step(op, left, right))


def turned(op: Operator, slot: int, node: ImportNode, left: Value, right: Value) -> Value:
    """Import a logical operator of two operands, one of them negated."""
    operands = [left, right]
    operands[slot] = node.step(ir.Not(), operands[slot])
    return node.emit(op, *operands)


# NumPy-style names of classic operators, where they are not the same.
UNARY = {name: name for name in (
    "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "ceil", "cos", "cosh", "degrees", "exp",
    "expm1", "fix", "floor", "log", "log10", "log1p", "log2", "negative", "radians", "reciprocal", "rint", "sign",
    "sin", "sinh", "sqrt", "square", "tan", "trunc",
)} | {"absolute": "abs"}  # fmt: skip


def as_float(node: ImportNode) -> tuple[Value, Value]:
    """Return the data and the scalar to be divided; integers and bool become float32, as the scalar does."""
    data = node.input(0)
    dtype = data.dtype or DType.FLOAT32
    if not dtype.is_float:
        node.decide(DecisionKind.SCALAR, f"{dtype} data became float32, as MXNet divides it")
        data = node.cast(data, DType.FLOAT32)
    return data, node.scalar_like(data, float(node.attrs["scalar"]))


def as_compared(node: ImportNode) -> tuple[Value, Value]:
    """Return the data and the scalar; bool data is compared with whether the scalar is not 0, both as numbers."""
    if node.input(0).dtype is not DType.BOOL:
        return scalars.operands(node)
    scalar = float(node.attrs["scalar"])
    if scalar not in (0.0, 1.0):
        node.decide(DecisionKind.SCALAR, f"the scalar {scalar:.9g} became true for bool data, as MXNet does")
    data = node.cast(node.input(0), DType.INT32)
    return data, node.constant(int(bool(scalar)), DType.INT32)


CLASSIC = {
    "_npi_add_scalar": "_plus_scalar",
    "_npi_mod_scalar": "_mod_scalar",
    "_npi_multiply_scalar": "_mul_scalar",
    "_npi_power_scalar": "_power_scalar",
    "_npi_rmod_scalar": "_rmod_scalar",
    "_npi_rpower_scalar": "_rpower_scalar",
    "_npi_rsubtract_scalar": "_rminus_scalar",
    "_npi_subtract_scalar": "_minus_scalar",
}


IMPORTS: dict[str, ImportFunction] = {
    **{f"_npi_{name}": elementwise.IMPORTS[classic] for name, classic in UNARY.items()},
    "_np_copy": elementwise.import_identity,
    "_npi_add": of(in_common_dtype, unless_bool(ir.Add(), ir.Or())),
    "_npi_equal": of(same_dtypes, ir.Equal()),
    "_npi_greater": of(same_dtypes, partial(comparison, ir.Greater(), of_bool=partial(turned, ir.And(), 1))),
    "_npi_greater_equal": of(
        same_dtypes, partial(comparison, ir.GreaterOrEqual(), of_bool=partial(turned, ir.Or(), 1))
    ),
    "_npi_hypot": of(partial(of_one_dtype, lambda dtype: dtype.is_float, "floats"), distance),
    "_npi_less": of(same_dtypes, partial(comparison, ir.Less(), of_bool=partial(turned, ir.And(), 0))),
    "_npi_less_equal": of(same_dtypes, partial(comparison, ir.LessOrEqual(), of_bool=partial(turned, ir.Or(), 0))),
    "_npi_logical_not": lambda node: node.emit(ir.Not(), node.cast(node.input(0), DType.BOOL)),
    "_npi_mod": of(partial(in_common_dtype, integers=False), unless_bool(modulo)),
    "_npi_multiply": of(in_common_dtype, unless_bool(ir.Mul(), ir.And())),
    "_npi_not_equal": of(same_dtypes, partial(comparison, ir.Equal(), of_bool=by(ir.Xor()), negate=True)),
    "_npi_power": import_power,
    "_npi_subtract": of(partial(in_common_dtype, integers=False), unless_bool(ir.Sub())),
    "_npi_tanh": activation.IMPORTS["tanh"],
    "_npi_true_divide": import_true_divide,
    "_npx_relu": activation.IMPORTS["relu"],
    "_npx_sigmoid": activation.IMPORTS["sigmoid"],
    **{name: scalars.IMPORTS[classic] for name, classic in CLASSIC.items()},
    "_npi_equal_scalar": of(as_compared, ir.Equal()),
    "_npi_greater_equal_scalar": of(as_compared, ir.GreaterOrEqual()),
    "_npi_greater_scalar": of(as_compared, ir.Greater()),
    "_npi_less_equal_scalar": of(as_compared, ir.LessOrEqual()),
    "_npi_less_scalar": of(as_compared, ir.Less()),
    "_npi_not_equal_scalar": of(as_compared, partial(comparison, ir.Equal(), negate=True)),
    "_npi_rtrue_divide_scalar": of(as_float, ir.Div(), reverse=True),
    "_npi_true_divide_scalar": of(as_float, ir.Div()),
}
