"""A graph in the place of a node that ONNX has no word for: written in the IR's terms, exported like any other.

Types are known inside it, so that kernels and opsets are chosen for each of its nodes as for those of a model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from graphir.converters.kernel.maker import Maker
from graphir.converters.onnx.exporting.context import ExportNode, P
from graphir.graph import Graph, Value
from graphir.ops.elementwise import Identity


def composed(compose: Callable[[Maker, P, Sequence[Value]], Sequence[Value]]) -> Callable[[ExportNode[P]], None]:
    """Return the export function that writes what `compose` makes of the operator and its operands: values for its
    results."""

    def export_composed(node: ExportNode[P]) -> None:
        names = {value.name for value in (*node.node.inputs, *node.node.outputs) if value is not None}

        def name(suffix: str) -> str:
            unique_name = node.fresh_name(f"{node.name}_{suffix}")
            while unique_name in names:
                unique_name = node.fresh_name(f"{node.name}_{suffix}")
            return unique_name

        graph = Graph(f"{node.name}_composition")
        maker = Maker(graph, node.dtype(), name)
        stand_ins: dict[Value, Value] = {}
        for value in node.inputs:
            if value is not None and value not in stand_ins:
                stand_ins[value] = graph.add_input(value.name, value.type)
        operands = [stand_ins[value] for value in node.inputs if value is not None]
        results = compose(maker, node.op, operands)
        outputs = [maker(Identity(), value) if value in operands else value for value in results]
        graph.set_outputs(outputs)
        for value, result in zip(outputs, node.node.outputs, strict=True):
            graph.rename(value, result.name)
        node.inline(graph)

    return export_composed
