"""Removal of what no output depends on."""

from __future__ import annotations

from graphir.graph import Graph

from .outcome import Outcome

WHY = "nothing uses what it gives"


def remove_dead_code(graph: Graph) -> Outcome:
    """Erase nodes whose results nothing uses, then parameters that nothing uses. Inputs stay. Linear in nodes."""
    outcome = Outcome()
    for node in reversed(list(graph.nodes)):
        for value in node.outputs:
            if value.is_needed:
                break
        else:
            graph.erase(node)
            outcome.note(node.name, WHY)
    for value in graph.parameters:
        if not value.is_needed and value.graph is graph:
            graph.erase_value(value)
            outcome.note(value.name, WHY)
    return outcome


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
