"""Operators that rearrange elements without computing on them."""

from __future__ import annotations

import enum

from ..errors import ShapeError
from ..types import UNKNOWN, Dim, DType, TensorType, Unknown, format_shape, product
from .base import Known, Operand, Operator, Values, broadcast, normalize_axis, operator, refine

EXPAND_LIMIT = 256


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
        return UNKNOWN if below == 0 else above // below

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

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        data, wanted = values[0], values[1]
        sizes = None if wanted is None else wanted.integers()
        if data is None or sizes is None or len(data.elements) != 1 or not 0 < product(sizes) <= EXPAND_LIMIT:  # type: ignore[operator]
            return (None,)
        whole = (1,) * (len(data.shape) - len(sizes)) + sizes
        return (Known(whole, data.elements * int(product(sizes))),)  # type: ignore[arg-type]


@operator
class Size(Operator):
    """The number of X's elements, an int64 scalar. Source: ONNX Size-24."""

    inputs = ("X",)

    def infer(self, x: TensorType) -> TensorType:
        return TensorType(DType.INT64, ())

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        x = operands[0]
        count = UNKNOWN if x is None else x.elements()
        return (None if isinstance(count, Unknown) else Known.scalar(count),)


@operator
class Flatten(Operator):
    """X as a matrix: the axes before `axis` are its rows, the others its columns. Source: ONNX Flatten-24."""

    inputs = ("X",)
    axis: int = 1

    def infer(self, x: TensorType) -> TensorType:
        if x.shape is None:
            return TensorType(x.dtype, (UNKNOWN, UNKNOWN))
        rank = len(x.shape)
        if not -rank <= self.axis <= rank:
            raise ShapeError(f"axis {self.axis} is out of range for {format_shape(x.shape)}")
        place = self.axis + rank if self.axis < 0 else self.axis
        return TensorType(x.dtype, (product(x.shape[:place]), product(x.shape[place:])))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        x, flat = operands[0], results[0].shape
        if x is None or x.shape is None or flat is None or len(flat) != 2:
            return (refine(x, None, results[0].dtype),)
        rank = len(x.shape)
        place = self.axis + rank if self.axis < 0 else self.axis
        dims = (*_missing(x.shape[:place], flat[0]), *_missing(x.shape[place:], flat[1]))
        return (refine(x, dims, results[0].dtype),)


def _missing(dims: tuple[Dim, ...], total: Dim) -> tuple[Dim, ...]:
    """The dimensions, the only unknown one among them found from their product."""
    places = [place for place, dim in enumerate(dims) if isinstance(dim, Unknown)]
    if len(places) != 1 or isinstance(total, Unknown):
        return dims
    rest = product(dim for place, dim in enumerate(dims) if place != places[0])
    if isinstance(rest, int) and rest > 0 and total % rest == 0:
        return (*dims[: places[0]], total // rest, *dims[places[0] + 1 :])
    return dims


def _axes(stated: Known | None, rank: int) -> tuple[int, ...] | None:
    """The axes of an operand, counted from the front. Raises ShapeError for one that is none or comes twice."""
    numbers = None if stated is None else stated.integers()
    if numbers is None:
        return None
    axes = tuple(normalize_axis(axis, rank) for axis in numbers)
    if len(set(axes)) != len(axes):
        raise ShapeError(f"axes {list(numbers)} name an axis twice")
    return axes


@operator
class Squeeze(Operator):
    """X without the axes named by the int64 vector `axes`, each of size 1; without it, without all of size 1.

    Source: ONNX Squeeze-24.
    """

    inputs = ("X", "axes?")
    reads = frozenset({1})

    def infer(self, x: TensorType, axes: Operand = None, *, values: Values) -> TensorType:
        if x.shape is None:
            return TensorType(x.dtype, None)
        rank = len(x.shape)
        if axes is None:
            if not all(isinstance(dim, int) for dim in x.shape):
                return TensorType(x.dtype, None)
            return TensorType(x.dtype, tuple(dim for dim in x.shape if dim != 1))
        chosen = _axes(values[1], rank)
        if chosen is None:
            count = axes.shape[0] if axes.shape else UNKNOWN
            return TensorType(x.dtype, (UNKNOWN,) * (rank - count) if isinstance(count, int) else None)
        for axis in chosen:
            if isinstance(x.shape[axis], int) and x.shape[axis] != 1:
                raise ShapeError(f"axis {axis} of {format_shape(x.shape)} has size {x.shape[axis]}, expected 1")
        return TensorType(x.dtype, tuple(dim for axis, dim in enumerate(x.shape) if axis not in chosen))

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        data = values[0]
        if data is None:
            return (None,)
        if len(operands) < 2 or operands[1] is None:
            return (Known(tuple(dim for dim in data.shape if dim != 1), data.elements),)
        chosen = _axes(values[1], len(data.shape))
        if chosen is None:
            return (None,)
        return (Known(tuple(dim for axis, dim in enumerate(data.shape) if axis not in chosen), data.elements),)


@operator
class Unsqueeze(Operator):
    """X with new axes of size 1, which the int64 vector `axes` names as axes of the result.

    Source: ONNX Unsqueeze-24.
    """

    inputs = ("X", "axes")
    reads = frozenset({1})

    def infer(self, x: TensorType, axes: TensorType, *, values: Values) -> TensorType:
        if x.shape is None:
            return TensorType(x.dtype, None)
        count = axes.shape[0] if axes.shape else UNKNOWN
        if not isinstance(count, int):
            return TensorType(x.dtype, None)
        chosen = _axes(values[1], len(x.shape) + count)
        if chosen is None:
            return TensorType(x.dtype, (UNKNOWN,) * (len(x.shape) + count))
        return TensorType(x.dtype, _with_ones(x.shape, chosen))

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        data, axes = values[0], values[1]
        if data is None or axes is None:
            return (None,)
        chosen = _axes(axes, len(data.shape) + len(axes.elements))
        if chosen is None:
            return (None,)
        return (Known(_with_ones(data.shape, chosen), data.elements),)  # type: ignore[arg-type]


def _with_ones(shape: tuple[Dim, ...], axes: tuple[int, ...]) -> tuple[Dim, ...]:
    dims = list(shape)
    for axis in sorted(axes):
        dims.insert(axis, 1)
    return tuple(dims)


@operator
class Tile(Operator):
    """X repeated as a whole, `repeats` (an int64 vector) times along each axis. Source: ONNX Tile-13."""

    inputs = ("X", "repeats")
    reads = frozenset({1})

    def infer(self, x: TensorType, repeats: TensorType, *, values: Values) -> TensorType:
        times = values[1]
        if x.shape is None:
            return TensorType(x.dtype, None if times is None else (UNKNOWN,) * len(times.elements))
        if times is None:
            return TensorType(x.dtype, (UNKNOWN,) * len(x.shape))
        if len(times.elements) != len(x.shape):
            raise ShapeError(f"{len(times.elements)} repeats for {format_shape(x.shape)}, expected one an axis")
        sizes = tuple(
            dim * count
            for dim, count in zip(x.shape, times.elements, strict=True)
        )
        return TensorType(x.dtype, sizes)


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
            total = amounts.elements[place] + amounts.elements[place + len(places)]
            sizes[normalize_axis(axis, rank)] = sizes[normalize_axis(axis, rank)] + total
        if any(isinstance(size, int) and size < 0 for size in sizes):
            raise ShapeError(f"pads {list(amounts.elements)} crop more than {format_shape(x.shape)} has")
        return TensorType(x.dtype, tuple(sizes))


OPERATORS = (
    *(Transpose, Reshape, Shape, Size, Expand, Flatten),
    *(Squeeze, Unsqueeze, Tile, Pad),
)

__all__ = [
    "OPERATORS",
    "Expand",
    "Flatten",
    "Pad",
    "PadMode",
    "Reshape",
    "Shape",
    "Size",
    "Squeeze",
    "Tile",
    "Transpose",
    "Unsqueeze",
]
