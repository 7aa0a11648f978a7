"""Two models run side by side on the same inputs, and what both know compared in slices, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .candidate import OnnxCandidate
from .compare import Comparison, Floor, difference, moves_too_much
from .layouts import order_inside, order_outside
from .limits import Limits
from .noise import Rounding
from .slices import HELD_OF_EACH, WORTH_RETURNING, return_memory
from .verdict import Verdict

if TYPE_CHECKING:
    from graphir.converters.formats import Reference
    from graphir.converters.onnx.files.structure import Structure

    from .heads import Wiring

Array = NDArray[Any]
View = Callable[[Array], "Array | None"]


@dataclass(frozen=True)
class Asked:
    """A value to be compared: its title in a report, its name in the reference and in the candidate.

    `seen` is what of it is compared, on both sides (None where nothing can be), `turned` what was stated of the axes of
    the candidate's. An output's channels lie where sizes say, a value inside has the layout that suits its model.
    """

    title: str
    source: str
    name: str
    is_output: bool = False
    seen: View | None = None
    turned: View | None = None

    def of_reference(self, array: Array) -> Array | None:
        """What is compared of the reference's value."""
        return array if self.seen is None else self.seen(array)

    def of_candidate(self, array: Array) -> Array | None:
        """What is compared of the candidate's, before its axes are laid out."""
        array = array if self.turned is None else self.turned(array)  # type: ignore[assignment]
        return array if self.seen is None else self.seen(array)


@dataclass
class Pair:
    """Both results of a value, the candidate's in the reference's layout, and what rounding was seen to do to it."""

    asked: Asked
    expected: Array
    found: Array
    order: tuple[int, ...]
    step: float
    bounded: bool
    floor: Floor = field(default_factory=Floor)
    result: Comparison = field(init=False)

    def again(self, array: Array) -> Array:
        """Another run's result in the same layout."""
        own = self.asked.of_candidate(array)
        assert own is not None, "what was seen of the first run is seen of all"
        return own.transpose(self.order) if self.order and own.ndim == len(self.order) else own


@dataclass(frozen=True)
class Bench:
    """Both models with what they are fed. `layers` are the values that both know, source name to candidate name,
    `wiring` what is known of the reference's inside."""

    reference: Reference
    candidate: OnnxCandidate
    feeds: Mapping[str, Array]
    rounding: Rounding
    layers: Mapping[str, str]
    limits: Limits
    wiring: Wiring | Structure | None = None

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
        return self.compare([Asked(source, source, self.layers[source]) for source in expected], expected)

    def compare(
        self,
        asked: Sequence[Asked],
        expected: Mapping[str, Array],
        found: Mapping[str, Array] | None = None,
        moved: Mapping[str, Array] | None = None,
    ) -> list[Comparison]:
        """Compare values, whatever they are: every one against the floor that it has itself.

        The candidate is run for these values only, unless its results are `found` (and those of its first run on moved
        feeds, `moved`). Floors are measured where a difference asks for them, by as few runs as explain it; what is
        beyond all of them is asked of the reference too.
        """
        if not asked:
            return []
        if found is None:
            found = self.candidate.run(self.feeds, list(dict.fromkeys(one.name for one in asked)))
        pairs = [pair for one in asked if (pair := self.pair(one, expected, found)) is not None]
        for pair in pairs:
            if moved and pair.asked.name in moved:
                pair.floor = pair.floor.seen(pair.found, pair.again(moved[pair.asked.name]))
            pair.result = self.graded(pair, pair.floor)
        for coarse in (False, True):
            self._measure([pair for pair in pairs if (pair.step > 0) == coarse], coarse, passed=1 if moved else 0)
        self._ask_reference([pair for pair in pairs if _is_excusable(pair)])
        self._look_for_chance(pairs)
        return [pair.result for pair in pairs]

    def pair(self, one: Asked, expected: Mapping[str, Array], found: Mapping[str, Array]) -> Pair | None:
        """Both results of a value as they are compared, None where nothing can be."""
        wanted, own = one.of_reference(expected[one.source]), one.of_candidate(found[one.name])
        if wanted is None or own is None or (one.seen is not None and own.size != wanted.size):
            return None
        order = order_outside(own, wanted) if one.is_output else order_inside(own, wanted)
        laid = own.transpose(order) if order else own
        bounded = one.name in self.candidate.structure.bounded
        return Pair(one, wanted, laid, order, self.limits.step_of(one.source), bounded)

    def graded(self, pair: Pair, floor: Floor | float) -> Comparison:
        """How the results of a value relate, for what rounding was seen to do to it."""
        return self.limits.compare(
            pair.asked.title, pair.expected, pair.found, floor, pair.step, bounded=pair.bounded
        )

    def _measure(self, pairs: Sequence[Pair], coarse: bool, passed: int) -> None:
        """Measure the floors of those whose results need one, until they are explained or nothing is left to run."""
        still_open = [pair for pair in pairs if not self.limits.is_settled(pair.result)]
        if not still_open:
            return
        names = list(dict.fromkeys(pair.asked.name for pair in still_open))
        for turn, again in enumerate(self.rounding.runs(names, coarse=coarse, passed=passed)):
            for pair in still_open:
                if pair.asked.name in again:
                    pair.floor = pair.floor.seen(pair.found, pair.again(again[pair.asked.name]))
                    pair.result = self.graded(pair, pair.floor)
            del again
            if turn and all(self.limits.is_settled(pair.result) for pair in still_open):
                return

    def _ask_reference(self, pairs: Sequence[Pair]) -> None:
        """What rounding does to the reference: a channel that it moves there too is excused, and a candidate that
        rounding alone moves too much is not, if the reference is steady."""
        moved = self.rounding.feeds(coarse=any(pair.step for pair in pairs))
        if not pairs or not moved or getattr(self.reference, "recorded", False):
            return
        by_source: dict[str, list[Pair]] = {}
        for pair in pairs:
            by_source.setdefault(pair.asked.source, []).append(pair)
        for source, array in self.reference.stream(moved[0], list(by_source)):
            for pair in by_source[source]:
                again = pair.asked.of_reference(array)
                assert again is not None, "what was seen of the first run is seen of all"
                theirs = Floor().seen(pair.expected, again)
                if pair.result.verdict is Verdict.NOT_DETERMINISTIC:
                    if moves_too_much(theirs, pair.step):
                        continue
                    floor, said = theirs, "rounding moves the candidate by far more than the reference"
                else:
                    floor, said = replace(pair.floor, deviation=_larger(pair.floor.deviation, theirs.deviation)), ""
                result = self.graded(pair, floor)
                pair.result = replace(result, note=said) if said else result

    def _look_for_chance(self, pairs: Sequence[Pair]) -> None:
        """Values that differ between two runs on the very same feeds are random: no comparison proves anything."""
        drawn = self.candidate.structure.drawn
        suspects = [pair for pair in pairs if pair.asked.name in drawn or moves_too_much(pair.floor, pair.step)]
        if not suspects:
            return
        again = self.candidate.run(self.feeds, list(dict.fromkeys(pair.asked.name for pair in suspects)))
        for pair in suspects:
            other = pair.again(again[pair.asked.name])
            change = Floor().seen(pair.found, other).overall
            if change > self.limits.rounding(pair.step):
                said = f"random: two runs of the candidate on the same inputs differ by {change:.2g} of its scale"
                pair.result = replace(pair.result, verdict=Verdict.NOT_DETERMINISTIC, note=said)

    def reacting(self, found: Mapping[str, Array], moved: Mapping[str, Array]) -> set[str]:
        """Those of the candidate's values, as `found` and as they are on `moved` feeds, that react to the inputs: all
        of them where nothing can be moved."""
        if not moved:
            return set(found)
        still = [name for name, array in found.items() if name not in moved or same(array, moved[name])]
        stirred = self.rounding.stirred(still) if still else {}
        return found.keys() - {name for name in still if name not in stirred or same(found[name], stirred[name])}

    def reacting_layers(self, names: Sequence[str]) -> set[str]:
        """The same for values that are yet to be computed."""
        moved = self.rounding.first(names)
        return self.reacting(self.candidate.known_or_run(self.feeds, names), moved) if moved else set(names)


def same(array: Array, again: Array) -> bool:
    """Whether two runs of a value gave the same."""
    return array.shape == again.shape and not difference(array, again)[1]


def _is_excusable(pair: Pair) -> bool:
    return bool(pair.result.place) or pair.result.verdict is Verdict.NOT_DETERMINISTIC


def _larger(first: Array | None, second: Array | None) -> Array | None:
    if first is None or second is None:
        return second if first is None else first
    return np.maximum(first, second)


__all__ = ["Asked", "Bench", "Pair", "same"]
