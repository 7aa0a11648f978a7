"""The graphs inside the nodes of a ModelProto, and what they hold together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

# onnx.proto, AttributeProto.AttributeType: numbers and texts, and lists of these. What else such an attribute holds is
# never read.
PLAIN = frozenset({1, 2, 3, 6, 7, 8})


def inner_graphs(node: Any) -> Sequence[Any]:
    """Return the GraphProtos among a node's attributes."""
    graphs: list[Any] = []
    for attribute in node.attribute:
        if attribute.type not in PLAIN:
            graphs += (attribute.g, *attribute.graphs) if attribute.HasField("g") else attribute.graphs
    return graphs


def names_of(proto: Any) -> set[str]:
    """Return every name of a value in a GraphProto and in the graphs inside it."""
    names: set[str] = set()
    pending: list[Any] = [proto]
    while pending:
        graph = pending.pop()
        names.update(info.name for info in (*graph.input, *graph.output))
        names.update(tensor.name for tensor in graph.initializer)
        names.update(sparse.values.name for sparse in graph.sparse_initializer)
        for node in graph.node:
            names.update(node.output)
            pending += inner_graphs(node)
    return names


def count_nodes(nodes: Iterable[Any]) -> int:
    """Return how many nodes there are, those of the graphs inside them too."""
    count = 0
    pending = [nodes]
    while pending:
        for node in pending.pop():
            count += 1
            pending += [graph.node for graph in inner] if (inner := inner_graphs(node)) else ()
    return count
