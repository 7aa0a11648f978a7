"""The invariants of a graph, checked at once. Used by passes and tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import GraphError

if TYPE_CHECKING:
    from .graph import Graph, Node, Value


def check_graph(graph: Graph) -> None:
    """Raise GraphError unless names, order, use lists and ownership agree. Linear in the graph's size."""
    produced: set[Value] = set(graph.inputs) | set(graph.parameters)
    for value in produced:
        if value.producer is not None or graph[value.name] is not value:
            raise GraphError(f"{value.name} is an input or parameter and cannot have a producer")
    uses: dict[Value, set[tuple[Node, int]]] = {}
    count = 0
    for node in graph.nodes:
        count += 1
        for slot, operand in enumerate(node.inputs):
            if operand is None:
                continue
            if operand.graph is graph:
                if operand not in produced:
                    raise GraphError(f"node {node.name} uses {operand.name}, which is not produced before it")
                uses.setdefault(operand, set()).add((node, slot))
        for index, value in enumerate(node.outputs):
            if value.producer is not node or value.index != index or graph[value.name] is not value:
                raise GraphError(f"{value.name} is not what node {node.name} says it produces")
            produced.add(value)
        for inner in node.subgraphs:
            if inner.parent is not graph:
                raise GraphError(f"a subgraph of node {node.name} has another parent")
            check_graph(inner)
    if count != len(graph):
        raise GraphError(f"the graph says it has {len(graph)} nodes, found {count}")
    for value in graph.values:
        if value not in produced:
            raise GraphError(f"{value.name} is neither an input, a parameter nor a result")
        own = {use for use in value.uses if use[0].graph is graph}
        if own != uses.get(value, set()):
            raise GraphError(f"the use list of {value.name} disagrees with the nodes")
    for value in graph.outputs:
        if value.graph is graph and value not in produced:
            raise GraphError(f"output {value.name} is not produced")


__all__ = ["check_graph"]
