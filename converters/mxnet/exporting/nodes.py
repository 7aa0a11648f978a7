"""One node of a graph on its way out, by the export function of its operator."""

from __future__ import annotations

from graphir.converters.mxnet.exporting.context import AnyNode, Export, ExportNode, ExportTable, Refusal
from graphir.converters.mxnet.exporting.lowered import NO_EXPORT
from graphir.converters.mxnet.exporting.ops.casting import narrow_results
from graphir.converters.mxnet.exporting.ops.widening import is_narrow
from graphir.graph import Node


def write_node(export: Export, node: Node, table: ExportTable) -> None:
    """Write one node. Raises Refusal, and Unwritten if that of an operand comes first."""
    function = table.get(type(node.op))
    if function is None:
        raise Refusal(NO_EXPORT)
    if not all(value.shape is not None and 0 in value.shape for value in node.outputs):
        narrow = is_narrow(node)
        result: AnyNode = ExportNode(export, node)
        function(result)
        if narrow:
            narrow_results(result)
