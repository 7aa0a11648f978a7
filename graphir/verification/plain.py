"""A further set of inputs held against what is known of the first: one run of each side, and no more where they agree.

What rounding may change was measured on the first set. Where a further one differs by more than that allows, it is
measured anew, by the whole comparison; so a limit that is too low costs time, and never a verdict.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphir.errors import VerificationError

from .bench import Asked, Bench
from .compare import Comparison
from .verdict import Verdict

Array = NDArray[Any]


class Refused(Exception):
    """One or both models do not take the feeds; their sentences, "" for one that does."""

    def __init__(self, reference: str, candidate: str, outputs: Mapping[str, Array]) -> None:
        super().__init__(reference or candidate)
        self.reference, self.candidate, self.outputs = reference, candidate, outputs


class Outcome(NamedTuple):
    """`found` are the comparisons; `silent` the outputs that show nothing, since all of each is infinite or NaN, and
    `overflown` those that overflow on one side."""

    found: list[Comparison]
    silent: list[str]
    overflown: list[str]

    @property
    def agrees(self) -> bool:
        """Whether all are equal up to what rounding was measured to change."""
        return all(one.verdict.passes and one.explained for one in self.found)


@dataclass(frozen=True)
class Plain:
    """What a further set needs to know: both models on the first one, what was compared of them there (outputs before
    heads), and the comparisons of the first set, by their titles."""

    bench: Bench
    asked: Sequence[Asked]
    first: Mapping[str, Comparison]

    def run(self, feeds: Mapping[str, Array], *, stretched: bool) -> Outcome:
        """Both models on the feeds. Raises Refused. `stretched` is as in `FeedSet`."""
        expected: dict[str, Array] = {}
        found: dict[str, Array] = {}
        no_reference = no_candidate = ""
        try:
            known = self.bench.reference.values()
            wanted = dict.fromkeys(one.source for one in self.asked)
            order = dict.fromkeys([*(name for name in known if name in wanted), *wanted])
            expected = dict(self.bench.reference.stream(feeds, order))
        except VerificationError as error:
            no_reference = str(error)
        try:
            found = self.bench.candidate.run(feeds, list(dict.fromkeys(one.name for one in self.asked)))
        except VerificationError as error:
            no_candidate = str(error)
        if no_reference or no_candidate:
            outputs = [one.source for one in self.asked if one.is_output]
            given = {source: expected[source] for source in outputs if source in expected}
            raise Refused(no_reference, no_candidate, given)
        outcome = Outcome([], [], [])
        for one in self.asked:
            self._take(outcome, one, expected, found, stretched)
        return outcome

    def _take(
        self, outcome: Outcome, one: Asked, expected: Mapping[str, Array], found: Mapping[str, Array], stretched: bool
    ) -> None:  # fmt: skip
        pair = self.bench.pair(one, expected, found)
        if pair is None:
            return
        before = self.first.get(one.title)
        result = self.bench.graded(pair, 0.0 if before is None else before.floor)
        if not result.verdict.passes and _all_alike_and_not_finite(pair.expected, pair.found):
            outcome.silent.append(one.title)
        elif math.isinf(result.relative) and stretched and overflows(pair.expected, pair.found, pair.step):
            outcome.overflown.append(one.title)
        else:
            outcome.found.append(result)


def refusals(refused: Refused, name: str) -> list[Comparison]:
    """What stands for the outputs of a candidate that does not take what its reference takes."""
    note = f"with the inputs {name!r} the candidate refuses what the reference takes: {refused.candidate}"
    return [
        Comparison(source, tuple(array.shape), 0.0, math.inf, math.inf, 0.0, 0.0, Verdict.BROKEN, note)
        for source, array in refused.outputs.items()
    ]


def overflows(expected: Array, own: Array, step: float) -> bool:
    """Whether results of one shape differ in infinities and NaN only because numbers became too large on one side: in a
    coarse type anywhere on the way, else at the end of the type's range."""
    if expected.shape != own.shape or expected.dtype.kind not in "fV" or own.dtype.kind not in "fV":
        return False
    if step:
        return True
    a, b = expected.astype(np.float64), own.astype(np.float64)
    only_one = np.isfinite(a) != np.isfinite(b)
    both = ~np.isfinite(a) & ~np.isfinite(b)
    largest = min(float(np.finfo(array.dtype).max) for array in (expected, own))
    number = np.abs(np.where(np.isfinite(a), a, b)[only_one])
    return bool(np.array_equal(a[both], b[both], equal_nan=True) and number.size and (number > largest / 2).all())


def _all_alike_and_not_finite(expected: Array, own: Array) -> bool:
    if expected.shape != own.shape or not expected.size or expected.dtype.kind not in "fV":
        return False
    a, b = expected.astype(np.float64), own.astype(np.float64)
    return not np.isfinite(a).any() and bool(np.array_equal(a, b, equal_nan=True))


def noted(found: Sequence[Comparison], name: str) -> list[Comparison]:
    """The comparisons, those that do not pass with the name of the set that shows it."""
    return [
        one if one.verdict.passes or name in one.note
        else replace(one, note=f"{one.note}; inputs {name!r}" if one.note else f"with the inputs {name!r}")
        for one in found
    ]  # fmt: skip


__all__ = ["Outcome", "Plain", "Refused", "noted", "overflows", "refusals"]
