"""Operators that join tensors and take parts of them."""

from __future__ import annotations

from graphir.converters.mxnet.export_context import ExportNode, ExportTable
from graphir.ops import shape_parts as ir
from graphir.ops.base import normalize_axis
from graphir.types import DType


def export_concat(node: ExportNode) -> None:
    """Concat."""
    entries = node.entries()
    if len(entries) == 1:
        node.emit("_copy", *entries)
    else:
        node.emit("Concat", *entries, dim=node.op.axis, num_args=len(entries))


def export_split(node: ExportNode) -> None:
    """SliceChannel of equal parts, _split_v2 of others."""
    op: ir.Split = node.op
    axis = op.axis if op.axis >= 0 or node.value(0).rank is None else normalize_axis(op.axis, node.rank())
    sizes = node.known(1)
    entry = node.export.raw(node.value(0))
    if sizes is None:
        size = None if node.value(0).shape is None else node.shape()[axis]
        if isinstance(size, int) and size % op.num_outputs:
            width = -(-size // op.num_outputs)
            sizes = (*(width,) * (op.num_outputs - 1), size - width * (op.num_outputs - 1))
    if sizes is not None and 0 in sizes:
        node.refuse("MXNet has no tensors without elements")
    if op.num_outputs == 1:
        node.emit("_copy", entry)
    elif sizes is None or len(set(sizes)) == 1:
        node.emit("SliceChannel", entry, num_outputs=op.num_outputs, axis=axis, squeeze_axis=False)
    else:
        starts = tuple(sum(sizes[:place]) for place in range(len(sizes)))
        node.emit("_split_v2", entry, indices=starts, axis=axis, squeeze_axis=False)


def export_slice(node: ExportNode) -> None:
    """slice_axis of one axis, slice of several or by steps."""
    starts, ends = node.known(1) or (), node.known(2) or ()
    rank = node.rank()
    axes = node.known(3) or tuple(range(len(starts)))
    steps = node.known(4) or (1,) * len(starts)
    shape = node.shape()
    begin: list[int | None] = [None] * rank
    end: list[int | None] = [None] * rank
    step: list[int | None] = [None] * rank
    for start, stop, axis, stride in zip(starts, ends, axes, steps, strict=True):
        place = normalize_axis(axis, rank)
        size = shape[place]
        if isinstance(size, int):
            first, last, _ = slice(start, stop, stride).indices(size)
            if stride < 0 and stop < -size:
                last = -1
            if len(range(first, last, stride)) == 0:
                node.refuse("MXNet has no tensors without elements")
            begin[place], end[place] = first, None if last < 0 else last
        else:
            begin[place] = start if stride > 0 or start != -1 else None
            end[place] = stop if abs(stop) < ir.BEYOND else None
        step[place] = stride
    entry, carried = node.export.raw(node.value(0)), node.export.carried(node.value(0))
    touched = [axis for axis in range(rank) if step[axis] is not None]
    if len(touched) == 1 and step[touched[0]] == 1 and end[touched[0]] is not None:
        (axis,) = touched
        node.emit("slice_axis", entry, axis=axis, begin=begin[axis] or 0, end=end[axis], carried=carried)
        return
    stride_text = tuple(step) if any(number not in (None, 1) for number in step) else None
    node.emit("slice", entry, begin=tuple(begin), end=tuple(end), step=stride_text, carried=carried)


def export_depth_to_space(node: ExportNode) -> None:
    """depth_to_space, whose channels hold offsets before the depth."""
    if node.op.mode is not ir.DepthOrder.DCR:
        node.refuse("order CRD; MXNet has DCR")
    node.emit("depth_to_space", node.entry(0), block_size=node.op.blocksize)


def export_space_to_depth(node: ExportNode) -> None:
    """space_to_depth."""
    if node.op.mode is not ir.DepthOrder.DCR:
        node.refuse("order CRD; MXNet has DCR")
    node.emit("space_to_depth", node.entry(0), block_size=node.op.blocksize)


def export_reverse_sequence(node: ExportNode) -> None:
    """SequenceReverse along the first axis."""
    if (node.op.time_axis, node.op.batch_axis) != (0, 1):
        node.refuse("MXNet reverses along axis 0 of batches along axis 1 only")
    lengths = node.export.raw(node.value(1))
    if node.export.carried(node.value(1)) is DType.INT64:
        lengths = node.export.cast(lengths, DType.INT32)
    node.emit("SequenceReverse", node.entry(0), lengths, use_sequence_length=True)


EXPORTS: ExportTable = {
    ir.Concat: export_concat,
    ir.Split: export_split,
    ir.Slice: export_slice,
    ir.DepthToSpace: export_depth_to_space,
    ir.SpaceToDepth: export_space_to_depth,
    ir.ReverseSequence: export_reverse_sequence,
}

__all__ = ["EXPORTS"]
