"""Layers that differ because one model is written otherwise, not because it is wrong: what follows agrees again.

Two things have to hold. Everything that is made of the layer agrees again; and it agrees because the other model makes
up for the difference, not because nothing shows it: the reference's own part behind the layer, fed with the candidate's
numbers, gives something else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from graphir.errors import GraphirError
from graphir.graph import Value
from graphir.report.text import plural
from graphir.verification.grading.limits import Limits

from .known import Known
from .segments import compared_inside, laid_as, run_part
from .walks import Walks

Array = NDArray[Any]
# A part is cut out, written and run for each; resnet152 with all of its normalizations folded has 155.
MOST_RUN = 200


class Rewrites:
    """Which of the values that differ are explained; what was asked before is remembered."""

    def __init__(
        self, known: Known, walks: Walks, outputs: Iterable[Value], limits: Limits, fed: Mapping[str, Array]
    ) -> None:
        self._known, self._walks, self._limits, self._fed = known, walks, limits, fed
        self._outputs = set(outputs)
        self._said: dict[Value, str] = {}
        self._runs = 0
        self._lost: tuple[int, set[Value]] = -1, set()

    def explained(self, value: Value) -> str:
        """Where a value that differs agrees again, "" if it does not."""
        if value not in self._said:
            self._said[value] = self._explain(value)
        return self._said[value]

    def _explain(self, value: Value) -> str:
        again = self._meeting(value)
        if not again:
            return ""
        if self._runs < MOST_RUN:
            self._runs += 1
            try:
                if not self._shows(value, again):
                    return ""
            except GraphirError:
                return ""
        names = [self._known.names[held] for held in again]
        more = f" and {plural(len(names) - 1, 'other value')}" if len(names) > 1 else ""
        return f"agrees again at {names[0]}{more}"

    def _meeting(self, value: Value) -> list[Value]:
        """The values at which every way from this one agrees again, () if there is a way on which it does not."""
        if value in self._reaching():
            return []
        agrees = self._known.agrees
        behind = self._walks.behind(value, stop=lambda held: held is not value and agrees(held))
        return self._walks.ordered(held for held in behind if held is not value and agrees(held))

    def _reaching(self) -> set[Value]:
        """The values from which a way leads to an output on which nothing agrees; found once for all that differ."""
        state = len(self._known.compared)
        if self._lost[0] != state:
            found: set[Value] = set()
            for output in self._outputs:
                if not self._known.agrees(output) and output not in found:
                    found |= self._walks.before(output, stop=self._known.agrees)
            self._lost = state, {value for value in found if not self._known.agrees(value)}
        return self._lost[1]

    def _shows(self, value: Value, again: Sequence[Value]) -> bool:
        """Whether the reference's part between a value and one where it agrees again gives something else for the
        candidate's numbers."""
        return any(self._shows_at(value, target) for target in again)

    def _shows_at(self, value: Value, target: Value) -> bool:
        names = self._known.names
        part = self._walks.behind(value, stop=lambda held: held is target)
        edges, _ = self._walks.region(target, lambda held: held is value or (held in names and held not in part))
        if any(edge.producer is not None and edge not in names for edge in edges):
            return False
        return self._differs(value, target, edges)

    def _differs(self, value: Value, target: Value, edges: Sequence[Value]) -> bool:
        inner = [edge for edge in edges if edge.producer is not None]
        if value not in inner:
            return False
        ours = self._known.expected(dict.fromkeys([*inner, target]))
        fed = {edge.name: ours[edge] for edge in inner} | {
            edge.name: self._fed[edge.name] for edge in edges if edge.producer is None
        }
        fed[value.name] = laid_as(self._known.found([value])[value], ours[value], value)
        found, floor = run_part(value.graph.extract([target], inner), fed)
        return not compared_inside(self._known.names[target], ours[target], found, floor, self._limits).verdict.passes


__all__ = ["Rewrites"]
