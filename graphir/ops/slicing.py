"""Slices: [start:end:step] along axes."""

from __future__ import annotations

from graphir.errors import ShapeError
from graphir.structure.record import record
from graphir.types import UNKNOWN, Dim, TensorType, ceildiv, dim_max, dim_min

from .base import Known, Operand, Operator, Values, normalize_axis, operator, refine
from .dtypes import COMMON, INDICES
from .elements import is_natural
from .known import array_of, known_array
from .traits import Rounding

# What stands for "to the end" in starts and ends: everything from here on is beyond every axis.
BEYOND = 2**31 - 1


def slice_size(size: Dim, start: Dim, end: Dim, step: Dim) -> Dim:
    """Return how many elements [start:end:step] takes of an axis of `size`; bounds beyond the axis are its end.

    >>> slice_size(5, 1, 4, 2), slice_size(5, -1, -BEYOND, -1)
    (2, 5)
    """
    if step == 0:
        raise ShapeError("a step of 0")
    if not isinstance(step, int) or _is_odd_end(end, step):
        return UNKNOWN
    if isinstance(size, int) and isinstance(start, int) and isinstance(end, int):
        return len(places_taken(size, start, end, step))
    if step > 0:
        distance = _bound(end, size, 0, size) - _bound(start, size, 0, size)
    else:
        distance = _last_place(start, size) - _bound(end, size, -1, size - 1)
    return dim_max(ceildiv(distance, abs(step)), 0)


def places_taken(size: int, start: int, end: int, step: int) -> range:
    """Return the places of an axis that [start:end:step] takes, in order.

    Unlike Python, ONNX begins a backward slice within the axis: a start before it is the first place.

    >>> list(places_taken(5, 1, 4, 2)), list(places_taken(5, -7, -9, -1))
    ([1, 3], [0])
    """
    highest = size if step > 0 else size - 1
    first = min(max(start + size if start < 0 else start, 0), highest)
    last = min(max(end + size if end < 0 else end, 0 if step > 0 else -1), highest)
    return range(first, last, step)


@record
class PythonSlice:
    """How ONNX says Python's [start:end:step]; `turned`: of the axis turned around."""

    turned: bool
    start: int
    end: int
    step: int


def python_slice(start: int, end: int, step: int, size: Dim) -> PythonSlice:
    """Python's [start:end:step] of an axis of `size`, which may be open. Bounds of BEYOND and more are no bounds.

    They differ for backward slices that begin before the axis: Python has no elements then, ONNX the first one.

    >>> python_slice(-2, -BEYOND, -1, 5)
    PythonSlice(turned=False, start=-2, end=-2147483647, step=-1)
    >>> from ..types import symbol
    >>> python_slice(-2, 0, -1, symbol("N"))
    PythonSlice(turned=True, start=1, end=-1, step=1)
    """
    if step > 0:
        return PythonSlice(False, start, end, step)
    end = min(end, BEYOND - 1)
    if start >= -1 or is_natural(size, -start):
        return PythonSlice(False, start, end, step)
    if isinstance(size, int):
        return PythonSlice(False, 0, BEYOND - 1, step)
    return PythonSlice(True, -1 - start, BEYOND if end <= -BEYOND else -1 - end, -step)


def _is_odd_end(end: Dim, step: int) -> bool:
    """Return whether a backward slice ends at "to the end": the last place by ONNX, but the first one to
    onnxruntime."""
    return step < 0 and isinstance(end, int) and end >= BEYOND


def _last_place(start: Dim, size: Dim) -> Dim:
    """Return where a backward slice begins; unknown where the axis may be empty and the start is not its last place."""
    if start == -1 or (isinstance(start, int) and start >= BEYOND):
        return size - 1
    return _bound(start, size, 0, size - 1) if is_natural(size, 1) else UNKNOWN


def _bound(bound: Dim, size: Dim, lowest: Dim, highest: Dim) -> Dim:
    """Return the bound counted from the front and brought between the lowest and the highest; unknown if its sign is
    open."""
    if isinstance(bound, int) and abs(bound) >= BEYOND:
        return highest if bound > 0 else lowest
    if is_natural(bound):
        return dim_min(highest, bound)
    return dim_max(size + bound, lowest) if is_natural(-bound, 1) else UNKNOWN


@operator
class Slice(Operator):
    """X cut to [start:end:step] on each axis of `axes` (the leading ones without it); all are integer vectors.

    Negative bounds count from the end, bounds beyond an axis mean its end. Source: ONNX Slice-13.
    """

    inputs = ("X", "starts", "ends", "axes?", "steps?")
    takes = (COMMON, INDICES, INDICES, INDICES, INDICES)
    reads = frozenset({1, 2, 3, 4})
    rounding = Rounding.MOVES

    def infer(
        self,
        x: TensorType,
        starts: TensorType,
        ends: TensorType,
        axes: Operand = None,
        steps: Operand = None,
        *,
        values: Values,
    ) -> TensorType:
        if x.shape is None:
            return TensorType(x.dtype, None)
        axis_indices = self._axes(len(x.shape), starts, axes, values)
        if axis_indices is None:
            return TensorType(x.dtype, (UNKNOWN,) * len(x.shape))
        count = len(axis_indices)
        sizes = list(x.shape)
        first, last = _entries(values[1], count), _entries(values[2], count)
        stride = _entries(values[4], count) if steps is not None else (1,) * count
        for axis, start, end, step in zip(axis_indices, first, last, stride, strict=True):
            sizes[axis] = slice_size(sizes[axis], start, end, step)
        return TensorType(x.dtype, tuple(sizes))

    def _axes(self, rank: int, starts: TensorType, axes: Operand, values: Values) -> tuple[int, ...] | None:
        if axes is not None:
            stated = values[3].integers() if values[3] is not None else None
            return None if stated is None else tuple(normalize_axis(axis, rank) for axis in stated)
        count = starts.shape[0] if starts.shape else UNKNOWN
        if not isinstance(count, int):
            return None
        if count > rank:
            raise ShapeError(f"{count} starts for a tensor of rank {rank}")
        return tuple(range(count))

    def infer_inputs(
        self, operands: tuple[Operand, ...], results: tuple[TensorType, ...], values: Values = ()
    ) -> tuple[Operand, ...]:
        shape, starts = results[0].shape, operands[1]
        if shape is None or starts is None:
            return (refine(operands[0], None, results[0].dtype), *operands[1:])
        wanted: list[Dim] = [UNKNOWN] * len(shape)
        axis_indices = None if not values else self._axes(len(shape), starts, (*operands, None)[3], values)
        if axis_indices is not None:
            wanted = [UNKNOWN if axis in axis_indices else dim for axis, dim in enumerate(shape)]
        return (refine(operands[0], tuple(wanted), results[0].dtype), *operands[1:])

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        data, starts = values[0], operands[1]
        if data is None or starts is None:
            return (None,)
        present = len(operands) > 3 and operands[3] is not None
        axis_indices = self._axes(len(data.shape), starts, operands[3] if present else None, values)
        first, last = (None if value is None else value.integers() for value in values[1:3])
        steps = (1,) * len(axis_indices or ())
        if len(operands) > 4 and operands[4] is not None:
            steps = (values[4].integers() if values[4] is not None else None) or (0,)
        if axis_indices is None or first is None or last is None or 0 in steps:
            return (None,)
        if any(map(_is_odd_end, last, steps)):
            return (None,)
        cut = array_of(data)
        for axis, start, end, step in zip(axis_indices, first, last, steps, strict=True):
            cut = cut.take(places_taken(data.shape[axis], start, end, step), axis)
        return (known_array(cut),)


def _entries(known: Known | None, count: int) -> tuple[Dim, ...]:
    if known is None:
        return (UNKNOWN,) * count
    if len(known.elements) != count:
        raise ShapeError(f"{len(known.elements)} bounds or steps for {count} axes")
    return known.dims()
