"""Operators that look up, place or find elements by index."""

from __future__ import annotations

import enum

from ..errors import ShapeError
from ..types import UNKNOWN, Dim, DType, Shape, TensorType, format_shape, unify_dim, unify_shape
from .base import Known, Operand, Operator, Values, normalize_axis, operator, refine, same_dtype


def _check_indices(indices: TensorType) -> None:
    if indices.dtype not in (None, DType.INT32, DType.INT64):
        raise ShapeError(f"the indices are {indices.dtype}, expected int32 or int64")


@operator
class Gather(Operator):
    """Slices of `data` along `axis`, one for each element of `indices`; negative indices count from the end.

    Output: the shape of data with that axis replaced by the shape of indices. Source: ONNX Gather-13.
    """

    inputs = ("data", "indices")
    axis: int = 0

    def infer(self, data: TensorType, indices: TensorType) -> TensorType:
        _check_indices(indices)
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
        found = (*shape[:axis], data.shape[axis], *shape[behind:])
        return refine(data, found, results[0].dtype), refine(indices, shape[axis:behind])

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        data, indices = values
        places = None if indices is None else indices.integers()
        if data is None or indices is None or places is None or len(data.shape) != 1:
            return (None,)
        count = len(data.elements)
        if any(not -count <= place < count for place in places):
            raise ShapeError(f"an index of {list(places)} is outside the {count} elements")
        return (Known(indices.shape, tuple(data.elements[place] for place in places)),)


@operator
class GatherElements(Operator):
    """For each element of `indices` (of data's rank) the element of data at its place, but with that index on `axis`.

    Source: ONNX GatherElements-13.
    """

    inputs = ("data", "indices")
    axis: int = 0

    def infer(self, data: TensorType, indices: TensorType) -> TensorType:
        _check_indices(indices)
        if data.shape is not None:
            normalize_axis(self.axis, len(data.shape))
            _same_rank(data.shape, indices.shape, "indices")
        return TensorType(data.dtype, indices.shape)

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        return refine(operands[0], None, results[0].dtype), refine(operands[1], results[0].shape)


def _same_rank(data: Shape, other: Shape | None, what: str) -> None:
    if other is not None and len(other) != len(data):
        raise ShapeError(f"{what} {format_shape(other)} and data {format_shape(data)} differ in rank")


@operator
class GatherND(Operator):
    """data at the index vectors that lie along the last axis of `indices`; the first `batch_dims` axes go together.

    Output: the shape of indices without its last axis, then the axes of data that the vectors leave. Source: ONNX
    GatherND-13.
    """

    inputs = ("data", "indices")
    batch_dims: int = 0

    def infer(self, data: TensorType, indices: TensorType) -> TensorType:
        if indices.dtype not in (None, DType.INT64):
            raise ShapeError(f"the indices are {indices.dtype}, expected int64")
        if indices.shape is None or data.shape is None:
            return TensorType(data.dtype, None)
        if not indices.shape:
            raise ShapeError("the indices are a scalar, expected vectors along the last axis")
        length, batch = indices.shape[-1], self.batch_dims
        if not isinstance(length, int):
            return TensorType(data.dtype, None)
        if batch + length > len(data.shape):
            raise ShapeError(f"index vectors of {length} behind {batch} batch axes exceed {format_shape(data.shape)}")
        shared = tuple(map(unify_dim, data.shape[:batch], indices.shape[:batch]))
        return TensorType(data.dtype, (*shared, *indices.shape[batch:-1], *data.shape[batch + length :]))


class Reduction(enum.Enum):
    """What happens to the element that is there already when another is written to its place."""

    NONE = "none"
    ADD = "add"
    MUL = "mul"
    MAX = "max"
    MIN = "min"


@operator
class ScatterElements(Operator):
    """data with the elements of `updates` written to their places, but with the index of `indices` on `axis`.

    Source: ONNX ScatterElements-18.
    """

    inputs = ("data", "indices", "updates")
    axis: int = 0
    reduction: Reduction = Reduction.NONE

    def infer(self, data: TensorType, indices: TensorType, updates: TensorType) -> TensorType:
        _check_indices(indices)
        if data.shape is not None:
            normalize_axis(self.axis, len(data.shape))
            _same_rank(data.shape, indices.shape, "indices")
        unify_shape(indices.shape, updates.shape)
        return TensorType(same_dtype(data, updates), data.shape)

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        data, indices, updates = operands
        dtype = results[0].dtype
        return refine(data, results[0].shape, dtype), indices, refine(updates, None, dtype)


@operator
class ScatterND(Operator):
    """data with `updates` written at the index vectors that lie along the last axis of `indices`.

    Source: ONNX ScatterND-18.
    """

    inputs = ("data", "indices", "updates")
    reduction: Reduction = Reduction.NONE

    def infer(self, data: TensorType, indices: TensorType, updates: TensorType) -> TensorType:
        if indices.dtype not in (None, DType.INT64):
            raise ShapeError(f"the indices are {indices.dtype}, expected int64")
        dtype = same_dtype(data, updates)
        if data.shape is not None and indices.shape and updates.shape is not None:
            length = indices.shape[-1]
            if isinstance(length, int):
                if length > len(data.shape):
                    raise ShapeError(f"index vectors of {length} exceed {format_shape(data.shape)}")
                unify_shape(updates.shape, (*indices.shape[:-1], *data.shape[length:]))
        return TensorType(dtype, data.shape)

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        data, indices, updates = operands
        dtype = results[0].dtype
        return refine(data, results[0].shape, dtype), indices, refine(updates, None, dtype)


@operator
class OneHot(Operator):
    """A new axis of `depth` with values[1] at the index and values[0] elsewhere; negative indices count from the end.

    Indices outside give values[0] everywhere. Source: ONNX OneHot-11.
    """

    inputs = ("indices", "depth", "values")
    reads = frozenset({1})
    axis: int = -1

    def infer(self, indices: TensorType, depth: TensorType, held: TensorType, *, values: Values) -> TensorType:
        if indices.shape is None:
            return TensorType(held.dtype, None)
        size: Dim = values[1].elements[0] if values[1] is not None else UNKNOWN
        axis = normalize_axis(self.axis, len(indices.shape) + 1)
        return TensorType(held.dtype, (*indices.shape[:axis], size, *indices.shape[axis:]))


@operator
class Compress(Operator):
    """The slices of X along `axis` (elements of flattened X if None) where the boolean vector `condition` holds.

    Source: ONNX Compress-11.
    """

    inputs = ("X", "condition")
    axis: int | None = None

    def infer(self, x: TensorType, condition: TensorType) -> TensorType:
        if condition.dtype not in (None, DType.BOOL):
            raise ShapeError(f"the condition is {condition.dtype}, expected bool")
        if condition.shape is not None and len(condition.shape) != 1:
            raise ShapeError(f"the condition has the shape {format_shape(condition.shape)}, expected one axis")
        if self.axis is None:
            return TensorType(x.dtype, (UNKNOWN,))
        if x.shape is None:
            return TensorType(x.dtype, None)
        axis = normalize_axis(self.axis, len(x.shape))
        return TensorType(x.dtype, (*x.shape[:axis], UNKNOWN, *x.shape[axis + 1 :]))


@operator
class NonZero(Operator):
    """The places of the elements of X that are not 0: int64 (rank of X, how many), in row-major order.

    Source: ONNX NonZero-13.
    """

    inputs = ("X",)

    def infer(self, x: TensorType) -> TensorType:
        return TensorType(DType.INT64, (UNKNOWN if x.shape is None else len(x.shape), UNKNOWN))


@operator
class Unique(Operator):
    """The different elements of X (slices along `axis`), their first places, for each its place among them, and counts.

    Source: ONNX Unique-11.
    """

    inputs = ("X",)
    outputs = ("Y", "indices", "inverse_indices", "counts")
    axis: int | None = None
    sorted: bool = True

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        vector = TensorType(DType.INT64, (UNKNOWN,))
        if self.axis is None:
            return TensorType(x.dtype, (UNKNOWN,)), vector, TensorType(DType.INT64, (x.elements(),)), vector
        if x.shape is None:
            return TensorType(x.dtype, None), vector, vector, vector
        axis = normalize_axis(self.axis, len(x.shape))
        kept = TensorType(x.dtype, (*x.shape[:axis], UNKNOWN, *x.shape[axis + 1 :]))
        return kept, vector, TensorType(DType.INT64, (x.shape[axis],)), vector


class _Cumulative(Operator):
    """What the running sum and the running product share."""

    inputs = ("X", "axis")
    exclusive: bool = False
    reverse: bool = False

    def infer(self, x: TensorType, axis: TensorType) -> TensorType:
        _check_indices(axis)
        return x

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        return refine(operands[0], results[0].shape, results[0].dtype), operands[1]


@operator
class CumSum(_Cumulative):
    """The running sum of X along `axis`, a scalar; `exclusive` leaves the element itself out, `reverse` sums backwards.

    Source: ONNX CumSum-14.
    """

    exclusive: bool = False
    reverse: bool = False


@operator
class CumProd(_Cumulative):
    """The running product of X along `axis`, a scalar; `exclusive` leaves the element itself out (the first is 1).

    With `reverse` it runs backwards. Source: ONNX CumProd-26.
    """

    exclusive: bool = False
    reverse: bool = False


OPERATORS = (
    *(Gather, GatherElements, GatherND, ScatterElements, ScatterND),
    *(OneHot, Compress, NonZero, Unique, CumSum, CumProd),
)

__all__ = [
    "OPERATORS",
    "Compress",
    "CumProd",
    "CumSum",
    "Gather",
    "GatherElements",
    "GatherND",
    "NonZero",
    "OneHot",
    "Reduction",
    "ScatterElements",
    "ScatterND",
    "Unique",
]
