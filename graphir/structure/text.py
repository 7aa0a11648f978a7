"""The readable form of a graph, one line a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphir.safety.foreign_text import one_line

if TYPE_CHECKING:
    from graphir.graph import Graph, Node


def format_graph(graph: Graph, indent: str = "") -> str:
    """Return the graph as text: signature, parameters, nodes with the types of their results, outputs."""
    signature = one_line(", ".join(f"{value.name}: {value.type}" for value in graph.inputs))
    lines = [f"{indent}graph {one_line(graph.name)}({signature}) {{"]
    for value in graph.parameters:
        elements = ""
        if value.known is not None and len(value.known.elements) <= 8:
            elements = f" = {list(value.known.elements)}"
        elif value.tensor is None:
            elements = " (no elements)"
        lines.append(f"{indent}  param {one_line(value.name)}: {value.type}{elements}")
    for node in graph.nodes:
        lines.append(f"{indent}  {format_node(node)}")
        lines.extend(format_graph(inner, indent + "    ") for inner in node.subgraphs)
    lines.append(f"{indent}  return {one_line(', '.join(value.name for value in graph.outputs))}")
    lines.append(f"{indent}}}")
    return "\n".join(lines)


def format_node(node: Node) -> str:
    """Return one line: results with types, operator, operands, attributes."""
    results = ", ".join(f"{value.name}: {value.type}" for value in node.outputs)
    operands = ", ".join("-" if value is None else value.name for value in node.inputs)
    attributes = node.op.attributes()
    shown = ", ".join(f"{key}={getattr(value, 'value', value)}" for key, value in attributes.items())
    return one_line(f"{results} = {node.op.name}({operands})" + (f" {{{shown}}}" if shown else ""))
