"""A further set of inputs: one run of each side, and no more where they agree.

Floors are measured where a difference asks for them. What is beyond them goes to the whole comparison, which knows
layers and causes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from graphir.arrays import Array
from graphir.converters.kernel.live import LiveFailed
from graphir.errors import VerificationError

from .grading.doubts import plain_evidence
from .grading.proof import Evidence
from .grading.ranking import Ranking, rankings
from .numbers.compare import Comparison
from .running.bench import Asked, Bench
from .verdict import Verdict


class Refused(Exception):
    """One or both models do not take the feeds; their sentences, "" for one that does, and the shapes of the outputs
    that the reference gives."""

    def __init__(self, reference: str, candidate: str, shapes: Mapping[str, tuple[int, ...]]) -> None:
        super().__init__(reference or candidate)
        self.reference, self.candidate, self.shapes = reference, candidate, shapes


class Outcome(NamedTuple):
    """`found` are the comparisons; `silent` the values that show nothing, since all of each is infinite or NaN, and
    `overflown` those that overflow on one side. `evidence` is what the outputs show, where that was asked for and each
    of them was compared; `rankings` what classifiers chose."""

    found: list[Comparison]
    silent: list[str]
    overflown: list[str]
    evidence: Evidence | None = None
    rankings: Sequence[Ranking] = ()

    @property
    def agrees(self) -> bool:
        """Whether all are equal up to rounding."""
        return all(one.verdict.passes for one in self.found)


@dataclass(frozen=True)
class Plain:
    """What a further set needs to know: both models on the first one, and what was compared of them there, outputs and
    values before heads."""

    bench: Bench
    asked: Sequence[Asked]

    def run(self, feeds: Mapping[str, Array], *, stretched: bool, proving: bool = False) -> Outcome:
        """Both models on the feeds. `stretched` is as in `FeedSet`, `proving` asks for evidence.

        Raises Refused, and LiveFailed for a live framework that was asked for and gives no answer: where it was not,
        that is a set without one.
        """
        bench = replace(self.bench, feeds=feeds, rounding=self.bench.rounding.on(feeds), judged={})
        expected: dict[str, Array] = {}
        found: dict[str, Array] = {}
        no_reference = no_candidate = ""
        try:
            expected, _ = bench.evaluate(dict.fromkeys(one.source for one in self.asked), ())
        except VerificationError as error:
            if isinstance(error, LiveFailed) and self.bench.reference.insists:
                raise
            no_reference = str(error)
        try:
            found = bench.candidate.run(feeds, list(dict.fromkeys(one.name for one in self.asked)))
        except VerificationError as error:
            no_candidate = str(error)
        if no_reference or no_candidate:
            outputs = [one.source for one in self.asked if one.is_output and one.source in expected]
            raise Refused(no_reference, no_candidate, {name: expected[name].shape for name in outputs})
        outcome = Outcome([], [], [])
        left = []
        for one in self.asked:
            pair = bench.pair(one, expected, found)
            if pair is None:
                continue
            if _says_nothing(pair.expected, pair.found):
                outcome.silent.append(one.title)
            elif stretched and self._overflows(pair.expected, pair.found):
                outcome.overflown.append(one.title)
            else:
                left.append(one)
        outcome.found.extend(replace(bench, passing=True).compare(left, expected, found))
        ends = [one for one in left if one.is_output]
        outcome = outcome._replace(rankings=rankings(bench, ends, (expected, found), outcome.found))
        if not proving or len(outcome.found) < len(self.asked):
            return outcome
        own = [one for one in self.asked if one.is_output]
        return outcome._replace(evidence=plain_evidence(bench, own, expected, outcome.found))

    def _overflows(self, expected: Array, own: Array) -> bool:
        """Whether a value is infinite or NaN on one side only because numbers became too large there: anywhere on the
        way where one side computes in a narrow type, else at the end of the value's own."""
        if expected.shape != own.shape or expected.dtype.kind not in "fV" or own.dtype.kind not in "fV":
            return False
        a, b = expected.astype(np.float64), own.astype(np.float64)
        only_one = np.isfinite(a) != np.isfinite(b)
        if not only_one.any():
            return False
        if self.bench.limits.coarsest or self.bench.candidate.structure.steps:
            return True
        largest = min(float(np.finfo(array.dtype).max) for array in (expected, own))
        return bool((np.abs(np.where(np.isfinite(a), a, b)[only_one]) > largest / 2).all())


def refusals(refused: Refused, name: str) -> list[Comparison]:
    """What stands for the outputs of a candidate that does not take what its reference takes."""
    note = f"with the inputs {name!r} the candidate refuses what the reference takes: {refused.candidate}"
    return [
        Comparison(source, shape, 0.0, math.inf, math.inf, 0.0, 0.0, Verdict.BROKEN, note, feeds=name)
        for source, shape in refused.shapes.items()
    ]


def noted(found: Sequence[Comparison], name: str) -> list[Comparison]:
    """The comparisons, those that do not pass with the name of the set that shows it."""
    return [
        one if one.verdict.passes or one.feeds == name
        else replace(one, note=f"{one.note}; inputs {name!r}" if one.note else f"with the inputs {name!r}", feeds=name)
        for one in found
    ]  # fmt: skip


def _says_nothing(expected: Array, own: Array) -> bool:
    """Whether both are infinite or NaN everywhere, alike."""
    if expected.shape != own.shape or not expected.size or expected.dtype.kind not in "fV":
        return False
    a, b = expected.astype(np.float64), own.astype(np.float64)
    return not np.isfinite(a).any() and bool(np.array_equal(a, b, equal_nan=True))
