"""Operators that join tensors, take parts of them, or trade parts between axes."""

from __future__ import annotations

from itertools import accumulate, chain
from typing import Any

from graphir.errors import ShapeError
from graphir.types import (
    UNKNOWN,
    Dim,
    DType,
    Shape,
    Sym,
    TensorType,
    Unknown,
    ceildiv,
    format_shape,
    unify_dim,
)

from .base import Known, Operand, Operator, Values, elements_of, normalize_axis, operator, refine, same_dtype
from .blocks import DepthOrder as DepthOrder
from .blocks import DepthToSpace as DepthToSpace
from .blocks import SpaceToDepth as SpaceToDepth
from .dtypes import COMMON, INT64
from .known import array_of, filled, known_array
from .slicing import BEYOND as BEYOND
from .slicing import Slice as Slice
from .slicing import slice_size as slice_size
from .traits import Rounding


def _merge(shapes: list[Shape], axis: int) -> list[Dim]:
    """Return what all shapes say of the axes other than `axis`. Raises ShapeError where they differ."""
    dims = list(shapes[0])
    for shape in shapes[1:]:
        if len(shape) != len(dims):
            raise ShapeError(f"{format_shape(shapes[0])} and {format_shape(shape)} differ in rank")
        for index, dim in enumerate(shape):
            if index == axis:
                continue
            try:
                dims[index] = unify_dim(dims[index], dim)
            except ShapeError:
                shown = " and ".join(format_shape(shape) for shape in shapes)
                raise ShapeError(f"{shown} differ on axis {index}, only axis {axis} may") from None
    return dims


@operator
class Concat(Operator):
    """The operands, of one dtype, joined along `axis`; all other sizes are equal. Source: ONNX Concat-13."""

    inputs = ("inputs*",)
    takes = (COMMON,)
    rounding = Rounding.MOVES
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
        open_places = [index for index, size in enumerate(sizes) if isinstance(size, Unknown)]
        if len(open_places) == 1:
            rest = whole[axis]
            for index, size in enumerate(sizes):
                rest = rest if index == open_places[0] else rest - size
            sizes[open_places[0]] = rest
        return tuple(
            refine(operand, (*whole[:axis], size, *whole[axis + 1 :]), dtype)
            for operand, size in zip(operands, sizes, strict=True)
        )

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        parts = filled(operands, values)
        if parts is None:
            return (None,)
        if all(len(part.shape) == 1 for part in parts):
            return (Known.vector(chain.from_iterable(part.elements for part in parts)),)
        import numpy as np

        return (known_array(np.concatenate([array_of(part) for part in parts], self.axis)),)


@operator
class Split(Operator):
    """X cut along `axis` into `num_outputs` parts of the sizes in the int64 vector `split`.

    Without `split` the parts are equal, the last one smaller if the size does not divide. Source: ONNX Split-18.
    """

    inputs = ("X", "split?")
    takes = (COMMON, INT64)
    reads = frozenset({1})
    rounding = Rounding.MOVES
    num_outputs: int
    axis: int = 0

    def check_attributes(self) -> None:
        self.demand(self.num_outputs >= 1, "num_outputs", "1 or more")

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
            return (size if size == 0 else UNKNOWN,) * count
        if len(stated.elements) != count:
            raise ShapeError(f"{len(stated.elements)} sizes for {count} parts")
        numbers = stated.integers()
        if numbers is not None and isinstance(size, int) and sum(numbers) != size:
            raise ShapeError(f"parts {list(numbers)} do not add up to {size}")
        return stated.dims()

    def infer_inputs(
        self, operands: tuple[Operand, ...], results: tuple[TensorType, ...], values: Values = ()
    ) -> tuple[Operand, ...]:
        dtype = same_dtype(operands[0], *results)
        shapes = [result.shape for result in results if result.shape is not None]
        if not shapes:
            return (refine(operands[0], None, dtype), *operands[1:])
        axis = normalize_axis(self.axis, len(shapes[0]))
        dims = _merge(shapes, axis)
        stated = elements_of(values, 1)
        sizes = [shape[axis] for shape in shapes] if stated is None else list(stated.dims())
        total: Dim = UNKNOWN if len(sizes) < len(results) else 0
        for size in sizes:
            total = total + size
        dims[axis] = total
        return (refine(operands[0], tuple(dims), dtype), *operands[1:])

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        data = values[0]
        nothing = (None,) * self.num_outputs
        if data is None:
            return nothing
        axis = normalize_axis(self.axis, len(data.shape))
        sizes = self._sizes(data.shape[axis], operands[1] if len(operands) > 1 else None, values)
        if not all(isinstance(size, int) for size in sizes):
            return nothing
        import numpy as np

        ends: list[Any] = list(accumulate(sizes))
        return tuple(known_array(part) for part in np.split(array_of(data), ends[:-1], axis))


def even_parts(size: Dim, count: int) -> tuple[Dim, ...]:
    """Return the sizes of `count` equal parts, the last one smaller if it must be. Raises ShapeError if one would be
    empty.

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


@operator
class Trilu(Operator):
    """The upper (or lower) triangle of the last two axes, zeros elsewhere; the scalar `k` moves the diagonal.

    Source: ONNX Trilu-14.
    """

    inputs = ("X", "k?")
    takes = (COMMON, INT64)
    rounding = Rounding.MOVES
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
    takes = (COMMON, INT64)
    rounding = Rounding.MOVES
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
            unify_dim(x.shape[normalize_axis(self.batch_axis, len(x.shape))], sequence_lens.shape[0])
        return x

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        shape = results[0].shape
        lengths = None if shape is None else (shape[normalize_axis(self.batch_axis, len(shape))],)
        return refine(operands[0], shape, results[0].dtype), refine(operands[1], lengths, DType.INT64)


OPERATORS = (Concat, Split, Slice, Trilu, ReverseSequence, DepthToSpace, SpaceToDepth)
