"""The order in which a graph's nodes are drawn and searched for repetition, and what each of them reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graphir.graph import Graph, Node, Value
from graphir.structure.views import captured


def values_read(node: Node) -> list[Value]:
    """Return the values that a node reads, each once: its operands, and what its subgraphs use of the graph around
    them."""
    values = [value for value in node.inputs if value is not None]
    if node.subgraphs:
        values += [value for inner in node.subgraphs for value in captured(inner)]
    return list(dict.fromkeys(values))


def drawn_order(graph: Graph, wires: dict[Node, list[Value]]) -> list[Node]:
    """Return the nodes, each behind what it reads, and branches as whole as they can be: the order of a search in depth
    from the outputs. `wires` is what each node reads. Linear.
    """
    order: list[Node] = []
    seen: set[Node] = set()
    roots = [value.producer for value in graph.outputs if value.producer is not None and value.graph is graph]
    for root in [*roots, *graph.nodes]:
        if root in seen:
            continue
        seen.add(root)
        path = [(root, iter(wires[root]))]
        while path:
            node, rest = path[-1]
            ahead = next((producer for producer in _producers(rest, graph) if producer not in seen), None)
            if ahead is None:
                order.append(node)
                path.pop()
            else:
                seen.add(ahead)
                path.append((ahead, iter(wires[ahead])))
    return order


def _producers(values: Iterator[Value], graph: Graph) -> Iterator[Node]:
    for value in values:
        if value.producer is not None and value.graph is graph:
            yield value.producer


def crossings(order: Sequence[Node], wires: dict[Node, list[Value]]) -> list[int]:
    """Return the number of values that cross each gap between two nodes: entry i is the gap before node i.
    Linear."""
    index_of = {node: index for index, node in enumerate(order)}
    last: dict[Value, int] = {}
    for index, node in enumerate(order):
        for value in wires[node]:
            if value.producer in index_of:
                last[value] = index
    change = [0] * (len(order) + 2)
    for value, end in last.items():
        assert value.producer is not None
        change[index_of[value.producer] + 1] += 1
        change[end + 1] -= 1
    counts, running = [], 0
    for step in change[: len(order) + 1]:
        running += step
        counts.append(running)
    return counts
