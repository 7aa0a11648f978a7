"""Another operator in the place of a node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphir.errors import GraphError, GraphirError, ShapeError
from graphir.node import Node, Value
from graphir.ops.base import Operator
from graphir.safety.arguments import expect
from graphir.types import unify

if TYPE_CHECKING:
    from graphir.graph import Graph


def replace(
    graph: Graph, node: Node, op: Operator, inputs: Sequence[Value | None] | None = None, name: str | None = None
) -> Node:
    """Replace a node; see `Graph.replace`."""
    graph._own_node(node)
    expect(op, Operator, f"what replaces {node.name}", "an Operator, as in Relu()")
    operands = node.inputs if inputs is None else tuple(inputs)
    own_results = [value.name for value in operands if value is not None and value.producer is node]
    if own_results:
        raise GraphError(f"{op.name} cannot take {own_results[0]}, a result of {node.name}, which it is to replace")
    label = node.name if name is None else name
    replacement = graph.add_node(op, operands, name=label, before=node, subgraphs=node.subgraphs)
    try:
        _check_results(node, replacement)
    except GraphirError:
        graph.erase(replacement, subgraphs=False)
        raise
    names = [value.name for value in node.outputs]
    for old, new in zip(node.outputs, replacement.outputs, strict=True):
        new.sources = tuple(dict.fromkeys((*old.sources, *new.sources)))
        graph.replace_uses(old, new)
        graph.refine(new, old.type)
    graph.erase(node, subgraphs=False)  # they belong to the new node now
    for value, wanted in zip(replacement.outputs, names, strict=True):
        graph.rename(value, wanted)
    return replacement


def _check_results(node: Node, replacement: Node) -> None:
    """Raise GraphError for another number of results, and ShapeError for types that contradict the old ones, which
    those that use them rely on."""
    if len(replacement.outputs) != len(node.outputs):
        raise GraphError(
            f"{replacement.op.name} has {len(replacement.outputs)} results and cannot replace {node.name}, "
            f"whose {node.op.name} has {len(node.outputs)}"
        )
    for old, new in zip(node.outputs, replacement.outputs, strict=True):
        try:
            unify(new.type, old.type)
        except ShapeError as error:
            raise ShapeError(
                f"{replacement.op.name} cannot replace {node.name} ({node.op.name}), whose result others use: {error}"
            ) from None
