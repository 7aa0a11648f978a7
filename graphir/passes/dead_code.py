"""Removal of what no output depends on."""

from __future__ import annotations

from ..graph import Graph


def remove_dead_code(graph: Graph) -> bool:
    """Erase nodes whose results nothing uses, then parameters that nothing uses. Inputs stay. Linear in nodes."""
    outputs = set(graph.outputs)
    changed = False
    for node in reversed(list(graph.nodes)):
        if not any(value.uses or value in outputs for value in node.outputs):
            graph.erase(node)
            changed = True
    for value in graph.parameters:
        if not value.uses and value not in outputs and value.graph is graph:
            graph.erase_value(value)
            changed = True
    return changed


__all__ = ["remove_dead_code"]
