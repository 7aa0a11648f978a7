"""The graphs inside the nodes of a ModelProto."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# onnx.proto, AttributeProto.AttributeType: numbers and texts, and lists of these. What else such an attribute holds is
# never read.
PLAIN = frozenset({1, 2, 3, 6, 7, 8})


def inner_graphs(node: Any) -> Sequence[Any]:
    """The GraphProtos among a node's attributes."""
    attributes = node.attribute
    if not attributes:
        return ()
    return [
        graph
        for attribute in attributes
        if attribute.type not in PLAIN
        for graph in ((attribute.g, *attribute.graphs) if attribute.HasField("g") else attribute.graphs)
    ]


__all__ = ["inner_graphs"]
