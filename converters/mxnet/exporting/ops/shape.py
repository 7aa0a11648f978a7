"""Operators that move elements without changing them."""

from __future__ import annotations

from graphir.converters.mxnet.exporting.context import ExportNode, dtype_name, row, table
from graphir.converters.mxnet.exporting.ops.creation import fill_like, whole_shape_of
from graphir.ops import shape as ir
from graphir.ops.base import normalize_axis
from graphir.types import DType

MOST_TRANSPOSED = 6


def export_transpose(node: ExportNode[ir.Transpose]) -> None:
    """transpose, which MXNet has for up to six axes."""
    rank = node.input(0).rank
    if rank is not None and rank > MOST_TRANSPOSED:
        node.refuse(f"MXNet transposes up to {MOST_TRANSPOSED} axes, found {rank}")
    entry, carried = node.moved(0)
    node.emit("transpose", entry, axes=node.op.perm or None, carried=carried)


def export_reshape(node: ExportNode[ir.Reshape]) -> None:
    """Reshape by codes: numbers, 0 where a size is kept, -1 where one is left."""
    value, wanted = node.input(0), node.input(1)
    entry, carried = node.moved(0)
    if wanted.known is None:
        source = wanted.producer
        if source is not None and isinstance(source.op, ir.Shape) and not source.op.start and source.op.end is None:
            like = source.inputs[0]
            assert like is not None
            node.emit("reshape_like", entry, node.export.raw(like), carried=carried)
            return
        node.refuse_unknown(wanted)
    shape = value.shape or ()
    codes: list[int] = []
    for axis, size in enumerate(wanted.known.elements):
        if isinstance(size, int):
            codes.append(size)
        else:
            codes.append(0 if axis < len(shape) and shape[axis] == size else -1)
    if codes.count(-1) > 1:
        node.refuse(f"its shape {list(wanted.known.elements)} leaves more than one size open")
    codes = codes or [1]
    if value.rank == 0 and codes == [1]:
        node.export.bind(node.result, entry, carried)
        return
    node.emit("Reshape", entry, shape=tuple(codes), carried=carried)


def export_flatten(node: ExportNode[ir.Flatten]) -> None:
    """Flatten behind the first axis, else Reshape."""
    entry, carried = node.moved(0)
    if node.op.axis == 1 and node.input(0).rank != 1:
        node.emit("Flatten", entry, carried=carried)
        return
    rows, columns = node.result.shape or (None, None)
    if isinstance(rows, int):
        node.emit("Reshape", entry, shape=(rows, -1), carried=carried)
    elif isinstance(columns, int):
        node.emit("Reshape", entry, shape=(-1, columns), carried=carried)
    else:
        node.refuse("its rows and columns are open")


def export_squeeze(node: ExportNode[ir.Squeeze]) -> None:
    """squeeze; MXNet leaves one axis if none would be left."""
    axes = node.numbers(1)
    entry, carried = node.moved(0)
    node.emit("squeeze", entry, axis=axes, carried=carried)


def export_unsqueeze(node: ExportNode[ir.Unsqueeze]) -> None:
    """expand_dims, once for each axis."""
    axes = node.numbers(1) or ()
    entry, carried = node.moved(0)
    if node.input(0).rank == 0:
        node.emit("Reshape", entry, shape=(1,) * len(axes), carried=carried)
        return
    if len(axes) > 1 or min(axes, default=0) < 0:
        rank = node.rank() + len(axes)
        axes = tuple(sorted(normalize_axis(axis, rank) for axis in axes))
    if not axes:
        node.emit("_copy", entry, carried=carried)
        return
    *before, last = axes
    for axis in before:
        entry = node.step("expand_dims", entry, axis=axis)
    node.emit("expand_dims", entry, axis=last, carried=carried)


def export_expand(node: ExportNode[ir.Expand]) -> None:
    """broadcast_to the result's sizes, or the like of a tensor whose shape is wanted; numbers are filled in."""
    value, wanted = node.input(0), node.result.shape
    static = wanted is not None and all(isinstance(dim, int) for dim in wanted)
    source = None if static else whole_shape_of(node.input(1))
    number = node.number(0)
    if number is not None and value.dtype not in (None, DType.BOOL) and value.rank == 0:
        if static:
            node.emit("_full", shape=tuple(wanted or ()), value=number, dtype=dtype_name(node.dtype()))
            return
        if source is not None:
            fill_like(node, source, number, node.dtype())
            return
    if wanted is None:
        node.refuse("the shape of its result is unknown; state the inputs' shapes")
    shape = node.shape()
    entry, carried = node.moved(0)
    if not wanted:
        node.export.bind(node.result, entry, carried)
        return
    if len(shape) < len(wanted):
        codes = [dim if isinstance(dim, int) else -1 for dim in shape]
        if codes.count(-1) > 1:
            node.refuse(f"the sizes of {value.name} {value.type} are open")
        entry = node.step("Reshape", entry, suffix="apart", shape=(*(1,) * (len(wanted) - len(shape)), *codes))
    if source is not None and source.shape == wanted:
        node.emit("broadcast_like", entry, node.export.raw(source), carried=carried)
        return
    shape = (*(1,) * (len(wanted) - len(shape)), *shape)
    if any(not isinstance(dim, int) and kept != dim for dim, kept in zip(wanted, shape, strict=True)):
        node.refuse(f"its shape {node.result.type} is open")
    sizes = tuple(dim if isinstance(dim, int) else 0 for dim in wanted)
    node.emit("broadcast_to", entry, shape=sizes, carried=carried)


def export_tile(node: ExportNode[ir.Tile]) -> None:
    """tile, of at most two axes of many at once, which is what MXNet's broadcasting takes."""
    reps = node.numbers(1) or ()
    entry, carried = node.moved(0)
    repeated = [axis for axis, count in enumerate(reps) if count != 1]
    while len(repeated) > 2:
        axes, repeated = repeated[:2], repeated[2:]
        part = tuple(count if axis in axes else 1 for axis, count in enumerate(reps))
        entry = node.step("tile", entry, reps=part)
        reps = tuple(1 if axis in axes else count for axis, count in enumerate(reps))
    node.emit("tile", entry, reps=reps, carried=carried)


def export_shape(node: ExportNode[ir.Shape]) -> None:
    """shape_array, cut to the axes wanted."""
    op = node.op
    entry = node.export.raw(node.input(0))
    if not op.start and op.end is None:
        node.emit("shape_array", entry)
        return
    whole = node.step("shape_array", entry)
    node.emit("slice", whole, begin=(op.start,), end=(op.end,))


EXPORTS = table(
    row(ir.Transpose, export_transpose),
    row(ir.Reshape, export_reshape),
    row(ir.Flatten, export_flatten),
    row(ir.Squeeze, export_squeeze),
    row(ir.Unsqueeze, export_unsqueeze),
    row(ir.Expand, export_expand),
    row(ir.Tile, export_tile),
    row(ir.Shape, export_shape),
    row(ir.Size, lambda node: node.emit("size_array", node.export.raw(node.input(0)))),
)
