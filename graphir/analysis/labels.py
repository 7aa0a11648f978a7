"""Labels of nodes that know everything a node is computed from and everything that is computed from it.

Nodes of two graphs with one label do the same in the same place, whatever they are called and in whatever order they
stand; a label that comes several times marks nodes that can take each other's places.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from graphir.analysis.attributes import attributes_of
from graphir.analysis.fingerprint import Fingerprints
from graphir.graph import Graph, Node, Value
from graphir.ops.elementwise import COMMUTATIVE
from graphir.structure.views import captured


def exact_labels(
    graph: Graph, around: Mapping[Value, int] | None, prints: Fingerprints
) -> dict[Node, int]:
    """Return the label of every node. `around` holds labels of inputs and of values outside that the graph may use.

    Other inputs, and outputs, are known by their place. Labels of two graphs mean the same if they are made with the
    same `prints`. Linear in nodes and weights.
    """
    origins = _origins(graph, around or {}, prints)
    uses: dict[Node, list[int]] = defaultdict(list)
    for index, result in enumerate(graph.outputs):
        if result.producer is not None:
            uses[result.producer].append(hash(("output", index, result.index)))
    labels: dict[Node, int] = {}
    for node in reversed(list(graph.nodes)):
        fate = hash(tuple(sorted(uses[node])))
        label = labels[node] = hash((origins[node.outputs[0]] if node.outputs else 0, fate))
        for slot, value in enumerate(node.inputs):
            if value is not None and value.producer is not None:
                at = -1 if type(node.op) in COMMUTATIVE else slot
                uses[value.producer].append(hash((label, at, value.index)))
    return labels


def _origins(graph: Graph, around: Mapping[Value, int], prints: Fingerprints) -> dict[Value, int]:
    """Return what every value is computed from, as one number."""
    origins = {value: hash(("input", index)) for index, value in enumerate(graph.inputs)} | dict(around)
    for value in graph.parameters:
        number = None if value.tensor is None else prints.number(value.tensor)
        origins[value] = hash(("parameter", str(value.type), number))
    for node in graph.nodes:
        read = [origins.get(value, 0) if value is not None else None for value in node.inputs]
        operands = tuple(sorted(read, key=str) if type(node.op) in COMMUTATIVE else read)
        inner = tuple(_result(subgraph, origins, prints) for subgraph in node.subgraphs)
        origin = hash((node.op.name, repr(attributes_of(node)), operands, inner))
        origins.update({value: hash((origin, value.index)) for value in node.outputs})
    return origins


def _result(graph: Graph, around: Mapping[Value, int], prints: Fingerprints) -> tuple[int, ...]:
    """Return what a subgraph gives."""
    read = {value: around[value] for value in captured(graph) if value in around}
    origins = _origins(graph, read, prints)
    return tuple(origins.get(value, 0) for value in graph.outputs)
