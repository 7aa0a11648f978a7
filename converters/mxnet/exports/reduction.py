"""Reductions and positions of extremes."""

from __future__ import annotations

from graphir.converters.mxnet.export_context import Entry, ExportFunction, ExportNode, ExportTable
from graphir.ops import reduction as ir
from graphir.types import DType


def _axes(node: ExportNode) -> tuple[int, ...] | None:
    """The axes, None for all; () for none at all."""
    axes = node.known(1)
    if not axes:
        return () if node.op.noop_with_empty_axes else None
    return axes


def _moved(node: ExportNode) -> Entry | None:
    """The data, if nothing is to be reduced: MXNet would take no axes for all."""
    if _axes(node) == () or node.value(0).rank == 0:
        return node.entry(0)
    return None


def reduction(name: str, before: str = "", after: str = "") -> ExportFunction:
    """An operator of MXNet, with unary ones applied before and after it."""

    def export_reduction(node: ExportNode) -> None:
        data = node.entry(0)
        if before:
            data = node.step(before, data)
        same = _moved(node)
        attributes = {"axis": _axes(node), "keepdims": node.op.keepdims}
        if after:
            node.emit(after, data if same is not None else node.step(name, data, **attributes))
        elif same is not None:
            node.emit("_copy", data)
        else:
            node.emit(name, data, **attributes)

    return export_reduction


def export_l2(node: ExportNode) -> None:
    """norm over one or two axes or all, else the root of a sum of squares."""
    axes = _axes(node)
    if axes is not None and len(axes) not in (1, 2):
        reduction("sum", "square", "sqrt")(node)
    else:
        node.emit("norm", node.entry(0), ord=2, axis=axes, keepdims=node.op.keepdims)


def export_log_sum_exp(node: ExportNode) -> None:
    """The logarithm of a sum of exponentials, taken less their maximum."""
    if _moved(node) is not None:
        node.emit("_copy", node.entry(0))
        return
    axes, data = _axes(node), node.entry(0)
    highest = node.step("max", data, axis=axes, keepdims=True)
    exponentials = node.step("exp", node.step("broadcast_sub", data, highest))
    total = node.step("log", node.step("sum", exponentials, axis=axes, keepdims=node.op.keepdims))
    same = highest if node.op.keepdims else node.step("max", data, suffix="highest", axis=axes, keepdims=False)
    node.emit("elemwise_add", total, same)


def positions(name: str) -> ExportFunction:
    """argmax or argmin: MXNet gives the positions as numbers of the data's dtype."""

    def export_positions(node: ExportNode) -> None:
        if node.op.select_last_index:
            node.refuse("select_last_index; MXNet finds the first")
        node.emit(name, node.entry(0), axis=node.op.axis, keepdims=node.op.keepdims, carried=node.dtype())

    return export_positions


def export_top_k(node: ExportNode) -> None:
    """topk of values and positions."""
    op: ir.TopK = node.op
    count = node.known(1)
    assert count is not None
    if count[0] < 1:
        node.refuse("K is 0; MXNet has no tensors without elements")
    node.emit(
        "topk",
        node.entry(0),
        axis=op.axis,
        k=count[0],
        ret_typ="both",
        is_ascend=not op.largest,
        dtype=DType.INT64.value,
    )


EXPORTS: ExportTable = {
    ir.ReduceSum: reduction("sum"),
    ir.ReduceMean: reduction("mean"),
    ir.ReduceMax: reduction("max"),
    ir.ReduceMin: reduction("min"),
    ir.ReduceProd: reduction("prod"),
    ir.ReduceL1: reduction("sum", before="abs"),
    ir.ReduceL2: export_l2,
    ir.ReduceSumSquare: reduction("sum", before="square"),
    ir.ReduceLogSum: reduction("sum", after="log"),
    ir.ReduceLogSumExp: export_log_sum_exp,
    ir.ArgMax: positions("argmax"),
    ir.ArgMin: positions("argmin"),
    ir.TopK: export_top_k,
}

__all__ = ["EXPORTS"]
