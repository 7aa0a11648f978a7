"""Removal of what no output depends on."""

from __future__ import annotations

from graphir.graph import Graph

from .inline import is_needed


def remove_dead_code(graph: Graph) -> bool:
    """Erase nodes whose results nothing uses, then parameters that nothing uses. Inputs stay. Linear in nodes."""
    changed = False
    for node in reversed(list(graph.nodes)):
        if not any(map(is_needed, node.outputs)):
            graph.erase(node)
            changed = True
    for value in graph.parameters:
        if not is_needed(value) and value.graph is graph:
            graph.erase_value(value)
            changed = True
    return changed


__all__ = ["remove_dead_code"]
