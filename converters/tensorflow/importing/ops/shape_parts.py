"""Parts of tensors put together, taken apart, and put in another order."""

from __future__ import annotations

from graphir.converters.tensorflow.importing.context import ImportFunction, ImportNode
from graphir.converters.tensorflow.importing.sizes import size_at
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops.elementwise import Mod, Sub
from graphir.ops.indexing import Gather
from graphir.ops.shape import Transpose, Unsqueeze
from graphir.ops.shape_parts import BEYOND, Concat, ReverseSequence, Slice, Split
from graphir.types import DType

TO_THE_END = (1 << 63) - 1


def _concat(node: ImportNode, values: tuple[Value, ...], axis: int) -> Value:
    return values[0] if len(values) == 1 else node.emit(Concat(axis=axis), *values)


def import_pack(node: ImportNode) -> Value:
    """Return the inputs stacked along a new axis."""
    axis = node.attrs["axis"]
    parts = [node.step(Unsqueeze(), value, node.vector([axis]), suffix="part") for value in node.inputs]
    return node.emit(Concat(axis=axis), *parts)


def import_unpack(node: ImportNode) -> list[Value]:
    """Return the slices along an axis, one by one, without it."""
    data, axis = node.input(0), int(node.attrs["axis"])
    parts = []
    for number in range(node.attrs["num"]):
        index = node.constant(number, DType.INT64)
        parts.append(node.step(Gather(axis=axis), data, index, suffix=f"part_{number}"))
    return parts


def import_split(node: ImportNode) -> tuple[Value, ...]:
    """Split: equal parts along an axis."""
    data, count = node.input(1), int(node.attrs["num_split"])
    if count == 1:
        return (data,)
    axis = node.integer(0, "the axis")
    size = node.shape(data)[node.axis(axis, node.rank(data))]
    if isinstance(size, int) and size % count:
        node.refuse(f"axis {axis} of {data.type} does not divide into {count} equal parts")
    return node.emit_all(Split(count, axis=axis), data)


def import_split_v(node: ImportNode) -> tuple[Value, ...]:
    """SplitV: parts of stated sizes, one of which may be -1 for what is left."""
    data, count = node.input(0), int(node.attrs["num_split"])
    if count == 1:
        return (data,)
    axis = node.integer(2, "the axis")
    stated = node.known(1)
    if stated is None:
        node.decide(
            DecisionKind.SIZES, f"the sizes of the parts ({node.input(1).name}) are computed and taken to be 0 or more"
        )
        return node.emit_all(Split(count, axis=axis), data, node.int64(node.input(1)))
    if -1 not in stated:
        return node.emit_all(Split(count, axis=axis), data, node.vector(stated))
    size = node.sizes_if_known(data, [axis])
    if size is not None:
        rest = size[0] - sum(stated) - 1
        return node.emit_all(
            Split(count, axis=axis), data, node.vector([rest if part < 0 else part for part in stated])
        )
    return _slice_parts(node, data, axis, stated)


def _slice_parts(node: ImportNode, data: Value, axis: int, sizes: tuple[int, ...]) -> tuple[Value, ...]:
    """Return the parts as slices: bounds before the open part count from the front, those behind it from the end."""
    open_part = sizes.index(-1)
    parts = []
    for number, size in enumerate(sizes):
        if number < open_part:
            start = sum(sizes[:number])
            end = start + size
        elif number == open_part:
            start, end = sum(sizes[:number]), -sum(sizes[number + 1 :]) or TO_THE_END
        else:
            start, end = -sum(sizes[number:]), -sum(sizes[number + 1 :]) or TO_THE_END
        bounds = (node.vector([start]), node.vector([end]), node.vector([axis]))
        parts.append(node.step(Slice(), data, *bounds, suffix=f"part_{number}"))
    return tuple(parts)


def import_reverse(node: ImportNode) -> Value:
    """ReverseV2, whose second input names axes, and Reverse, which has a truth for each."""
    data = node.input(0)
    if node.op == "Reverse":
        axes = [axis for axis, flag in enumerate(node.elements(1, "the axes").tolist()) if flag]
    else:
        axes = list(node.integers(1, "the axes"))
    if not axes:
        return data
    count = len(axes)
    bounds = ([-1] * count, [-BEYOND] * count, axes, [-1] * count)
    return node.emit(Slice(), data, *map(node.vector, bounds))


def import_reverse_sequence(node: ImportNode) -> Value:
    """ReverseSequence over any two axes; ONNX has it for the first two."""
    data, lengths = node.input(0), node.int64(node.input(1))
    rank = node.rank(data)
    time, batch = (node.axis(int(node.attrs[name]), rank) for name in ("seq_dim", "batch_dim"))
    if {time, batch} == {0, 1}:
        return node.emit(ReverseSequence(batch_axis=batch, time_axis=time), data, lengths)
    order = (batch, time, *(axis for axis in range(rank) if axis not in (batch, time)))
    first = node.step(Transpose(order), data, suffix="batch_first")
    result = node.step(ReverseSequence(batch_axis=0, time_axis=1), first, lengths)
    return node.emit(Transpose(tuple(order.index(axis) for axis in range(rank))), result)


def import_roll(node: ImportNode) -> Value:
    """Roll: the elements moved on along axes; those beyond the end come in at the front."""
    data = node.input(0)
    shifts, axes = node.integers(1, "the shift"), node.integers(2, "the axis")
    for shift, axis in zip(shifts, axes, strict=True):
        data = _roll(node, data, node.axis(axis, node.rank(data)), shift)
    return data


def _roll(node: ImportNode, data: Value, axis: int, shift: int) -> Value:
    size = size_at(node, data, axis)
    if isinstance(size, int):
        distance = shift % size if size else 0
        if not distance:
            return data
        start = node.vector([size - distance])
    else:
        start = node.step(Sub(), size, node.step(Mod(), node.vector([shift]), size, suffix="shift"), suffix="start")
    axes = node.vector([axis])
    head = node.step(Slice(), data, start, node.vector([TO_THE_END]), axes, suffix="head")
    tail = node.step(Slice(), data, node.vector([0]), start, axes, suffix="tail")
    return node.step(Concat(axis=axis), head, tail, suffix="rolled")


IMPORTS: dict[str, ImportFunction] = {
    "Concat": lambda node: _concat(node, node.inputs[1:], node.integer(0, "the axis")),
    "ConcatV2": lambda node: _concat(node, node.inputs[:-1], node.integer(-1, "the axis")),
    "Pack": import_pack,
    "ParallelConcat": lambda node: _concat(node, node.inputs, 0),
    "Reverse": import_reverse,
    "ReverseSequence": import_reverse_sequence,
    "ReverseV2": import_reverse,
    "Roll": import_roll,
    "Split": import_split,
    "SplitV": import_split_v,
    "Unpack": import_unpack,
}
