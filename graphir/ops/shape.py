"""Operators that rearrange elements without computing on them."""

from __future__ import annotations

from graphir.errors import ShapeError
from graphir.types import UNKNOWN, Dim, DType, TensorType, Type, Unknown, format_shape, product, unify_dim

from .base import Known, Operand, Operator, Values, elements_of, normalize_axis, operator, refine
from .broadcasting import broadcast
from .dtypes import COMMON, INT64
from .elements import is_natural
from .extent import Pad as Pad
from .extent import PadMode as PadMode
from .extent import Tile as Tile
from .known import array_of, is_small, known_array
from .traits import Rounding


@operator
class Transpose(Operator):
    """The axes of X in the order `perm` (axis i of the result is axis perm[i] of X); empty: reversed.

    Source: ONNX Transpose-24.
    """

    inputs = ("X",)
    rounding = Rounding.MOVES
    perm: tuple[int, ...] = ()

    def check_attributes(self) -> None:
        self.demand(sorted(self.perm) == list(range(len(self.perm))), "perm", "each axis once, counted from the front")

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
            if sorted(perm) != list(range(len(shape))):
                raise ShapeError(f"perm {list(perm)} is no order of the axes of {format_shape(shape)}")
            wanted = tuple(shape[perm.index(axis)] for axis in range(len(shape)))
        return (refine(operands[0], wanted, results[0].dtype),)

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        data = values[0]
        return (None if data is None else known_array(array_of(data).transpose(self.perm or None)),)


@operator
class Reshape(Operator):
    """X with the shape `shape`, an int64 vector: -1 is what remains, 0 copies X's size (with `allowzero`: a zero).

    Source: ONNX Reshape-24.
    """

    inputs = ("X", "shape")
    takes = (None, INT64)
    reads = frozenset({1})
    rounding = Rounding.VIEWS
    allowzero: bool = False

    def infer(self, x: TensorType, shape: TensorType, *, values: Values) -> TensorType:
        wanted = values[1]
        if wanted is None:
            count = shape.shape[0] if shape.shape else UNKNOWN
            return TensorType(x.dtype, (UNKNOWN,) * count if isinstance(count, int) else None)
        return TensorType(x.dtype, self._resolve(x, wanted.dims()))

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
            index = dims.index(-1)
            rest = product(dim for axis, dim in enumerate(dims) if axis != index)
            if isinstance(total, int) and isinstance(rest, int) and (rest == 0 or total % rest):
                raise ShapeError(f"{total} elements of {format_shape(x.shape)} do not fit into {list(wanted)}")
            copied = {axis for axis, dim in enumerate(wanted) if dim == 0 and not self.allowzero}
            dims[index] = self._remaining_size(x, dims, index, copied)
        elif isinstance(total, int):
            size = product(dims)
            if isinstance(size, int) and size != total:
                raise ShapeError(f"{format_shape(x.shape)} has {total} elements, but {list(wanted)} has {size}")
        return tuple(dims)

    def _remaining_size(self, x: TensorType, dims: list[Dim], index: int, copied: set[int]) -> Dim:
        """Return the size behind -1; sizes that are copied unchanged cancel, so that they need not be known."""
        if x.shape is None:
            return UNKNOWN
        above = product(dim for axis, dim in enumerate(x.shape) if axis not in copied)
        below = product(dim for axis, dim in enumerate(dims) if axis != index and axis not in copied)
        return UNKNOWN if below == 0 else above // below

    def infer_inputs(
        self, operands: tuple[Operand, ...], results: tuple[TensorType, ...], values: Values = ()
    ) -> tuple[Operand, ...]:
        x, result = operands[0], results[0]
        wanted = elements_of(values, 1)
        if x is None or x.shape is None:
            return (refine(x, None, result.dtype), *operands[1:])
        dims = list(x.shape)
        if wanted is not None and result.shape is not None and not self.allowzero:
            for axis, dim in enumerate(wanted.dims()[: len(dims)]):
                if dim == 0 and axis < len(result.shape):
                    dims[axis] = unify_dim(dims[axis], result.shape[axis])
        return (refine(x, missing_size(tuple(dims), result.elements()), result.dtype), *operands[1:])

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        data, wanted = values[0], values[1]
        if data is None or wanted is None:
            return (None,)
        return (_reshape_known(data, self._resolve(TensorType(None, data.shape), wanted.dims())),)


def _reshape_known(data: Known, shape: tuple[Dim, ...] | None) -> Known | None:
    return Known(shape, data.elements) if is_small(shape) else None  # type: ignore[arg-type]


@operator
class Shape(Operator):
    """The sizes of X's axes `start` to `end` (exclusive; None: the last) as an int64 vector. Source: ONNX Shape-24."""

    inputs = ("X",)
    knows_itself = True
    rounding = Rounding.SIZES
    start: int = 0
    end: int | None = None

    def infer(self, x: TensorType) -> TensorType:
        chosen = self._chosen_dims(x)
        return TensorType(DType.INT64, (UNKNOWN if chosen is None else len(chosen),))

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        chosen = self._chosen_dims(operands[0])
        return (None if chosen is None else Known.vector(chosen),)

    def _chosen_dims(self, x: Operand) -> tuple[Dim, ...] | None:
        return None if x is None or x.shape is None else x.shape[slice(self.start, self.end)]


@operator
class Expand(Operator):
    """X broadcast together with the shape `shape`, an int64 vector. Source: ONNX Expand-13."""

    inputs = ("X", "shape")
    takes = (COMMON, INT64)
    reads = frozenset({1})
    rounding = Rounding.MOVES

    def infer(self, x: TensorType, shape: TensorType, *, values: Values) -> TensorType:
        wanted = values[1]
        if wanted is not None:
            return TensorType(x.dtype, broadcast(x.shape, wanted.dims()))
        count = shape.shape[0] if shape.shape else UNKNOWN
        return TensorType(x.dtype, broadcast(x.shape, (UNKNOWN,) * count) if isinstance(count, int) else None)

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        return (refine(operands[0], None, results[0].dtype), *operands[1:])

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        data, wanted = values[0], values[1]
        shape = None if data is None or wanted is None else broadcast(data.shape, wanted.dims())
        if data is None or not is_small(shape):
            return (None,)
        import numpy as np

        return (known_array(np.broadcast_to(array_of(data), shape)),)  # type: ignore[arg-type]


@operator
class Size(Operator):
    """The number of X's elements, an int64 scalar. Source: ONNX Size-24."""

    inputs = ("X",)
    knows_itself = True
    rounding = Rounding.SIZES

    def infer(self, x: Type) -> TensorType:
        if not isinstance(x, TensorType):
            raise ShapeError(f"Size takes tensors, found {x}")
        return TensorType(DType.INT64, ())

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        x = operands[0]
        count = UNKNOWN if x is None else x.elements()
        return (None if isinstance(count, Unknown) else Known.scalar(count),)


@operator
class Flatten(Operator):
    """X as a matrix: the axes before `axis` are its rows, the others its columns. Source: ONNX Flatten-24."""

    inputs = ("X",)
    rounding = Rounding.VIEWS
    axis: int = 1

    def infer(self, x: TensorType) -> TensorType:
        if x.shape is None:
            return TensorType(x.dtype, (UNKNOWN, UNKNOWN))
        rank = len(x.shape)
        if not -rank <= self.axis <= rank:
            raise ShapeError(f"axis {self.axis} is out of range for {format_shape(x.shape)}")
        axis = self.axis + rank if self.axis < 0 else self.axis
        return TensorType(x.dtype, (product(x.shape[:axis]), product(x.shape[axis:])))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        x, flat = operands[0], results[0].shape
        if x is None or x.shape is None or flat is None or len(flat) != 2:
            return (refine(x, None, results[0].dtype),)
        rank = len(x.shape)
        axis = self.axis + rank if self.axis < 0 else self.axis
        dims = (*missing_size(x.shape[:axis], flat[0]), *missing_size(x.shape[axis:], flat[1]))
        return (refine(x, dims, results[0].dtype),)

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        data = values[0]
        return (None if data is None else _reshape_known(data, self.infer(TensorType(None, data.shape)).shape),)


def missing_size(dims: tuple[Dim, ...], total: Dim) -> tuple[Dim, ...]:
    """Return the dimensions, the only unknown one among them found from their product.

    >>> missing_size((2, UNKNOWN, 3), 24)
    (2, 4, 3)
    """
    indices = [index for index, dim in enumerate(dims) if isinstance(dim, Unknown)]
    if len(indices) != 1 or isinstance(total, Unknown):
        return dims
    rest = product(dim for index, dim in enumerate(dims) if index != indices[0])
    if isinstance(rest, int) and rest > 0 and total % rest == 0:
        return (*dims[: indices[0]], total // rest, *dims[indices[0] + 1 :])
    return dims


def _axes(stated: Known | None, rank: int) -> tuple[int, ...] | None:
    """Return the axes of an operand, counted from the front. Raises ShapeError for one that is none or comes twice."""
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

    An empty `axes` names none, but onnxruntime takes it for an absent one: the shape is open where a size may be 1.
    Source: ONNX Squeeze-24.
    """

    inputs = ("X", "axes?")
    takes = (None, INT64)
    reads = frozenset({1})
    rounding = Rounding.VIEWS

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
            count = axes.elements()
            rest = tuple(dim for dim in x.shape if not (isinstance(dim, Unknown) or dim == 1))
            if not isinstance(count, int):
                return TensorType(x.dtype, None)
            if len(rest) == rank - count and all(is_natural(dim, 2) for dim in rest):
                return TensorType(x.dtype, rest)  # there are no other axes that could go
            return TensorType(x.dtype, (UNKNOWN,) * (rank - count))
        if not chosen and not all(is_natural(dim, 2) for dim in x.shape):
            return TensorType(x.dtype, None)
        for axis in chosen:
            if isinstance(x.shape[axis], int) and x.shape[axis] != 1:
                raise ShapeError(f"axis {axis} of {format_shape(x.shape)} has size {x.shape[axis]}, expected 1")
        return TensorType(x.dtype, tuple(dim for axis, dim in enumerate(x.shape) if axis not in chosen))

    def infer_inputs(
        self, operands: tuple[Operand, ...], results: tuple[TensorType, ...], values: Values = ()
    ) -> tuple[Operand, ...]:
        shape, wanted = results[0].shape, None
        axes = elements_of(values, 1)
        if shape is not None and axes is not None:
            chosen = _axes(axes, len(shape) + len(axes.elements))
            wanted = _with_ones(shape, chosen) if chosen else None
        return (refine(operands[0], wanted, results[0].dtype), *operands[1:])

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        data = values[0]
        if data is None:
            return (None,)
        if len(operands) < 2 or operands[1] is None:
            return (Known(tuple(dim for dim in data.shape if dim != 1), data.elements),)
        chosen = _axes(values[1], len(data.shape))
        if chosen is None or (not chosen and 1 in data.shape):
            return (None,)
        return (Known(tuple(dim for axis, dim in enumerate(data.shape) if axis not in chosen), data.elements),)


@operator
class Unsqueeze(Operator):
    """X with new axes of size 1, which the int64 vector `axes` names as axes of the result.

    Source: ONNX Unsqueeze-24.
    """

    inputs = ("X", "axes")
    takes = (None, INT64)
    reads = frozenset({1})
    rounding = Rounding.VIEWS

    def infer(self, x: TensorType, axes: TensorType, *, values: Values) -> TensorType:
        if x.shape is None:
            return TensorType(x.dtype, None)
        count = axes.elements()
        if not isinstance(count, int):
            return TensorType(x.dtype, None)
        chosen = _axes(values[1], len(x.shape) + count)
        if chosen is None:
            return TensorType(x.dtype, (UNKNOWN,) * (len(x.shape) + count))
        return TensorType(x.dtype, _with_ones(x.shape, chosen))

    def infer_inputs(
        self, operands: tuple[Operand, ...], results: tuple[TensorType, ...], values: Values = ()
    ) -> tuple[Operand, ...]:
        shape, wanted = results[0].shape, None
        chosen = None if shape is None else _axes(elements_of(values, 1), len(shape))
        if shape is not None and chosen is not None:
            wanted = tuple(dim for axis, dim in enumerate(shape) if axis not in chosen)
        return (refine(operands[0], wanted, results[0].dtype), *operands[1:])

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


OPERATORS = (
    *(Transpose, Reshape, Shape, Size, Expand, Flatten),
    *(Squeeze, Unsqueeze, Tile, Pad),
)
