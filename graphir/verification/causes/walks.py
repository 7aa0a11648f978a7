"""Ways through a graph from value to value, with what the bodies of nodes capture."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence

from graphir.graph import Graph, Node, Value
from graphir.structure.extract import uses_of

Test = Callable[[Value], bool]


class Walks:
    """Which values each value of a main graph is made of and goes into. Linear in the graph's size to make."""

    def __init__(self, graph: Graph) -> None:
        self._reads: dict[Node, list[Value]] = {}
        self._readers: dict[Value, list[Node]] = {}
        self.place: dict[Value, int] = {}
        for node in graph.nodes:
            self._reads[node] = list(dict.fromkeys(uses_of(node)))
            for value in self._reads[node]:
                self._readers.setdefault(value, []).append(node)
            for value in node.outputs:
                self.place[value] = len(self.place)

    def sources(self, value: Value) -> list[Value]:
        """The computed values that the node of this one reads."""
        node = value.producer
        return [] if node is None else [held for held in self._reads.get(node, ()) if held.producer is not None]

    def results(self, value: Value) -> list[Value]:
        """What the nodes that read this value make."""
        return [made for node in self._readers.get(value, ()) for made in node.outputs]

    def readers(self, value: Value) -> list[Node]:
        """The nodes that read this value."""
        return self._readers.get(value, [])

    def before(self, value: Value, stop: Test = lambda value: False) -> set[Value]:
        """The computed values that this one depends on, with itself; not beyond those where a walk stops."""
        return self._spread([value], self.sources, stop)

    def behind(self, value: Value, stop: Test = lambda value: False) -> set[Value]:
        """The values that depend on this one, with itself; not beyond those where a walk stops."""
        return self._spread([value], self.results, stop)

    def nearest(self, value: Value, known: Test, *, behind: bool) -> list[Value]:
        """The first values on every way from this one, not itself, that are `known`, in the graph's order."""
        step = self.results if behind else self.sources
        found = self._spread(step(value), step, known)
        return self.ordered(held for held in found if known(held))

    def region(self, value: Value, edge: Test) -> tuple[list[Value], list[Node]]:
        """What a value is computed from between it and the `edge`: the edge's values (graph inputs among them), and
        the nodes."""
        nodes: dict[Node, None] = {}
        edges: dict[Value, None] = {}
        pending, seen = deque([value]), {value}
        while pending:
            held = pending.popleft()
            node = held.producer
            if node is None or (held is not value and edge(held)):
                edges[held] = None
                continue
            nodes[node] = None
            for read in self._reads[node]:
                if read not in seen and not (read.producer is None and read.tensor is not None):
                    seen.add(read)
                    pending.append(read)
        return list(edges), list(nodes)

    def ordered(self, values: Iterable[Value]) -> list[Value]:
        """Computed values in the graph's order."""
        return sorted((value for value in values if value in self.place), key=self.place.__getitem__)

    @staticmethod
    def _spread(start: Sequence[Value], step: Callable[[Value], list[Value]], stop: Test) -> set[Value]:
        first: Collection[Value] = set(start)
        seen, pending = set(first), list(first)
        while pending:
            value = pending.pop()
            if stop(value):
                continue
            for held in step(value):
                if held not in seen:
                    seen.add(held)
                    pending.append(held)
        return seen


__all__ = ["Test", "Walks"]
