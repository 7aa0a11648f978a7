"""Running sums and products."""

from __future__ import annotations

from graphir.converters.mxnet.exporting.context import AnyNode, Entry, ExportNode, row, table
from graphir.converters.mxnet.exporting.ops.steps import bind_last
from graphir.decisions import DecisionKind
from graphir.ops import indexing as ir
from graphir.ops.base import normalize_axis


def _axis(node: AnyNode) -> int:
    """The axis, a constant."""
    axes = node.numbers(1)
    assert axes is not None
    return normalize_axis(axes[0], node.rank())


def _turned(node: ExportNode[ir.CumProd | ir.CumSum], entry: Entry, axis: int, suffix: str) -> Entry:
    return node.step("reverse", entry, suffix=suffix, axis=axis) if node.op.reverse else entry


def _shifted(node: AnyNode, entry: Entry, axis: int, size: int, by: int) -> Entry:
    """The elements `by` places further on; before them ones."""
    start = node.step("slice_axis", entry, suffix=f"start{by}", axis=axis, begin=0, end=min(by, size))
    start = node.step("ones_like", start, suffix=f"ones{by}")
    if by >= size:
        return start
    kept = node.step("slice_axis", entry, suffix=f"kept{by}", axis=axis, begin=0, end=size - by)
    return node.step("Concat", start, kept, suffix=f"shifted{by}", dim=axis, num_args=2)


def export_cum_sum(node: ExportNode[ir.CumSum]) -> None:
    """cumsum; an exclusive one is moved on by one place, a reverse one turned around."""
    op = node.op
    axis = _axis(node)
    if not op.reverse and not op.exclusive:
        node.emit("_np_cumsum", node.entry(0), axis=axis)
        return
    data = _turned(node, node.entry(0), axis, "turned")
    if op.exclusive:
        first = node.step("slice_axis", data, suffix="first", axis=axis, begin=0, end=1)
        zero = node.step("zeros_like", first, suffix="zero")
        longer = node.step("Concat", zero, data, suffix="longer", dim=axis, num_args=2)
        data = node.step("slice_axis", longer, suffix="shifted", axis=axis, begin=0, end=-1)
    if op.reverse:
        node.emit("reverse", node.step("_np_cumsum", data, suffix="sum", axis=axis), axis=axis)
    else:
        node.emit("_np_cumsum", data, axis=axis)


def export_cum_prod(node: ExportNode[ir.CumProd]) -> None:
    """Products of elements 1, 2, 4, ... places apart: as many as the axis has bits, each with all before it."""
    op = node.op
    axis = _axis(node)
    (size,) = node.fixed(node.shape()[axis : axis + 1], node.input(0).name)
    if size == 0:
        node.refuse("MXNet has no tensors without elements")
    node.decide(DecisionKind.RUNNING_PRODUCT, "multiplied in pairs: floats may differ in the last digits")
    data = _turned(node, node.entry(0), axis, "turned")
    if op.exclusive:
        data = _shifted(node, data, axis, size, 1)
    by = 1
    while by < size:
        data = node.step("elemwise_mul", data, _shifted(node, data, axis, size, by), suffix=f"product{by}")
        by *= 2
    bind_last(node, _turned(node, data, axis, "back"))


EXPORTS = table(row(ir.CumSum, export_cum_sum), row(ir.CumProd, export_cum_prod))
