"""How many nodes a model has of each operator, those of subgraphs included; a call of a function counts as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from graphir.converters.onnx.files.inner import inner_graphs
from graphir.converters.onnx.files.records import OnnxGraph


def count_records(graph: OnnxGraph) -> dict[str, int]:
    """Return the nodes of a graph in records."""
    counts: Counter[str] = Counter()
    pending = [graph]
    while pending:
        for node in pending.pop().nodes:
            counts[node.op_type] += 1
            pending.extend(value for value in node.attributes.values() if isinstance(value, OnnxGraph))
    return dict(counts)


def count_protos(nodes: Iterable[Any]) -> dict[str, int]:
    """Return the nodes of a GraphProto's list."""
    counts: Counter[str] = Counter()
    pending = [nodes]
    while pending:
        for node in pending.pop():
            counts[node.op_type] += 1
            pending += [graph.node for graph in inner] if (inner := inner_graphs(node)) else ()
    return dict(counts)
