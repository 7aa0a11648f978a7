"""_npi_pad: padding of every axis, in six modes."""

from __future__ import annotations

import math

import numpy as np

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.sizes import axis_size, static_size
from graphir.graph import Value
from graphir.ops import reduction
from graphir.ops.creation import Range
from graphir.ops.elementwise import Add, IsNaN, Max, Min, Mod, Mul, Sub, Where
from graphir.ops.indexing import Gather
from graphir.ops.shape import Expand, Pad, PadMode
from graphir.ops.shape_parts import Concat, Slice
from graphir.types import DType

MODES = {"constant": PadMode.CONSTANT, "edge": PadMode.EDGE}


def _widths(node: ImportNode, rank: int) -> list[tuple[int, int]]:
    """How many elements come before and after, by axis."""
    stated = node.attrs["pad_width"]
    if rank == 1 and [len(entry) for entry in stated] == [1, 1]:
        stated = ((stated[0][0], stated[1][0]),)  # the only way in which MXNet 1.9.1 takes the widths of a vector
    if rank == 0 or len(stated) != rank or any(len(entry) != 2 for entry in stated):
        node.refuse(f"pad_width {node.attrs['pad_width']}, expected two numbers for each of {rank} axes")
    widths = [(int(before), int(after)) for before, after in stated]
    if node.attrs["mode"] != "constant" and min(min(pair) for pair in widths) < 0:
        node.refuse(f"pad_width {stated} crops, which mode {node.attrs['mode']!r} does not")
    return widths


def import_pad(node: ImportNode) -> Value:
    """Elements before and after on every axis: a constant, the edge's, the data reflected with or without its edge, or
    its extremes along the axis. MXNet takes no notice of `reflect_type`."""
    data, mode = node.input(0), node.attrs["mode"]
    widths = _widths(node, node.rank(data))
    axes = [axis for axis, pair in enumerate(widths) if any(pair)]
    if not axes:
        return data
    if mode != "constant" and any(static_size(data, axis) == 0 for axis in axes):
        node.refuse(f"{data.type} has nothing to pad with")
    if mode in MODES:
        operands = [node.vector([before for before, _ in widths] + [after for _, after in widths])]
        if mode == "constant" and node.attrs["constant_value"] != 0:
            operands.append(node.scalar_like(data, node.attrs["constant_value"]))
        return node.emit(Pad(MODES[mode]), data, *operands)
    result = data
    for axis in reversed(axes):  # MXNet's order, of which what is not a number tells
        if mode in ("maximum", "minimum"):
            result = _with_extremes(node, result, axis, widths[axis])
        else:
            indices = _reflected(node, result, axis, widths[axis])
            result = node.step(Gather(axis), result, indices)
    return result


def _reflected(node: ImportNode, data: Value, axis: int, width: tuple[int, int]) -> Value:
    """The places of an axis as a mirror at either end shows them, again and again, with or without the edge twice."""
    size, edge = static_size(data, axis), node.attrs["mode"] == "symmetric"
    if size is not None:
        node.charge(size + sum(width), "the places of its padding")
        period = 2 * size if edge else max(2 * size - 2, 1)
        indices = np.arange(-width[0], size + width[1]) % period
        return node.vector(np.minimum(indices, period - edge - indices).tolist())
    one, two = node.constant(1, DType.INT64), node.constant(2, DType.INT64)
    count = axis_size(node, data, axis)
    period_value = node.step(Mul(), count, two)
    if not edge:
        period_value = node.step(Max(), node.step(Sub(), period_value, two), one)
    first, last = node.constant(-width[0], DType.INT64), node.constant(width[1], DType.INT64)
    numbers = node.step(Range(), first, node.step(Add(), count, last), one)
    there = node.step(Mod(), numbers, period_value)
    back = node.step(Sub(), node.step(Sub(), period_value, one) if edge else period_value, there)
    return node.step(Min(), there, back)


def _with_extremes(node: ImportNode, data: Value, axis: int, width: tuple[int, int]) -> Value:
    """The data between their largest (smallest) elements along an axis. What is not a number counts for MXNet where it
    is the first element only."""
    shown = node.cast(data, DType.INT32) if data.dtype is DType.BOOL else data
    indices = node.vector([axis])
    largest = node.attrs["mode"] == "maximum"
    kind = reduction.ReduceMax if largest else reduction.ReduceMin
    if data.dtype is not None and data.dtype.is_float:
        first = node.step(Slice(), data, node.vector([0]), node.vector([1]), indices)
        least = node.scalar_like(data, -math.inf if largest else math.inf)
        numbers = node.step(Where(), node.step(IsNaN(), data), least, data)
        result = node.step(Where(), node.step(IsNaN(), first), first, node.step(kind(keepdims=True), numbers, indices))
    else:
        result = node.step(kind(keepdims=True), shown, indices)
    if data.dtype is DType.BOOL:
        result = node.cast(result, DType.BOOL)
    parts = [data]
    for count, index in ((width[0], 0), (width[1], 1)):
        if count:
            shape = [count if other == axis else 1 for other in range(node.rank(data))]
            parts.insert(index and len(parts), node.step(Expand(), result, node.vector(shape)))
    return node.step(Concat(axis), *parts, suffix="padded")


IMPORTS: dict[str, ImportFunction] = {"_npi_pad": import_pad}
