"""A further set of inputs held against what is known of the first: one run of each side, and no more where they agree.

What rounding may change was measured on the first set. Where a further one differs by more than that allows, it is
measured anew, by the whole comparison; so a limit that is too low costs time, and never a verdict.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphir.errors import VerificationError
from graphir.graph import Graph
from graphir.runtime.providers import PROVIDERS

from .candidate import OnnxCandidate
from .compare import Comparison, Verdict
from .heads import Wiring, hides_errors, scores, values_before_heads
from .hidden_heads import HiddenHead, hidden_heads
from .layouts import laid_out
from .limits import Limits
from .matches import Match, split_matches, turned
from .options import ComparisonOptions
from .pairing import layer_pairs, output_pairs

if TYPE_CHECKING:
    from graphir.converters.formats import Reference

Array = NDArray[Any]
HEAD = " (before the head)"


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
    """What a further set needs to know: pairs of outputs (source name, candidate name), the values before heads, what
    was stated about outputs, and the comparisons of the first set, by their names."""

    reference: Reference
    candidate: OnnxCandidate
    pairs: Sequence[tuple[str, str]]
    known: Mapping[str, str]
    hidden: Sequence[HiddenHead]
    stated: Mapping[str, Match]
    limits: Limits
    first: Mapping[str, Comparison]

    def run(self, feeds: Mapping[str, Array], *, stretched: bool) -> Outcome:
        """Both models on the feeds. Raises Refused. `stretched` is as in `FeedSet`."""
        sources = [*(source for source, _ in self.pairs), *self.known, *(head.source for head in self.hidden)]
        names = [*(name for _, name in self.pairs), *self.known.values(), *(head.name for head in self.hidden)]
        expected: dict[str, Array] = {}
        no_reference = no_candidate = ""
        try:
            known = self.reference.values()
            wanted = dict.fromkeys(sources)
            order = dict.fromkeys([*(name for name in known if name in wanted), *wanted])
            expected = dict(self.reference.stream(feeds, order))
        except VerificationError as error:
            no_reference = str(error)
        try:
            found = self.candidate.run(feeds, list(dict.fromkeys(names)))
        except VerificationError as error:
            no_candidate = str(error)
        if no_reference or no_candidate:
            given = {source: expected[source] for source, _ in self.pairs if source in expected}
            raise Refused(no_reference, no_candidate, given)
        return self._compared(expected, found, stretched)

    def _compared(self, expected: Mapping[str, Array], found: dict[str, Array], stretched: bool) -> Outcome:
        outcome = Outcome([], [], [])
        for source, name in self.pairs:
            own = found[name]
            if source in self.stated and self.stated[source].order:
                own = turned(own, self.stated[source])
            self._take(outcome, source, expected[source], laid_out(own, expected[source])[0], stretched)
        for source, name in self.known.items():
            self._take(outcome, f"{source}{HEAD}", expected[source], found[name], stretched, inside=True)
        for head in self.hidden:
            wanted, own_scores = (scores(head.kind, held) for held in (expected[head.source], found[head.name]))
            if wanted is not None and own_scores is not None and wanted.size == own_scores.size:
                self._take(outcome, f"{head.source}{HEAD}", wanted, own_scores, stretched, inside=True)
        return outcome

    def _take(
        self, outcome: Outcome, title: str, expected: Array, own: Array, stretched: bool, *, inside: bool = False
    ) -> None:  # fmt: skip
        before = self.first.get(title)
        grade = self.limits.compare_inside if inside else self.limits.compare
        one = grade(title, expected, own, 0.0 if before is None else before.floor)
        if not one.verdict.passes and _all_alike_and_not_finite(expected, own):
            outcome.silent.append(title)
        elif math.isinf(one.relative) and stretched and overflows(expected, own, self.limits.step):
            outcome.overflown.append(title)
        else:
            outcome.found.append(one)


def plain_comparison(
    reference: Reference,
    candidate: OnnxCandidate,
    feeds: Mapping[str, Array],
    first: Sequence[Comparison],
    about: tuple[Graph | None, ComparisonOptions, Wiring | None, float],
) -> Plain:
    """What the comparison of the first set, on these feeds, says for further ones."""
    graph, how, wiring, step = about
    own = candidate.session
    _, stated = split_matches(how.matches(), list(feeds), list(own.inputs), reference.outputs, own.outputs)
    pairs = output_pairs(reference.outputs, candidate, [], stated)
    names = [name for _, name in pairs]
    known = values_before_heads(candidate.structure, names, layer_pairs(reference, candidate, graph))
    hidden: list[HiddenHead] = []
    if not known and hides_errors(candidate.structure, names):
        hidden = hidden_heads(wiring, candidate.structure, pairs, reference.values())
    elsewhere = own.providers[0] != PROVIDERS["cpu"]
    quantized = candidate.structure.quantizes and bool(getattr(reference, "quantized", False))
    limits = Limits(how.rtol, how.atol, max(step, candidate.structure.coarsest_step), elsewhere, quantized)
    return Plain(reference, candidate, pairs, known, hidden, stated, limits, {one.name: one for one in first})


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


__all__ = ["Outcome", "Plain", "Refused", "noted", "overflows", "plain_comparison", "refusals"]
