"""Two models run side by side on the same inputs, and what both know compared in slices, in bounded memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice, product
from typing import TYPE_CHECKING, Any

import numpy as np

from graphir.arrays import Array
from graphir.ops import traits_of
from graphir.safety.counted import counted
from graphir.safety.memory import return_memory
from graphir.verification.numbers.compare import Comparison, Floor, moves_too_much, same, static_floor, widest
from graphir.verification.numbers.limits import GradingLimits
from graphir.verification.running.noise import RoundedRuns
from graphir.verification.verdict import Verdict

from .candidate import OnnxCandidate
from .layouts import order_inside, order_outside
from .slices import HELD_OF_EACH

if TYPE_CHECKING:
    from graphir.converters.formats import Reference
    from graphir.converters.onnx.files.structure import Structure

View = Callable[[Array], Array]
# A difference that passes for the candidate's floor alone, and is twenty times what needs none: the reference is asked.
FLOOR_ASKED_FROM = 1e-4
# Of what one evaluation of the reference gives, so many bytes stay for later questions, and no more than a quarter of
# the memory budget; half of it where another question costs a whole evaluation.
KEPT = 1 << 28
# Runs more of what may be random. One is too few: onnxruntime counts its seed up by one a run, and its generator (a
# multiplicative one) starts alike from seeds 0 and 1, so that two runs in a row may draw the same.
RUNS_FOR_CHANCE = 2


def before_head(source: str) -> str:
    """Return the title of a value before a head in a report."""
    return f"{source} (before the head)"


@dataclass(frozen=True)
class Asked:
    """A value to be compared: its title in a report, its name in the reference and in the candidate.

    `seen` is what of it is compared, on both sides, `turned` what was stated of the axes of the candidate's. An
    output's channels lie where sizes say, a value inside has the layout that suits its model.
    """

    title: str
    source: str
    name: str
    is_output: bool = False
    seen: View | None = None
    turned: View | None = None

    def of_reference(self, array: Array) -> Array:
        """Return what is compared of the reference's value."""
        return array if self.seen is None else self.seen(array)

    def of_candidate(self, array: Array) -> Array:
        """Return what is compared of the candidate's, before its axes are laid out."""
        array = array if self.turned is None else self.turned(array)
        return array if self.seen is None else self.seen(array)


@dataclass
class ComparedPair:
    """Both results of a value, the candidate's in the reference's layout, and what rounding was seen to do to it."""

    asked: Asked
    expected: Array
    found: Array
    order: tuple[int, ...]
    step: float
    floor: Floor
    excused_by_place: bool = False
    result: Comparison = field(init=False)

    def aligned(self, array: Array) -> Array:
        """Another run's result in the same layout."""
        laid_out = self.asked.of_candidate(array)
        return laid_out.transpose(self.order) if self.order and laid_out.ndim == len(self.order) else laid_out


@dataclass(frozen=True)
class Bench:
    """Both models with what they are fed. `layers` are the values that both know, source name to candidate name,
    `inside` what is known of the reference's inside. `alone` says that what passes without a floor need not be
    explained by one: floors were measured on other feeds, or both are the same nodes. With `passing` only whether
    values pass is asked, not by which verdict they do not. With `by_regions` the candidate's regions decide about what
    does not pass: the reference is not run for floors, and none is measured where one value is beyond all. With
    `is_twin` the reference is known to compute what the candidate does without optimisations: how they differ is what
    these move, and its values inside are the candidate's. `made_of` says that the candidate was written from the
    reference; `judged` holds what its parts showed on these feeds, once that was asked, `kept` what stays of the
    reference's values for later questions."""

    reference: Reference
    candidate: OnnxCandidate
    feeds: Mapping[str, Array]
    rounding: RoundedRuns
    layers: Mapping[str, str]
    limits: GradingLimits
    inside: Structure | None = None
    alone: bool = False
    passing: bool = False
    by_regions: bool = False
    is_twin: bool = False
    made_of: bool = False
    judged: dict[str, Any] = field(default_factory=dict)
    kept: dict[str, Array] = field(default_factory=dict)

    @property
    def room(self) -> int:
        """How many bytes more of the reference's values may stay."""
        memory = self.candidate.memory
        most = memory // 2 if self.reference.computes_all else min(KEPT, memory // HELD_OF_EACH)
        return most - sum(array.nbytes for array in self.kept.values())

    def stream(self, names: Sequence[str]) -> Iterator[tuple[str, Array]]:
        """Yield the reference's values of these names, each counted."""
        results = iter(self.reference.stream(self.feeds, names))
        for _ in counted(names, "value"):
            yield from islice(results, 1)
        yield from results

    def evaluate(
        self, wanted: Collection[str], layers: Collection[str]
    ) -> tuple[dict[str, Array], list[Comparison]]:
        """Return the reference's values that are wanted, and its layers compared in slices, from one evaluation."""
        known = self.reference.values()
        order = dict.fromkeys([*(name for name in known if name in wanted or name in layers), *wanted])
        expected: dict[str, Array] = {}
        compared: list[Comparison] = []
        for part in self._parts(list(order), layers):
            expected |= {name: array for name, array in part.items() if name in wanted}
            inside = {name: array for name, array in part.items() if name in layers}
            requests = [Asked(name, name, self.layers[name]) for name in inside]
            given = {self.layers[name]: array for name, array in inside.items()} if self.is_twin else None
            compared += replace(self, by_regions=False).compare(requests, inside, given)
            del inside, given
            freed = sum(array.nbytes for array in part.values())
            part.clear()
            return_memory(freed)
        return expected, compared

    def _parts(self, order: Sequence[str], layers: Collection[str]) -> Iterator[dict[str, Array]]:
        """Yield the reference's values, as many at a time as may be held: half of the budget where no others are. One
        that can be asked again is run for each part; others give theirs in the course of one evaluation."""
        most = self.candidate.memory // (2 if self.is_twin else HELD_OF_EACH)
        slices = self.reference.slices(order, self.feeds, most)
        if slices is not None:
            yield from (dict(self.stream(names)) for names in slices)
            return
        part: dict[str, Array] = {}
        nbytes = 0
        for name, array in self.stream(order) if order else ():
            nbytes += array.nbytes if name in layers else 0
            if nbytes > most and part:
                yield part
                part, nbytes = {}, array.nbytes
            part[name] = array
            del array
        yield part

    def compare(
        self,
        requests: Sequence[Asked],
        expected: Mapping[str, Array],
        results: Mapping[str, Array] | None = None,
    ) -> list[Comparison]:
        """Compare values, whatever they are: every one against the floor that it has itself.

        The candidate is run for these values only, except those with `results`. Floors are measured where a difference
        asks for them, by as few runs as explain it; what is beyond all of them is asked of the reference too.
        """
        if not requests:
            return []
        results = {} if results is None else results
        lacking = list(dict.fromkeys(request.name for request in requests if request.name not in results))
        results = {**results, **self.rounding.plain(lacking)} if lacking else results
        pairs = [pair for request in requests if (pair := self.pair(request, expected, results)) is not None]
        for pair in pairs:
            pair.result = self.graded(pair, pair.floor)
        for coarse in (False, True):
            self._measure([pair for pair in pairs if (pair.step > 0) == coarse], coarse)
        in_doubt = [pair for pair in pairs if self._needs_reference(pair)]
        for pair in in_doubt if self.by_regions else ():  # the candidate's own floor excuses nothing
            pair.result = self.graded(pair, self._static_floor(pair.asked, pair.expected))
        self._ask_reference([] if self.by_regions else in_doubt)
        self._mark_random(pairs)
        return [pair.result for pair in pairs]

    def pair(self, request: Asked, expected: Mapping[str, Array], results: Mapping[str, Array]) -> ComparedPair | None:
        """Both results of a value as they are compared, None where nothing can be."""
        wanted, produced = request.of_reference(expected[request.source]), request.of_candidate(results[request.name])
        if request.seen is not None and produced.size != wanted.size:
            return None
        fed = self.candidate.fitting
        order = order_outside(produced, wanted, fed) if request.is_output else order_inside(produced, wanted)
        laid = produced.transpose(order) if order else produced
        step = self.limits.step_of(request.source)
        return ComparedPair(request, wanted, laid, order, step, self._static_floor(request, wanted))

    def _static_floor(self, request: Asked, expected: Array) -> Floor:
        """The floor of a value before anything was moved."""
        structure = self.candidate.structure
        operators = map(traits_of, structure.origins(request.name))
        floor = widest(static_floor(operator, expected.shape) for operator in operators)
        unit = floor.unit if request.seen is None else 0.0
        return replace(floor, bounded=request.name in structure.bounded, unit=unit)

    def graded(self, pair: ComparedPair, floor: Floor | float) -> Comparison:
        """Return how the results of a value relate, for what rounding was seen to do to it."""
        return self.limits.compare(pair.asked.title, pair.expected, pair.found, floor, pair.step)

    def _measure(self, pairs: Sequence[ComparedPair], coarse: bool) -> None:
        """Measure the floors of those whose results need one, until they are explained or nothing is left to run."""
        settled = partial(self.limits.is_settled, alone=self.alone)
        pending = [pair for pair in pairs if not settled(pair.result)]
        still_open = [
            pair for pair in pending
            if not (self.passing and self.limits.is_beyond(pair.result, pair.step, pair.expected, pair.found))
        ]  # fmt: skip
        if self.is_twin:
            for pair in still_open:
                self._see(pair, pair.expected)
        is_left = self.by_regions and len(still_open) < len(pending)
        if is_left or all(settled(pair.result, again=False) for pair in still_open):
            return
        names = list(dict.fromkeys(pair.asked.name for pair in still_open))
        for turn, run in enumerate(self.rounding.runs(names, coarse=coarse)):
            for pair in still_open:
                if pair.asked.name in run:
                    self._see(pair, pair.aligned(run[pair.asked.name]))
            del run
            if all(settled(pair.result, again=turn > 0) for pair in still_open):
                return

    def _see(self, pair: ComparedPair, again: Array) -> None:
        """Grade a pair anew, now that a run of the candidate gave `again`, which differs by rounding."""
        pair.floor = pair.floor.seen(pair.found, again)
        pair.result = self.graded(pair, pair.floor)

    def _ask_reference(self, pairs: Sequence[ComparedPair]) -> None:
        """What rounding does to the reference, where the candidate's own floor decides and may mislead.

        A channel that rounding moves in the reference too is excused. A floor that only the candidate has excuses
        nothing: one that is far above the usual, or that comes from a coarse type of the candidate alone.
        """
        if not pairs:
            return
        theirs = {id(pair): self._static_floor(pair.asked, pair.expected) for pair in pairs}
        feeds = self.rounding.feeds(coarse=any(pair.step for pair in pairs))
        if self.reference.recorded or not feeds:  # nothing that could be moved in the reference
            for pair in pairs:
                if self._is_coarse_alone(pair):
                    self._regrade(pair, theirs[id(pair)])
            return
        for moved in feeds:
            by_source: dict[str, list[ComparedPair]] = {}
            for pair in pairs:
                by_source.setdefault(pair.asked.source, []).append(pair)
            for source, array in self.reference.stream(moved, list(by_source)):
                for pair in by_source[source]:
                    theirs[id(pair)] = theirs[id(pair)].seen(pair.expected, pair.asked.of_reference(array))
            pairs = [pair for pair in pairs if not self._regrade(pair, theirs[id(pair)])]
            if not pairs:
                return

    def _regrade(self, pair: ComparedPair, theirs: Floor) -> bool:
        """Grade a pair again now that the reference's floor is known; whether it passes."""
        moves = pair.result.verdict is Verdict.NOT_DETERMINISTIC
        # 8-bit numbers inside are rounded the other way by other kernels, which moved inputs do not show of the
        # reference: the first rounding hides them. Two runs that rounding moves are at most two such moves apart.
        are_near = pair.result.relative <= 2 * pair.floor.overall < math.inf
        is_unstable = moves and ((self.limits.quantized and are_near) or moves_too_much(theirs, pair.step))
        if pair.excused_by_place:
            known = [held for held in (pair.floor.deviation, theirs.deviation) if held is not None]
            largest = np.maximum(known[0], known[-1]) if known else None
            pair.result = self.graded(pair, replace(pair.floor, deviation=largest))
        elif not is_unstable:
            pair.result = self.graded(pair, theirs)
            if not pair.result.verdict.passes:
                said = f"rounding moves the candidate by far more ({pair.floor.overall:.2g}) than the reference"
                pair.result = pair.result.noted(said)
        return pair.result.verdict.passes

    def _is_coarse_alone(self, pair: ComparedPair) -> bool:
        return self.candidate.structure.steps.get(pair.asked.name, 0.0) > pair.step

    def _needs_reference(self, pair: ComparedPair) -> bool:
        result = pair.result
        if self.limits.stated or result.verdict is Verdict.IDENTICAL:
            return False
        if result.place or result.verdict is Verdict.NOT_DETERMINISTIC:
            pair.excused_by_place = bool(result.place)
            return True
        if not result.verdict.passes or result.relative <= self.limits.rounding(pair.step):
            return False
        return self._is_coarse_alone(pair) or result.relative > FLOOR_ASKED_FROM

    def _mark_random(self, pairs: Sequence[ComparedPair]) -> None:
        """Values that differ between two runs of one side on the very same feeds are random: no comparison proves
        anything of them. The candidate is run again without optimisations too, which may take away what draws."""
        drawn = self.candidate.structure.drawn
        suspects = [
            pair for pair in pairs
            if pair.asked.name in drawn or (not self.by_regions and moves_too_much(pair.floor, pair.step))
        ]  # fmt: skip
        names = list(dict.fromkeys(pair.asked.name for pair in suspects))
        sides = {"the candidate": self.candidate} if names else {}
        sides |= {} if drawn.isdisjoint(names) else {"the candidate without optimisations": self.candidate.twin}
        for side, candidate in sides.items():
            first, *others = (candidate.run(self.feeds, names) for _ in range(1 + RUNS_FOR_CHANCE))
            for pair, rerun in product(suspects, others):
                runs = (pair.aligned(run[pair.asked.name]) for run in (first, rerun))
                self._note_random(pair, side, *runs)
        differing = {pair.asked.source: pair for pair in pairs if pair.result.verdict.differs}
        if differing and self.inside is not None and self.inside.random:
            for _ in range(RUNS_FOR_CHANCE):
                for source, array in self.reference.stream(self.feeds, list(differing)):
                    pair = differing[source]
                    self._note_random(pair, "the reference", pair.expected, pair.asked.of_reference(array))

    def _note_random(self, pair: ComparedPair, side: str, first: Array, second: Array) -> None:
        change = Floor().seen(first, second).overall
        if change > self.limits.rounding(pair.step):
            said = f"random: two runs of {side} on the same inputs differ by {change:.2g} of its scale"
            pair.result = replace(pair.result, verdict=Verdict.NOT_DETERMINISTIC, note=said, is_random=True)

    def reacting(self, names: Sequence[str]) -> set[str]:
        """Return those of the candidate's values that change where its inputs are moved by some percent; all of them
        where nothing can be moved."""
        if not names or not self.rounding.moves:
            return set(names)
        base, moved = self.rounding.run_with_large_change(names)
        return {name for name in names if not same(base[name], moved[name])}
