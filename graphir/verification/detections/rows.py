"""Pairing the rows of two sets of detections: every row once, with one that is within the limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .boxes import Detections, Floats

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Give:
    """How far two rows may be apart: in the score, and in a coordinate of the box."""

    score: float
    box: float


@dataclass(frozen=True)
class Pairing:
    """`pairs` (n, 2): rows of the one side and of the other, by the first. `single`: what is left of each side."""

    pairs: Indices
    single: tuple[Indices, Indices]


def pair_rows(left: Detections, right: Detections, rows: tuple[Indices, Indices], give: Give) -> Pairing:
    """The largest pairing of the given rows of two images (batches of one): as many as can be at one place, then
    augmenting paths from what is left (a row that is on one costs a comparison with those of about its score)."""
    both = np.intersect1d(*rows)
    same = both[_near(left, right, both, both, give)] if both.size else both

    by_score = rows[1][np.argsort(right.scores[0, rows[1]], kind="stable")]  # NaN stands last
    ordered = right.scores[0, by_score]

    @cache
    def neighbours(row: int) -> list[int]:
        score = left.scores[0, row]
        low, high = np.searchsorted(ordered, [score - 2 * give.score, np.nextafter(score + 2 * give.score, np.inf)])
        theirs = np.sort(by_score[low:high]) if np.isfinite(score) else rows[1]
        places = theirs[_near(left, right, np.array([row]), theirs, give)]
        nearest: list[int] = places[np.argsort(np.abs(places - row), kind="stable")].tolist()
        return nearest

    pairs = _assigned(np.setdiff1d(rows[0], same).tolist(), same.tolist(), neighbours)
    found = np.array(sorted(pairs.items()), np.int64).reshape(-1, 2)
    return Pairing(found, (np.setdiff1d(rows[0], found[:, 0]), np.setdiff1d(rows[1], found[:, 1])))


def moved_order(pairing: Pairing, scores: Floats, tie: float) -> list[tuple[int, int]]:
    """Pairs of the first side's rows that the other side has the other way round although their scores (rows) are more
    than `tie` apart; at most one for each row."""
    first, second = pairing.pairs.T
    found = []
    for start, end in _shuffled(second):
        places, held = second[start:end], scores[first[start:end]]
        for row in range(end - start):
            later = (places[row + 1 :] < places[row]) & (np.abs(held[row + 1 :] - held[row]) > tie)
            if later.any():
                found.append((int(first[start + row]), int(first[start + row + 1 + int(np.argmax(later))])))
    return found


def _shuffled(places: Indices) -> list[tuple[int, int]]:
    """The shortest stretches outside of which nothing has changed its order."""
    if places.size < 2:
        return []
    highest = np.maximum.accumulate(places)
    lowest = np.minimum.accumulate(places[::-1])[::-1]
    cuts = np.flatnonzero(highest[:-1] < lowest[1:]) + 1
    ends = [0, *cuts.tolist(), places.size]
    return [(start, end) for start, end in pairwise(ends) if end - start > 1]


def _near(left: Detections, right: Detections, ours: Indices, theirs: Indices, give: Give) -> NDArray[np.bool_]:
    """Whether rows agree, each of ours with one of theirs, or one with all of theirs."""
    found: NDArray[np.bool_] = left.classes[0, ours] == right.classes[0, theirs]
    found &= _close(left.scores[0, ours], right.scores[0, theirs], give.score)
    found &= _close(left.boxes[0, ours], right.boxes[0, theirs], give.box).all(axis=-1)
    return found


def _assigned(roots: list[int], same: list[int], neighbours: Callable[[int], list[int]]) -> dict[int, int]:
    """As many pairs as can be of rows that have no place yet and those that have the place of their number."""
    row_at = {row: row for row in same}
    place_of = dict(row_at)
    for root in roots:
        seen: dict[int, int] = {}
        free = _free_place(root, neighbours, row_at, seen)
        while free is not None:  # each row on the way gives its place to the one that asked for it
            row = seen[free]
            row_at[free] = row
            place_of[row], free = free, place_of.get(row)
    return place_of


def _free_place(
    root: int, neighbours: Callable[[int], list[int]], row_at: dict[int, int], seen: dict[int, int]
) -> int | None:
    """A place that no row has, reached from the root over rows that would move; `seen` says which row asks for it."""
    pending = [root]
    while pending:
        row = pending.pop()
        for place in neighbours(row):
            if place in seen:
                continue
            seen[place] = row
            if place not in row_at:
                return place
            pending.append(row_at[place])
    return None


def _close(first: Floats, second: Floats, give: float) -> NDArray[np.bool_]:
    with np.errstate(all="ignore"):
        found: NDArray[np.bool_] = np.abs(first - second) <= give
        found |= (first == second) | (np.isnan(first) & np.isnan(second))
    return found


__all__ = ["Give", "Pairing", "moved_order", "pair_rows"]
