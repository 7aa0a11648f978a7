"""Values of a reference that computes all of them to give one: asked for once, as far as the memory for them goes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graphir.converters.formats import Reference
from graphir.graph import Graph
from graphir.ops.activation import Relu
from graphir.ops.base import Operator
from graphir.ops.elementwise import Sin
from graphir.types import DType, TensorType
from graphir.verification.numbers.limits import GradingLimits
from graphir.verification.regions.known import KnownValues
from graphir.verification.regions.parts import CutCandidate
from graphir.verification.running.bench import Bench
from graphir.verification.running.references import RuntimeReference
from graphir.verification.running.slices import HELD_OF_EACH

Array = NDArray[Any]
NAMES = ["a", "b", "c", "d"]
NBYTES = 4 * 6


class Counted(Reference):
    """A reference with four values of 24 bytes, which notes what it was asked."""

    label, outputs, computes_all = "counted", NAMES, True

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def values(self) -> list[str]:
        return NAMES

    def stream(self, feeds: Mapping[str, Array], names: Iterable[str]) -> Iterator[tuple[str, Array]]:
        self.asked.append([name for name in NAMES if name in names])
        for name in self.asked[-1]:
            yield name, np.full(6, NAMES.index(name), np.float32)


def chain(operator: Operator = Relu()) -> Graph:  # noqa: B008
    graph = Graph()
    value = graph.add_input("x", TensorType(DType.FLOAT32, (6,)))
    for name in NAMES:
        (value,) = graph.add_node(operator, [value], name=name).outputs
    graph.set_outputs([value])
    return graph


@pytest.mark.parametrize("kept, large, asked", [
    (0, [], [["a"], ["b", "d"], ["a"]]),
    (4 * NBYTES, [], [NAMES]),
    (2 * NBYTES, [], [NAMES, ["d"]]),
    (3 * NBYTES, ["c"], [["a", "b", "d"]]),
    (4 * NBYTES, ["b"], [["a", "c", "d"], ["b"]]),
])  # fmt: skip
def test_what_is_kept_is_not_asked_again(kept: int, large: list[str], asked: list[list[str]]) -> None:
    """Half of the memory is for what is kept; what is too large for a slice is asked for each time."""
    reference = Counted()
    candidate: Any = SimpleNamespace(memory=2 * kept, larger=lambda feeds, most: set(large))
    nothing: Any = None
    bench = Bench(reference, candidate, {}, nothing, {name: name for name in NAMES}, GradingLimits())
    known = KnownValues(bench, (chain(), chain()))
    for wanted in (["a"], ["b", "d"], ["a"]):
        results = known.expected([known.values[name] for name in wanted])
        assert {value.name: array[0] for value, array in results.items()} == {
            name: NAMES.index(name) for name in wanted
        }
    assert reference.asked == asked


def test_what_does_not_stay_is_computed_from_what_does(monkeypatch: pytest.MonkeyPatch) -> None:
    feeds = {"x": np.linspace(-3, 3, 6, dtype=np.float32)}
    candidate: Any = SimpleNamespace(memory=HELD_OF_EACH * 2 * NBYTES, larger=lambda feeds, most: set())
    nothing: Any = None
    whole: list[list[str]] = []
    parts: list[tuple[set[str], list[str]]] = []
    stream, run = RuntimeReference.stream, CutCandidate.run

    def streamed(self: RuntimeReference, feeds: Mapping[str, Array], names: Any) -> Iterator[tuple[str, Array]]:
        whole.append(list(names))
        return stream(self, feeds, whole[-1])

    def ran(self: CutCandidate, fed: Mapping[str, Array], wanted: Any) -> dict[str, Array]:
        parts.append((set(fed), list(wanted)))
        return run(self, fed, wanted)

    monkeypatch.setattr(RuntimeReference, "stream", streamed)
    monkeypatch.setattr(CutCandidate, "run", ran)
    graph = chain(Sin())
    with closing(RuntimeReference(graph)) as reference:
        bench = Bench(reference, candidate, feeds, nothing, {name: name for name in NAMES}, GradingLimits())
        known = KnownValues(bench, (graph, graph))
        results = known.expected([known.values["a"]]) | known.expected(known.values[name] for name in NAMES)
        assert whole == [["a", "b"]]
        assert parts == [({"a", "b"}, ["c", "d"])]
        for value, array in reference.run(feeds, NAMES).items():
            assert np.array_equal(results[known.values[value]], array)
