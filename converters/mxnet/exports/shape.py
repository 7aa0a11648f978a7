"""Operators that move elements without changing them."""

from __future__ import annotations

from graphir.converters.mxnet.export_context import ExportNode, ExportTable
from graphir.ops import shape as ir
from graphir.ops.base import normalize_axis
from graphir.types import DType

MOST_TILED_AXES = 3


def export_transpose(node: ExportNode) -> None:
    """transpose."""
    node.emit("transpose", node.export.raw(node.value(0)), axes=node.op.perm or None)


def export_reshape(node: ExportNode) -> None:
    """Reshape by codes: numbers, 0 where a size is kept, -1 where one is left."""
    value, wanted = node.value(0), node.value(1)
    entry = node.export.raw(value)
    if wanted.known is None:
        source = wanted.producer
        if source is not None and isinstance(source.op, ir.Shape) and not source.op.start and source.op.end is None:
            like = source.inputs[0]
            assert like is not None
            node.emit("reshape_like", entry, node.export.raw(like))
            return
        node.refuse_unknown(wanted)
    own = value.shape or ()
    codes: list[int] = []
    for axis, size in enumerate(wanted.known.elements):
        if isinstance(size, int):
            codes.append(size)
        else:
            codes.append(0 if axis < len(own) and own[axis] == size else -1)
    if codes.count(-1) > 1:
        node.refuse(f"its shape {list(wanted.known.elements)} leaves more than one size open")
    codes = codes or [1]
    if value.rank == 0 and codes == [1]:
        node.export.bind(node.result, entry, node.export.carried(value))
        return
    node.emit("Reshape", entry, shape=tuple(codes), carried=node.export.carried(value))


def export_flatten(node: ExportNode) -> None:
    """Flatten behind the first axis, else Reshape."""
    entry, axis = node.export.raw(node.value(0)), node.op.axis
    carried = node.export.carried(node.value(0))
    if axis == 1 and node.value(0).rank != 1:
        node.emit("Flatten", entry, carried=carried)
        return
    rows, columns = node.result.shape or (None, None)
    if isinstance(rows, int):
        node.emit("Reshape", entry, shape=(rows, -1), carried=carried)
    elif isinstance(columns, int):
        node.emit("Reshape", entry, shape=(-1, columns), carried=carried)
    else:
        node.refuse("its rows and columns are open")


def export_squeeze(node: ExportNode) -> None:
    """squeeze; MXNet leaves one axis if none would be left."""
    axes = node.known(1)
    node.emit("squeeze", node.export.raw(node.value(0)), axis=axes, carried=node.export.carried(node.value(0)))


def export_unsqueeze(node: ExportNode) -> None:
    """expand_dims, once for each axis."""
    axes = node.known(1) or ()
    entry = node.export.raw(node.value(0))
    carried = node.export.carried(node.value(0))
    if node.value(0).rank == 0:
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


def export_expand(node: ExportNode) -> None:
    """broadcast_to the result's sizes, or the like of a tensor whose shape is wanted."""
    value = node.value(0)
    wanted = node.result.shape
    entry = node.export.raw(value)
    carried = node.export.carried(value)
    shape_of = node.value(1).producer
    static = wanted is not None and all(isinstance(dim, int) for dim in wanted)
    number = node.number(0)
    if number is not None and value.dtype is not DType.BOOL and value.rank == 0:
        if static:
            held = value.dtype.value if value.dtype is not None else "float32"
            node.emit("_full", shape=tuple(wanted or ()), value=number, dtype=held)
            return
        if shape_of is not None and isinstance(shape_of.op, ir.Shape) and shape_of.inputs[0] is not None:
            source = shape_of.inputs[0]
            whole = not shape_of.op.start and shape_of.op.end is None
            if whole and source.dtype is value.dtype and number in (0, 1):
                node.emit("ones_like" if number else "zeros_like", node.export.entry(source))
                return
    if wanted is None:
        node.refuse("the shape of its result is unknown; state the inputs' shapes")
    own = node.shape()
    sizes: list[int] = []
    for axis, dim in enumerate(wanted):
        place = axis - (len(wanted) - len(own))
        kept = place >= 0 and own[place] == dim
        if not isinstance(dim, int) and not kept:
            node.refuse(f"its shape {node.result.type} is open")
        sizes.append(dim if isinstance(dim, int) else 0)
    if len(own) < len(wanted):
        ones = (1,) * (len(wanted) - len(own))
        codes = [dim if isinstance(dim, int) else -1 for dim in own]
        if codes.count(-1) > 1:
            node.refuse(f"the sizes of {value.name} {value.type} are open")
        entry = node.step("Reshape", entry, suffix="apart", shape=(*ones, *codes))
    node.emit("broadcast_to", entry, shape=tuple(sizes), carried=carried)


def export_tile(node: ExportNode) -> None:
    """tile, of at most two axes of many at once, which is what MXNet's broadcasting takes."""
    reps = node.known(1) or ()
    entry, carried = node.export.raw(node.value(0)), node.export.carried(node.value(0))
    repeated = [axis for axis, count in enumerate(reps) if count != 1]
    while len(reps) > MOST_TILED_AXES and len(repeated) > 2:
        axes, repeated = repeated[:2], repeated[2:]
        part = tuple(count if axis in axes else 1 for axis, count in enumerate(reps))
        entry = node.step("tile", entry, reps=part)
        reps = tuple(1 if axis in axes else count for axis, count in enumerate(reps))
    node.emit("tile", entry, reps=reps, carried=carried)


def export_shape(node: ExportNode) -> None:
    """shape_array, cut to the axes wanted."""
    op: ir.Shape = node.op
    entry = node.export.raw(node.value(0))
    if not op.start and op.end is None:
        node.emit("shape_array", entry)
        return
    whole = node.step("shape_array", entry)
    node.emit("slice", whole, begin=(op.start,), end=(op.end,))


def export_size(node: ExportNode) -> None:
    """size_array."""
    node.emit("size_array", node.export.raw(node.value(0)))


EXPORTS: ExportTable = {
    ir.Transpose: export_transpose,
    ir.Reshape: export_reshape,
    ir.Flatten: export_flatten,
    ir.Squeeze: export_squeeze,
    ir.Unsqueeze: export_unsqueeze,
    ir.Expand: export_expand,
    ir.Tile: export_tile,
    ir.Shape: export_shape,
    ir.Size: export_size,
}

__all__ = ["EXPORTS"]
