"""Two models run side by side on the same inputs, and what both know compared in slices, in bounded memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import NDArray

from .candidate import OnnxCandidate
from .compare import Comparison
from .hidden_heads import HiddenHead, compare_hidden
from .limits import Limits
from .noise import perturbation
from .slices import HELD_OF_EACH, WORTH_RETURNING, return_memory

if TYPE_CHECKING:
    from graphir.converters.formats import Reference

Array = NDArray[Any]


class Heads(NamedTuple):
    """Values before saturating heads: those that both models know, source name to candidate name, and others."""

    known: Mapping[str, str]
    hidden: Sequence[HiddenHead]

    @property
    def sources(self) -> list[str]:
        return [*self.known, *(head.source for head in self.hidden)]


@dataclass(frozen=True)
class Bench:
    """Both models with what they are fed. `moved` are the feeds that rounding moved, `layers` the values that both
    know, source name to candidate name."""

    reference: Reference
    candidate: OnnxCandidate
    feeds: Mapping[str, Array]
    moved: Mapping[str, Array] | None
    layers: Mapping[str, str]
    limits: Limits

    def evaluate(self, wanted: Collection[str], layers: Collection[str]) -> tuple[dict[str, Array], list[Comparison]]:
        """The reference's values that are wanted, and its layers compared in slices, from one evaluation."""
        known = self.reference.values()
        order = dict.fromkeys([*(name for name in known if name in wanted or name in layers), *wanted])
        expected: dict[str, Array] = {}
        compared: list[Comparison] = []
        for part in self._parts(list(order), layers):
            expected |= {name: array for name, array in part.items() if name in wanted}
            compared += self._compare_slice({name: array for name, array in part.items() if name in layers})
            large = sum(array.nbytes for array in part.values()) > WORTH_RETURNING
            part.clear()
            if large:
                return_memory()
        return expected, compared

    def _parts(self, order: Sequence[str], layers: Collection[str]) -> Iterator[dict[str, Array]]:
        """The reference's values, as many at a time as may be held. One that can be asked again is run for each part,
        so that it holds no more; others give theirs in the course of one evaluation."""
        most = self.candidate.memory // HELD_OF_EACH
        if hasattr(self.reference, "slices"):
            for names in self.reference.slices(order, self.feeds, most):
                yield self.reference.run(self.feeds, names)
            return
        part: dict[str, Array] = {}
        held = 0
        for name, array in self.reference.stream(self.feeds, order) if order else ():
            held += array.nbytes if name in layers else 0
            if held > most and part:
                yield part
                part, held = {}, array.nbytes
            part[name] = array
            del array
        yield part

    def _compare_slice(self, expected: Mapping[str, Array]) -> list[Comparison]:
        """The candidate is run for these values only."""
        if not expected:
            return []
        found = self.candidate.run(self.feeds, list(dict.fromkeys(self.layers[source] for source in expected)))
        floors = perturbation(self.candidate, self.moved, found)
        return [self._compare_inside(source, array, found, floors) for source, array in expected.items()]

    def _compare_inside(
        self, source: str, array: Array, found: Mapping[str, Array], floors: Mapping[str, float], title: str = ""
    ) -> Comparison:
        name = self.layers[source]
        return self.limits.compare_inside(title or source, array, found[name], floors.get(name, 0.0))

    def compare_heads(self, heads: Heads, expected: Mapping[str, Array]) -> Iterator[Comparison]:
        """The values before saturating heads."""
        if heads.known:
            inner = self.candidate.run(self.feeds, list(heads.known.values()))
            floors = perturbation(self.candidate, self.moved, inner)
            for source in heads.known:
                yield self._compare_inside(source, expected[source], inner, floors, f"{source} (before the head)")
        if heads.hidden:
            inner = self.candidate.run(self.feeds, [head.name for head in heads.hidden])
            again = inner if self.moved is None else self.candidate.run(self.moved, list(inner))
            yield from compare_hidden(heads.hidden, expected, inner, again, self.limits.compare_inside)


__all__ = ["Bench", "Heads"]
