"""Writing a plan into a symbol: the attribute by which MXNet 1.9.1 recomputes a node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from graphir.converters.mxnet.files.records import NNVMGraph
from graphir.converters.mxnet.memory.plan import FORCED


def with_marks(graph: NNVMGraph, forced: Mapping[int, bool]) -> NNVMGraph:
    """Return the graph with `__force_mirroring__` set as given on some nodes; the others keep what they state."""
    nodes = [
        replace(node, annotations={**node.annotations, FORCED: str(forced[number])}) if number in forced else node
        for number, node in enumerate(graph.nodes)
    ]
    return NNVMGraph(nodes, graph.heads, graph.version, graph.np_shape, graph.upgrades)
