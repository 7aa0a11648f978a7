"""Operators that pick elements by condition or value, and running sums and products."""

from __future__ import annotations

from itertools import accumulate
from typing import ClassVar

from graphir.errors import ShapeError
from graphir.types import UNKNOWN, Dim, DType, Shape, TensorType, Unknown, format_shape, product

from . import elements
from .base import (
    Element,
    Known,
    Operand,
    Operator,
    Values,
    elements_of,
    expect_number,
    family,
    like_result,
    normalize_axis,
    operator,
    refine,
)
from .counts import new_size
from .dtypes import BOOL, COMMON, INDICES, WIDE_NUMBERS
from .known import array_of, known_array
from .traits import DecisionTrait, Rounding
from .work import Each, EachRead, Open


def check_indices(indices: TensorType) -> None:
    """Raise ShapeError unless the dtype is one of an index."""
    if indices.dtype not in (None, DType.INT32, DType.INT64):
        raise ShapeError(f"the indices are {indices.dtype}, expected int32 or int64")


@operator
class Compress(Operator):
    """The slices of X along `axis` (elements of flattened X if None) where the boolean vector `condition` holds.

    Source: ONNX Compress-11.
    """

    inputs = ("X", "condition")
    counts = True
    takes = (COMMON, BOOL)
    reads = frozenset({1})
    rounding = Rounding.MOVES
    axis: int | None = None

    def infer(self, x: TensorType, condition: TensorType, *, values: Values) -> TensorType:
        if condition.dtype not in (None, DType.BOOL):
            raise ShapeError(f"the condition is {condition.dtype}, expected bool")
        if condition.shape is not None and len(condition.shape) != 1:
            raise ShapeError(f"the condition has the shape {format_shape(condition.shape)}, expected one axis")
        count = None if values[1] is None else values[1].integers()
        size: Dim = new_size() if count is None else sum(count[: self._length(x.shape)])
        if self.axis is None:
            return TensorType(x.dtype, (size,))
        if x.shape is None:
            return TensorType(x.dtype, None)
        axis = normalize_axis(self.axis, len(x.shape))
        return TensorType(x.dtype, (*x.shape[:axis], size, *x.shape[axis + 1 :]))

    def _length(self, shape: Shape | None) -> int | None:
        """Return how many entries of a condition count, as there are no slices behind; None if all do."""
        size = UNKNOWN if shape is None else product(shape)
        if shape is not None and self.axis is not None:
            size = shape[normalize_axis(self.axis, len(shape))]
        return size if isinstance(size, int) else None

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        shape, wanted = results[0].shape, None
        if shape is not None and self.axis is not None:
            axis = normalize_axis(self.axis, len(shape))
            wanted = (*shape[:axis], UNKNOWN, *shape[axis + 1 :])
        return refine(operands[0], wanted, results[0].dtype), refine(operands[1], (UNKNOWN,), DType.BOOL)

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        data, condition = values[0], None if values[1] is None else values[1].integers()
        if data is None or condition is None:
            return (None,)
        import numpy as np

        chosen = np.array(condition, bool)[: self._length(data.shape)]
        return (known_array(np.compress(chosen, array_of(data), self.axis)),)


@operator
class NonZero(Operator):
    """The places of the elements of X that are not 0: int64 (rank of X, how many), in row-major order.

    For a scalar ONNX says that there are no rows, but onnxruntime gives one: their number is open.
    Source: ONNX NonZero-13.
    """

    inputs = ("X",)
    counts = True
    takes = (COMMON,)
    reads = frozenset({0})
    rounding, decides = Rounding.TESTS, DecisionTrait.STEPS
    work = EachRead()

    def infer(self, x: TensorType, *, values: Values) -> TensorType:
        indices = _true_places(values[0])
        rank = len(x.shape) if x.shape else UNKNOWN
        return TensorType(DType.INT64, (rank, new_size() if indices is None else indices.shape[1]))

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        return (_true_places(values[0]),)


def _true_places(x: Known | None) -> Known | None:
    """Return where the elements are not 0, None if that is open for one, or what is said of scalars."""
    if x is None or not x.shape:
        return None
    import numpy as np

    flags = [elements.truth(element) for element in x.elements]
    if any(isinstance(element, Unknown) for element in flags):
        return None
    return known_array(np.array(np.nonzero(np.array(flags, bool).reshape(x.shape)), dtype=object))


@operator
class Unique(Operator):
    """The different elements of X (slices along `axis`), their first places, for each its place among them, and counts.

    Source: ONNX Unique-11.
    """

    inputs = ("X",)
    counts = True
    outputs = ("Y", "indices", "inverse_indices", "counts")
    takes = (COMMON,)
    reads = frozenset({0})
    rounding, decides = Rounding.EXACT, DecisionTrait.ORDERS
    work = Open("how many comparisons it takes depends on the elements")
    axis: int | None = None
    sorted: bool = True

    def infer(self, x: TensorType, *, values: Values) -> tuple[TensorType, ...]:
        vector = TensorType(DType.INT64, (new_size(),))
        if self.axis is None:
            numbers = None if values[0] is None else values[0].integers()
            size: Dim = new_size() if numbers is None else len(set(numbers))
            vector = TensorType(DType.INT64, (size,))
            return TensorType(x.dtype, (size,)), vector, TensorType(DType.INT64, (x.elements(),)), vector
        if x.shape is None:
            return TensorType(x.dtype, None), vector, TensorType(DType.INT64, (UNKNOWN,)), vector
        axis = normalize_axis(self.axis, len(x.shape))
        kept = TensorType(x.dtype, (*x.shape[:axis], new_size(), *x.shape[axis + 1 :]))
        return kept, vector, TensorType(DType.INT64, (x.shape[axis],)), vector


@family
class _Cumulative(Operator):
    """What the running sum and the running product share."""

    inputs = ("X", "axis")
    takes = (WIDE_NUMBERS, INDICES)
    reads = frozenset({1})
    rounding = Rounding.SUMS
    work = Each()
    exclusive: bool = False
    reverse: bool = False
    fold: ClassVar[elements.Function]
    empty: ClassVar[int]
    infer_inputs = like_result

    def infer(self, x: TensorType, axis: TensorType, *, values: Values) -> TensorType:
        check_indices(axis)
        expect_number(axis, "the axis")
        known = elements_of(values, 1)
        numbers = None if known is None else known.integers()
        if numbers and x.shape is not None:
            normalize_axis(numbers[0], len(x.shape))
        return x

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        data, axis = values[0], None if values[1] is None else values[1].integers()
        if data is None or not axis:
            return (None,)
        import numpy as np

        lanes = np.moveaxis(array_of(data), axis[0], -1)
        result = np.empty(lanes.shape, dtype=object)
        for index in np.ndindex(lanes.shape[:-1]):
            lane: list[Element] = lanes[index].tolist()
            start: Element = self.empty
            sums = list(accumulate(lane[::-1] if self.reverse else lane, type(self).fold, initial=start))
            sums = sums[:-1] if self.exclusive else sums[1:]
            result[index] = sums[::-1] if self.reverse else sums
        return (known_array(np.moveaxis(result, -1, axis[0])),)


@operator
class CumSum(_Cumulative):
    """The running sum of X along `axis`, a scalar; `exclusive` leaves the element itself out, `reverse` sums backwards.

    Source: ONNX CumSum-14.
    """

    fold = elements.add_whole
    empty = 0


@operator
class CumProd(_Cumulative):
    """The running product of X along `axis`, a scalar; `exclusive` leaves the element itself out (the first is 1).

    With `reverse` it runs backwards. Source: ONNX CumProd-26.
    """

    fold = elements.multiply_whole
    empty = 1
