"""Pooling over the spatial axes of channel-first tensors."""

from __future__ import annotations

from collections.abc import Sequence

from graphir.converters.pytorch.exporting.context import (
    AnyNode,
    ExportFunction,
    ExportNode,
    Expr,
    call,
    row,
    short,
    table,
)
from graphir.converters.pytorch.exporting.ops.convolution import padded, padded_same, settled, unless
from graphir.ops import pooling as ir


def window_text(kernel: Sequence[int], strides: Sequence[int]) -> tuple[str, str | None]:
    """The window and its stride, which is the window's size by default."""
    return short(kernel), None if tuple(strides) == tuple(kernel) else short(strides)


def export_max_pool(node: ExportNode[ir.MaxPool]) -> None:
    """F.max_pool1d to 3d. Pads that it does not take (one side more, beyond half a window, a last window that begins
    behind the data) come before it, as the smallest number."""
    op, rank = node.op, len(node.op.kernel_shape)
    if not 1 <= rank <= 3:
        node.refuse(f"pooling over {rank} axes; PyTorch has it over 1 to 3")
    if node.is_read(1):
        node.refuse("the positions of the largest elements are not written yet")
    strides, dilations = op.strides or (1,) * rank, op.dilations or (1,) * rank
    data, pads, ceil = plain_pads(node, strides, dilations, lowest(node))
    window, stride = window_text(op.kernel_shape, strides)
    options = {"padding": unless(0, pads), "dilation": unless(1, dilations), "ceil_mode": "True" if ceil else None}
    node.emit(call(f"F.max_pool{rank}d", data, window, stride, **options))


def lowest(node: AnyNode) -> str:
    """What no element is below."""
    dtype = node.dtype()
    if dtype.is_float:
        return '-float("inf")'
    return "0" if dtype.value.startswith("u") else f"{-(1 << (dtype.bits - 1))}"


def plain_pads(
    node: ExportNode[ir.MaxPool], strides: Sequence[int], dilations: Sequence[int], value: str
) -> tuple[Expr, Sequence[int], bool]:
    """The data, padded where pooling cannot do so itself; the pads that it takes, and whether sizes are rounded up."""
    op, kernel = node.op, node.op.kernel_shape
    data = node.tensor()
    found = settled(node, op.padding, kernel, strides, dilations)
    if found is None:
        return padded_same(node, data, op.padding, kernel, strides, dilations, value), (0,) * len(kernel), False
    ends = found.pads or ((0, 0),) * len(kernel)
    fits = all(before == after and 0 <= before <= width // 2 for (before, after), width in
               zip(ends, kernel, strict=True))  # fmt: skip
    if fits:
        return data, [before for before, _ in ends], op.ceil_mode
    return padded(node, data, ends, value), (0,) * len(kernel), op.ceil_mode


def global_pool(function: str) -> ExportFunction:
    """A reduction over all spatial axes, which stay with size 1."""

    def export_global(node: ExportNode[ir.GlobalMaxPool | ir.GlobalAveragePool]) -> None:
        axes = ", ".join(map(str, range(2, node.rank())))
        axes = f"({axes})" if node.rank() > 3 else axes
        node.emit(f"{node.tensor().atom}.{function}({axes}, keepdim=True)")

    return export_global


EXPORTS = table(
    row(ir.MaxPool, export_max_pool),
    row(ir.GlobalMaxPool, global_pool("amax")),
    row(ir.GlobalAveragePool, global_pool("mean")),
)

__all__ = ["EXPORTS"]
