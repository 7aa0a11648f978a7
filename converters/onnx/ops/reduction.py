"""Reductions over axes: before opset 18 (ReduceSum: 13) the axes are an attribute."""

from __future__ import annotations

from graphir.converters.onnx.exporting.context import (
    AnyNode,
    ExportNode,
    by_opset,
    direct,
    row,
    rows,
    table,
)
from graphir.converters.onnx.importing.context import ImportTable, attribute_as_operand, direct_rows
from graphir.converters.onnx.importing.context import direct as import_direct
from graphir.ops import reduction as ir


def export_reduce_with_attribute(node: ExportNode[ir.Reduce]) -> None:
    """A reduction whose axes are an attribute; they must be known."""
    op = node.op
    axes = node.known(1)
    if node.optional(1) is not None and axes is None:
        node.refuse(f"{op.name} over computed axes exists from opset 18 on, the target is {node.opset}")
    if not axes and op.noop_with_empty_axes:
        _export_without_axes(node)
        return
    node.emit(op.name, node.input_names()[:1], axes=axes or None, keepdims=None if op.keepdims else 0)


def _export_without_axes(node: AnyNode) -> None:
    """What reducing no axis at all does to each element."""
    data = node.input_names()[:1]
    match node.op:
        case ir.ReduceL1() | ir.ReduceL2():
            node.emit("Abs", data)
        case ir.ReduceLogSum():
            node.emit("Log", data)
        case ir.ReduceSumSquare():
            node.emit("Mul", data * 2)
        case _:
            node.emit("Identity", data)


def export_top_k(node: ExportNode[ir.TopK]) -> None:
    """Write TopK, whose two results ONNX wants both."""
    op = node.op
    node.emit(
        "TopK",
        node.input_names(),
        every_output=True,
        axis=op.axis if op.axis != -1 else None,
        largest=None if op.largest else 0,
        sorted=None if op.sorted else 0,
    )


REDUCTIONS: tuple[type[ir.Reduce], ...] = (
    *(ir.ReduceMean, ir.ReduceMax, ir.ReduceMin, ir.ReduceProd, ir.ReduceL1, ir.ReduceL2, ir.ReduceLogSum),
    *(ir.ReduceLogSumExp, ir.ReduceSumSquare),
)
_reduce = by_opset({13: export_reduce_with_attribute, 18: direct()})
EXPORTS = table(
    *rows(REDUCTIONS, _reduce),
    *rows((ir.ReduceSum, ir.ArgMax, ir.ArgMin), direct()),
    row(ir.TopK, export_top_k),
)

IMPORTS: ImportTable = {
    **{op.__name__: {1: attribute_as_operand(op, "axes", 1), 18: import_direct(op)} for op in REDUCTIONS},
    "ReduceSum": {1: attribute_as_operand(ir.ReduceSum, "axes", 1), 13: import_direct(ir.ReduceSum)},
    **direct_rows(ir.ArgMax, ir.ArgMin),
    "TopK": {1: attribute_as_operand(ir.TopK, "k", 1), 10: import_direct(ir.TopK)},
}
