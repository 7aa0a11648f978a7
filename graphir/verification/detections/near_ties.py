"""Why a detection is in one result and not in the other: a decision that rounding can turn, shown by its numbers, or
nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from .boxes import Detections, overlaps
from .rows import Give, Indices, Pairing, pair_rows

# Two results each lie within the limit of the true number: scores further apart keep their order in both.
SIDES = 2
# Each row without counterpart is held against all of the other side. Where there are more of them, rounding turns rows
# throughout, as in a network that is not trained, and what is known of some says nothing about the others.
MOST_ROWS = 400


@dataclass(frozen=True)
class Cuts:
    """What a model's suppression decides by, as far as it is known: overlaps and scores from which on boxes go and
    stay, and how many of the best of an image go into it. `across_classes` says that boxes of one class suppress those
    of others too."""

    overlaps: tuple[float, ...] = ()
    scores: tuple[float, ...] = ()
    best: tuple[int, ...] = ()
    across_classes: bool = False


@dataclass(frozen=True)
class Sides:
    """One image in both results: the rows as they come out, and how they were paired. `before` are the rows that go
    into the suppression, where both sides know them, in one order; `again` are the second side's results for inputs
    that rounding moved."""

    after: tuple[Detections, Detections]
    kept: tuple[Indices, Indices]
    pairing: Pairing
    give: Give
    cuts: Cuts
    before: tuple[Detections, Detections] | None = None
    again: tuple[Detections, ...] = ()
    pool: tuple[Detections, Detections] | None = None


@dataclass
class Explained:
    """Rows (side, row) whose fate rounding decides, each with the numbers that show it, those of them that others
    push out of a full result; and those that stay open."""

    near: dict[tuple[int, int], str] = field(default_factory=dict)
    pushed: set[tuple[int, int]] = field(default_factory=set)
    open: dict[tuple[int, int], str] = field(default_factory=dict)


def explain(sides: Sides) -> Explained:
    """What is known of each row that has no counterpart.

    Decisions that rounding turns come first, then what follows from them: a row that such a row suppresses, or pushes
    out of a result that is full.
    """
    found = Explained()
    pending = [(side, int(row)) for side in (0, 1) for row in sides.pairing.single[side]]
    if len(pending) > MOST_ROWS:
        return Explained(open=dict.fromkeys(pending, "so many differ that it was not asked why each does"))
    twins = {place for place in pending if _has_twin(sides, *place)}
    for place in list(pending):
        if sides.before is not None:
            wrong = _differs_before(sides, *place)
            if wrong:
                found.open[place] = wrong
                pending.remove(place)
                continue
        rules = (_comes_and_goes,) if place in twins else DECISIONS
        reason = next((text for rule in rules for text in rule(sides, *place)), None)
        if reason is not None:
            found.near[place] = reason
            pending.remove(place)
    changed = True
    while changed and pending:
        changed = False
        for place in [each for each in pending if each not in twins]:
            text = next(_suppressed_by(sides, *place, found), None)
            if text is None and _is_pushed_out(sides, *place, found):
                text = "pushed out by rows that are there by a near-tie"
                found.pushed.add(place)
            if text is not None:
                found.near[place] = text
                pending.remove(place)
                changed = True
    found.open |= dict.fromkeys(pending, "nothing near decides about it")
    return found


def _differs_before(sides: Sides, side: int, row: int) -> str:
    """What is wrong with a row already before the suppression."""
    assert sides.before is not None
    place = _place_before(sides, side, row)
    if place is None:
        return "it is not among the rows before the suppression"
    first, second = (rows.image(0) for rows in sides.before)
    score = abs(first.scores[0, place] - second.scores[0, place])
    box = float(np.abs(first.boxes[0, place] - second.boxes[0, place]).max())
    if score <= sides.give.score and box <= sides.give.box:
        return ""
    return f"before the suppression its score differs by {score:.3g}, its box by {box:.3g}"


def _place_before(sides: Sides, side: int, row: int) -> int | None:
    assert sides.before is not None
    rows, own = sides.before[side], sides.after[side]
    distance = np.abs(rows.boxes[0] - own.boxes[0, row]).max(axis=-1)
    alike = (np.abs(rows.scores[0] - own.scores[0, row]) <= sides.give.score) & (distance <= sides.give.box)
    alike &= (rows.classes[0] == own.classes[0, row]) | (rows.classes[0] < 0)
    places = np.flatnonzero(alike)
    return int(places[np.argmin(distance[places])]) if places.size else None


def _has_twin(sides: Sides, side: int, row: int) -> bool:
    """Whether a row without counterpart on the other side may be this one with a wrong box or class: it overlaps and is
    as good. Only the rows before the suppression tell the two apart: each is among them on both sides then."""
    if sides.before is not None:
        return False
    own, other = sides.after[side], sides.after[1 - side]
    rows = sides.pairing.single[1 - side]
    tied = rows[np.abs(other.scores[0, rows] - own.scores[0, row]) <= SIDES * sides.give.score]
    twins = tied[overlaps(own.boxes[0, row], other.boxes[0, tied], sides.give.box)[0] > 0]
    if sides.pool is None:
        return bool(twins.size)
    asked = [(side, row), *((1 - side, int(twin)) for twin in twins)]
    return bool(twins.size) and not all(_is_in(sides, *place) for place in asked)


def _is_in(sides: Sides, side: int, row: int) -> bool:
    """Whether a row of one side is among those that go into the suppression of the other."""
    assert sides.pool is not None
    own, pool = sides.after[side], sides.pool[1 - side]
    alike = np.abs(pool.scores[0] - own.scores[0, row]) <= sides.give.score
    alike &= np.abs(pool.boxes[0] - own.boxes[0, row]).max(axis=-1) <= sides.give.box
    return bool((alike & ((pool.classes[0] == own.classes[0, row]) | (pool.classes[0] < 0))).any())


def _comes_and_goes(sides: Sides, side: int, row: int) -> Iterator[str]:
    """Whether the candidate itself turns about the row when its inputs are rounded."""
    own = sides.after[side]
    for again in sides.again:
        theirs = np.flatnonzero(again.classes[0] >= 0)
        held = pair_rows(own, again, (np.array([row], np.int64), theirs), sides.give).pairs.size > 0
        if held == (side == 0):
            yield "rounding the inputs alone makes it come and go"
            return


def _by_score(sides: Sides, side: int, row: int) -> Iterator[str]:
    """Whether its score is at a limit of scores."""
    score = sides.after[side].scores[0, row]
    for limit in sides.cuts.scores:
        if abs(score - limit) <= sides.give.score:
            yield f"score {score:.7g} against {limit:.7g}"


def _by_place(sides: Sides, side: int, row: int) -> Iterator[str]:
    """Whether its score is that of the last row of the other side, which is full, or of the last that went in."""
    own, other = sides.after[side], sides.after[1 - side]
    score, tie = own.scores[0, row], SIDES * sides.give.score
    if _is_full(sides, 1 - side):
        last = other.scores[0].min()
        if abs(score - last) <= tie:
            yield f"score {score:.7g} against the last one's {last:.7g}"
    if sides.before is None:
        return
    for count in sides.cuts.best:
        ordered = np.sort(sides.before[1 - side].scores[0])[::-1]
        if count < ordered.size and abs(score - ordered[count - 1]) <= tie:
            yield f"score {score:.7g} against {ordered[count - 1]:.7g}, the last of the best {count}"


def _by_overlap(sides: Sides, side: int, row: int) -> Iterator[str]:
    """Whether a row of the other side that is no worse overlaps it by about the limit."""
    for _, overlap, give in _rivals(sides, side, row, sides.kept[1 - side]):
        for limit in sides.cuts.overlaps:
            if abs(overlap - limit) <= give:
                yield f"IoU {overlap:.7g} against {limit:.7g}"


def _by_order(sides: Sides, side: int, row: int) -> Iterator[str]:
    """Whether of two that overlap and are equally good each side keeps another one."""
    own, other = sides.after[side], sides.after[1 - side]
    for rival, overlap, give in _rivals(sides, side, row, sides.pairing.single[1 - side]):
        first, second = own.scores[0, row], other.scores[0, rival]
        tied = abs(first - second) <= SIDES * sides.give.score
        if tied and any(overlap > limit - give for limit in sides.cuts.overlaps):
            yield f"scores {first:.7g} and {second:.7g} of boxes of which one suppresses the other"


def _explained(side: int, found: Explained) -> Indices:
    """Return the other side's rows that are there by a near-tie."""
    return np.array([place for where, place in found.near if where != side], np.int64)


def _suppressed_by(sides: Sides, side: int, row: int, found: Explained) -> Iterator[str]:
    """Yield the rows of the other side that are there by a near-tie and suppress this one."""
    explained = _explained(side, found)
    for rival, overlap, give in _rivals(sides, side, row, explained):
        if any(overlap > limit - give for limit in sides.cuts.overlaps):
            yield f"suppressed by row {rival}, which is there by a near-tie"


def _is_pushed_out(sides: Sides, side: int, row: int, found: Explained) -> bool:
    """Return whether the other side's full result has more rows by near-ties than they pushed out so far."""
    pushed = sum(where == side for where, _ in found.pushed)
    last = sides.after[1 - side].scores[0].min(initial=np.inf)
    beyond = sides.after[side].scores[0, row] <= last + SIDES * sides.give.score
    return _is_full(sides, 1 - side) and bool(beyond) and pushed < _explained(side, found).size


def _rivals(sides: Sides, side: int, row: int, rows: Indices) -> Iterator[tuple[int, float, float]]:
    """Those of the other side's rows that may suppress a row, each with the overlap and how far rounding moves that."""
    own, other = sides.after[side], sides.after[1 - side]
    better = other.scores[0, rows] >= own.scores[0, row] - SIDES * sides.give.score
    if not sides.cuts.across_classes:
        better &= other.classes[0, rows] == own.classes[0, row]
    rows = rows[better]
    found, give = overlaps(own.boxes[0, row], other.boxes[0, rows], sides.give.box)
    yield from zip(rows.tolist(), found.tolist(), give.tolist(), strict=True)


def _is_full(sides: Sides, side: int) -> bool:
    return bool(sides.kept[side].size) and sides.kept[side].size == sides.after[side].classes.shape[1]


DECISIONS: Sequence[Callable[[Sides, int, int], Iterator[str]]] = (
    _by_score, _by_overlap, _by_order, _by_place, _comes_and_goes,
)  # fmt: skip

__all__ = ["Cuts", "Explained", "Sides", "explain"]
