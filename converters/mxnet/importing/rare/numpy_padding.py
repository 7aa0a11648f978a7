"""_npi_pad pads every axis, in six modes; other operators insert elements.

_npi_insert_scalar, _npi_insert_slice and _npi_insert_tensor: elements put in front of places of an axis.

MXNet does not compare the sizes of values that go in at one place, and reads beside them where they do not fit: such
values are refused here.
"""

from __future__ import annotations

import math

import numpy as np

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.sizes import Entry, axis_of, axis_size, shape_vector, static_size
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops import reduction
from graphir.ops.creation import Range
from graphir.ops.elementwise import Add, IsNaN, Max, Min, Mod, Mul, Sub, Where
from graphir.ops.indexing import Gather
from graphir.ops.reduction import TopK
from graphir.ops.shape import Expand, Pad, PadMode, Reshape, Transpose, Unsqueeze
from graphir.ops.shape_parts import BEYOND, Concat, Slice
from graphir.types import DType

MODES = {"constant": PadMode.CONSTANT, "edge": PadMode.EDGE}


def _widths(node: ImportNode, rank: int) -> list[tuple[int, int]]:
    """Return how many elements come before and after, by axis."""
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
    """Return the places of an axis as a mirror at either end shows them, again and again, with or without the edge
    twice."""
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
    """Return the data between their largest (smallest) elements along an axis. What is not a number counts for MXNet
    where it is the first element only."""
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


def _target(node: ImportNode) -> tuple[Value, int]:
    """Return the data and the axis along which they grow: of the flattened data without one."""
    data, axis = node.input(0), node.attrs["axis"]
    if axis is None:
        return (data if data.rank == 1 else node.step(Reshape(), data, node.vector([-1]), suffix="flat")), 0
    if node.rank(data) == 0:
        node.refuse("a tensor without axes has none to insert along")
    return data, node.axis(axis, node.rank(data))


def _block(node: ImportNode, data: Value, axis: int, slot: int, *, first_is_count: bool = False) -> Value:
    """Return the values with the data's rank, dtype and sizes, but as many of them along the axis as there are.

    `first_is_count`: their first axis, once they have the rank, is the one along which they go in.
    """
    rank, number = node.rank(data), node.attrs["val"]
    if number is not None:
        if rank > 1:
            node.refuse("val along an axis of a tensor of several, which MXNet does not take; give an array")
        return node.step(Expand(), node.scalar_like(data, number), node.vector([1]))
    values = node.input(slot)
    if values.dtype is not data.dtype:
        values = node.cast(values, data.dtype or DType.FLOAT32)
    missing = rank - node.rank(values)
    if missing < 0:
        if any(static_size(values, index) not in (None, 1) for index in range(-missing)):
            node.refuse(f"values {values.type} for {data.type}")
        kept: list[Entry] = [axis_of(values, index) for index in range(-missing, node.rank(values))]
        values = node.step(Reshape(), values, shape_vector(node, kept))
    elif missing > 0:
        values = node.step(Unsqueeze(), values, node.vector(range(missing)))
    if first_is_count and axis:
        values = node.step(Transpose((*range(1, axis + 1), 0, *range(axis + 1, rank))), values)
    for index in range(rank):
        have, wanted = static_size(values, index), static_size(data, index)
        if index != axis and have not in (None, 1) and wanted not in (None, have):
            node.refuse(f"values {values.type} do not fit {data.type} on axis {index}")
    sizes: list[Entry] = [1 if index == axis else axis_of(data, index) for index in range(rank)]
    return values if rank == 1 else node.step(Expand(), values, shape_vector(node, sizes))


def _between(node: ImportNode, data: Value, block: Value, axis: int, place: int) -> Value:
    size = static_size(data, axis)
    if size is not None and not -size <= place <= size:
        node.refuse(f"place {place} is outside an axis of {size}")
    axes = node.vector([axis])
    before = node.step(Slice(), data, node.vector([0]), node.vector([place]), axes)
    behind = node.step(Slice(), data, node.vector([place]), node.vector([BEYOND]), axes)
    parts = [block, behind] if place == 0 else [before, block, behind]
    return node.step(Concat(axis), *parts, suffix="inserted")


def import_insert_scalar(node: ImportNode) -> Value:
    """Return the values in front of one place, which may be the one behind the last."""
    data, axis = _target(node)
    index = node.attrs["int_ind"]
    if index is None:
        node.refuse("int_ind is not given")
    return _between(node, data, _block(node, data, axis, 1, first_is_count=True), axis, index)


def import_insert_slice(node: ImportNode) -> Value:
    """Return one value in front of each place of a slice, or all of them in front of its only place."""
    data, axis = _target(node)
    attrs = node.attrs
    if not attrs["step"]:
        node.refuse(f"step {attrs['step']}, which MXNet has to be given")
    (size,) = node.sizes(data, [axis])
    node.charge(size, "the places of its slice")
    indices = list(range(size)[slice(attrs["start"], attrs["stop"], attrs["step"])])
    if len(indices) != 1 and attrs["val"] is not None:
        node.refuse("val at other than one place, which MXNet does not take; give an array")
    block = _block(node, data, axis, 1)
    if len(indices) == 1:
        return _between(node, data, block, axis, indices[0])
    count = static_size(block, axis)
    if count not in (None, 1, len(indices)):
        node.refuse(f"{count} values for {len(indices)} places")
    if not indices:
        return node.emit(ew.Identity(), data)
    whole = _repeated(node, block, axis, len(indices))
    keys = [2 * index + 1 for index in range(size)] + [2 * index for index in indices]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return node.emit(Gather(axis), node.step(Concat(axis), data, whole), node.vector(order))


def _repeated(node: ImportNode, block: Value, axis: int, count: int) -> Value:
    return node.step(Expand(), block, node.vector([count if index == axis else 1 for index in range(node.rank(block))]))


def import_insert_tensor(node: ImportNode) -> Value:
    """Return one value in front of each place that a vector names, or all of them in front of its only place.

    A sort of keys, of the data's elements 2 i + 1 and of what goes in front of place i 2 i, gives the order.
    """
    data, axis = _target(node)
    indices = node.input(len(node) - 1)
    if node.rank(indices) > 1 or (node.rank(indices) == 0 and node.rank(data) > 1):
        node.refuse(f"the places are {indices.type}, expected a vector")
    if indices.dtype is not DType.INT64:
        node.refuse(f"the places are {indices.dtype}, expected int64")
    (count,) = node.sizes(indices) or (1,)
    if count != 1 and node.attrs["val"] is not None:
        node.refuse("val at other than one place, which MXNet does not take; give an array")
    block = _block(node, data, axis, 1)
    number = static_size(block, axis)
    if number is None or (count != 1 and number not in (1, count)):
        node.refuse(f"values {block.type} for {count} places")
    if count == 0:
        return node.emit(ew.Identity(), data)
    number = number if count == 1 else count
    whole = _repeated(node, block, axis, number)
    size = axis_size(node, data, axis)
    below = node.step(ew.Less(), indices, node.constant(0, DType.INT64))
    wrapped = node.step(ew.Where(), below, node.step(ew.Add(), indices, size), indices)
    two = node.constant(2, DType.INT64)
    inserted = node.step(Expand(), node.step(ew.Mul(), wrapped, two), node.vector([number]))
    one = node.constant(1, DType.INT64)
    own = node.step(Range(), one, node.step(ew.Add(), node.step(ew.Mul(), size, two), one), two)
    total = node.step(ew.Add(), node.step(Unsqueeze(), size, node.vector([0])), node.vector([number]))
    keys = node.step(Concat(0), own, inserted, suffix="keys")
    order = node.steps(TopK(axis=0, largest=False), keys, total)[1]
    return node.emit(Gather(axis), node.step(Concat(axis), data, whole), order)


IMPORTS: dict[str, ImportFunction] = {
    "_npi_pad": import_pad,
    "_npi_insert_scalar": import_insert_scalar,
    "_npi_insert_slice": import_insert_slice,
    "_npi_insert_tensor": import_insert_tensor,
}
