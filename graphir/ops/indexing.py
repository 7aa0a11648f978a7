"""Operators that look up, place or find elements by index."""

from __future__ import annotations

import enum
from typing import Any

from graphir.errors import ShapeError
from graphir.types import UNKNOWN, Dim, DType, Shape, TensorType, format_shape, unify_dim, unify_shape

from . import elements
from .base import Known, Operand, Operator, Values, normalize_axis, operator, refine, same_dtype
from .dtypes import COMMON, INDICES, INT64, NUMBERS
from .known import array_of, combined, filled, known_array
from .selection import Compress as Compress
from .selection import CumProd as CumProd
from .selection import CumSum as CumSum
from .selection import NonZero as NonZero
from .selection import Unique as Unique
from .selection import check_indices
from .steps import of_scatter
from .traits import DecisionTrait, Rounding
from .work import Counted


@operator
class Gather(Operator):
    """Slices of `data` along `axis`, one for each element of `indices`; negative indices count from the end.

    Output: the shape of data with that axis replaced by the shape of indices. Source: ONNX Gather-13.
    """

    inputs = ("data", "indices")
    takes = (COMMON, INDICES)
    rounding = Rounding.MOVES
    axis: int = 0

    def infer(self, data: TensorType, indices: TensorType) -> TensorType:
        check_indices(indices)
        if data.shape is None or indices.shape is None:
            if data.shape is not None:
                normalize_axis(self.axis, len(data.shape))
            return TensorType(data.dtype, None)
        axis = normalize_axis(self.axis, len(data.shape))
        return TensorType(data.dtype, (*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :]))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        data, indices = operands
        shape = results[0].shape
        if data is None or data.shape is None or shape is None or len(shape) < len(data.shape) - 1:
            return refine(data, None, results[0].dtype), indices
        rank = len(data.shape)
        axis = normalize_axis(self.axis, rank)
        behind = len(shape) - (rank - axis - 1)
        dims = (*shape[:axis], data.shape[axis], *shape[behind:])
        return refine(data, dims, results[0].dtype), refine(indices, shape[axis:behind])

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        data, indices = values
        positions = None if indices is None else indices.integers()
        if data is None or indices is None or positions is None:
            return (None,)
        count = data.shape[normalize_axis(self.axis, len(data.shape))]
        if any(not -count <= position < count for position in positions):
            raise ShapeError(f"an index of {list(positions)} is outside the {count} elements")
        if len(data.shape) == 1:
            return (Known(indices.shape, tuple([data.elements[position] for position in positions])),)
        import numpy as np

        return (known_array(np.take(array_of(data), np.reshape(positions, indices.shape), self.axis)),)


@operator
class GatherElements(Operator):
    """For each element of `indices` (of data's rank) the element of data at its place, but with that index on `axis`.

    Source: ONNX GatherElements-13.
    """

    inputs = ("data", "indices")
    takes = (COMMON, INDICES)
    rounding = Rounding.MOVES
    axis: int = 0

    def infer(self, data: TensorType, indices: TensorType) -> TensorType:
        check_indices(indices)
        if data.shape is not None:
            normalize_axis(self.axis, len(data.shape))
            _same_rank(data.shape, indices.shape, "indices")
        return TensorType(data.dtype, indices.shape)

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        return refine(operands[0], None, results[0].dtype), refine(operands[1], results[0].shape)

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        data, positions = values[0], _places(values[1])
        if data is None or positions is None:
            return (None,)
        import numpy as np

        try:
            return (known_array(np.take_along_axis(array_of(data), positions, self.axis)),)
        except (IndexError, ValueError):
            return (None,)


def _places(indices: Known | None) -> Any:
    """Known indices as a numpy array, None if one is not a number."""
    import numpy as np

    numbers = None if indices is None else indices.integers()
    return None if indices is None or numbers is None else np.array(numbers, np.int64).reshape(indices.shape)


def _same_rank(data: Shape, other: Shape | None, what: str) -> None:
    if other is not None and len(other) != len(data):
        raise ShapeError(f"{what} {format_shape(other)} and data {format_shape(data)} differ in rank")


def _expect_vectors(indices: TensorType) -> None:
    """Raise ShapeError for a scalar."""
    if indices.shape == ():
        raise ShapeError("the indices are a scalar, expected vectors along the last axis")


@operator
class GatherND(Operator):
    """data at the index vectors that lie along the last axis of `indices`; the first `batch_dims` axes go together.

    Output: the shape of indices without its last axis, then the axes of data that the vectors leave. Source: ONNX
    GatherND-13.
    """

    inputs = ("data", "indices")
    takes = (COMMON, INT64)
    rounding = Rounding.MOVES
    batch_dims: int = 0

    def infer(self, data: TensorType, indices: TensorType) -> TensorType:
        if indices.dtype not in (None, DType.INT64):
            raise ShapeError(f"the indices are {indices.dtype}, expected int64")
        if indices.shape is None or data.shape is None:
            return TensorType(data.dtype, None)
        _expect_vectors(indices)
        length, batch = indices.shape[-1], self.batch_dims
        if not isinstance(length, int):
            return TensorType(data.dtype, None)
        if batch + length > len(data.shape):
            raise ShapeError(f"index vectors of {length} behind {batch} batch axes exceed {format_shape(data.shape)}")
        shared = tuple(map(unify_dim, data.shape[:batch], indices.shape[:batch]))
        return TensorType(data.dtype, (*shared, *indices.shape[batch:-1], *data.shape[batch + length :]))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        return refine(operands[0], None, results[0].dtype), refine(operands[1], None, DType.INT64)

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        data, positions = values[0], _places(values[1])
        if data is None or positions is None or self.batch_dims:
            return (None,)
        try:
            elements = array_of(data)[tuple(positions[..., axis] for axis in range(positions.shape[-1]))]
        except IndexError:
            return (None,)
        whole = len(data.shape) == positions.shape[-1] and positions.ndim == 1
        return (Known.scalar(elements) if whole else known_array(elements),)


class Reduction(enum.Enum):
    """What happens to the element that is there already when another is written to its place."""

    NONE = "none"
    ADD = "add"
    MUL = "mul"
    MAX = "max"
    MIN = "min"


FOLDS = {
    Reduction.ADD: elements.add_whole,
    Reduction.MUL: elements.multiply_whole,
    Reduction.MAX: elements.largest,
    Reduction.MIN: elements.smallest,
}


class _Scatter(Operator):
    """What both scatters share. Several updates of one place are added or multiplied in no stated order."""

    inputs = ("data", "indices", "updates")
    rounding = Rounding.MOVES
    work = Counted(of_scatter)
    reduction: Reduction

    @property
    def is_exact(self) -> bool:
        return self.reduction not in (Reduction.ADD, Reduction.MUL)

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        data, indices, updates = operands
        dtype = results[0].dtype
        return refine(data, results[0].shape, dtype), indices, refine(updates, None, dtype)


@operator
class ScatterElements(_Scatter):
    """data with the elements of `updates` written to their places, but with the index of `indices` on `axis`.

    Source: ONNX ScatterElements-18.
    """

    takes = (COMMON, INDICES, COMMON)
    axis: int = 0
    reduction: Reduction = Reduction.NONE

    def infer(self, data: TensorType, indices: TensorType, updates: TensorType) -> TensorType:
        check_indices(indices)
        if data.shape is not None:
            normalize_axis(self.axis, len(data.shape))
            _same_rank(data.shape, indices.shape, "indices")
        unify_shape(indices.shape, updates.shape)
        return TensorType(same_dtype(data, updates), data.shape)

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        positions = _places(values[1])
        if positions is None:
            return (None,)
        import numpy as np

        axis = normalize_axis(self.axis, positions.ndim)
        full = [list(position) for position in np.ndindex(positions.shape)]
        for position, index in zip(full, positions.reshape(-1).tolist(), strict=True):
            position[axis] = index
        return (_scatter_known(operands, values, [tuple(position) for position in full], self.reduction),)


def _scatter_known(
    operands: tuple[Operand, ...], values: Values, positions: list[tuple[int, ...]], reduction: Reduction
) -> Known | None:
    """data (operand 0) with the elements or slices of the updates (operand 2) written to places, in order."""
    tensors = filled((operands[0], operands[2]), (values[0], values[2]))
    if tensors is None:
        return None
    data, updates = map(array_of, tensors)
    function = FOLDS.get(reduction)
    rest = data.shape[len(positions[0]) :] if positions else ()
    for position, update in zip(positions, updates.reshape(len(positions), *rest), strict=True):
        if any(not -size <= index < size for index, size in zip(position, data.shape, strict=False)):
            return None
        data[position] = update if function is None else combined(function, data[position], update)
    return known_array(data)


@operator
class ScatterND(_Scatter):
    """data with `updates` written at the index vectors that lie along the last axis of `indices`.

    Source: ONNX ScatterND-18.
    """

    takes = (COMMON, INT64, COMMON)
    reduction: Reduction = Reduction.NONE

    def infer(self, data: TensorType, indices: TensorType, updates: TensorType) -> TensorType:
        if indices.dtype not in (None, DType.INT64):
            raise ShapeError(f"the indices are {indices.dtype}, expected int64")
        _expect_vectors(indices)
        dtype = same_dtype(data, updates)
        if data.shape is not None and indices.shape and updates.shape is not None:
            length = indices.shape[-1]
            if isinstance(length, int):
                if length > len(data.shape):
                    raise ShapeError(f"index vectors of {length} exceed {format_shape(data.shape)}")
                unify_shape(updates.shape, (*indices.shape[:-1], *data.shape[length:]))
        return TensorType(dtype, data.shape)

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        positions = _places(values[1])
        if positions is None:
            return (None,)
        vectors = [tuple(vector) for vector in positions.reshape(-1, positions.shape[-1]).tolist()]
        return (_scatter_known(operands, values, vectors, self.reduction),)


@operator
class OneHot(Operator):
    """A new axis of `depth` with values[1] at the index and values[0] elsewhere; negative indices count from the end.

    Indices outside give values[0] everywhere. Source: ONNX OneHot-11.
    """

    inputs = ("indices", "depth", "values")
    takes = (NUMBERS - {DType.BFLOAT16}, NUMBERS - {DType.BFLOAT16}, COMMON)
    reads = frozenset({1})
    rounding, decides = Rounding.EXACT, DecisionTrait.NOTHING
    work = Rounding.MOVES.work
    axis_in_result = True
    axis: int = -1

    def infer(self, indices: TensorType, depth: TensorType, held: TensorType, *, values: Values) -> TensorType:
        if indices.shape is None:
            return TensorType(held.dtype, None)
        size: Dim = values[1].dims()[0] if values[1] is not None else UNKNOWN
        axis = normalize_axis(self.axis, len(indices.shape) + 1)
        return TensorType(held.dtype, (*indices.shape[:axis], size, *indices.shape[axis:]))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        indices, depth, held = operands
        shape, wanted = results[0].shape, None
        if shape:
            axis = normalize_axis(self.axis, len(shape))
            wanted = (*shape[:axis], *shape[axis + 1 :])
        return refine(indices, wanted), depth, refine(held, (2,), results[0].dtype)


OPERATORS = (
    *(Gather, GatherElements, GatherND, ScatterElements, ScatterND),
    *(OneHot, Compress, NonZero, Unique, CumSum, CumProd),
)
