"""The values that two models can both be asked for, and the ways through a graph from value to value."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from graphir.graph import Graph, Node, Value
from graphir.structure.extract import uses_of
from graphir.verification.pairs.sides import by_name

if TYPE_CHECKING:
    from graphir.verification.running.bench import Bench

Array = NDArray[Any]
Test = Callable[[Value], bool]
# Of what one run of the reference gives, so many bytes stay for the next question, and no more than a quarter of the
# memory budget.
KEPT = 1 << 28


class Known:
    """The pairs of values of two graphs that both models can be asked for.

    `names` are the names by which the reference is asked for the first graph's values, `pairs` the second graph's
    values by the first one's. Of what one run of the reference gives, up to `kept` bytes stay for later questions.
    """

    def __init__(self, bench: Bench, graphs: tuple[Graph, Graph], kept: int) -> None:
        self._bench = bench
        self._room = kept
        self._kept: dict[Value, Array] = {}
        left, right = (by_name(graph) for graph in graphs)
        known = set(bench.reference.values())
        self.names: dict[Value, str] = {}
        self.pairs: dict[Value, Value] = {}
        for source, name in bench.layers.items():
            value, other = left.get(source), right.get(name)
            if value is not None and other is not None and source in known and value not in self.pairs:
                self.names[value], self.pairs[value] = source, other
        self.values = {source: value for value, source in self.names.items()}

    def expected(self, values: Iterable[Value]) -> dict[Value, Array]:
        """What the reference has for values that are known."""
        wanted = dict.fromkeys(values)
        found = {value: self._kept[value] for value in wanted if value in self._kept}
        if len(found) == len(wanted):
            return found
        asked = {self.names[value]: value for value in wanted if value not in found}
        if self._room > 0:  # what is asked for next, as much of it as there is room for
            others = [self.names[value] for value in self.names if value not in self._kept and value not in wanted]
            slices = self._bench.reference.slices(others, self._bench.feeds, self._room)
            fitting = others if slices is None else slices[0] if slices else []
            asked |= {name: self.values[name] for name in fitting}
        for name, array in self._bench.reference.stream(self._bench.feeds, list(asked)):
            value = asked[name]
            if value in wanted:
                found[value] = array
            self._room -= array.nbytes
            if self._room >= 0:
                self._kept[value] = array
        return found

    def found(self, values: Iterable[Value]) -> dict[Value, Array]:
        """What the candidate has for values that are known, by the first graph's; from one run."""
        names = {value: self._bench.layers[self.names[value]] for value in values}
        held = self._bench.candidate.run(self._bench.feeds, list(dict.fromkeys(names.values()))) if names else {}
        return {value: held[name] for value, name in names.items()}


def room_for(bench: Bench) -> int:
    """How many bytes of the reference's values may stay."""
    return min(KEPT, bench.candidate.memory // 4)


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

    def before(self, value: Value) -> set[Value]:
        """The computed values that this one depends on, with itself."""
        return _spread(value, self.sources)

    def behind(self, value: Value) -> set[Value]:
        """The values that depend on this one, with itself."""
        return _spread(value, self.results)

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


def _spread(start: Value, step: Callable[[Value], Iterable[Value]]) -> set[Value]:
    seen, pending = {start}, [start]
    while pending:
        for value in step(pending.pop()):
            if value not in seen:
                seen.add(value)
                pending.append(value)
    return seen


__all__ = ["Known", "Test", "Walks", "room_for"]
