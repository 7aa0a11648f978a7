"""Values inside branches and loops have names that no graph around them has, as ONNX wants it."""

from __future__ import annotations

from collections.abc import Iterator

from graphir.graph import Graph, Value

from .inline import GraphNames
from .outcome import Outcome


def rename_shadowed(graph: Graph) -> Outcome:
    """Give each value of a graph inside another one that has a name of that a name of its own. Linear in values."""
    outcome = Outcome()
    if not (values := list(_shadowed(graph))):
        return outcome
    names = GraphNames(graph)
    for value in values:
        name = value.name
        value.graph.rename(value, names.fresh(name))
        outcome.note(name, "a graph around has a value of this name")
    return outcome


def _shadowed(graph: Graph, around: frozenset[str] = frozenset()) -> Iterator[Value]:
    """Yield the values in the graphs inside this one whose names it has, or a graph around it."""
    names: frozenset[str] | None = None
    for node in graph.nodes:
        if node.subgraphs and names is None:
            names = around.union([value.name for value in graph.values])
        for inner in node.subgraphs:
            assert names is not None
            yield from (value for value in inner.values if value.name in names)
            yield from _shadowed(inner, names)
