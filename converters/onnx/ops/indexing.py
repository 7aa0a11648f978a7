"""Operators that look up, place or find elements by index."""

from __future__ import annotations

from graphir.converters.onnx.context import ExportNode, ExportTable, direct
from graphir.converters.onnx.import_context import ImportTable
from graphir.ops import indexing as ir

REDUCTION_SINCE = {ir.Reduction.ADD: 16, ir.Reduction.MUL: 16, ir.Reduction.MAX: 18, ir.Reduction.MIN: 18}


def _reduction(node: ExportNode) -> str | None:
    """The attribute `reduction`, left out at its default. Refuses one that the opset does not have."""
    reduction: ir.Reduction = node.op.reduction
    since = REDUCTION_SINCE.get(reduction, 0)
    if node.opset < since:
        node.refuse(f"the reduction {reduction.value} exists from opset {since} on, the target is {node.opset}")
    return reduction.value if since else None


def export_scatter_elements(node: ExportNode) -> None:
    """ScatterElements."""
    op: ir.ScatterElements = node.op
    node.emit("ScatterElements", node.input_names(), axis=op.axis or None, reduction=_reduction(node))


def export_scatter_nd(node: ExportNode) -> None:
    """ScatterND."""
    node.emit("ScatterND", node.input_names(), reduction=_reduction(node))


EXPORTS: ExportTable = {
    ir.Gather: direct(),
    ir.GatherElements: direct(),
    ir.GatherND: direct(),
    ir.ScatterElements: export_scatter_elements,
    ir.ScatterND: export_scatter_nd,
    ir.OneHot: direct(),
    ir.Compress: direct(),
    ir.NonZero: direct(),
    ir.Unique: direct(),
    ir.CumSum: direct(),
}

IMPORTS: ImportTable = {}

__all__ = ["EXPORTS", "IMPORTS"]
