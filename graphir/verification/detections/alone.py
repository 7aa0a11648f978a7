"""Detections that differ though the candidate's suppression is right: run alone on the reference's numbers it gives the
reference's rows, and what goes into it in the two models differs by rounding only.

That holds however many decisions rounding turns, and whatever follows from them: scores of a network that is not
trained are all about the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from numpy.typing import NDArray

from graphir.errors import GraphirError
from graphir.graph import Graph, Node, Value
from graphir.verification.causes.known import by_name
from graphir.verification.causes.segments import compared_inside, laid_as, run_part
from graphir.verification.causes.walks import Walks
from graphir.verification.grading.compare import Comparison
from graphir.verification.running.bench import Asked, Bench
from graphir.verification.running.layouts import fitted_feeds
from graphir.verification.verdict import Verdict

from .cuts import CUTTING

Array = NDArray[Any]


class _Part(NamedTuple):
    """What computes an output from values before all suppressions: its value, and these, by the reference's names."""

    one: Asked
    value: Value
    edges: Mapping[str, Value]


def suppressed_alone(
    bench: Bench,
    outputs: Sequence[Asked],
    graded: Sequence[Comparison],
    expected: Mapping[str, Array],
    graph: Graph | None,
) -> list[Comparison]:
    """The comparisons, those of detections that differ by what rounding decides as noise, with the numbers of what goes
    into the suppression. `expected` are the reference's outputs, `graph` is the candidate's."""
    differing = {one.name for one in graded if not one.verdict.passes}
    if graph is None or not differing or bench.limits.stated:
        return list(graded)
    if not any(node.op.name in CUTTING for node in graph.nodes):
        return list(graded)
    values = by_name(graph)
    found = _Parts(bench, graph, values)
    asked = [one for one in outputs if one.title in differing and one.turned is None and one.name in values]
    parts = [part for one in asked if (part := found.of(one)) is not None]
    sources = list(dict.fromkeys(source for part in parts for source in part.edges if source not in bench.feeds))
    if not sources:
        return list(graded)
    ours = dict(bench.reference.stream(bench.feeds, sources))
    inner = {one.name: one for one in bench.compare([Asked(name, name, bench.layers[name]) for name in sources], ours)}
    explained: dict[str, Comparison] = {}
    for part in parts:
        into = [inner[source] for source in part.edges if source in inner]
        moved = all(one.verdict.passes for one in into) and any(one.relative > 0 for one in into)
        if moved and _gives(bench, part, {**bench.feeds, **ours}, expected[part.one.source]):
            explained[part.one.title] = max(into, key=lambda one: one.relative / one.limit)
    return [_as_noise(one, explained[one.name]) if one.name in explained else one for one in graded]


class _Parts:
    """The parts behind the values before all suppressions that both models know."""

    def __init__(self, bench: Bench, graph: Graph, values: Mapping[str, Value]) -> None:
        self._walks = Walks(graph)
        self._sources = {
            values[name]: source for source, name in bench.layers.items() if name in values
        } | {value: value.name for value in graph.inputs if value.name in bench.feeds}  # fmt: skip
        self._values = values
        self._behind = self._of(graph.nodes)

    def of(self, one: Asked) -> _Part | None:
        """That of an output, None where no suppression is in it, or something goes into it that is not known."""
        value = self._values[one.name]
        edges, nodes = self._walks.region(value, self._is_edge)
        if not any(node.op.name in CUTTING for node in nodes) or not all(edge in self._sources for edge in edges):
            return None
        return _Part(one, value, {self._sources[edge]: edge for edge in edges})

    def _is_edge(self, value: Value) -> bool:
        return value in self._sources and value not in self._behind

    def _of(self, nodes: Iterable[Node]) -> set[Value]:
        """What any suppression decides."""
        found: set[Value] = set()
        for node in nodes:
            if node.op.name in CUTTING:
                for made in node.outputs:
                    found |= self._walks.behind(made, stop=found.__contains__)
        return found


def _gives(bench: Bench, part: _Part, arrays: Mapping[str, Array], expected: Array) -> bool:
    """Whether the candidate's part gives the reference's result for the reference's numbers; it is run once."""
    if part.one.title not in bench.alone:
        bench.alone[part.one.title] = _gave(bench, part, arrays, expected)
    return bench.alone[part.one.title]


def _gave(bench: Bench, part: _Part, arrays: Mapping[str, Array], expected: Array) -> bool:
    inputs = [edge for edge in part.edges.values() if edge.producer is not None]
    own = fitted_feeds(bench.candidate.fitting, bench.feeds)
    try:
        own |= bench.candidate.known_or_run(bench.feeds, [edge.name for edge in inputs])
        fed = {edge.name: laid_as(arrays[source], own[edge.name], edge) for source, edge in part.edges.items()}
        found, floor = run_part(part.value.graph.extract([part.value], inputs), fed)
    except GraphirError:
        return False
    return compared_inside(part.one.title, expected, found, floor, bench.limits).verdict.passes


def _as_noise(one: Comparison, into: Comparison) -> Comparison:
    said = (
        f"rounding decides which rows stay: for the reference's numbers this suppression gives the reference's rows; "
        f"shown is {into.name}, which goes into it"
    )
    return replace(
        one, scale=into.scale, max_abs=into.max_abs, relative=into.relative, floor=into.floor, limit=into.limit,
        verdict=Verdict.NOISE, note="; ".join(filter(None, (one.note, said))), place="",
    )  # fmt: skip


__all__ = ["suppressed_alone"]
