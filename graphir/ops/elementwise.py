"""Operators that work element by element, with numpy's broadcasting where there are several operands."""

from __future__ import annotations

from typing import Any, ClassVar

from graphir.errors import ShapeError
from graphir.types import UNKNOWN, DType, TensorType, unify_shape

from . import dtypes, elements
from .base import Known, Operand, Operator, Values, like_result, operator, refine, same_dtype
from .broadcasting import broadcast, wanted_shapes
from .dtypes import BOOL, COMMON, CONVERTIBLE, FLOATS, FLOATS_OF_8_BITS, INDICES, NUMBERS, SIGNED, WIDE_NUMBERS, DTypes
from .elements import Function
from .known import choose, converted, each, filled
from .steps import of_joined
from .traits import EXPONENTIALS, OUT_OF_RANGE, POSITIVE, SIGNED_SHARE, DecisionTrait, Elementwise, Rounding, Saturation
from .work import Counted, Each


class _Unary(Operator):
    """One operand; the result has its type, and known elements where `follow` says what becomes of an element."""

    inputs = ("X",)
    rounding, elementwise = Rounding.ROUNDS, Elementwise.ALONE
    work = Each()
    follow: ClassVar[Function | None] = None
    infer_inputs = like_result

    def infer(self, x: TensorType) -> TensorType:
        return x

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        function = type(self).follow
        return (None,) if function is None else each(function, operands, values)


class _Predicate(Operator):
    """One operand; the result has its shape and is boolean."""

    inputs = ("X",)
    takes = (FLOATS | FLOATS_OF_8_BITS,)
    rounding, decides, elementwise = Rounding.TESTS, DecisionTrait.NOTHING, Elementwise.ALONE
    work = Each()

    def infer(self, x: TensorType) -> TensorType:
        return TensorType(DType.BOOL, x.shape)

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        return (refine(operands[0], results[0].shape),)


class _Binary(Operator):
    """Two operands of one dtype that broadcast. With `same_shape` the source promises that their shapes are equal."""

    inputs = ("A", "B")
    outputs = ("C",)
    takes = (NUMBERS, NUMBERS)
    rounding, elementwise = Rounding.ROUNDS, Elementwise.BROADCAST
    work = Each()
    same_shape: bool = False
    result: DType | None = None
    follow: ClassVar[Function | None] = None

    def infer(self, a: TensorType, b: TensorType) -> TensorType:
        dtype = same_dtype(a, b)
        shape = unify_shape(a.shape, b.shape) if self.same_shape else broadcast(a.shape, b.shape)
        return TensorType(self.result or dtype, shape)

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        dtype = same_dtype(*operands) if self.result else same_dtype(*operands, results[0])
        shape = results[0].shape
        if not self.same_shape:
            return tuple(map(refine, operands, wanted_shapes(operands, shape), [dtype] * 2))
        for operand in operands:
            shape = unify_shape(shape, operand.shape if operand is not None else None)
        return tuple(refine(operand, shape, dtype) for operand in operands)

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        function = type(self).follow
        return (None,) if function is None else each(function, operands, values)


@operator
class Add(_Binary):
    """A + B. Source: ONNX Add-14."""

    same_shape: bool = False
    follow = elements.add


@operator
class Sub(_Binary):
    """A - B. Source: ONNX Sub-14."""

    same_shape: bool = False
    follow = elements.subtract


@operator
class Mul(_Binary):
    """A * B. Source: ONNX Mul-14."""

    same_shape: bool = False
    follow = elements.multiply


@operator
class Div(_Binary):
    """A / B; integers are divided toward zero. Source: ONNX Div-14."""

    same_shape: bool = False

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        dtype = same_dtype(*operands)
        if dtype is None:
            return (None,)
        return each(elements.ratio if dtype.is_float else elements.quotient, operands, values)


@operator
class Mod(_Binary):
    """The remainder of A / B: with the sign of B, or with `fmod` that of A, as C's fmod. Source: ONNX Mod-13."""

    decides = DecisionTrait.STEPS
    fmod: bool = False
    same_shape: bool = False

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        return each(elements.remainder if self.fmod else elements.modulo, operands, values)


@operator
class Pow(_Binary):
    """A raised to the power B; the result has A's dtype. Source: ONNX Pow-15."""

    takes = (FLOATS | INDICES, NUMBERS)
    stays_wide = OUT_OF_RANGE
    same_shape: bool = False
    follow = elements.power

    def infer(self, a: TensorType, b: TensorType) -> TensorType:
        shape = unify_shape(a.shape, b.shape) if self.same_shape else broadcast(a.shape, b.shape)
        return TensorType(a.dtype, shape)

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        shape = results[0].shape if self.same_shape else None
        return refine(operands[0], shape, results[0].dtype), refine(operands[1], shape)


@operator
class PRelu(Operator):
    """X where X >= 0, else slope * X; the slope broadcasts to X's shape, not the other way. Source: ONNX PRelu-16."""

    inputs = ("X", "slope")
    takes = (WIDE_NUMBERS, WIDE_NUMBERS)
    rounding, elementwise = Rounding.ROUNDS, Elementwise.BROADCAST
    work = Each()

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
    """Two operands of one dtype that broadcast; the result is boolean."""

    rounding = Rounding.EXACT
    result: DType | None = DType.BOOL


def _derive_operator(
    base: type[Operator], name: str, text: str, since: int, follow: Function | None, **stated: object
) -> type[Operator]:
    """Return an operator that differs from others of its family by name, text and what it states."""
    doc = f"{text} Source: ONNX {name}-{since}."
    body = {"__doc__": doc, "__module__": __name__, "__annotations__": {}, **stated}
    return operator(type(name, (base,), body if follow is None else {**body, "follow": staticmethod(follow)}))


def _unary(
    name: str, text: str, since: int, follow: Function | None = None, takes: DTypes = FLOATS, **traits: object
) -> type[Operator]:
    """Return a unary operator without attributes. `traits` are those that are other than its family's."""
    return _derive_operator(_Unary, name, text, since, follow, takes=(takes,), **traits)


def _comparison(name: str, text: str, since: int, follow: Function, takes: DTypes = NUMBERS) -> type[Operator]:
    """Return a comparison whose only attribute is `same_shape`."""
    stated: Any = {"takes": (takes, takes), "__annotations__": {"same_shape": "bool"}, "same_shape": False}
    decides = DecisionTrait.NOTHING if takes is BOOL else DecisionTrait.STEPS
    return _derive_operator(_Comparison, name, text, since, follow, decides=decides, **stated)


_EXACT: Any = {"rounding": Rounding.EXACT, "decides": DecisionTrait.NOTHING}
_STEPS: Any = {"rounding": Rounding.EXACT, "decides": DecisionTrait.STEPS}

Equal = _comparison("Equal", "Whether A == B.", 19, elements.equal, COMMON - dtypes.COMPLEX)
Greater = _comparison("Greater", "Whether A > B.", 13, elements.greater)
GreaterOrEqual = _comparison("GreaterOrEqual", "Whether A >= B.", 16, elements.greater_or_equal)
Less = _comparison("Less", "Whether A < B.", 13, elements.less)
LessOrEqual = _comparison("LessOrEqual", "Whether A <= B.", 16, elements.less_or_equal)
And = _comparison("And", "Logical A and B.", 7, elements.both, BOOL)
Or = _comparison("Or", "Logical A or B.", 7, elements.either, BOOL)
Xor = _comparison("Xor", "Logical A exclusive-or B.", 7, elements.unequal, BOOL)

Abs = _unary("Abs", "The absolute value.", 13, elements.absolute, NUMBERS, **_EXACT, bounds=POSITIVE)
Acos = _unary("Acos", "The arc cosine, radians.", 22, saturates=Saturation.BOUNDED)
Acosh = _unary("Acosh", "The inverse hyperbolic cosine.", 22)
Asin = _unary("Asin", "The arc sine, radians.", 22, saturates=Saturation.BOUNDED)
Asinh = _unary("Asinh", "The inverse hyperbolic sine.", 22)
Atan = _unary("Atan", "The arc tangent, radians.", 22, saturates=Saturation.BOUNDED)
Atanh = _unary("Atanh", "The inverse hyperbolic tangent.", 22)
Ceil = _unary("Ceil", "Rounded up.", 13, elements.ceil, **_STEPS)
Cos = _unary("Cos", "The cosine of radians.", 22, saturates=Saturation.BOUNDED, bounds=SIGNED_SHARE)
Cosh = _unary("Cosh", "The hyperbolic cosine.", 22, stays_wide=EXPONENTIALS)
Erf = _unary("Erf", "The error function.", 13, None, NUMBERS, rounding=Rounding.OF_ONE, saturates=Saturation.BOUNDED,
             bounds=SIGNED_SHARE)  # fmt: skip
Exp = _unary("Exp", "e to the power X.", 13, rounding=Rounding.EXPONENTIAL, saturates=Saturation.NONE, bounds=POSITIVE)
Floor = _unary("Floor", "Rounded down.", 13, elements.floor, **_STEPS)
Identity = _unary("Identity", "X itself.", 24, elements.itself, None, rounding=Rounding.VIEWS, work=Rounding.VIEWS.work)
Log = _unary("Log", "The natural logarithm.", 13, stays_wide=EXPONENTIALS)
Neg = _unary("Neg", "-X.", 13, elements.negative, SIGNED, **_EXACT)
Not = _unary("Not", "Logical not X.", 1, elements.negate, BOOL, **_EXACT)
Reciprocal = _unary("Reciprocal", "1 / X.", 13, elements.reciprocal, stays_wide=OUT_OF_RANGE)
Round = _unary("Round", "Rounded to the nearest integer, halves to even.", 22, elements.rounded, **_STEPS)
Sign = _unary("Sign", "-1, 0 or 1.", 13, elements.sign, NUMBERS, **_STEPS, saturates=Saturation.BOUNDED,
              bounds=SIGNED_SHARE)  # fmt: skip
Sin = _unary("Sin", "The sine of radians.", 22, saturates=Saturation.BOUNDED, bounds=SIGNED_SHARE)
Sinh = _unary("Sinh", "The hyperbolic sine.", 22, stays_wide=EXPONENTIALS)
Sqrt = _unary("Sqrt", "The square root.", 13, elements.square_root, stays_wide=OUT_OF_RANGE, bounds=POSITIVE)
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
    takes = (FLOATS,)
    rounding, elementwise = Rounding.ROUNDS, Elementwise.BROADCAST
    work = Counted(of_joined)

    def infer(self, *operands: TensorType) -> TensorType:
        return TensorType(same_dtype(*operands), broadcast(*(operand.shape for operand in operands)))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        dtype = same_dtype(*operands, results[0])
        return tuple(map(refine, operands, wanted_shapes(operands, results[0].shape), [dtype] * len(operands)))

    def known_by(self, function: Function, operands: tuple[Operand, ...], values: Values) -> Values:
        """Return the known elements by a function of two; those of a single operand as they are."""
        return values if len(operands) == 1 else each(function, operands, values)


@operator
class Sum(_Variadic):
    """The sum of all operands. Source: ONNX Sum-13."""

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        return self.known_by(elements.add_whole, operands, values)


@operator
class Mean(_Variadic):
    """The mean of all operands. Source: ONNX Mean-13."""

    rounding = Rounding.SUMS


@operator
class Max(_Variadic):
    """The elementwise maximum of all operands. Source: ONNX Max-13."""

    rounding, decides = Rounding.EXACT, DecisionTrait.LIMITS
    takes = (NUMBERS,)

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        return self.known_by(elements.largest, operands, values)


@operator
class Min(_Variadic):
    """The elementwise minimum of all operands. Source: ONNX Min-13."""

    rounding, decides = Rounding.EXACT, DecisionTrait.LIMITS
    takes = (NUMBERS,)

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        return self.known_by(elements.smallest, operands, values)


@operator
class Clip(Operator):
    """X limited to [min, max], scalars that may be absent. Source: ONNX Clip-13."""

    inputs = ("X", "min?", "max?")
    takes = (NUMBERS, NUMBERS, NUMBERS)
    rounding, decides, saturates, nonexpansive = Rounding.EXACT, DecisionTrait.LIMITS, Saturation.BOUNDED, True
    elementwise = Elementwise.ALONE
    work = Each(2)
    infer_inputs = like_result

    def infer(self, x: TensorType, low: Operand = None, high: Operand = None) -> TensorType:
        return TensorType(same_dtype(x, low, high), x.shape)

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        result = values[0]
        for slot, function in ((1, elements.largest), (2, elements.smallest)):
            if slot < len(operands) and operands[slot] is not None:
                limit = values[slot]
                bound = Known.scalar(limit.elements[0] if limit is not None and len(limit.elements) == 1 else UNKNOWN)
                (result,) = each(function, (operands[0], TensorType(None, ())), (result, bound))
        return (result,)


@operator
class Where(Operator):
    """X where the condition holds, else Y; all three broadcast. Source: ONNX Where-16."""

    inputs = ("condition", "X", "Y")
    takes = (BOOL, COMMON, COMMON)
    rounding, elementwise = Rounding.MOVES, Elementwise.BROADCAST

    def infer(self, condition: TensorType, x: TensorType, y: TensorType) -> TensorType:
        if condition.dtype not in (None, DType.BOOL):
            raise ShapeError(f"the condition is {condition.dtype}, expected bool")
        return TensorType(same_dtype(x, y), broadcast(condition.shape, x.shape, y.shape))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        condition, x, y = operands
        wanted = wanted_shapes(operands, results[0].shape)
        dtype = same_dtype(x, y, results[0])
        return refine(condition, wanted[0], DType.BOOL), refine(x, wanted[1], dtype), refine(y, wanted[2], dtype)

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        tensors = filled(operands, values)
        return (None if tensors is None else choose(*tensors),)


@operator
class Cast(Operator):
    """X converted to the dtype `to`. Source: ONNX Cast-24."""

    inputs = ("X",)
    takes = (CONVERTIBLE,)
    rounding, elementwise = Rounding.HOLDS, Elementwise.ALONE
    to: DType
    saturate: bool = True

    def infer(self, x: TensorType) -> TensorType:
        return TensorType(self.to, x.shape)

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        return (refine(operands[0], results[0].shape),)

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        return converted(operands, values, self.to)


OPERATORS = (
    *(Add, Sub, Mul, Div, Mod, Pow, PRelu, Equal, Greater, GreaterOrEqual, Less, LessOrEqual, And, Or, Xor),
    *(Abs, Acos, Acosh, Asin, Asinh, Atan, Atanh, Ceil, Cos, Cosh, Erf, Exp, Floor, Identity, Log, Neg, Not),
    *(Reciprocal, Round, Sign, Sin, Sinh, Sqrt, Tan, IsNaN, IsInf, Sum, Mean, Max, Min, Clip, Where, Cast),
)
# Whose operands may change places.
COMMUTATIVE: frozenset[type[Operator]] = frozenset({Add, Mul, Max, Min, Sum})
