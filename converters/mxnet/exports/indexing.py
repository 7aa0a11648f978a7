"""Lookups by index."""

from __future__ import annotations

from graphir.converters.mxnet.export_context import Entry, ExportNode, ExportTable
from graphir.graph import Value
from graphir.ops import indexing as ir
from graphir.ops.base import normalize_axis
from graphir.ops.elementwise import Cast, Clip
from graphir.types import DType


def _constant(value: Value | None) -> int | None:
    if value is None or value.tensor is None or value.tensor.size != 1:
        return None
    return int(value.tensor.numpy().reshape(-1)[0])


def _unlimited(node: ExportNode, indices: Value, last: int | None) -> Entry | None:
    """The indices before they were limited to [0, last], which `take` does itself; None if they were not."""
    limit = indices.producer
    if limit is None or not isinstance(limit.op, Clip) or len(limit.inputs) < 3:
        return None
    if _constant(limit.inputs[1]) != 0 or last is None or _constant(limit.inputs[2]) != last:
        return None
    source = limit.inputs[0]
    assert source is not None
    convert = source.producer
    if convert is not None and isinstance(convert.op, Cast) and source.dtype is DType.INT64:
        inner = convert.inputs[0]
        assert inner is not None
        if inner.dtype is not DType.BOOL:
            source = inner
    return node.export.entry(source)


def export_gather(node: ExportNode) -> None:
    """Embedding of a table, slice of one index, else take."""
    data, indices = node.value(0), node.value(1)
    axis = node.op.axis if data.rank is None else normalize_axis(node.op.axis, data.rank)
    number = _constant(indices)
    if number is not None and indices.rank == 0 and node.rank() > 1:
        around = (None,) * axis
        begin, end = (*around, number), (*around, None if number == -1 else number + 1)
        part = node.step("slice", node.export.raw(data), begin=begin, end=end)
        node.emit("squeeze", part, axis=(axis,))
        return
    size = None if data.shape is None else data.shape[axis]
    last = size - 1 if isinstance(size, int) else None
    unlimited = _unlimited(node, indices, last)
    if unlimited is None:
        node.emit("take", node.export.raw(data), node.entry(1), axis=axis, mode="wrap")
    elif data.rank == 2 and axis == 0 and data.tensor is not None and data.dtype is not None:
        rows, columns = node.sizes(data.shape, data.name)
        kind = None if data.dtype is DType.FLOAT32 else data.dtype.value
        node.emit("Embedding", unlimited, node.entry(0), input_dim=rows, output_dim=columns, dtype=kind)
    else:
        node.emit("take", node.export.raw(data), unlimited, axis=axis, mode="clip")


def export_gather_nd(node: ExportNode) -> None:
    """gather_nd, whose index vectors lie along the first axis."""
    if node.op.batch_dims:
        node.refuse(f"batch_dims {node.op.batch_dims}; MXNet has none")
    rank = node.rank(1)
    indices = node.entry(1)
    if rank > 1:
        indices = node.step("transpose", indices, suffix="vectors", axes=(rank - 1, *range(rank - 1)))
    node.emit("gather_nd", node.export.raw(node.value(0)), indices)


EXPORTS: ExportTable = {ir.Gather: export_gather, ir.GatherND: export_gather_nd}

__all__ = ["EXPORTS"]
