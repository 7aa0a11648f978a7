"""Caches, which attention writes to."""

from __future__ import annotations

import math

import numpy as np

from graphir.converters.mxnet.exporting.context import Entry, ExportNode, row, table
from graphir.ops import attention as ir
from graphir.ops.base import normalize_axis
from graphir.types import DType


def export_tensor_scatter(node: ExportNode[ir.TensorScatter]) -> None:
    """A choice, at each place of the cache, between what it holds and the row of the update that belongs there."""
    op = node.op
    axis = normalize_axis(op.axis, node.rank())
    cache = (0, *node.fixed(node.shape()[1:], node.input(0).name))
    (count,) = node.fixed(node.shape(1)[axis : axis + 1], node.input(1).name)
    indices = _rows_of_update(node, cache[axis])
    update = node.export.raw(node.input(1))
    order = (0, axis, *(index for index in range(1, len(cache)) if index != axis))
    moved = tuple(cache[index] for index in order)
    if axis != 1:
        update = node.step("transpose", update, suffix="rows", axes=order)
    others = math.prod(size for index, size in enumerate(cache) if index not in (0, axis))
    update = node.step("Reshape", update, suffix="table", shape=(-1, others))
    row = node.step("_minimum_scalar", node.step("_maximum_scalar", indices, scalar=0), suffix="row", scalar=count - 1)
    rows = node.export.cast(node.step("_contrib_arange_like", indices, suffix="rows", axis=0), DType.INT64)
    starts = node.step("expand_dims", node.step("_mul_scalar", rows, scalar=count), suffix="starts", axis=1)
    chosen = node.step("take", update, node.step("broadcast_add", row, starts, suffix="place"), suffix="chosen", axis=0)
    chosen = node.step("Reshape", chosen, suffix="apart", shape=moved)
    if axis != 1:
        back = tuple(order.index(index) for index in range(len(order)))
        chosen = node.step("transpose", chosen, suffix="update", axes=back)
    inside = node.step(
        "elemwise_mul",
        node.step("_greater_equal_scalar", indices, suffix="behind", scalar=0),
        node.step("_lesser_scalar", indices, suffix="before", scalar=count),
        suffix="inside",
    )
    column = tuple(size if index in (0, axis) else 1 for index, size in enumerate(cache))
    held_cache = node.export.raw(node.input(0))
    written = node.step("broadcast_like", node.step("Reshape", inside, suffix="column", shape=column), held_cache)
    node.emit("where", written, chosen, held_cache, carried=node.export.carried(node.input(0)))


def _rows_of_update(node: ExportNode[ir.TensorScatter], size: int) -> Entry:
    """Return which row of the update belongs to each place of the cache, (batch, size); others are out of range."""
    node.charge(size, "the places of its cache")
    indices = node.constant(np.arange(size, dtype=np.int64)[None], suffix="places")
    if node.optional(2) is None:
        rows = node.step("_contrib_arange_like", node.export.raw(node.input(0)), suffix="batch", axis=0)
        nothing = node.step("zeros_like", node.export.cast(rows, DType.INT64))
        return node.step("broadcast_add", indices, node.step("expand_dims", nothing, axis=1), suffix="rows")
    begin = node.step("expand_dims", node.export.cast(node.entry(2), DType.INT64), suffix="begin", axis=1)
    result = node.step("broadcast_sub", indices, begin, suffix="rows")
    circular = node.op.mode is ir.WriteMode.CIRCULAR
    return node.step("_mod_scalar", result, suffix="around", scalar=size) if circular else result


EXPORTS = table(row(ir.TensorScatter, export_tensor_scatter))
