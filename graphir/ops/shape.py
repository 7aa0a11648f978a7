"""Operators that rearrange elements without computing on them."""

from __future__ import annotations

import enum

from ..errors import ShapeError
from ..types import UNKNOWN, Dim, DType, TensorType, Unknown, format_shape, product
from .base import Known, Operand, Operator, Values, broadcast, normalize_axis, operator, refine


@operator
class Transpose(Operator):
    """The axes of X in the order `perm` (axis i of the result is axis perm[i] of X); empty: reversed.

    Source: ONNX Transpose-24.
    """

    inputs = ("X",)
    perm: tuple[int, ...] = ()

    def infer(self, x: TensorType) -> TensorType:
        if x.shape is None:
            return TensorType(x.dtype, (UNKNOWN,) * len(self.perm) if self.perm else None)
        perm = self.perm or tuple(reversed(range(len(x.shape))))
        if sorted(perm) != list(range(len(x.shape))):
            raise ShapeError(f"perm {list(perm)} is no order of the axes of {format_shape(x.shape)}")
        return TensorType(x.dtype, tuple([x.shape[axis] for axis in perm]))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        shape = results[0].shape
        wanted = None
        if shape is not None:
            perm = self.perm or tuple(reversed(range(len(shape))))
            wanted = tuple(shape[perm.index(axis)] for axis in range(len(shape)))
        return (refine(operands[0], wanted, results[0].dtype),)


@operator
class Reshape(Operator):
    """X with the shape `shape`, an int64 vector: -1 is what remains, 0 copies X's size (with `allowzero`: a zero).

    Source: ONNX Reshape-24.
    """

    inputs = ("X", "shape")
    reads = frozenset({1})
    allowzero: bool = False

    def infer(self, x: TensorType, shape: TensorType, *, values: Values) -> TensorType:
        wanted = values[1]
        if wanted is None:
            count = shape.shape[0] if shape.shape else UNKNOWN
            return TensorType(x.dtype, (UNKNOWN,) * count if isinstance(count, int) else None)
        return TensorType(x.dtype, self._resolve(x, wanted.elements))

    def _resolve(self, x: TensorType, wanted: tuple[Dim, ...]) -> tuple[Dim, ...]:
        dims: list[Dim] = []
        for axis, dim in enumerate(wanted):
            if dim == 0 and not self.allowzero:
                if x.shape is not None and axis >= len(x.shape):
                    raise ShapeError(f"shape {list(wanted)} copies axis {axis} of {format_shape(x.shape)}")
                dims.append(UNKNOWN if x.shape is None else x.shape[axis])
            else:
                dims.append(dim)
        total = x.elements()
        if -1 in dims:
            place = dims.index(-1)
            rest = product(dim for axis, dim in enumerate(dims) if axis != place)
            if isinstance(total, int) and isinstance(rest, int) and (rest == 0 or total % rest):
                raise ShapeError(f"{total} elements of {format_shape(x.shape)} do not fit into {list(wanted)}")
            copied = {axis for axis, dim in enumerate(wanted) if dim == 0 and not self.allowzero}
            dims[place] = self._remaining(x, dims, place, copied)
        elif isinstance(total, int):
            size = product(dims)
            if isinstance(size, int) and size != total:
                raise ShapeError(f"{format_shape(x.shape)} has {total} elements, but {list(wanted)} has {size}")
        return tuple(dims)

    def _remaining(self, x: TensorType, dims: list[Dim], place: int, copied: set[int]) -> Dim:
        """The size behind -1; sizes that are copied unchanged cancel, so that they need not be known."""
        if x.shape is None:
            return UNKNOWN
        above = product(dim for axis, dim in enumerate(x.shape) if axis not in copied)
        below = product(dim for axis, dim in enumerate(dims) if axis != place and axis not in copied)
        return UNKNOWN if below == 0 else above // below  # type: ignore[operator]

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        data, wanted = values[0], values[1]
        if data is None or wanted is None:
            return (None,)
        sizes = wanted.integers()
        if sizes is None or 0 in sizes:
            return (None,)
        count = len(data.elements)
        known = [size for size in sizes if size >= 0]
        rest = 1
        for size in known:
            rest *= size
        return (Known(tuple(size if size >= 0 else count // max(rest, 1) for size in sizes), data.elements),)


@operator
class Shape(Operator):
    """The sizes of X's axes `start` to `end` (exclusive; None: the last) as an int64 vector. Source: ONNX Shape-24."""

    inputs = ("X",)
    start: int = 0
    end: int | None = None

    def infer(self, x: TensorType) -> TensorType:
        chosen = self._chosen(x)
        return TensorType(DType.INT64, (UNKNOWN if chosen is None else len(chosen),))

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        chosen = self._chosen(operands[0])
        if chosen is None or any(isinstance(dim, Unknown) for dim in chosen):
            return (None,)
        return (Known.vector(chosen),)

    def _chosen(self, x: Operand) -> tuple[Dim, ...] | None:
        return None if x is None or x.shape is None else x.shape[slice(self.start, self.end)]


@operator
class Expand(Operator):
    """X broadcast together with the shape `shape`, an int64 vector. Source: ONNX Expand-13."""

    inputs = ("X", "shape")
    reads = frozenset({1})

    def infer(self, x: TensorType, shape: TensorType, *, values: Values) -> TensorType:
        wanted = values[1]
        if wanted is None:
            return TensorType(x.dtype, None)
        return TensorType(x.dtype, broadcast(x.shape, wanted.elements))


class PadMode(enum.Enum):
    """What padding is filled with: a constant, the edge's value, or the reflection or continuation of the data."""

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    WRAP = "wrap"


@operator
class Pad(Operator):
    """X with `pads` elements around it: all begins, then all ends, an int64 vector; negative numbers crop.

    `pads` covers the axes of the int64 vector `axes`, all of them without it; `value` is the constant (0 without it).
    Source: ONNX Pad-24.
    """

    inputs = ("X", "pads", "value?", "axes?")
    reads = frozenset({1, 3})
    mode: PadMode = PadMode.CONSTANT

    def infer(
        self, x: TensorType, pads: TensorType, value: Operand = None, axes: Operand = None, *, values: Values
    ) -> TensorType:
        amounts = values[1]
        chosen = values[3] if len(values) > 3 else None
        if x.shape is None:
            return x
        unknown = TensorType(x.dtype, (UNKNOWN,) * len(x.shape))
        if amounts is None or (axes is not None and chosen is None):
            return unknown
        rank = len(x.shape)
        places = range(rank) if chosen is None else chosen.integers()
        if places is None:
            return unknown
        if len(amounts.elements) != 2 * len(places):
            raise ShapeError(f"{len(amounts.elements)} pads for {len(places)} axes, expected twice as many")
        sizes = list(x.shape)
        for place, axis in enumerate(places):
            total = amounts.elements[place] + amounts.elements[place + len(places)]  # type: ignore[operator]
            sizes[normalize_axis(axis, rank)] = sizes[normalize_axis(axis, rank)] + total  # type: ignore[operator]
        if any(isinstance(size, int) and size < 0 for size in sizes):
            raise ShapeError(f"pads {list(amounts.elements)} crop more than {format_shape(x.shape)} has")
        return TensorType(x.dtype, tuple(sizes))


OPERATORS = (Transpose, Reshape, Shape, Expand, Pad)

__all__ = ["OPERATORS", "Expand", "Pad", "PadMode", "Reshape", "Shape", "Transpose"]
