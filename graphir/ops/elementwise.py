"""Operators that work element by element, with numpy's broadcasting where there are several operands."""

from __future__ import annotations

from collections.abc import Callable
from operator import and_, eq, ge, gt, le, lt, or_, xor
from typing import ClassVar

from ..dims import lower_bound
from ..errors import ShapeError
from ..types import Dim, DType, TensorType, dim_max, dim_min, unify_shape
from .base import Known, Operand, Operator, Values, broadcast, operator, refine, same_dtype


class _Unary(Operator):
    """One operand; the result has its type."""

    inputs = ("X",)

    def infer(self, x: TensorType) -> TensorType:
        return x

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        return (refine(operands[0], results[0].shape, results[0].dtype),)


class _Predicate(Operator):
    """One operand; the result has its shape and is boolean."""

    inputs = ("X",)

    def infer(self, x: TensorType) -> TensorType:
        return TensorType(DType.BOOL, x.shape)

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        return (refine(operands[0], results[0].shape),)


class _Binary(Operator):
    """Two operands of one dtype that broadcast. With `same_shape` the source promises that their shapes are equal."""

    inputs = ("A", "B")
    outputs = ("C",)
    same_shape: bool = False
    result: DType | None = None

    def infer(self, a: TensorType, b: TensorType) -> TensorType:
        dtype = same_dtype(a, b)
        shape = unify_shape(a.shape, b.shape) if self.same_shape else broadcast(a.shape, b.shape)
        return TensorType(self.result or dtype, shape)

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        dtype = same_dtype(*operands) if self.result else same_dtype(*operands, results[0])
        shape = None
        if self.same_shape:
            shape = results[0].shape
            for operand in operands:
                shape = unify_shape(shape, operand.shape if operand is not None else None)
        return tuple(refine(operand, shape, dtype) for operand in operands)


def _fold(values: Values, combine: Callable[[Dim, Dim], Dim]) -> tuple[Known | None, ...]:
    """Elementwise arithmetic on known elements; scalars and one-element vectors broadcast."""
    first = values[0]
    if first is None or any(value is None for value in values):
        return (None,)
    for second in values[1:]:
        assert second is not None
        shape = broadcast(first.shape, second.shape)
        count = max(len(first.elements), len(second.elements))
        if shape is None or {len(first.elements), len(second.elements)} - {1, count} or len(shape) > 1:
            return (None,)
        left = first.elements * (count if len(first.elements) == 1 else 1)
        right = second.elements * (count if len(second.elements) == 1 else 1)
        first = Known(tuple(int(dim) for dim in shape if isinstance(dim, int)), tuple(map(combine, left, right)))
    return (first,)


@operator
class Add(_Binary):
    """A + B. Source: ONNX Add-14."""

    same_shape: bool = False

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        return _fold(values, lambda a, b: a + b)


@operator
class Sub(_Binary):
    """A - B. Source: ONNX Sub-14."""

    same_shape: bool = False

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        return _fold(values, lambda a, b: a - b)


@operator
class Mul(_Binary):
    """A * B. Source: ONNX Mul-14."""

    same_shape: bool = False

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        return _fold(values, lambda a, b: a * b)


def _is_natural(element: Dim) -> bool:
    bound = lower_bound(element)
    return bound is not None and bound >= 0


@operator
class Div(_Binary):
    """A / B; integers are divided toward zero. Source: ONNX Div-14."""

    same_shape: bool = False

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        right = values[1]
        if right is None or any(not isinstance(element, int) or element <= 0 for element in right.elements):
            return (None,)
        left = values[0]
        if left is None or any(not _is_natural(element) for element in left.elements):
            return (None,)  # below zero ONNX rounds the other way
        return _fold(values, lambda a, b: a // b)


@operator
class Mod(_Binary):
    """The remainder of A / B: with the sign of B, or with `fmod` that of A, as C's fmod. Source: ONNX Mod-13."""

    fmod: bool = False
    same_shape: bool = False


@operator
class Pow(_Binary):
    """A raised to the power B; the result has A's dtype. Source: ONNX Pow-15."""

    same_shape: bool = False

    def infer(self, a: TensorType, b: TensorType) -> TensorType:
        return TensorType(a.dtype, broadcast(a.shape, b.shape))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        return refine(operands[0], None, results[0].dtype), operands[1]


@operator
class PRelu(Operator):
    """X where X >= 0, else slope * X; the slope broadcasts to X's shape, not the other way. Source: ONNX PRelu-16."""

    inputs = ("X", "slope")

    def infer(self, x: TensorType, slope: TensorType) -> TensorType:
        dtype = same_dtype(x, slope)
        shape = broadcast(x.shape, slope.shape)
        if shape is not None and x.shape is not None and len(shape) != len(x.shape):
            raise ShapeError("the slope has more axes than X")
        return TensorType(dtype, x.shape)

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        dtype = same_dtype(*operands, results[0])
        return refine(operands[0], results[0].shape, dtype), refine(operands[1], None, dtype)


class _Comparison(_Binary):
    """Two operands of one dtype that broadcast; the result is boolean, and known where both operands are numbers."""

    result: DType | None = DType.BOOL
    holds: ClassVar[Callable[[int, int], bool]]

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        if any(value is None or value.integers() is None for value in values):
            return (None,)
        return _fold(values, lambda a, b: int(type(self).holds(a, b)))  # type: ignore[arg-type]


def _unary(name: str, text: str, since: int) -> type[Operator]:
    """A unary operator without attributes."""
    body = {"__doc__": f"{text} Source: ONNX {name}-{since}.", "__module__": __name__, "__annotations__": {}}
    return operator(type(name, (_Unary,), body))


def _binary(name: str, text: str, since: int, base: type[Operator]) -> type[Operator]:
    """A binary operator whose only attribute is `same_shape`."""
    body = {
        "__doc__": f"{text} Source: ONNX {name}-{since}.",
        "__module__": __name__,
        "__annotations__": {"same_shape": "bool"},
        "same_shape": False,
    }
    return operator(type(name, (base,), body))


def _comparison(name: str, text: str, since: int, holds: Callable[[int, int], bool]) -> type[Operator]:
    """A comparison, and when it holds for numbers."""
    base = type(f"_{name}", (_Comparison,), {"__doc__": text, "__module__": __name__, "holds": staticmethod(holds)})
    return _binary(name, text, since, base)


Equal = _comparison("Equal", "Whether A == B.", 19, eq)
Greater = _comparison("Greater", "Whether A > B.", 13, gt)
GreaterOrEqual = _comparison("GreaterOrEqual", "Whether A >= B.", 16, ge)
Less = _comparison("Less", "Whether A < B.", 13, lt)
LessOrEqual = _comparison("LessOrEqual", "Whether A <= B.", 16, le)
And = _comparison("And", "Logical A and B.", 7, and_)
Or = _comparison("Or", "Logical A or B.", 7, or_)
Xor = _comparison("Xor", "Logical A exclusive-or B.", 7, xor)

Abs = _unary("Abs", "The absolute value.", 13)
Acos = _unary("Acos", "The arc cosine, radians.", 22)
Acosh = _unary("Acosh", "The inverse hyperbolic cosine.", 22)
Asin = _unary("Asin", "The arc sine, radians.", 22)
Asinh = _unary("Asinh", "The inverse hyperbolic sine.", 22)
Atan = _unary("Atan", "The arc tangent, radians.", 22)
Atanh = _unary("Atanh", "The inverse hyperbolic tangent.", 22)
Ceil = _unary("Ceil", "Rounded up.", 13)
Cos = _unary("Cos", "The cosine of radians.", 22)
Cosh = _unary("Cosh", "The hyperbolic cosine.", 22)
Erf = _unary("Erf", "The error function.", 13)
Exp = _unary("Exp", "e to the power X.", 13)
Floor = _unary("Floor", "Rounded down.", 13)
Identity = _unary("Identity", "X itself.", 24)
Log = _unary("Log", "The natural logarithm.", 13)
Neg = _unary("Neg", "-X.", 13)
Not = _unary("Not", "Logical not X.", 1)
Reciprocal = _unary("Reciprocal", "1 / X.", 13)
Round = _unary("Round", "Rounded to the nearest integer, halves to even.", 22)
Sign = _unary("Sign", "-1, 0 or 1.", 13)
Sin = _unary("Sin", "The sine of radians.", 22)
Sinh = _unary("Sinh", "The hyperbolic sine.", 22)
Sqrt = _unary("Sqrt", "The square root.", 13)
Tan = _unary("Tan", "The tangent of radians.", 22)


@operator
class IsNaN(_Predicate):
    """Whether X is not a number. Source: ONNX IsNaN-20."""


@operator
class IsInf(_Predicate):
    """Whether X is infinite, of a sign that counts. Source: ONNX IsInf-20."""

    detect_negative: bool = True
    detect_positive: bool = True


class _Variadic(Operator):
    """One or more operands of one dtype that broadcast."""

    inputs = ("data_0*",)

    def infer(self, *operands: TensorType) -> TensorType:
        return TensorType(same_dtype(*operands), broadcast(*(operand.shape for operand in operands)))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        dtype = same_dtype(*operands, results[0])
        return tuple(refine(operand, None, dtype) for operand in operands)


@operator
class Sum(_Variadic):
    """The sum of all operands. Source: ONNX Sum-13."""


@operator
class Mean(_Variadic):
    """The mean of all operands. Source: ONNX Mean-13."""


@operator
class Max(_Variadic):
    """The elementwise maximum of all operands. Source: ONNX Max-13."""

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        return _fold(values, dim_max)


@operator
class Min(_Variadic):
    """The elementwise minimum of all operands. Source: ONNX Min-13."""

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        return _fold(values, dim_min)


@operator
class Clip(Operator):
    """X limited to [min, max], scalars that may be absent. Source: ONNX Clip-13."""

    inputs = ("X", "min?", "max?")

    def infer(self, x: TensorType, low: Operand = None, high: Operand = None) -> TensorType:
        return TensorType(same_dtype(x, low, high), x.shape)

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        return (refine(operands[0], results[0].shape, results[0].dtype), *operands[1:])


@operator
class Where(Operator):
    """X where the condition holds, else Y; all three broadcast. Source: ONNX Where-16."""

    inputs = ("condition", "X", "Y")

    def infer(self, condition: TensorType, x: TensorType, y: TensorType) -> TensorType:
        if condition.dtype not in (None, DType.BOOL):
            raise ShapeError(f"the condition is {condition.dtype}, expected bool")
        return TensorType(same_dtype(x, y), broadcast(condition.shape, x.shape, y.shape))


@operator
class Cast(Operator):
    """X converted to the dtype `to`. Source: ONNX Cast-24."""

    inputs = ("X",)
    to: DType
    saturate: bool = True

    def infer(self, x: TensorType) -> TensorType:
        return TensorType(self.to, x.shape)

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        return (refine(operands[0], results[0].shape),)

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        return (values[0] if self.to in (DType.INT64, DType.INT32) else None,)


OPERATORS = (
    *(Add, Sub, Mul, Div, Mod, Pow, PRelu, Equal, Greater, GreaterOrEqual, Less, LessOrEqual, And, Or, Xor),
    *(Abs, Acos, Acosh, Asin, Asinh, Atan, Atanh, Ceil, Cos, Cosh, Erf, Exp, Floor, Identity, Log, Neg, Not),
    *(Reciprocal, Round, Sign, Sin, Sinh, Sqrt, Tan, IsNaN, IsInf, Sum, Mean, Max, Min, Clip, Where, Cast),
)

__all__ = [
    "OPERATORS",
    "Abs",
    "Acos",
    "Acosh",
    "Add",
    "And",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "Cast",
    "Ceil",
    "Clip",
    "Cos",
    "Cosh",
    "Div",
    "Equal",
    "Erf",
    "Exp",
    "Floor",
    "Greater",
    "GreaterOrEqual",
    "Identity",
    "IsInf",
    "IsNaN",
    "Less",
    "LessOrEqual",
    "Log",
    "Max",
    "Mean",
    "Min",
    "Mod",
    "Mul",
    "Neg",
    "Not",
    "Or",
    "PRelu",
    "Pow",
    "Reciprocal",
    "Round",
    "Sign",
    "Sin",
    "Sinh",
    "Sqrt",
    "Sub",
    "Sum",
    "Tan",
    "Where",
    "Xor",
]
