"""The part of a graph that its outputs depend on, for those who write it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from graphir.graph import Graph

from .clone import clone
from .inline import is_needed


@contextmanager
def only_live(graph: Graph) -> Iterator[Graph]:
    """The graph without the nodes and parameters that no output depends on, in subgraphs too; inputs stay.

    The graph itself where it has none, else a copy. What is decided about the copy is decided about the graph. Linear.
    """
    if not _has_dead_parts(graph):
        yield graph
        return
    live = clone(graph)
    _cut(live)
    yield live
    graph.decisions[:] = live.decisions


def _has_dead_parts(graph: Graph) -> bool:
    """Of dead nodes the last has no result that anything uses."""
    if not all(is_needed(value) for value in graph.parameters):
        return True
    return any(
        not any(map(is_needed, node.outputs)) or any(map(_has_dead_parts, node.subgraphs)) for node in graph.nodes
    )


def _cut(graph: Graph) -> None:
    """From the last node to the first, so that what only a dead part used is seen to be dead too."""
    for node in reversed(list(graph.nodes)):
        if not any(map(is_needed, node.outputs)):
            graph.erase(node)
            continue
        for inner in node.subgraphs:
            _cut(inner)
    for value in graph.parameters:
        if not is_needed(value):
            graph.erase_value(value)


__all__ = ["only_live"]
