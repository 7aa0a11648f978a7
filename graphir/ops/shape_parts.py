"""Operators that join tensors, take parts of them, or trade parts between axes."""

from __future__ import annotations

import enum
from typing import Any

from ..errors import ShapeError
from ..types import (
    UNKNOWN,
    Dim,
    DType,
    Shape,
    Sym,
    TensorType,
    Unknown,
    ceildiv,
    dim_max,
    dim_min,
    format_shape,
    unify_dim,
)
from .base import Known, Operand, Operator, Values, normalize_axis, operator, refine, same_dtype

# What stands for "to the end" in starts and ends: everything from here on is beyond every axis.
BEYOND = 2**31 - 1


def _merge(shapes: list[Shape], axis: int) -> list[Dim]:
    """What all shapes say of the axes other than `axis`. Raises ShapeError where they differ."""
    dims = list(shapes[0])
    for shape in shapes[1:]:
        if len(shape) != len(dims):
            raise ShapeError(f"{format_shape(shapes[0])} and {format_shape(shape)} differ in rank")
        for place, dim in enumerate(shape):
            if place == axis:
                continue
            try:
                dims[place] = unify_dim(dims[place], dim)
            except ShapeError:
                shown = " and ".join(format_shape(found) for found in shapes)
                raise ShapeError(f"{shown} differ on axis {place}, only axis {axis} may") from None
    return dims


@operator
class Concat(Operator):
    """The operands, of one dtype, joined along `axis`; all other sizes are equal. Source: ONNX Concat-13."""

    inputs = ("inputs*",)
    axis: int

    def infer(self, *operands: TensorType) -> TensorType:
        dtype = same_dtype(*operands)
        shapes = [operand.shape for operand in operands if operand.shape is not None]
        if not shapes:
            return TensorType(dtype, None)
        axis = normalize_axis(self.axis, len(shapes[0]))
        dims = _merge(shapes, axis)
        total: Dim = UNKNOWN if len(shapes) < len(operands) else 0
        for shape in shapes:
            total = total + shape[axis]
        dims[axis] = total
        return TensorType(dtype, tuple(dims))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        dtype = same_dtype(*operands, results[0])
        whole = results[0].shape
        if whole is None:
            return tuple(refine(operand, None, dtype) for operand in operands)
        axis = normalize_axis(self.axis, len(whole))
        sizes = [operand.shape[axis] if operand is not None and operand.shape else UNKNOWN for operand in operands]
        open_places = [place for place, size in enumerate(sizes) if isinstance(size, Unknown)]
        if len(open_places) == 1:
            rest = whole[axis]
            for place, size in enumerate(sizes):
                rest = rest if place == open_places[0] else rest - size
            sizes[open_places[0]] = rest
        return tuple(
            refine(operand, (*whole[:axis], size, *whole[axis + 1 :]), dtype)
            for operand, size in zip(operands, sizes, strict=True)
        )

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        elements: list[Dim] = []
        for value in values:
            if value is None or len(value.shape) != 1:
                return (None,)
            elements.extend(value.elements)
        return (Known.vector(elements),)


@operator
class Split(Operator):
    """X cut along `axis` into `num_outputs` parts of the sizes in the int64 vector `split`.

    Without `split` the parts are equal, the last one smaller if the size does not divide. Source: ONNX Split-18.
    """

    inputs = ("X", "split?")
    reads = frozenset({1})
    num_outputs: int
    axis: int = 0

    @property
    def output_count(self) -> int:
        return self.num_outputs

    def infer(self, x: TensorType, split: Operand = None, *, values: Values) -> tuple[TensorType, ...]:
        if x.shape is None:
            return (TensorType(x.dtype, None),) * self.num_outputs
        axis = normalize_axis(self.axis, len(x.shape))
        sizes = self._sizes(x.shape[axis], split, values)
        return tuple(TensorType(x.dtype, (*x.shape[:axis], size, *x.shape[axis + 1 :])) for size in sizes)

    def _sizes(self, size: Dim, split: Operand, values: Values) -> tuple[Dim, ...]:
        count = self.num_outputs
        if split is None:
            return even_parts(size, count)
        stated = values[1]
        if stated is None:
            return (UNKNOWN,) * count
        if len(stated.elements) != count:
            raise ShapeError(f"{len(stated.elements)} sizes for {count} parts")
        numbers = stated.integers()
        if numbers is not None and isinstance(size, int) and sum(numbers) != size:
            raise ShapeError(f"parts {list(numbers)} do not add up to {size}")
        return stated.elements

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        dtype = same_dtype(operands[0], *results)
        shapes = [result.shape for result in results if result.shape is not None]
        if not shapes:
            return (refine(operands[0], None, dtype), *operands[1:])
        axis = normalize_axis(self.axis, len(shapes[0]))
        dims = _merge(shapes, axis)
        total: Dim = UNKNOWN if len(shapes) < len(results) else 0
        for shape in shapes:
            total = total + shape[axis]
        dims[axis] = total
        return (refine(operands[0], tuple(dims), dtype), *operands[1:])

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        data = values[0]
        nothing = (None,) * self.num_outputs
        if data is None or len(data.shape) != 1:
            return nothing
        sizes = self._sizes(len(data.elements), operands[1] if len(operands) > 1 else None, values)
        found, start = [], 0
        for size in sizes:
            if not isinstance(size, int):
                return nothing
            found.append(Known.vector(data.elements[start : start + size]))
            start += size
        return tuple(found)


def even_parts(size: Dim, count: int) -> tuple[Dim, ...]:
    """The sizes of `count` equal parts, the last one smaller if it must be. Raises ShapeError if one would be empty.

    >>> even_parts(7, 3)
    (3, 3, 1)
    """
    if isinstance(size, Sym) and size == (size // count) * count:
        return (size // count,) * count
    part = ceildiv(size, count)
    last = size - part * (count - 1)
    if isinstance(last, int) and last < 1 and size:
        raise ShapeError(f"a size of {size} does not give {count} parts")
    return (*(part,) * (count - 1), last)


def slice_size(size: Dim, start: Dim, end: Dim, step: Dim) -> Dim:
    """How many elements [start:end:step] takes of an axis of `size`; bounds beyond the axis are its end.

    >>> slice_size(5, 1, 4, 2), slice_size(5, -1, -BEYOND, -1)
    (2, 5)
    """
    if not isinstance(step, int):
        return UNKNOWN
    if step == 0:
        raise ShapeError("a step of 0")
    if isinstance(size, int) and isinstance(start, int) and isinstance(end, int):
        return len(range(*slice(start, end, step).indices(size)))
    if step < 0:
        whole = isinstance(start, int) and isinstance(end, int) and (start == -1 or start >= BEYOND) and end <= -BEYOND
        return ceildiv(size, -step) if whole else UNKNOWN
    first, last = _bound(start, size), _bound(end, size)
    return dim_max(ceildiv(last - first, step), 0)


def _bound(bound: Dim, size: Dim) -> Dim:
    if isinstance(bound, int):
        if bound == 0 or bound >= BEYOND:
            return size if bound else 0
        if bound < 0:
            return dim_max(size + bound, 0)
    return dim_min(size, bound)


@operator
class Slice(Operator):
    """X cut to [start:end:step] on each axis of `axes` (the leading ones without it); all are integer vectors.

    Negative bounds count from the end, bounds beyond an axis mean its end. Source: ONNX Slice-13.
    """

    inputs = ("X", "starts", "ends", "axes?", "steps?")
    reads = frozenset({1, 2, 3, 4})

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
        places = self._axes(len(x.shape), starts, axes, values)
        if places is None:
            return TensorType(x.dtype, (UNKNOWN,) * len(x.shape))
        count = len(places)
        sizes = list(x.shape)
        first, last = _entries(values[1], count), _entries(values[2], count)
        stride = _entries(values[4], count) if steps is not None else (1,) * count
        for axis, start, end, step in zip(places, first, last, stride, strict=True):
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

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        data = values[0]
        bounds = [value.integers() if value is not None else None for value in values[1:3]]
        if data is None or len(data.shape) != 1 or bounds[0] is None or bounds[1] is None or len(bounds[0]) != 1:
            return (None,)
        step = 1
        if len(values) > 4 and operands[4] is not None:
            stated = values[4].integers() if values[4] is not None else None
            if stated is None or stated[0] == 0:
                return (None,)
            step = stated[0]
        return (Known.vector(data.elements[slice(bounds[0][0], bounds[1][0], step)]),)


def _entries(known: Known | None, count: int) -> tuple[Dim, ...]:
    if known is None:
        return (UNKNOWN,) * count
    if len(known.elements) != count:
        raise ShapeError(f"{len(known.elements)} bounds or steps for {count} axes")
    return known.elements


@operator
class Trilu(Operator):
    """The upper (or lower) triangle of the last two axes, zeros elsewhere; the scalar `k` moves the diagonal.

    Source: ONNX Trilu-14.
    """

    inputs = ("X", "k?")
    upper: bool = True

    def infer(self, x: TensorType, k: Operand = None) -> TensorType:
        if x.shape is not None and len(x.shape) < 2:
            raise ShapeError(f"X has the shape {format_shape(x.shape)}, expected two axes or more")
        return x

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        return (refine(operands[0], results[0].shape, results[0].dtype), *operands[1:])


@operator
class ReverseSequence(Operator):
    """X with the first `sequence_lens[b]` elements along `time_axis` reversed, for each b of `batch_axis`.

    The lengths are an int64 vector. Source: ONNX ReverseSequence-10.
    """

    inputs = ("X", "sequence_lens")
    batch_axis: int = 1
    time_axis: int = 0

    def infer(self, x: TensorType, sequence_lens: TensorType) -> TensorType:
        if sequence_lens.dtype not in (None, DType.INT64):
            raise ShapeError(f"sequence_lens is {sequence_lens.dtype}, expected int64")
        if x.shape is not None and len(x.shape) < 2:
            raise ShapeError(f"X has the shape {format_shape(x.shape)}, expected two axes or more")
        if sequence_lens.shape is not None and len(sequence_lens.shape) != 1:
            raise ShapeError(f"sequence_lens has the shape {format_shape(sequence_lens.shape)}, expected one axis")
        if x.shape is not None and sequence_lens.shape is not None:
            unify_dim(x.shape[self.batch_axis], sequence_lens.shape[0])
        return x

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        shape = results[0].shape
        lengths = None if shape is None else (shape[self.batch_axis],)
        return refine(operands[0], shape, results[0].dtype), refine(operands[1], lengths, DType.INT64)


class DepthOrder(enum.Enum):
    """The order of the channels that hold blocks: offsets before the depth (DCR), or the depth before them (CRD)."""

    DCR = "DCR"
    CRD = "CRD"


@operator
class DepthToSpace(Operator):
    """(N, C * b * b, H, W) to (N, C, H * b, W * b) with b `blocksize`. Source: ONNX DepthToSpace-13."""

    inputs = ("X",)
    blocksize: int
    mode: DepthOrder = DepthOrder.DCR

    def infer(self, x: TensorType) -> TensorType:
        if x.shape is None:
            return TensorType(x.dtype, (UNKNOWN,) * 4)
        batch, channels, height, width = _image(x)
        area = self.blocksize * self.blocksize
        if isinstance(channels, int) and channels % area:
            raise ShapeError(f"{channels} channels do not divide by blocksize^2 = {area}")
        return TensorType(x.dtype, (batch, channels // area, height * self.blocksize, width * self.blocksize))


@operator
class SpaceToDepth(Operator):
    """(N, C, H, W) to (N, b * b * C, H / b, W / b) with b `blocksize`. Source: ONNX SpaceToDepth-28."""

    inputs = ("X",)
    blocksize: int
    mode: DepthOrder = DepthOrder.DCR

    def infer(self, x: TensorType) -> TensorType:
        if x.shape is None:
            return TensorType(x.dtype, (UNKNOWN,) * 4)
        batch, channels, height, width = _image(x)
        block = self.blocksize
        if any(isinstance(size, int) and size % block for size in (height, width)):
            raise ShapeError(f"{height} x {width} does not divide by blocksize {block}")
        return TensorType(x.dtype, (batch, channels * (block * block), height // block, width // block))


def _image(x: TensorType) -> tuple[Any, Any, Any, Any]:
    if x.shape is None or len(x.shape) != 4:
        raise ShapeError(f"X has the shape {format_shape(x.shape)}, expected 4 axes")
    return x.shape


OPERATORS = (Concat, Split, Slice, Trilu, ReverseSequence, DepthToSpace, SpaceToDepth)

__all__ = [
    "BEYOND",
    "OPERATORS",
    "Concat",
    "DepthOrder",
    "DepthToSpace",
    "ReverseSequence",
    "Slice",
    "SpaceToDepth",
    "Split",
    "Trilu",
    "even_parts",
    "slice_size",
]
