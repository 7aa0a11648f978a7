"""Operators that join tensors and take parts of them."""

from __future__ import annotations

import numpy as np

from graphir.converters.mxnet.exporting.context import AnyNode, Entry, ExportNode, row, table
from graphir.converters.mxnet.exporting.ops.idioms import unconverted
from graphir.converters.mxnet.exporting.ops.steps import MOST_SLICED_AXES, same_truths
from graphir.ops import shape_parts as ir
from graphir.ops.base import normalize_axis
from graphir.ops.slicing import places_taken
from graphir.types import Dim, DType

FARTHEST = 1 << 30


def export_concat(node: ExportNode[ir.Concat]) -> None:
    """Concat of what has elements."""
    values = [value for value in node.node.inputs if value is not None]
    present = [value for value in values if value.shape is None or 0 not in value.shape]
    if len(present) == 1:
        (value,) = present
        node.emit("_copy", node.export.raw(value), carried=node.export.carried(value))
        return
    entries, carried = same_truths(node, present)
    node.emit("Concat", *entries, carried=carried, dim=node.op.axis, num_args=len(entries))


def export_split(node: ExportNode[ir.Split]) -> None:
    """SliceChannel of equal parts, _split_v2 of others; parts without elements need no operator."""
    op = node.op
    axis = op.axis if op.axis >= 0 or node.input(0).rank is None else normalize_axis(op.axis, node.rank())
    sizes = node.numbers(1)
    entry, carried = node.moved(0)
    if sizes is None:
        size = None if node.input(0).shape is None else node.shape()[axis]
        if isinstance(size, int) and size % op.num_outputs:
            width = -(-size // op.num_outputs)
            sizes = (*(width,) * (op.num_outputs - 1), size - width * (op.num_outputs - 1))
    slots = [slot for slot in range(op.num_outputs) if sizes is None or sizes[slot]]
    widths = set(sizes or ()) - {0}
    if len(slots) == 1:
        parts = [node.step("_copy", entry)]
    elif sizes is None or len(widths) == 1:
        index, _ = node.step("SliceChannel", entry, num_outputs=len(slots), axis=axis, squeeze_axis=False)
        parts = [(index, place) for place in range(len(slots))]
    else:
        starts = tuple(sum(sizes[:slot]) for slot in slots)
        index, _ = node.step("_split_v2", entry, indices=starts, axis=axis, squeeze_axis=False)
        parts = [(index, place) for place in range(len(slots))]
    node.export.rename(parts[0][0], node.stem)
    for slot, part in zip(slots, parts, strict=True):
        node.bind(part, slot, carried=carried)


def export_slice(node: ExportNode[ir.Slice]) -> None:
    """slice_axis of one axis, slice of several, by steps, or of what may go beyond an open size."""
    starts, ends = node.numbers(1) or (), node.numbers(2) or ()
    rank = node.rank()
    axes = node.numbers(3) or tuple(range(len(starts)))
    steps = node.numbers(4) or (1,) * len(starts)
    shape = node.shape()
    begin: list[int | None] = [None] * rank
    end: list[int | None] = [None] * rank
    step: list[int | None] = [None] * rank
    for start, stop, axis, stride in zip(starts, ends, axes, steps, strict=True):
        index = normalize_axis(axis, rank)
        size = shape[index]
        if isinstance(size, int):
            indices = places_taken(size, start, stop, stride)
            begin[index], end[index] = indices.start, None if indices.stop < 0 else indices.stop
        else:
            begin[index] = start if stride > 0 or start != -1 else None
            end[index] = stop if abs(stop) < ir.BEYOND else None
        step[index] = stride
    entry, carried = node.moved(0)
    touched = [axis for axis in range(rank) if step[axis] is not None]
    axis = touched[0] if touched else 0
    if len(touched) == 1 and step[axis] == 1 and _is_inside(shape[axis], begin[axis], end[axis]):
        node.emit("slice_axis", entry, axis=axis, begin=begin[axis] or 0, end=end[axis], carried=carried)
        return
    if rank > MOST_SLICED_AXES and touched:
        for axis in touched:
            entry = _cut(node, entry, axis, slice(begin[axis], end[axis], step[axis]))
        node.bind(entry, carried=carried)
        return
    stride_text = tuple(step) if any(number not in (None, 1) for number in step) else None
    node.emit("slice", entry, begin=tuple(begin), end=tuple(end), step=stride_text, carried=carried)


def _is_inside(size: Dim, begin: int | None, end: int | None) -> bool:
    """Return whether slice_axis takes these bounds, which must not lie beyond the axis: those of an open one may."""
    return end is not None and (isinstance(size, int) or (end < 0 <= (begin or 0)))


def _cut(node: AnyNode, entry: Entry, axis: int, part: slice) -> Entry:
    """Return a part along one axis: slice_axis, or where it goes by steps take of the places."""
    if part.step == 1:
        begin, end = part.start or 0, str(part.stop)
        return node.step("slice_axis", entry, suffix=f"axis{axis}", axis=axis, begin=begin, end=end)
    size = node.shape()[axis]
    if not isinstance(size, int):
        node.refuse(f"MXNet slices up to {MOST_SLICED_AXES} axes by steps; the size of axis {axis} is open")
    node.charge(size, "the places of its slice")
    indices = node.constant(np.arange(size)[part], DType.INT64, f"places{axis}")
    return node.step("take", entry, indices, suffix=f"axis{axis}", axis=axis, mode="clip")


def export_depth_to_space(node: ExportNode[ir.DepthToSpace]) -> None:
    """depth_to_space, whose channels hold offsets before the depth; the other order by Reshape and transpose."""
    block = node.op.blocksize
    if node.op.mode is ir.DepthOrder.DCR:
        node.emit("depth_to_space", node.entry(0), block_size=block)
        return
    apart = node.step("Reshape", node.entry(0), suffix="apart", shape=(0, -4, -1, block * block, -2))
    apart = node.step("Reshape", apart, suffix="blocks", shape=(0, 0, -4, block, block, -2))
    moved = node.step("transpose", apart, axes=(0, 1, 4, 2, 5, 3))
    node.emit("Reshape", moved, shape=(0, 0, -3, -3))


def export_space_to_depth(node: ExportNode[ir.SpaceToDepth]) -> None:
    """space_to_depth, whose channels hold offsets before the depth; the other order by Reshape and transpose."""
    block = node.op.blocksize
    if node.op.mode is ir.DepthOrder.DCR:
        node.emit("space_to_depth", node.entry(0), block_size=block)
        return
    apart = node.step("Reshape", node.entry(0), suffix="blocks", shape=(0, 0, -4, -1, block, -4, -1, block))
    moved = node.step("transpose", apart, axes=(0, 1, 3, 5, 2, 4))
    joined = node.step("Reshape", moved, suffix="offsets", shape=(0, -3, 0, 0, 0))
    node.emit("Reshape", joined, shape=(0, -3, 0, 0))


def export_trilu(node: ExportNode[ir.Trilu]) -> None:
    """tril; the upper triangle is what tril of the diagonal below leaves over."""
    moved = node.number(1) if node.optional(1) is not None else 0.0
    if moved is None:
        node.refuse(f"{node.input(1).name} is computed; MXNet wants the diagonal as an attribute")
    diagonal = int(max(-FARTHEST, min(moved, FARTHEST)))
    data, carried = node.moved(0)
    if not node.op.upper:
        node.emit("_npi_tril", data, carried=carried, k=diagonal)
        return
    below = node.step("_npi_tril", node.step("ones_like", data), k=diagonal - 1)
    node.emit("where", below, node.step("zeros_like", data), data, carried=carried)


def export_reverse_sequence(node: ExportNode[ir.ReverseSequence]) -> None:
    """SequenceReverse along the first axis, with batches along the second: other axes are moved there and back."""
    given = unconverted(node.input(1))
    lengths = node.export.raw(given)
    if node.export.carried(given) is DType.INT64:
        lengths = node.export.cast(lengths, DType.INT32)
    front = tuple(normalize_axis(axis, node.rank()) for axis in (node.op.time_axis, node.op.batch_axis))
    if front == (0, 1):
        node.emit("SequenceReverse", node.entry(0), lengths, use_sequence_length=True)
        return
    order = (*front, *(axis for axis in range(node.rank()) if axis not in front))
    data = node.step("transpose", node.entry(0), suffix="time_first", axes=order)
    turned = node.step("SequenceReverse", data, lengths, use_sequence_length=True)
    node.emit("transpose", turned, axes=tuple(order.index(axis) for axis in range(node.rank())))


EXPORTS = table(
    row(ir.Concat, export_concat),
    row(ir.Split, export_split),
    row(ir.Slice, export_slice),
    row(ir.DepthToSpace, export_depth_to_space),
    row(ir.SpaceToDepth, export_space_to_depth),
    row(ir.Trilu, export_trilu),
    row(ir.ReverseSequence, export_reverse_sequence),
)
