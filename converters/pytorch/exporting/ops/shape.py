"""What only changes shapes, or reads them."""

from __future__ import annotations

from collections.abc import Sequence

from graphir.converters.pytorch.exporting.context import ExportNode, axes_text, list_of, row, table
from graphir.ops import shape as ir
from graphir.types import UNKNOWN, Dim, Unknown


def export_transpose(node: ExportNode[ir.Transpose]) -> None:
    """permute, or transpose where two axes change places."""
    rank = node.rank()
    perm = node.op.perm or tuple(reversed(range(rank)))
    moved = [axis for axis in range(rank) if perm[axis] != axis]
    data = node.tensor().atom
    if not moved:
        node.alias(node.tensor())
    elif len(moved) == 2:
        node.emit(f"{data}.transpose({moved[0]}, {moved[1]})")
    else:
        node.emit(f"{data}.permute({', '.join(map(str, perm))})")


def export_reshape(node: ExportNode[ir.Reshape]) -> None:
    """reshape, or flatten where the axes behind one become one."""
    data, shape, result = node.tensor().atom, node.input(0).shape, node.result.shape
    wanted = node.ints_if_known(1)
    known = node.input(1).known
    if wanted is None or known is None:
        if not node.op.allowzero:
            node.emit(f"{node.function('reshape')}({node.tensor()}, {node.int_list(1)})")
            return
        node.emit(f"{data}.reshape({node.int_list(1)})")
        return
    if result and shape is not None and len(shape) > len(result) and _decide_the_rest(result[:-1], shape):
        node.emit(f"{data}.flatten({len(result) - 1})" if len(result) > 1 else f"{data}.flatten()")
        return
    if result is not None and shape is not None and (split := _split_axis(shape, result)) is not None:
        axis, count = split
        node.emit(f"{data}.unflatten({axis}, ({', '.join(map(str, wanted[axis : axis + count]))}))")
        return
    copies = not node.op.allowzero
    sizes = [
        str(node.size(0, axis)) if dim == 0 and copies else str(text)
        for axis, (dim, text) in enumerate(zip(known.dims(), wanted, strict=True))
    ]
    node.emit(f"{data}.reshape({', '.join(sizes) if sizes else '()'})")


def _split_axis(shape: Sequence[Dim], result: Sequence[Dim]) -> tuple[int, int] | None:
    """Return the axis of an open shape that several of a result take the place of, and how many; None for others."""
    count = len(result) - len(shape) + 1
    if count < 2 or all(isinstance(dim, int) for dim in shape):
        return None
    axis = next((axis for axis, (a, b) in enumerate(zip(shape, result, strict=False)) if a != b), len(shape) - 1)
    parts = result[axis : axis + count]
    same = _decide_the_rest(shape[:axis], result) and _decide_the_rest(shape[axis + 1 :], result[axis + count :])
    return (axis, count) if same and all(isinstance(dim, int) and dim > 0 for dim in parts) else None


def _decide_the_rest(sizes: Sequence[Dim], others: Sequence[Dim]) -> bool:
    """Return whether sizes are those that others begin with, so that the number of elements states the product of what
    follows: not behind a size of 0. An unknown size is not equal to another."""
    pairs = zip(sizes, others, strict=False)
    return all(not isinstance(size, Unknown) and size == other and size != 0 for size, other in pairs)


def export_shape(node: ExportNode[ir.Shape]) -> None:
    """A tensor of the sizes, for what does not take them as integers."""
    sizes = node.ints_of_result()
    if sizes is None:
        text = f"{node.tensor().atom}.shape"
        start, end = node.op.start, node.op.end
        if start or end is not None:
            text += f"[{start or ''}:{'' if end is None else end}]"
        node.emit(f"torch.tensor({text}, device={node.device})")
        return
    node.emit(f"torch.tensor({list_of(sizes)}, dtype=torch.int64, device={node.device})")


def export_flatten(node: ExportNode[ir.Flatten]) -> None:
    """flatten behind the first axis; elsewhere a reshape to two axes."""
    data, axis = node.tensor().atom, node.op.axis
    axis = axis + node.rank() if axis < 0 else axis
    if axis == 1 and node.rank() > 1:
        node.emit(f"{data}.flatten(1)")
    elif axis == 0:
        node.emit(f"{data}.reshape(1, -1)")
    elif axis == node.rank():
        node.emit(f"{data}.reshape(-1, 1)")
    else:
        node.emit(f"{data}.flatten({axis}).flatten(0, {axis - 1})")


def export_squeeze(node: ExportNode[ir.Squeeze]) -> None:
    """squeeze of the axes that are named, or of all with one element."""
    data, axes = node.tensor(), node.known(1)
    if axes is not None:
        axes = tuple(node.axis(axis, node.rank()) for axis in axes)
    elif node.optional(1) is not None:
        node.emit(f"{data.atom}.squeeze(tuple({node.int_list(1)}))")
        return
    elif node.result.rank is None:
        node.emit(f"{data.atom}.squeeze()")
        return
    else:
        axes = tuple(axis for axis, size in enumerate(node.shape()) if size == 1)
    node.emit(f"{data.atom}.squeeze({axes_text(axes)})" if axes else data)


def export_unsqueeze(node: ExportNode[ir.Unsqueeze]) -> None:
    """unsqueeze, one axis after the other."""
    given = node.known(1)
    if given is None:
        node.emit(f"{node.function('unsqueeze')}({node.tensor()}, {node.int_list(1)})")
        return
    # Axes from the front, and a single one, need no number of axes: branches may leave that open.
    is_plain = min(given, default=0) >= 0 or (len(given) == 1 and node.input(0).rank is None)
    axes = sorted(given if is_plain else (axis % (node.rank() + len(given)) for axis in given))
    node.emit(node.tensor().atom + "".join(f".unsqueeze({axis})" for axis in axes))


def export_expand(node: ExportNode[ir.Expand]) -> None:
    """expand to the result's shape where it is known, else to what both shapes give when they meet."""
    sizes = [node.export.size(dim) for dim in node.result.shape or (UNKNOWN,)]
    known = [size for size in sizes if size is not None]
    if len(known) == len(sizes) and node.input(1).known is not None:
        node.emit(f"{node.tensor().atom}.expand({', '.join(known) or '()'})")
        return
    node.emit(f"{node.function('expand')}({node.tensor()}, {node.int_list(1)})")


EXPORTS = table(
    row(ir.Transpose, export_transpose),
    row(ir.Reshape, export_reshape),
    row(ir.Shape, export_shape),
    row(ir.Flatten, export_flatten),
    row(ir.Squeeze, export_squeeze),
    row(ir.Unsqueeze, export_unsqueeze),
    row(ir.Expand, export_expand),
    row(ir.Size, lambda node: node.emit(f"torch.tensor({node.tensor().atom}.numel(), device={node.device})")),
)
