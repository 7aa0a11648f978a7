"""Reductions over axes, positions of extremes, and the k largest elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ..errors import ShapeError
from ..types import UNKNOWN, Dim, DType, Shape, TensorType, dim_max, dim_min, format_shape, product
from .base import Known, Operand, Operator, Values, normalize_axis, operator, refine


class _Reduce(Operator):
    """What the reductions share: the axes of the int64 vector `axes`, all of them if it is absent or empty.

    With `noop_with_empty_axes` an absent or empty `axes` reduces nothing. `keepdims` keeps reduced axes as 1.
    """

    inputs = ("data", "axes?")
    outputs = ("reduced",)
    reads = frozenset({1})
    keepdims: bool = True
    noop_with_empty_axes: bool = False

    def infer(self, x: TensorType, axes: Operand = None, *, values: Values) -> TensorType:
        if axes is None:
            return TensorType(x.dtype, self._reduced(x.shape, ()))
        known = values[1].integers() if len(values) > 1 and values[1] is not None else None
        if known is not None:
            return TensorType(x.dtype, self._reduced(x.shape, known))
        if x.shape is None:
            return TensorType(x.dtype, None)
        if self.keepdims:
            return TensorType(x.dtype, (UNKNOWN,) * len(x.shape))
        count = axes.shape[0] if axes.shape else UNKNOWN
        rest = len(x.shape) - count if isinstance(count, int) and count else None
        return TensorType(x.dtype, None if rest is None else (UNKNOWN,) * max(rest, 0))

    def _reduced(self, shape: Shape | None, axes: Sequence[int]) -> Shape | None:
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

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        shape = results[0].shape
        wanted = (UNKNOWN,) * len(shape) if shape is not None and self.keepdims else None
        return (refine(operands[0], wanted, results[0].dtype), *operands[1:])


def _fold(op: _Reduce, values: Values, combine: Callable[[Sequence[Dim]], Dim]) -> tuple[Known | None, ...]:
    """The reduction of a vector with known elements."""
    data = values[0]
    axes = values[1].integers() if len(values) > 1 and values[1] is not None else ()
    if data is None or len(data.shape) != 1 or axes is None or (not axes and op.noop_with_empty_axes):
        return (None,)
    if not data.elements:
        return (None,)
    found = combine(data.elements)
    return (Known.vector((found,)) if op.keepdims else Known.scalar(found),)


def _total(elements: Sequence[Dim]) -> Dim:
    total: Dim = 0
    for element in elements:
        total = total + element
    return total


def _extreme(combine: Callable[[Dim, Dim], Dim]) -> Callable[[Sequence[Dim]], Dim]:
    def run(elements: Sequence[Dim]) -> Dim:
        found = elements[0]
        for element in elements[1:]:
            found = combine(found, element)
        return found

    return run


@operator
class ReduceSum(_Reduce):
    """The sum over axes. Source: ONNX ReduceSum-13."""

    keepdims: bool = True
    noop_with_empty_axes: bool = False

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        return _fold(self, values, _total)


@operator
class ReduceProd(_Reduce):
    """The product over axes. Source: ONNX ReduceProd-18."""

    keepdims: bool = True
    noop_with_empty_axes: bool = False

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        return _fold(self, values, product)


@operator
class ReduceMax(_Reduce):
    """The largest element over axes. Source: ONNX ReduceMax-20."""

    keepdims: bool = True
    noop_with_empty_axes: bool = False

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        return _fold(self, values, _extreme(dim_max))


@operator
class ReduceMin(_Reduce):
    """The smallest element over axes. Source: ONNX ReduceMin-20."""

    keepdims: bool = True
    noop_with_empty_axes: bool = False

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        return _fold(self, values, _extreme(dim_min))


def _reduce(name: str, text: str) -> type[Operator]:
    """A reduction of which no known elements are followed."""
    body = {
        "__doc__": f"{text} over axes. Source: ONNX {name}-18.",
        "__module__": __name__,
        "__annotations__": {"keepdims": "bool", "noop_with_empty_axes": "bool"},
        "keepdims": True,
        "noop_with_empty_axes": False,
    }
    return operator(type(name, (_Reduce,), body))


ReduceMean = _reduce("ReduceMean", "The mean")
ReduceL1 = _reduce("ReduceL1", "The sum of absolute values")
ReduceL2 = _reduce("ReduceL2", "The square root of the sum of squares")
ReduceLogSum = _reduce("ReduceLogSum", "The logarithm of the sum")
ReduceLogSumExp = _reduce("ReduceLogSumExp", "The logarithm of the sum of exponentials")
ReduceSumSquare = _reduce("ReduceSumSquare", "The sum of squares")


class _ArgReduce(Operator):
    """What the positions of extremes share."""

    inputs = ("data",)
    outputs = ("reduced",)
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

    axis: int = 0
    keepdims: bool = True
    select_last_index: bool = False


@operator
class ArgMin(_ArgReduce):
    """The index (int64) of the smallest element along `axis`, the first or with `select_last_index` the last of equals.

    Source: ONNX ArgMin-13.
    """

    axis: int = 0
    keepdims: bool = True
    select_last_index: bool = False


@operator
class TopK(Operator):
    """The K largest (or smallest) elements along `axis` and their indices (int64); of equal ones the first come first.

    K is an int64 vector of one element. Source: ONNX TopK-24.
    """

    inputs = ("X", "K")
    outputs = ("Values", "Indices")
    reads = frozenset({1})
    axis: int = -1
    largest: bool = True
    sorted: bool = True

    def infer(self, x: TensorType, k: TensorType, *, values: Values) -> tuple[TensorType, TensorType]:
        if x.shape is None:
            return x, TensorType(DType.INT64, None)
        axis = normalize_axis(self.axis, len(x.shape))
        count: Dim = UNKNOWN if values[1] is None else math.prod(values[1].shape) and values[1].elements[0]
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

__all__ = [
    "OPERATORS",
    "ArgMax",
    "ArgMin",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
    "TopK",
]
