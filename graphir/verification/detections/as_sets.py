"""Detections compared as sets: their order among equals, and what a suppression decides by less than rounding, is no
difference.

Two runs of one detector that differ in the last digit swap boxes with equal scores, and keep another one of two boxes
whose overlap is the limit to seven digits. Element by element that is a difference as large as the image. Here rows are
paired as a set (class equal, score and box within the limits); what has no counterpart is a difference, unless it can
be shown that rounding decides about it.

How to call it, for a reference's and a candidate's outputs (name to array, the candidate's by the reference's names):

    where = find_detections(expected)
    if where is not None and is_cut(candidate.structure.producers, [candidate's names of where.names]):
        own, again = where.read(outputs), [where.read(moved) for moved in results_for_moved_inputs]
        found = compare_detections(
            where.read(expected), own, limits=limits_of(noise_limit, own, again), cuts=cuts_of(graph), again=again,
        )
        found.verdict, found.sentence

`found` stands for all outputs of `where.names` and `where.more`; outputs beside them are compared as ever.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from graphir.errors import VerificationError
from graphir.verification.grading.compare import NOISE_MOST, SUSPICIOUS_FACTOR, Comparison
from graphir.verification.verdict import Verdict

from .boxes import DetectionOutputs, Detections, Floats, find_detections, selected_detections
from .cuts import cuts_of, is_cut
from .near_ties import SIDES, Cuts, Explained, Sides, explain
from .rows import Give, Indices, Pairing, moved_order, pair_rows

SHOWN = 3


@dataclass(frozen=True)
class Limits:
    """What counts as rounding, relative to the largest magnitude among the reference's scores, box coordinates, and
    numbers of each further array."""

    score: float
    box: float
    more: tuple[float, ...] = ()

    def each(self, further: int) -> tuple[float, ...]:
        """The limits of scores, boxes, and that many further arrays, which have that of the scores where none is
        stated."""
        return self.score, self.box, *(self.more or (self.score,) * further)


@dataclass(frozen=True)
class DetectionComparison:
    """How two sets of detections relate.

    `count` and `found` are the detections of the reference and of the candidate, `matched` those that both have.
    `near_ties` say of the others, one each, by what less than rounding decides, `differences` what it does not explain.
    `changes` are the largest relative differences of matched rows in scores, boxes, and further arrays, `scales` what
    they are relative to.
    """

    verdict: Verdict
    count: int
    found: int
    matched: int
    changes: tuple[float, ...]
    scales: tuple[float, ...]
    near_ties: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The result in words, with the first few reasons."""
        said = f"{self.matched} of {self.count} detections match"
        if self.found != self.count:
            said += f" ({self.found} found)"
        for rows, what in ((self.differences, "differ"), (self.near_ties, "differ by a near-tie")):
            if rows:
                kinds = Counter(text.partition(": ")[2] or text for text in rows)
                shown = "; ".join(kinds if len(kinds) <= SHOWN else [*list(kinds)[:SHOWN], "..."])
                said += f", {len(rows)} (of both sides) {what}: {shown}"
        return said

    def comparison(self, name: str, shape: tuple[int, ...], limits: Limits) -> Comparison:
        """The same as a line of a report: the numbers are those of the scores, boxes or further arrays that come
        closest to their limit, infinite where a row has no counterpart and no reason."""
        allowed = limits.each(len(self.changes) - 2)
        place = max(range(len(allowed)), key=lambda slot: self.changes[slot] / allowed[slot] if allowed[slot] else 0.0)
        relative = math.inf if self.verdict is Verdict.BROKEN else self.changes[place]
        scale = self.scales[place]
        return Comparison(
            name, shape, scale, relative * scale, relative, 0.0, allowed[place], self.verdict, self.sentence
        )


def compare_detections(
    reference: Detections,
    candidate: Detections,
    *,
    limits: Limits,
    cuts: Cuts | None = None,
    before: tuple[Detections, Detections] | None = None,
    again: Sequence[Detections] = (),
    pool: tuple[Detections, Detections] | None = None,
) -> DetectionComparison:
    """Compare two sets of detections, image by image.

    `cuts` says what the suppression decides by, `before` are the rows that go into it in the reference and in the
    candidate (row i is the same box in both; a negative class stands for any): a row that differs there is no near-tie.
    `again` are the candidate's detections for inputs that rounding moved, `pool` the rows before in any order, as after
    a first suppression. Without any of them only the order of equal scores, and the last place of a full result, can be
    a near-tie. The verdict is that of the worst row: broken for one without counterpart and reason, suspicious if one
    of the same class is within twenty times the limits. Raises VerificationError for results of other batch sizes, or
    with other numbers of rows before.
    """
    if {reference.batch} != {each.batch for each in (candidate, *(before or ()), *again, *(pool or ()))}:
        raise VerificationError(f"detections of {reference.batch} images were compared with those of {candidate.batch}")
    if before is not None and before[0].classes.shape != before[1].classes.shape:
        raise VerificationError("the two have other numbers of rows before the suppression")
    give = _absolute(reference, limits)
    parts = []
    for index in range(reference.batch):
        after = reference.image(index), candidate.image(index)
        kept = _kept(after[0]), _kept(after[1])
        sides = Sides(
            after, kept, pair_rows(*after, kept, give), give, cuts or Cuts(),
            None if before is None else (before[0].image(index), before[1].image(index)),
            tuple(each.image(index) for each in again),
            None if pool is None else (pool[0].image(index), pool[1].image(index)),
        )  # fmt: skip
        parts.append(_compare_image(sides, limits, f"image {index}, " if reference.batch > 1 else ""))
    return _together(parts, reference)


def limits_of(floor: Callable[[float], float], found: Detections, again: Sequence[Detections]) -> Limits:
    """The limits that follow from how far rounding the inputs moves the candidate's own detections; `floor` is what
    `compare.noise_limit` makes of that. Rows that come and go are left out: they have no difference."""
    changes = [0.0] * (2 + len(found.more))
    give = _absolute(found, Limits(NOISE_MOST, NOISE_MOST))
    for each in again:
        for index in range(found.batch):
            left, right = found.image(index), each.image(index)
            pairing = pair_rows(left, right, (_kept(left), _kept(right)), give)
            seen = _changes(left, right, pairing)
            changes = [max(pair) for pair in zip(changes, seen, strict=True)]
    score, box, *more = (floor(change) if math.isfinite(change) else NOISE_MOST for change in changes)
    return Limits(score, box, tuple(more))


def _compare_image(sides: Sides, limits: Limits, where: str) -> DetectionComparison:
    left, right = sides.after
    explained = explain(sides)
    changes = _changes(left, right, sides.pairing)
    differences = [f"{where}{_named(side, row)}: {text}" for (side, row), text in sorted(explained.open.items())]
    differences += [f"{where}{text}" for text in _out_of_order(sides)]
    differences += [f"{where}{text}" for text in _about_empty_rows(sides, explained)]
    differences += [
        f"{where}a further array differs by {change:.3g} among the rows that match"
        for change, limit in zip(changes[2:], limits.each(len(left.more))[2:], strict=True)
        if change > limit
    ]
    near = [f"{where}{_named(side, row)}: {text}" for (side, row), text in sorted(explained.near.items())]
    same = not near and not any(changes) and bool((sides.pairing.pairs[:, 0] == sides.pairing.pairs[:, 1]).all())
    verdict = Verdict.IDENTICAL if same else Verdict.NOISE
    if differences:
        nearly = len(differences) == len(explained.open) and _nearly(sides, explained)
        verdict = Verdict.SUSPICIOUS if nearly else Verdict.BROKEN
    counts = (sides.kept[0].size, sides.kept[1].size, len(sides.pairing.pairs))
    return DetectionComparison(verdict, *counts, changes, _scales(left), tuple(near), tuple(differences))


def _together(parts: Sequence[DetectionComparison], whole: Detections) -> DetectionComparison:
    order = list(Verdict)
    changes = zip(*(part.changes for part in parts), strict=True) if parts else [(0.0,)] * (2 + len(whole.more))
    return DetectionComparison(
        max((part.verdict for part in parts), key=order.index, default=Verdict.IDENTICAL),
        sum(part.count for part in parts),
        sum(part.found for part in parts),
        sum(part.matched for part in parts),
        tuple(max(each) for each in changes),
        _scales(whole),
        tuple(text for part in parts for text in part.near_ties),
        tuple(text for part in parts for text in part.differences),
    )


def _out_of_order(sides: Sides) -> list[str]:
    """Rows that stand the other way round although their scores differ by more than rounding."""
    scores = sides.after[0].scores[0]
    return [
        f"{_named(0, first)}: it stands behind row {second}, scores {scores[first]:.7g} and {scores[second]:.7g}"
        for first, second in moved_order(sides.pairing, scores, SIDES * sides.give.score)
    ]


def _about_empty_rows(sides: Sides, explained: Explained) -> list[str]:
    """Whether rows without a detection stand elsewhere, or hold something else: where those of the reference are all
    alike (-1, say), so are those of the candidate; otherwise (suppressed in place) each has a counterpart."""
    left, right = sides.after
    empty = [np.flatnonzero(~(each.classes[0] >= 0)) for each in sides.after]
    turned = len(explained.near) + len(explained.open)
    holes = [int((rows < kept.max(initial=-1)).sum()) for rows, kept in zip(empty, sides.kept, strict=True)]
    if abs(holes[0] - holes[1]) > turned:
        return [f"{holes[1]} empty rows stand between detections, {holes[0]} in the reference"]
    filling = _filling(left, empty[0])
    if filling is not None:
        held = np.concatenate([right.scores[0, empty[1], None], right.boxes[0, empty[1]]], axis=1)
        return [] if (held == filling).all() else ["rows without a detection hold other numbers"]
    unpaired = pair_rows(left, right, (empty[0], empty[1]), sides.give).single
    open_rows = max(each.size for each in unpaired) - turned
    return [f"{open_rows} suppressed rows have no counterpart"] if open_rows > 0 else []


def _filling(rows: Detections, empty: Indices) -> Floats | None:
    """What all empty rows hold, if they hold the same; anything will do where there are none."""
    if not empty.size:
        return None
    held = np.concatenate([rows.scores[0, empty, None], rows.boxes[0, empty]], axis=1)
    found: Floats = held[0]
    return found if (held == found).all() else None


def _nearly(sides: Sides, explained: Explained) -> bool:
    """Whether every open row has one of its class that is no further than what is called suspicious."""
    wide = Give(SUSPICIOUS_FACTOR * sides.give.score, SUSPICIOUS_FACTOR * sides.give.box)
    left, right = (
        np.array([row for where, row in explained.open if where == side], np.int64) for side in (0, 1)
    )
    return all(not rest.size for rest in pair_rows(*sides.after, (left, right), wide).single)


def _changes(left: Detections, right: Detections, pairing: Pairing) -> tuple[float, ...]:
    """The largest relative difference among the pairs in scores, boxes, and each further array; infinite where
    infinities or NaN differ."""
    first, second = pairing.pairs.T
    columns = ((left.scores, right.scores), (left.boxes, right.boxes), *zip(left.more, right.more, strict=True))
    found = (_largest_change(ours[0, first], theirs[0, second]) for ours, theirs in columns)
    return tuple(change / scale for change, scale in zip(found, _scales(left), strict=True))


def _largest_change(first: Floats, second: Floats) -> float:
    with np.errstate(all="ignore"):
        same = (first == second) | (np.isnan(first) & np.isnan(second))
        return float(np.where(same, 0.0, np.nan_to_num(np.abs(first - second), nan=math.inf)).max(initial=0.0))


def _absolute(reference: Detections, limits: Limits) -> Give:
    score, box, *_ = _scales(reference)
    return Give(limits.score * score, limits.box * box)


def _scales(rows: Detections) -> tuple[float, ...]:
    held = rows.classes >= 0
    return tuple(_scale(array[held]) for array in (rows.scores, rows.boxes, *rows.more))


def _scale(array: Floats) -> float:
    """The largest finite magnitude; 1 where there is none, so that a difference keeps its size."""
    return float(np.abs(array[np.isfinite(array)]).max(initial=0.0)) or 1.0


def _kept(rows: Detections) -> Indices:
    return np.flatnonzero(rows.classes[0] >= 0)


def _named(side: int, row: int) -> str:
    return f"row {row} of the {'candidate' if side else 'reference'}"


__all__ = [
    "Cuts",
    "DetectionComparison",
    "DetectionOutputs",
    "Detections",
    "Limits",
    "compare_detections",
    "cuts_of",
    "find_detections",
    "is_cut",
    "limits_of",
    "selected_detections",
]
