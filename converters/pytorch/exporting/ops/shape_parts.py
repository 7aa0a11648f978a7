"""What joins tensors, takes parts of them, or trades parts between axes."""

from __future__ import annotations

from graphir.converters.pytorch.exporting.context import ExportFunction, ExportNode, call, row, table, tuple_of
from graphir.ops import blocks
from graphir.ops import shape_parts as ir
from graphir.types import DType

# Triangles are computed of these as of integers of their width.
UNSIGNED = {DType.UINT16: DType.INT16, DType.UINT32: DType.INT32, DType.UINT64: DType.INT64}


def export_concat(node: ExportNode[ir.Concat]) -> None:
    """torch.cat."""
    parts = node.tensors()
    if len(parts) == 1:
        node.alias(parts[0])
        return
    axis = node.op.axis
    node.emit(call("torch.cat", tuple_of(parts), dim=None if axis == 0 else str(axis)))


def export_split(node: ExportNode[ir.Split]) -> None:
    """chunk where the parts are equal, but for the last one; else split."""
    op, data = node.op, node.tensor()
    if op.num_outputs == 1:
        node.alias(data)
        return
    axis = None if op.axis == 0 else str(op.axis)
    size = node.shape()[op.axis]
    parts = _chunks(size, op.num_outputs) if isinstance(size, int) else None
    is_stated = node.optional(1) is not None
    # chunk gives no parts without elements.
    if (parts is None and not is_stated) or (parts and parts[-1] and (not is_stated or node.known(1) == parts)):
        node.emit_all(call(f"{data.atom}.chunk", str(op.num_outputs), dim=axis))
        return
    node.emit_all(call(f"{data.atom}.split", node.int_tuple(1) if is_stated else tuple_of(parts or ()), dim=axis))


def _chunks(size: int, count: int) -> tuple[int, ...]:
    """Return the sizes of the parts that chunk makes."""
    part = -(-size // count)
    return tuple(min(part, max(size - part * index, 0)) for index in range(count))


def export_trilu(node: ExportNode[ir.Trilu]) -> None:
    """triu or tril, which torch has for all dtypes but unsigned integers."""
    data, dtype = node.tensor().atom, node.dtype()
    offset = "" if node.optional(1) is None or node.known(1) == (0,) else node.scalar(1)
    triangle = f"{'triu' if node.op.upper else 'tril'}({offset})"
    signed = UNSIGNED.get(dtype)
    if signed is None:
        node.emit(f"{data}.{triangle}")
    else:
        node.emit(node.cast(f"{node.cast(data, signed)}.{triangle}", dtype))


def export_reverse_sequence(node: ExportNode[ir.ReverseSequence]) -> None:
    """The first elements of each sequence reversed, by their positions."""
    op, rank = node.op, node.rank()
    function = node.function("reverse_sequence")
    axes = f"{node.axis(op.batch_axis, rank)}, {node.axis(op.time_axis, rank)}"
    node.emit(f"{function}({node.tensor()}, {node.tensor(1)}, {axes})")


def shuffle(name: str, other: str) -> ExportFunction:
    """F.pixel_shuffle or F.pixel_unshuffle, in which the depth comes before the offsets; a function for the other
    order."""

    def export_shuffle(node: ExportNode[blocks.DepthToSpace | blocks.SpaceToDepth]) -> None:
        function = name if node.op.mode is blocks.DepthOrder.CRD else node.function(other)
        node.emit(f"{function}({node.tensor()}, {node.op.blocksize})")

    return export_shuffle


EXPORTS = table(
    row(ir.Concat, export_concat),
    row(ir.Split, export_split),
    row(ir.Trilu, export_trilu),
    row(ir.ReverseSequence, export_reverse_sequence),
    row(blocks.DepthToSpace, shuffle("F.pixel_shuffle", "depth_to_space")),
    row(blocks.SpaceToDepth, shuffle("F.pixel_unshuffle", "space_to_depth")),
)
