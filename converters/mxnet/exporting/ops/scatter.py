"""Elements placed by index: scatter_nd, and for reductions a comparison of each index with all places.

MXNet's scatter_nd writes into zeros, knows no indices that count from the end and does nothing for those that come
twice. So what is placed is chosen over the data, and what is added, multiplied or compared goes through one_hot.
"""

from __future__ import annotations

import math

import numpy as np

from graphir.converters.mxnet.exporting.context import AnyNode, Entry, ExportNode, row, table
from graphir.converters.mxnet.exporting.ops.indexing import counts_from_zero
from graphir.converters.mxnet.exporting.ops.linear import product_dtype
from graphir.converters.mxnet.exporting.ops.steps import bind_last, places
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import indexing as ir
from graphir.ops.base import normalize_axis
from graphir.ops.creation import ConstantOfShape
from graphir.types import DType

MOST = 1 << 27
"""A comparison of each index with all places may have so many elements (0.5 GB of float32)."""

COMBINE = {
    ir.Reduction.MUL: ("prod", "broadcast_mul"),
    ir.Reduction.MAX: ("max", "broadcast_maximum"),
    ir.Reduction.MIN: ("min", "broadcast_minimum"),
}

Scatter = ir.ScatterElements | ir.ScatterND


def _is_zero(value: Value) -> bool:
    if value.producer is not None and isinstance(value.producer.op, ConstantOfShape):
        return value.producer.op.value == 0
    tensor = value.tensor
    return tensor is not None and tensor.size <= 1 << 16 and not tensor.numpy().any()


def _place(node: AnyNode, vectors: Entry, updates: Entry, sizes: tuple[int, ...]) -> None:
    """The updates written over the data at index vectors (count, ...)."""
    data = node.input(0)
    if _is_zero(data):
        node.emit("scatter_nd", updates, vectors, shape=sizes)
        return
    placed = node.step("scatter_nd", updates, vectors, suffix="placed", shape=sizes)
    ones = node.step("ones_like", updates, suffix="ones")
    written = node.step("scatter_nd", ones, vectors, suffix="written", shape=sizes)
    stored = node.export.carried(data)
    node.emit("where", written, placed, node.export.raw(data), carried=stored)


def _sizes(node: AnyNode, slot: int) -> tuple[int, ...]:
    """Return the sizes of an operand."""
    result = node.fixed(node.shape(slot), node.input(slot).name)
    if 0 in result:
        node.refuse("MXNet has no tensors without elements")
    return result


def _updates(node: ExportNode[Scatter]) -> Entry:
    """Return the updates in the dtype that carries the data, where they are only placed; in their own for
    arithmetic."""
    if node.op.reduction is not ir.Reduction.NONE:
        return node.entry(2)
    updates, stored = node.input(2), node.export.carried(node.input(0))
    entry = node.export.raw(updates)
    if stored is None or node.export.carried(updates) is stored:
        return entry
    return node.export.cast(entry, stored)


def export_scatter_nd(node: ExportNode[ir.ScatterND]) -> None:
    """scatter_nd; reductions by comparing the places, counted through, with all that there are."""
    sizes, count = _sizes(node, 0), _sizes(node, 1)
    length = count[-1]
    updates = _updates(node)
    shape = _sizes(node, 2)
    entry = node.entry(1)
    if len(count) == 1:
        entry = node.step("expand_dims", entry, suffix="row", axis=0)
        updates = node.step("expand_dims", updates, suffix="updates", axis=0)
        count, shape = (1, *count), (1, *shape)
    rank = len(count)
    if node.op.reduction is ir.Reduction.NONE:
        vectors = node.step("transpose", entry, suffix="vectors", axes=(rank - 1, *range(rank - 1)))
        if not counts_from_zero(node.input(1)):
            bounds = node.constant(np.array(sizes[:length]).reshape(length, *(1,) * (rank - 1)), DType.INT64, "sizes")
            vectors = node.step("broadcast_mod", vectors, bounds, suffix="from_zero")
        _place(node, vectors, updates, sizes)
        return
    rows, inner, total = math.prod(sizes[:length]), math.prod(sizes[length:]), math.prod(count[:-1])
    flat = node.step("Reshape", entry, suffix="rows", shape=(total, length))
    if not counts_from_zero(node.input(1)):
        bounds = node.constant(np.array([sizes[:length]]), DType.INT64, "sizes")
        flat = node.step("broadcast_mod", flat, bounds, suffix="from_zero")
    strides = np.array([[math.prod(sizes[axis + 1 : length]) for axis in range(length)]])
    if length > 1:
        flat = node.step("broadcast_mul", flat, node.constant(strides, DType.INT64, "strides"), suffix="offsets")
    flat = node.step("sum", flat, suffix="offsets", axis=1)
    updates = node.step("Reshape", updates, suffix="rows", shape=(total, inner))
    data = node.step("Reshape", node.entry(0), suffix="data", shape=(rows, inner))
    _check_size(node, rows * total * (1 if node.op.reduction is ir.Reduction.ADD else inner))
    if node.op.reduction is ir.Reduction.ADD:
        wide = product_dtype(node.dtype())
        _decide_sum(node, wide)
        hot = node.step("one_hot", flat, suffix="hot", depth=rows, dtype=wide.value)
        result = node.step("dot", hot, _wide(node, updates, wide, "updates"), suffix="added", transpose_a=True)
        _finish(node, node.step("elemwise_add", _wide(node, data, wide, "data"), result, suffix="sum"), wide, sizes)
        return
    reduce, combine = COMBINE[node.op.reduction]
    stored = _product_dtype(node)
    data, updates = _wide(node, data, stored, "data"), _wide(node, updates, stored, "updates")
    hot = node.step("one_hot", flat, suffix="hot", depth=rows, dtype=DType.FLOAT32.value)
    hot = node.step("expand_dims", hot, suffix="hot", axis=2)
    updates = node.step("expand_dims", updates, suffix="updates", axis=1)
    spread = _spread(node, hot, updates, node.step("expand_dims", data, suffix="rest", axis=0), (total, rows, inner))
    result = node.step(reduce, spread, suffix="reduced", axis=0, keepdims=False)
    _finish(node, node.step(combine, data, result, suffix="combined"), stored, sizes)


def _check_size(node: ExportNode[Scatter], size: int) -> None:
    if size > MOST:
        node.refuse(
            f"reduction {node.op.reduction.value}: MXNet adds up nothing by index, and comparing each index with all "
            f"places takes {size} elements"
        )


def _decide_sum(node: AnyNode, wide: DType) -> None:
    if not node.dtype().is_float:
        node.decide(DecisionKind.INTEGER_PRODUCT, f"summed in {wide.value}: exact below 2^53")


def _wide(node: AnyNode, entry: Entry, dtype: DType, suffix: str) -> Entry:
    if dtype is node.dtype():
        return entry
    return node.step("Cast", entry, suffix=f"{suffix}_{dtype.value}", dtype=dtype.value)


def _finish(node: AnyNode, entry: Entry, dtype: DType, sizes: tuple[int, ...]) -> None:
    """The result in the data's dtype and shape."""
    if dtype is not node.dtype():
        entry = node.step("Cast", entry, suffix="result", dtype=node.dtype().value)
    node.emit("Reshape", entry, shape=sizes)


def _product_dtype(node: ExportNode[Scatter]) -> DType:
    """Return the dtype of products: ONNX has none of 8-bit integers, whose last bits are the same in int32."""
    small = node.op.reduction is ir.Reduction.MUL and node.dtype() in (DType.INT8, DType.UINT8)
    return DType.INT32 if small else node.dtype()


def _spread(
    node: ExportNode[Scatter], hot: Entry, updates: Entry, data: Entry, shape: tuple[int, ...]
) -> Entry:
    """Return each update at its place, what changes nothing elsewhere: 1 for a product, else the data."""
    hot = node.step("broadcast_to", hot, suffix="hot_everywhere", shape=shape)
    updates = node.step("broadcast_to", updates, suffix="everywhere", shape=shape)
    if node.op.reduction is ir.Reduction.MUL:
        rest = node.step("ones_like", updates, suffix="ones")
    else:
        rest = node.step("broadcast_to", data, suffix="rest", shape=shape)
    return node.step("where", hot, updates, rest, suffix="spread")


def _from_zero(node: AnyNode, size: int) -> Entry:
    """Return the indices counted from the front."""
    entry = node.entry(1)
    if counts_from_zero(node.input(1)):
        return entry
    return node.step("_mod_scalar", entry, suffix="from_zero", scalar=size)


def export_scatter_elements(node: ExportNode[ir.ScatterElements]) -> None:
    """scatter_nd at the place of each index; reductions by comparing the indices of a line with all its places."""
    sizes, count = _sizes(node, 0), _sizes(node, 1)
    rank = len(sizes)
    axis = normalize_axis(node.op.axis, rank)
    size = sizes[axis]
    updates = _updates(node)
    entry = _from_zero(node, size)
    if node.op.reduction is ir.Reduction.NONE:
        rows = [entry if other == axis else places(node, entry, rank, other) for other in range(rank)]
        vectors = node.step("stack", *rows, suffix="vectors", axis=0, num_args=rank)
        _place(node, vectors, updates, sizes)
        return
    _check_size(node, math.prod(count) * size)
    dtype, others = node.dtype(), tuple(index for index in range(rank) if index != axis)
    adds = node.op.reduction is ir.Reduction.ADD
    wide = product_dtype(dtype) if adds else _product_dtype(node)
    if adds:
        _decide_sum(node, wide)
    stages = [_wide(node, node.entry(0), wide, "data")]
    short = [index for index in others if count[index] < sizes[index]]
    for index in short:
        part = node.step("slice_axis", stages[-1], suffix=f"part{index}", axis=index, begin=0, end=count[index])
        stages.append(part)
    region, updates = stages[-1], _wide(node, updates, wide, "updates")
    order, lines = (*others, axis), (*(count[index] for index in others), size)
    if order != tuple(range(rank)):
        entry = node.step("transpose", entry, suffix="lines", axes=order)
        updates = node.step("transpose", updates, suffix="update_lines", axes=order)
    hot = node.step("one_hot", entry, suffix="hot", depth=size, dtype=wide.value)
    if adds:
        flat = math.prod(lines[:-1])
        row = node.step("Reshape", updates, suffix="row", shape=(flat, 1, count[axis]))
        hot = node.step("Reshape", hot, suffix="hot", shape=(flat, count[axis], size))
        result = node.step("batch_dot", row, hot, suffix="added")
    else:
        ordered = node.step("transpose", region, suffix="region_lines", axes=order)
        rest = node.step("expand_dims", ordered, suffix="region_rows", axis=rank - 1)
        column = node.step("expand_dims", updates, suffix="column", axis=rank)
        spread = _spread(node, hot, column, rest, (*lines[:-1], count[axis], size))
        result = node.step(COMBINE[node.op.reduction][0], spread, suffix="reduced", axis=rank - 1)
    result = node.step("Reshape", result, suffix="found", shape=lines)
    back = tuple(order.index(index) for index in range(rank))
    if back != tuple(range(rank)):
        result = node.step("transpose", result, suffix="back", axes=back)
    combine = "elemwise_add" if adds else COMBINE[node.op.reduction][1]
    result = node.step(combine, region, result, suffix="combined")
    for index, before in reversed(list(zip(short, stages, strict=False))):
        rest = node.step("slice_axis", before, suffix=f"rest{index}", axis=index, begin=count[index], end=sizes[index])
        result = node.step("Concat", result, rest, suffix=f"whole{index}", dim=index, num_args=2)
    if wide is dtype:
        bind_last(node, result)
    else:
        node.emit("Cast", result, dtype=dtype.value)


EXPORTS = table(row(ir.ScatterND, export_scatter_nd), row(ir.ScatterElements, export_scatter_elements))
