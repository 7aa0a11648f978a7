"""The part of a graph that its outputs depend on, for those who write it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from graphir.graph import Graph

from .clone import on_copy
from .dead_code import remove_dead_code
from .inline import is_needed
from .outcome import Outcome


@contextmanager
def only_live(graph: Graph) -> Iterator[Graph]:
    """The graph without the nodes and parameters that no output depends on, in subgraphs too; inputs stay.

    The graph itself where it has none, else a copy. What is decided about the copy is decided about the graph. Linear.
    """
    with on_copy(graph, keep_live_part, needed=has_dead_parts(graph)) as live:
        yield live


def has_dead_parts(graph: Graph) -> bool:
    """Whether there is a node or parameter that no output depends on. Of dead nodes the last has no result that
    anything uses."""
    if not all(is_needed(value) for value in graph.parameters):
        return True
    return any(
        not any(map(is_needed, node.outputs)) or any(map(has_dead_parts, node.subgraphs)) for node in graph.nodes
    )


def keep_live_part(graph: Graph) -> Outcome:
    """Leave out what no output depends on, in subgraphs too; inputs stay.

    From the last node to the first, so that what only a dead part used is seen to be dead too. Linear in nodes.
    """
    outcome = Outcome()
    for node in reversed(list(graph.nodes)):
        if any(map(is_needed, node.outputs)):
            for inner in node.subgraphs:
                outcome |= keep_live_part(inner)
    outcome |= remove_dead_code(graph)
    return outcome


__all__ = ["has_dead_parts", "keep_live_part", "only_live"]
