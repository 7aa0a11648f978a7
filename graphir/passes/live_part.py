"""The part of a graph that its outputs depend on, for those who write it."""

from __future__ import annotations

from graphir.graph import Graph

from .dead_code import remove_dead_code
from .outcome import Outcome


def has_dead_parts(graph: Graph) -> bool:
    """Return whether there is a node or parameter that no output depends on. Of dead nodes the last has no result that
    anything uses."""
    if not all(value.is_needed for value in graph.parameters):
        return True
    return any(
        not any(value.is_needed for value in node.outputs) or any(map(has_dead_parts, node.subgraphs))
        for node in graph.nodes
    )


def keep_live_part(graph: Graph) -> Outcome:
    """Leave out what no output depends on, in subgraphs too; inputs stay.

    From the last node to the first, so that what only a dead part used is seen to be dead too. Linear in nodes.
    """
    outcome = Outcome()
    for node in reversed(list(graph.nodes)):
        if any(value.is_needed for value in node.outputs):
            for inner in node.subgraphs:
                outcome |= keep_live_part(inner)
    outcome |= remove_dead_code(graph)
    return outcome
