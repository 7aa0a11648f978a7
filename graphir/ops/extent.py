"""Operators that repeat a tensor or surround it: the sizes change, the order of the elements stays."""

from __future__ import annotations

import enum
from typing import Any

from graphir.errors import ShapeError
from graphir.types import UNKNOWN, Dim, TensorType, format_shape

from .base import Known, Operand, Operator, Values, elements_of, normalize_axis, operator, refine
from .dtypes import COMMON, INDICES, INT64
from .known import array_of, is_small, known_array
from .traits import Rounding


@operator
class Tile(Operator):
    """X repeated as a whole, `repeats` (an int64 vector) times along each axis. Source: ONNX Tile-13."""

    inputs = ("X", "repeats")
    takes = (COMMON, INT64)
    reads = frozenset({1})
    rounding = Rounding.MOVES

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
            for dim, count in zip(x.shape, times.dims(), strict=True)
        )
        return TensorType(x.dtype, sizes)

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        data, times = values[0], None if values[1] is None else values[1].integers()
        if data is None or times is None or not is_small((*data.shape, *times)):
            return (None,)
        import numpy as np

        return (known_array(np.tile(array_of(data), times)),)

    def infer_inputs(
        self, operands: tuple[Operand, ...], results: tuple[TensorType, ...], values: Values = ()
    ) -> tuple[Operand, ...]:
        shape, times = results[0].shape, elements_of(values, 1)
        wanted = None
        if shape is not None and times is not None and len(times.elements) == len(shape):
            wanted = tuple(map(_one_repeat, shape, times.dims()))
        elif shape is not None:
            wanted = (UNKNOWN,) * len(shape)
        return (refine(operands[0], wanted, results[0].dtype), *operands[1:])


def _one_repeat(size: Dim, times: Dim) -> Dim:
    """Return the size of which `size` is a multiple. Raises ShapeError if it is none."""
    if not isinstance(times, int) or times < 1:
        return UNKNOWN
    if isinstance(size, int) and size % times:
        raise ShapeError(f"{size} is no multiple of the {times} repeats")
    return size // times if isinstance(size, int) or size == (size // times) * times else UNKNOWN


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
    takes = (None, INT64, None, INDICES)
    reads = frozenset({1, 3})
    rounding = Rounding.MOVES
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
        axis_indices = range(rank) if chosen is None else chosen.integers()
        if axis_indices is None:
            return unknown
        if len(amounts.elements) != 2 * len(axis_indices):
            raise ShapeError(f"{len(amounts.elements)} pads for {len(axis_indices)} axes, expected twice as many")
        sizes = list(x.shape)
        for index, axis in enumerate(axis_indices):
            total = amounts.dims()[index] + amounts.dims()[index + len(axis_indices)]
            sizes[normalize_axis(axis, rank)] = sizes[normalize_axis(axis, rank)] + total
        if any(isinstance(size, int) and size < 0 for size in sizes):
            raise ShapeError(f"pads {list(amounts.elements)} crop more than {format_shape(x.shape)} has")
        return TensorType(x.dtype, tuple(sizes))

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        data, amounts = values[0], None if values[1] is None else values[1].integers()
        present = [slot < len(operands) and operands[slot] is not None for slot in range(4)]
        axes = None if data is None else tuple(range(len(data.shape)))
        if present[3]:
            axes = None if values[3] is None else values[3].integers()
        if data is None or amounts is None or axes is None or (present[2] and values[2] is None):
            return (None,)
        pairs = [(0, 0)] * len(data.shape)
        for index, axis in enumerate(axes):
            pairs[axis] = amounts[index], amounts[index + len(axes)]
        if not is_small([size + sum(pair) for size, pair in zip(data.shape, pairs, strict=True)]):
            return (None,)
        import numpy as np

        indices = np.arange(len(data.elements)).reshape(data.shape)
        indices = indices[tuple(slice(max(-before, 0), min(after, 0) or None) for before, after in pairs)]
        added = [(max(before, 0), max(after, 0)) for before, after in pairs]
        if self.mode is PadMode.CONSTANT:
            fill = values[2].elements[0] if present[2] and values[2] is not None else 0
            indices = np.pad(indices, added, constant_values=len(data.elements))
            return (known_array(array_of(Known.vector((*data.elements, fill)))[indices]),)
        if not indices.size:
            return (None,)
        modes: Any = {PadMode.EDGE: "edge", PadMode.REFLECT: "reflect", PadMode.WRAP: "wrap"}
        return (known_array(array_of(data).reshape(-1)[np.pad(indices, added, modes[self.mode])]),)

    def infer_inputs(
        self, operands: tuple[Operand, ...], results: tuple[TensorType, ...], values: Values = ()
    ) -> tuple[Operand, ...]:
        x, shape = operands[0], results[0].shape
        if shape is None:
            return (refine(x, None, results[0].dtype), *operands[1:])
        rank = len(shape)
        amounts = elements_of(values, 1)
        stated = elements_of(values, 3)
        named = len(operands) > 3 and operands[3] is not None
        axis_indices = tuple(range(rank)) if not named else None if stated is None else stated.integers()
        wanted: list[Dim] = [UNKNOWN] * rank
        if amounts is not None and axis_indices is not None and len(amounts.elements) == 2 * len(axis_indices):
            wanted = list(shape)
            pads = amounts.dims()
            for index, axis in enumerate(axis_indices):
                total = pads[index] + pads[index + len(axis_indices)]
                wanted[normalize_axis(axis, rank)] = shape[normalize_axis(axis, rank)] - total
        return (refine(x, tuple(wanted), results[0].dtype), *operands[1:])
