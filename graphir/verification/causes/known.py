"""The values that two models can both be asked for, compared when they are asked for and once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import NDArray

from graphir.graph import Graph, Value
from graphir.verification.grading.compare import Comparison

Array = NDArray[Any]

if TYPE_CHECKING:
    from graphir.converters.formats import Reference
    from graphir.verification.grading.limits import Limits
    from graphir.verification.running.candidate import OnnxCandidate


# Of what one run of the reference gives, so many bytes stay for the next question, and no more than a quarter of the
# memory budget.
KEPT = 1 << 28


class Bench(Protocol):
    """Both models with what they are fed; `layers` are the values that both know, source name to candidate name."""

    @property
    def reference(self) -> Reference: ...
    @property
    def candidate(self) -> OnnxCandidate: ...
    @property
    def feeds(self) -> Mapping[str, Array]: ...
    @property
    def layers(self) -> Mapping[str, str]: ...
    @property
    def limits(self) -> Limits: ...
    @property
    def judged(self) -> dict[str, Any]: ...
    def evaluate(
        self, wanted: Collection[str], layers: Collection[str]
    ) -> tuple[dict[str, Array], list[Comparison]]: ...


class Known:
    """The pairs of values of two graphs that both models can be asked for, and what came of comparing them.

    `sources` are the first graph's values by the names to ask the reference for, `pairs` the second graph's values by
    the first one's, `compared` the comparisons so far. Of what one run of the reference gives, up to `kept` bytes stay
    for later questions.
    """

    def __init__(
        self, bench: Bench, graphs: tuple[Graph, Graph], compared: Iterable[Comparison] = (), kept: int = 0
    ) -> None:
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
        self.compared: dict[Value, Comparison] = {}
        self._take(compared)

    def ask(self, values: Iterable[Value]) -> None:
        """Compare those that have not been."""
        names = {self.names[value] for value in values if value not in self.compared}
        if names:
            self._take(self._bench.evaluate((), names)[1])

    def agrees(self, value: Value) -> bool:
        """Whether a value was compared and differs by no more than rounding."""
        return value in self.compared and self.compared[value].verdict.passes

    def differs(self, value: Value) -> bool:
        """Whether a value was compared and differs by more than rounding."""
        return value in self.compared and not self.compared[value].verdict.passes

    def expected(self, values: Iterable[Value]) -> dict[Value, Array]:
        """What the reference has for values that are known."""
        wanted = dict.fromkeys(values)
        found = {value: self._kept[value] for value in wanted if value in self._kept}
        if len(found) == len(wanted):
            return found
        if self._room <= 0:
            asked = {self.names[value]: value for value in wanted if value not in found}
        else:
            asked = {self.names[value]: value for value in self.names if value in wanted or value not in self._kept}
        for name, array in self._bench.reference.stream(self._bench.feeds, asked):
            value = asked[name]
            if value in wanted:
                found[value] = array
            if array.nbytes <= self._room:
                self._kept[value] = array
                self._room -= array.nbytes
        return found

    def found(self, values: Iterable[Value]) -> dict[Value, Array]:
        """What the candidate has for values that are known, by the first graph's; from one run."""
        names = {value: self._bench.layers[self.names[value]] for value in values}
        held = self._bench.candidate.run(self._bench.feeds, list(dict.fromkeys(names.values()))) if names else {}
        return {value: held[name] for value, name in names.items()}

    def _take(self, compared: Iterable[Comparison]) -> None:
        for found in compared:
            value = self.values.get(found.name)
            if value is not None:
                self.compared[value] = found


def room_for(bench: Bench) -> int:
    """How many bytes of the reference's values may stay."""
    return min(KEPT, bench.candidate.memory // 4)


def by_name(graph: Graph) -> dict[str, Value]:
    """The computed values by their names, and by those that they had in the model that they come from."""
    computed = [value for node in graph.nodes for value in node.outputs]
    found = {name: value for value in computed for name in value.sources}
    return found | {value.name: value for value in computed}


__all__ = ["Bench", "Known", "by_name", "room_for"]
