"""Reductions over axes, positions of extremes, and the k largest elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from graphir.errors import ShapeError
from graphir.types import UNKNOWN, Dim, DType, Shape, TensorType, format_shape

from . import elements
from .base import Known, Operand, Operator, Values, elements_of, expect_number, family, normalize_axis, operator, refine
from .dtypes import BOOL, BYTES, INT64, NUMBERS, WIDE_NUMBERS, DTypes
from .elements import Function
from .known import folded
from .traits import POSITIVE, DecisionTrait, Rounding, Saturation
from .work import EachRead, Open


class Reduce(Operator):
    """What the reductions share: the axes of the int64 vector `axes`, all of them if it is absent or empty.

    With `noop_with_empty_axes` an absent or empty `axes` reduces nothing. `keepdims` keeps reduced axes as 1.
    """

    inputs = ("data", "axes?")
    outputs = ("reduced",)
    reads = frozenset({1})
    rounding = Rounding.SUMS
    work = EachRead()
    keepdims: bool = True
    noop_with_empty_axes: bool = False
    fold: ClassVar[Function | None] = None
    empty: ClassVar[int | None] = None

    def infer(self, x: TensorType, axes: Operand = None, *, values: Values) -> TensorType:
        if axes is None:
            return TensorType(x.dtype, self._reduce_shape(x.shape, ()))
        known = values[1].integers() if len(values) > 1 and values[1] is not None else None
        if known is not None:
            return TensorType(x.dtype, self._reduce_shape(x.shape, known))
        if x.shape is None:
            return TensorType(x.dtype, None)
        if self.keepdims:
            return TensorType(x.dtype, (UNKNOWN,) * len(x.shape))
        count = axes.shape[0] if axes.shape else UNKNOWN
        rest = len(x.shape) - count if isinstance(count, int) and count else None
        return TensorType(x.dtype, None if rest is None else (UNKNOWN,) * max(rest, 0))

    def _reduce_shape(self, shape: Shape | None, axes: Sequence[int]) -> Shape | None:
        if not axes and self.noop_with_empty_axes:
            return shape
        if shape is None:
            return None if axes or self.keepdims else ()
        chosen = [normalize_axis(axis, len(shape)) for axis in axes or range(len(shape))]
        if len(set(chosen)) != len(chosen):
            raise ShapeError(f"axes {list(axes)} name an axis of {format_shape(shape)} twice")
        if self.keepdims:
            return tuple([1 if axis in chosen else dim for axis, dim in enumerate(shape)])
        return tuple([dim for axis, dim in enumerate(shape) if axis not in chosen])

    def infer_inputs(
        self, operands: tuple[Operand, ...], results: tuple[TensorType, ...], values: Values = ()
    ) -> tuple[Operand, ...]:
        shape = results[0].shape
        axes = elements_of(values, 1)
        stated = None if axes is None else axes.integers()
        wanted: Shape | None = None
        if shape is not None and stated:
            wanted = self._open_reduced_axes(shape, stated)
        elif shape is not None and self.keepdims:
            wanted = (UNKNOWN,) * len(shape)
        return (refine(operands[0], wanted, results[0].dtype), *operands[1:])

    def _open_reduced_axes(self, shape: Shape, axes: Sequence[int]) -> Shape:
        """Return the operand's shape, unknown on the reduced axes."""
        rank = len(shape) if self.keepdims else len(shape) + len(axes)
        chosen = {normalize_axis(axis, rank) for axis in axes}
        if self.keepdims:
            return tuple([UNKNOWN if axis in chosen else dim for axis, dim in enumerate(shape)])
        kept = iter(shape)
        return tuple([UNKNOWN if axis in chosen else next(kept) for axis in range(rank)])

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        data, function = values[0], type(self).fold
        axes: tuple[int, ...] | None = ()
        if len(operands) > 1 and operands[1] is not None:
            axes = None if values[1] is None else values[1].integers()
        if data is None or function is None or axes is None:
            return (None,)
        if not axes and self.noop_with_empty_axes:
            return (data,)
        rank = len(data.shape)
        chosen = [normalize_axis(axis, rank) for axis in axes or range(rank)]
        dtype = None if operands[0] is None else operands[0].dtype
        return (folded(function, data, dtype, chosen, self.keepdims, self.empty),)


def _reduction(
    name: str,
    text: str,
    since: int,
    fold: Function | None = None,
    empty: int | None = None,
    takes: DTypes = WIDE_NUMBERS,
    **traits: object,
) -> Any:
    """Return a reduction; `fold` says how known elements come together, `empty` what no elements at all give."""
    body = {
        "__doc__": f"{text} over axes. Source: ONNX {name}-{since}.",
        "__module__": __name__,
        "__annotations__": {"keepdims": "bool", "noop_with_empty_axes": "bool"},
        "keepdims": True,
        "noop_with_empty_axes": False,
        "fold": fold if fold is None else staticmethod(fold),
        "empty": empty,
        "takes": (takes, INT64),
        **traits,
    }
    return operator(type(name, (Reduce,), body))


ReduceSum = _reduction("ReduceSum", "The sum", 13, elements.add_whole, 0)
ReduceProd = _reduction("ReduceProd", "The product", 18, elements.multiply_whole, 1)
_EXTREME: Any = {"takes": WIDE_NUMBERS | BYTES | BOOL, "rounding": Rounding.EXACT, "decides": DecisionTrait.LIMITS,
                 "nonexpansive": True}  # fmt: skip
ReduceMax = _reduction("ReduceMax", "The largest element", 20, elements.largest, **_EXTREME)
ReduceMin = _reduction("ReduceMin", "The smallest element", 20, elements.smallest, **_EXTREME)
ReduceMean = _reduction("ReduceMean", "The mean", 18, nonexpansive=True)
ReduceL1 = _reduction("ReduceL1", "The sum of absolute values", 18, bounds=POSITIVE)
ReduceL2 = _reduction("ReduceL2", "The square root of the sum of squares", 18, bounds=POSITIVE)
ReduceLogSum = _reduction("ReduceLogSum", "The logarithm of the sum", 18)
ReduceLogSumExp = _reduction("ReduceLogSumExp", "The logarithm of the sum of exponentials", 18)
ReduceSumSquare = _reduction("ReduceSumSquare", "The sum of squares", 18, bounds=POSITIVE)
ReduceL1.work = ReduceL2.work = ReduceSumSquare.work = EachRead(2)
ReduceLogSumExp.work = EachRead(4)  # largest, difference, exponential, sum


@family
class _ArgReduce(Operator):
    """What the positions of extremes share."""

    inputs = ("data",)
    outputs = ("reduced",)
    takes = (NUMBERS,)
    rounding, decides, saturates = Rounding.EXACT, DecisionTrait.ORDERS, Saturation.SATURATES
    work = EachRead()
    axis: int = 0
    keepdims: bool = True
    select_last_index: bool = False

    def infer(self, x: TensorType) -> TensorType:
        if x.shape is None:
            return TensorType(DType.INT64, None)
        axis = normalize_axis(self.axis, len(x.shape))
        kept = (1,) if self.keepdims else ()
        return TensorType(DType.INT64, (*x.shape[:axis], *kept, *x.shape[axis + 1 :]))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        shape = results[0].shape
        if shape is None:
            return operands
        rank = len(shape) + (0 if self.keepdims else 1)
        axis = normalize_axis(self.axis, rank)
        after = shape[axis + 1 :] if self.keepdims else shape[axis:]
        return (refine(operands[0], (*shape[:axis], UNKNOWN, *after)),)


@operator
class ArgMax(_ArgReduce):
    """The index (int64) of the largest element along `axis`, the first or with `select_last_index` the last of equals.

    Source: ONNX ArgMax-13.
    """


@operator
class ArgMin(_ArgReduce):
    """The index (int64) of the smallest element along `axis`, the first or with `select_last_index` the last of equals.

    Source: ONNX ArgMin-13.
    """


@operator
class TopK(Operator):
    """The K largest (or smallest) elements along `axis` and their indices (int64); of equal ones the first come first.

    K is an int64 vector of one element. Source: ONNX TopK-24.
    """

    inputs = ("X", "K")
    outputs = ("Values", "Indices")
    takes = (NUMBERS, INT64)
    reads = frozenset({1})
    rounding, decides, orderings = Rounding.EXACT, DecisionTrait.CUTS, frozenset({1})
    work = Open("how many comparisons it takes depends on the elements")
    axis: int = -1
    largest: bool = True
    sorted: bool = True

    def infer(self, x: TensorType, k: TensorType, *, values: Values) -> tuple[TensorType, TensorType]:
        expect_number(k, "K")
        if x.shape is None:
            return x, TensorType(DType.INT64, None)
        axis = normalize_axis(self.axis, len(x.shape))
        count: Dim = UNKNOWN if values[1] is None or not math.prod(values[1].shape) else values[1].dims()[0]
        size = x.shape[axis]
        if isinstance(count, int) and isinstance(size, int) and not 0 <= count <= size:
            raise ShapeError(f"K is {count}, but axis {axis} of {format_shape(x.shape)} has {size} elements")
        shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
        return TensorType(x.dtype, shape), TensorType(DType.INT64, shape)

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        shape = results[0].shape
        wanted = None
        if shape is not None:
            axis = normalize_axis(self.axis, len(shape))
            wanted = (*shape[:axis], UNKNOWN, *shape[axis + 1 :])
        return refine(operands[0], wanted, results[0].dtype), refine(operands[1], None, DType.INT64)

OPERATORS = (
    *(ReduceSum, ReduceMean, ReduceMax, ReduceMin, ReduceProd, ReduceL1, ReduceL2, ReduceLogSum, ReduceLogSumExp),
    *(ReduceSumSquare, ArgMax, ArgMin, TopK),
)
