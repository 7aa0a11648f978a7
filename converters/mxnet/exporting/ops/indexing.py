"""Lookups by index, and choices of constant elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphir.converters.mxnet.exporting.context import AnyNode, Entry, ExportNode, row, table
from graphir.converters.mxnet.exporting.ops.idioms import unconverted
from graphir.converters.mxnet.exporting.ops.steps import MOST_SLICED_AXES, places
from graphir.graph import Value
from graphir.ops import indexing as ir
from graphir.ops import reduction
from graphir.ops.base import normalize_axis
from graphir.ops.creation import Range
from graphir.ops.elementwise import Cast, Clip, Mod, Sub
from graphir.ops.shape import Squeeze, Transpose, Unsqueeze
from graphir.types import DType

EXACT_ATTRIBUTE = 1 << 53


def _constant(value: Value | None) -> int | None:
    if value is None or value.tensor is None or value.tensor.size != 1:
        return None
    return int(value.tensor.numpy().reshape(-1)[0])


def _unlimited(node: AnyNode, indices: Value, last: int | None) -> Entry | None:
    """Return the indices before they were limited to [0, last], which MXNet does itself; None if they were not."""
    limit = indices.producer
    if limit is None or not isinstance(limit.op, Clip) or len(limit.inputs) < 3:
        return None
    if _constant(limit.inputs[1]) != 0 or last is None or _constant(limit.inputs[2]) != last:
        return None
    source = limit.inputs[0]
    assert source is not None
    return node.export.entry(unconverted(source))


def _chosen(node: AnyNode, indices: Value, size: object) -> tuple[Entry, str]:
    """Return the indices and MXNet's mode: before they were limited to an axis of this size or wrapped around on it."""
    last = size - 1 if isinstance(size, int) else None
    unlimited = _unlimited(node, indices, last)
    if unlimited is not None:
        return unlimited, "clip"
    wrap = indices.producer
    if wrap is not None and isinstance(wrap.op, Mod) and not wrap.op.fmod and _constant(wrap.inputs[1]) == size:
        source = wrap.inputs[0]
        assert source is not None
        return node.export.entry(unconverted(source)), "wrap"
    return node.export.entry(indices), "wrap"


def _last(value: Value, axis: int) -> int | None:
    size = None if value.shape is None else value.shape[axis]
    return size - 1 if isinstance(size, int) else None


def _is_parameter(node: AnyNode, value: Value) -> bool:
    """Return whether a value is a weight, the elements of which may be absent."""
    return value.producer is None and not node.export.graph.is_input(value)


def export_gather(node: ExportNode[ir.Gather]) -> None:
    """Embedding of a table, slice of one index, else take."""
    data, indices = node.input(0), node.input(1)
    carried = node.export.carried(data)
    axis = node.op.axis if data.rank is None else normalize_axis(node.op.axis, data.rank)
    number = _constant(indices)
    if number is not None and indices.rank == 0 and node.rank() > 1:
        end = None if number == -1 else number + 1
        if node.rank() > MOST_SLICED_AXES:
            part = node.step("slice_axis", node.export.raw(data), axis=axis, begin=number, end=str(end))
        else:
            around = (None,) * axis
            part = node.step("slice", node.export.raw(data), begin=(*around, number), end=(*around, end))
        node.emit("squeeze", part, axis=(axis,), carried=carried)
        return
    unlimited = _unlimited(node, indices, _last(data, axis))
    scalar = indices.rank == 0 and data.rank != 1
    if unlimited is None:
        entry, mode = _chosen(node, indices, None if data.shape is None else data.shape[axis])
    elif data.rank == 2 and axis == 0 and _is_parameter(node, data) and data.dtype is not None and not scalar:
        rows, columns = node.fixed(data.shape, data.name)
        kind = None if data.dtype is DType.FLOAT32 else data.dtype.value
        node.emit("Embedding", unlimited, node.entry(0), input_dim=rows, output_dim=columns, dtype=kind)
        return
    else:
        entry, mode = unlimited, "clip"
    if scalar:
        result = node.step("take", node.export.raw(data), entry, axis=axis, mode=mode)
        node.emit("squeeze", result, axis=(axis,), carried=carried)
    else:
        node.emit("take", node.export.raw(data), entry, axis=axis, mode=mode, carried=carried)


def export_gather_nd(node: ExportNode[ir.GatherND]) -> None:
    """gather_nd, whose index vectors lie along the first axis; batch axes are indices too."""
    rank, batch = node.rank(1), node.op.batch_dims
    length = node.shape(1)[-1]
    if batch == 1 and _export_sequence_last(node):
        return
    indices = node.entry(1)
    data, carried = node.moved(0)
    if rank == 1:
        if not isinstance(length, int):
            node.refuse("the length of its index vector is open; state the inputs' shapes")
        column = node.step("expand_dims", indices, suffix="column", axis=1)
        if node.result.rank == 0:
            node.emit("gather_nd", data, column, carried=carried)
            return
        result = node.step("gather_nd", data, column)
        node.emit("squeeze", result, axis=(0,), carried=carried)
        return
    before = _as_mxnet_has_them(node.input(1))
    if before is not None and not batch:
        node.emit("gather_nd", data, node.export.entry(before), carried=carried)
        return
    indices = node.step("transpose", indices, suffix="vectors", axes=(rank - 1, *range(rank - 1)))
    if batch:
        first = node.step("slice_axis", indices, suffix="like", axis=0, begin=0, end=1)
        rows = [places(node, first, rank, axis + 1) for axis in range(batch)]
        if not isinstance(length, int):
            node.refuse("the length of its index vectors is open; state the inputs' shapes")
        indices = node.step("Concat", *rows, indices, suffix="all", dim=0, num_args=batch + 1)
    node.emit("gather_nd", data, indices, carried=carried)


def _as_mxnet_has_them(vectors: Value) -> Value | None:
    """Index vectors along the first axis, before they were moved to the last one; None if they were not."""
    moved = vectors.producer
    if moved is None or not isinstance(moved.op, Transpose) or vectors.rank is None:
        return None
    source = moved.inputs[0]
    if source is None or moved.op.perm != (*range(1, vectors.rank), 0):
        return None
    return unconverted(source)


def _export_sequence_last(node: AnyNode) -> bool:
    """SequenceLast, where the index of each batch is a length less 1; whether it is that."""
    data, column = node.input(0), node.input(1).producer
    if column is None or not isinstance(column.op, Unsqueeze) or node.rank(1) != 2 or column.inputs[0] is None:
        return False
    less = column.inputs[0].producer
    if less is None or not isinstance(less.op, Sub) or _constant(less.inputs[1]) != 1 or less.inputs[0] is None:
        return False
    lengths, axis = less.inputs[0], 1
    if lengths.rank != 1 or node.rank() < 2:
        return False
    moved = data.producer
    swapped = (1, 0, *range(2, node.rank()))
    source = moved.inputs[0] if moved is not None else None
    if moved is not None and source is not None and isinstance(moved.op, Transpose) and moved.op.perm == swapped:
        data, axis = source, 0
    lengths = unconverted(lengths)
    given = node.export.entry(lengths)
    if node.export.carried(lengths) is DType.INT64:
        given = node.export.cast(given, DType.INT32)
    node.emit("SequenceLast", node.export.entry(data), given, axis=axis or None, use_sequence_length=True)
    return True


def export_gather_elements(node: ExportNode[ir.GatherElements]) -> None:
    """take of a vector, pick of one element along the axis, else gather_nd at the place of each index."""
    rank = node.rank()
    axis = normalize_axis(node.op.axis, rank)
    data, indices = node.input(0), node.input(1)
    carried = node.export.carried(data)
    shape, wanted = node.shape(0), node.shape(1)
    if rank == 1:
        entry, mode = _chosen(node, indices, shape[0])
        node.emit("take", node.export.raw(data), entry, axis=0, mode=mode, carried=carried)
        return
    if wanted[axis] == 1 and all(shape[other] == wanted[other] for other in range(rank) if other != axis):
        _export_pick(node, axis, shape[axis])
        return
    entry = node.entry(1)
    rows = [entry if other == axis else places(node, entry, rank, other) for other in range(rank)]
    vectors = node.step("stack", *rows, suffix="vectors", axis=0, num_args=rank)
    node.emit("gather_nd", node.export.raw(data), vectors, carried=carried)


def _export_pick(node: AnyNode, axis: int, size: object) -> None:
    """pick, with indices that lack the axis if they did, and a result without it if nothing else is made of it."""
    indices, result = node.input(1), node.result
    given = indices.producer
    apart = None if given is None or not isinstance(given.op, Unsqueeze) else given.inputs
    if apart is not None and apart[0] is not None and apart[1] is not None and indices.rank is not None:
        numbers = apart[1].integers
        if apart[0].rank == indices.rank - 1 and numbers in ((axis,), (axis - indices.rank,)):
            indices = apart[0]
    entry, mode = _chosen(node, indices, size)
    data = node.export.raw(node.input(0))
    ((user, slot), *others) = result.uses or ((None, 0),)
    alone = not others and slot == 0 and not node.export.graph.is_output(result)
    if alone and user is not None and isinstance(user.op, Squeeze) and user.integers(1) == (axis,):
        last = user.outputs[0]
        name = last.name.removesuffix("_output")
        index = node.export.append("pick", name, [data, entry], {"axis": axis, "mode": mode})
        node.export.bind(last, (index, 0), node.export.carried(node.input(0)))
        node.export.covers([user])
        return
    node.emit("pick", data, entry, axis=axis, keepdims=True, mode=mode, carried=node.export.carried(node.input(0)))


def counts_from_zero(value: Value) -> bool:
    """Return whether the elements, integers, are known to be 0 or more."""
    if value.tensor is not None:
        return bool((value.tensor.numpy() >= 0).all())
    producer = value.producer
    if producer is None:
        return value.dtype in (DType.UINT8, DType.UINT16, DType.UINT32)
    if isinstance(producer.op, Cast | ir.Gather | ir.GatherND | Clip):
        source = producer.inputs[0]
        if isinstance(producer.op, Clip):
            low = _constant(producer.inputs[1]) if len(producer.inputs) > 1 else None
            return low is not None and low >= 0
        return source is not None and source.dtype is not None and source.dtype.is_integer and counts_from_zero(source)
    if isinstance(producer.op, reduction.TopK):
        return value is producer.outputs[1]
    return isinstance(producer.op, reduction.ArgMax | reduction.ArgMin | ir.NonZero | Range)


def export_one_hot(node: ExportNode[ir.OneHot]) -> None:
    """one_hot, which has its new axis last and no negative indices; with computed values a choice between them."""
    depths = node.numbers(1)
    assert depths is not None
    depth = depths[0]
    if depth < 1:
        node.refuse(f"depth {depth}; MXNet has no tensors without elements")
    indices = node.input(0)
    rank = node.rank() + 1
    axis = normalize_axis(node.op.axis, rank)
    entry = node.entry(0)
    dtype = node.dtype()
    if dtype.is_float:
        entry = node.export.cast(entry, DType.INT64)
    if not counts_from_zero(indices):
        below = node.step("_lesser_scalar", entry, suffix="negative", scalar=0)
        shift = node.step("_mul_scalar", below, suffix="shift", scalar=depth)
        entry = node.step("elemwise_add", entry, shift, suffix="from_zero")
    values = node.input(2)
    order = None if axis == rank - 1 else (*range(axis), rank - 1, *range(axis, rank - 1))
    if indices.rank == 0:
        order = None
    off_on = None if values.tensor is None else values.tensor.numpy().astype(object)
    if off_on is not None and all(abs(number) <= EXACT_ATTRIBUTE for number in off_on if np.isfinite(float(number))):
        off, on = (float(number) for number in off_on)
        carrier = DType.FLOAT32 if node.dtype(2) is DType.BOOL else node.dtype(2)
        attributes: dict[str, Any] = {"depth": depth, "on_value": on, "off_value": off, "dtype": carrier.value}
        _emit_one_hot(node, entry, order, attributes)
        return
    hot = node.step("one_hot", entry, suffix="hot", depth=depth, dtype=DType.FLOAT32.value)
    hot = hot if order is None else node.step("transpose", hot, suffix="ordered", axes=order)
    if indices.rank == 0:  # which MXNet has as a vector of one element
        hot = node.step("Reshape", hot, suffix="row", shape=(depth,))
    held_values = node.export.raw(values)
    sides = []
    for slot, name in ((1, "on"), (0, "off")):
        side = node.step("slice_axis", held_values, suffix=name, axis=0, begin=slot, end=slot + 1)
        side = node.step("Reshape", side, suffix=name, shape=(1,) * max(rank, 1))
        sides.append(node.step("broadcast_like", side, hot, suffix=f"{name}_everywhere"))
    node.emit("where", hot, *sides, carried=node.export.carried(values))


def _emit_one_hot(node: AnyNode, entry: Entry, order: tuple[int, ...] | None, attributes: dict[str, Any]) -> None:
    carried = DType(attributes["dtype"])
    if attributes["on_value"] == 1:
        del attributes["on_value"]
    if attributes["off_value"] == 0:
        del attributes["off_value"]
    if node.input(0).rank == 0:
        result = node.step("one_hot", entry, suffix="row", **attributes)
        node.emit("Reshape", result, shape=(-1,), carried=carried)
    elif order is None:
        node.emit("one_hot", entry, carried=carried, **attributes)
    else:
        node.emit("transpose", node.step("one_hot", entry, suffix="last", **attributes), axes=order, carried=carried)


def export_compress(node: ExportNode[ir.Compress]) -> None:
    """take of the places where a constant condition holds."""
    condition = node.input(1)
    if condition.tensor is None:
        node.refuse("its condition is computed, so that its result has no fixed size, which MXNet's symbols must have")
    chosen = np.flatnonzero(condition.tensor.numpy())
    shape = node.result.shape
    size = None if shape is None else shape[node.op.axis or 0]
    if isinstance(size, int):  # onnxruntime reads no more of a condition than there are places
        chosen = chosen[:size]
    if not chosen.size:
        node.refuse("its condition holds nowhere; MXNet has no tensors without elements")
    data, axis = node.export.raw(node.input(0)), node.op.axis
    if axis is None:
        if node.input(0).rank != 1:
            data = node.step("Reshape", data, suffix="flat", shape=(-1,))
        axis = 0
    indices = node.constant(chosen, DType.INT64, "places")
    node.emit("take", data, indices, axis=axis, mode="clip", carried=node.export.carried(node.input(0)))


EXPORTS = table(
    row(ir.Gather, export_gather),
    row(ir.GatherND, export_gather_nd),
    row(ir.GatherElements, export_gather_elements),
    row(ir.OneHot, export_one_hot),
    row(ir.Compress, export_compress),
)
