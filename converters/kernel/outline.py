"""A model as its file states it: every node is an operator of the source, none of them is understood."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from graphir.graph import Graph, Value
from graphir.ops.foreign import Foreign
from graphir.structure.record import record
from graphir.tensor import Tensor

Result = tuple[Hashable, int]


@record
class StatedNode:
    """A node of a file. `key` tells it from all others, `inputs` are the keys and slots of the results that it reads,
    `attributes` are names and texts."""

    key: Hashable
    name: str
    operator: str
    inputs: Sequence[Result] = ()
    attributes: tuple[tuple[str, str], ...] = ()


def outline(
    name: str,
    nodes: Iterable[StatedNode],
    inputs: Mapping[Any, str],
    weights: Mapping[Any, tuple[str, Tensor | None]],
    outputs: Iterable[Result],
) -> Graph:
    """Return the graph of the nodes. `inputs` and `weights` are names by key; an operand that nothing gives, and one
    that closes a circle, is left out. Linear in nodes and operands."""
    graph = Graph(name)
    known: dict[Result, Value] = {(key, 0): graph.add_input(graph.fresh_name(label)) for key, label in inputs.items()}
    for key, (label, tensor) in weights.items():
        known[key, 0] = graph.add_parameter(graph.fresh_name(label), tensor)
    pending = {node.key: node for node in nodes}
    results: dict[Hashable, int] = defaultdict(lambda: 1)
    for key, slot in [*(read for node in pending.values() for read in node.inputs), *outputs]:
        results[key] = max(results[key], slot + 1)
    for node in _order_nodes(pending):
        read = [known[result] for result in node.inputs if result in known]
        op = Foreign("", node.operator, node.attributes, results[node.key])
        copy = graph.add_node(op, read or [None], name=graph.fresh_name(node.name))
        known.update({(node.key, slot): value for slot, value in enumerate(copy.outputs)})
    ends = [known[result] for result in outputs if result in known]
    ends = ends or [value for value in graph.values if value.producer is not None and not value.uses]
    graph.set_outputs(list(dict.fromkeys(ends)))
    return graph


def _order_nodes(nodes: Mapping[Hashable, StatedNode]) -> Iterable[StatedNode]:
    """Yield the nodes, each behind those that it reads; a circle is opened at its first node."""
    readers: dict[Hashable, list[Hashable]] = defaultdict(list)
    waits: dict[Hashable, int] = {}
    for key, node in nodes.items():
        sources = {source for source, _ in node.inputs if source in nodes}
        waits[key] = len(sources)
        for source in sources:
            readers[source].append(key)
    ready = [key for key, count in waits.items() if not count]
    for start in [*waits, None]:
        while ready:
            key = ready.pop(0) if len(ready) < 64 else ready.pop()
            if waits.pop(key, None) is None:
                continue
            yield nodes[key]
            for reader in readers[key]:
                if reader in waits:
                    waits[reader] -= 1
                    if not waits[reader]:
                        ready.append(reader)
        if start in waits:
            ready.append(start)
