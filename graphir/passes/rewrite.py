"""What passes share: one node in place of another."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph import Graph, Node, Value
from ..ops.base import Operator


def replace_node(graph: Graph, node: Node, op: Operator, inputs: Sequence[Value | None] | None = None) -> Node:
    """A new node in place of `node`, under its name and with its results' names; returns the new node.

    Raises what `add_node` raises, before anything has changed.
    """
    operands = node.inputs if inputs is None else tuple(inputs)
    made = graph.add_node(op, operands, name=node.name, before=node, subgraphs=node.subgraphs)
    for old, new in zip(node.outputs, made.outputs, strict=True):
        new.sources = tuple(dict.fromkeys((*old.sources, *new.sources)))
        graph.replace_uses(old, new)
        graph.refine(new, old.type)
    names = [value.name for value in node.outputs]
    node.subgraphs = ()  # they belong to the new node now
    graph.erase(node)
    for new, name in zip(made.outputs, names, strict=True):
        graph.rename(new, name)
    return made


__all__ = ["replace_node"]
