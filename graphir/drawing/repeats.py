"""Repetition in a sequence of labels: stretches of it that come several times one after the other.

What comes often is taken before what comes twice only, and of it the shortest stretch first: a network's blocks before
its stages. Whoever makes one label of what was found, whatever the number of times, finds that stages repeat too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

PERIODS = 200
SHORT = 48
LEAST_COVERED = 6
SPREAD = 4  # what is much longer than the shortest may be made of it, and is found when that is one item


class Run(NamedTuple):
    """Items `start` to `stop` are `times` repetitions of `period` items each."""

    start: int
    stop: int
    period: int

    @property
    def times(self) -> int:
        """How often the stretch comes."""
        return (self.stop - self.start) // self.period


def find_runs(labels: Sequence[int], weights: Sequence[int], cuts: Sequence[float]) -> list[Run]:
    """Runs of a sequence, none over another, in order: those of three and more repetitions, or, where there are none,
    those of two; the shortest stretch first.

    `weights` are how many nodes each item stands for. `cuts` holds what it costs to part the sequence in front of each
    item, and behind the last: of the places where a stretch may begin, those that cut least are taken. Linear in items
    for each of a bounded number of periods.
    """
    if len(labels) < 2:
        return []
    numbers = np.asarray(labels, dtype=np.int64)
    before = np.concatenate([[0], np.cumsum(np.asarray(weights, dtype=np.int64))])
    often: list[tuple[int, int, Run]] = []
    twice: list[tuple[int, int, Run]] = []
    shorter: dict[tuple[int, int], list[int]] = {}
    for period in _periods(numbers):
        for start, stop in _stretches(numbers, period):
            known = shorter.setdefault((start, stop), [])
            if any(period % one == 0 for one in known):
                continue  # some times the shorter period, in the same stretch
            known.append(period)
            run = _phased(start, stop, period, cuts)
            covered = int(before[run.stop] - before[run.start])
            if _is_worth(run, covered) and run.times > 2:
                often.append((covered // run.times, -covered, run))
            elif _is_worth(run, covered):
                twice.append((covered // run.times, -covered, run))
    taken = np.zeros(len(labels), dtype=bool)
    chosen = []
    ranked = sorted(often or twice)
    for each, _, run in ranked:
        if each <= SPREAD * ranked[0][0] and not taken[run.start : run.stop].any():
            taken[run.start : run.stop] = True
            chosen.append(run)
    return sorted(chosen)


def widened(runs: Sequence[Run], labels: Sequence[int]) -> list[Run]:
    """The runs with the repetitions in front of them and behind that are alike by labels that know less."""
    found: list[Run] = []
    for place, run in enumerate(runs):
        start, stop, period = run
        least = found[-1].stop if found else 0
        most = runs[place + 1].start if place + 1 < len(runs) else len(labels)
        pattern = list(labels[start : start + period])
        while start - period >= least and list(labels[start - period : start]) == pattern:
            start -= period
        while stop + period <= most and list(labels[stop : stop + period]) == pattern:
            stop += period
        found.append(Run(start, stop, period))
    return found


def _is_worth(run: Run, covered: int) -> bool:
    """A single node must come often to be worth a box of its own."""
    each = covered // run.times
    return run.times >= 2 and covered >= LEAST_COVERED and (each > 2 or run.times * each > 2 * LEAST_COVERED)


def _periods(numbers: NDArray[np.int64]) -> list[int]:
    """The distances that may be periods: all short ones, and those at which single items and groups of four recur."""
    count = len(numbers)
    recurring: Counter[int] = Counter()
    for size in (1, 4):
        last: dict[object, int] = {}
        for place in range(count - size + 1):
            key = numbers[place] if size == 1 else numbers[place : place + size].tobytes()
            if key in last:
                recurring[place - last[key]] += 1
            last[key] = place
    frequent = {distance for distance, _ in recurring.most_common(PERIODS)}
    return sorted(period for period in frequent | set(range(1, SHORT)) if 2 * period <= count)


def _stretches(numbers: NDArray[np.int64], period: int) -> list[tuple[int, int]]:
    """The longest stretches in which every item is the one `period` before it, twice the period or longer."""
    same = numbers[:-period] == numbers[period:]
    edges = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]]).astype(np.int8)))
    starts, stops = edges[::2], edges[1::2]
    long = stops - starts >= period
    return [(int(a), int(b) + period) for a, b in zip(starts[long], stops[long], strict=True)]


def _phased(start: int, stop: int, period: int, cuts: Sequence[float]) -> Run:
    """Of all ways to part a stretch the one that cuts least, then the one with most repetitions, then the first."""
    best: tuple[float, int, int] | None = None
    for shift in range(period):
        times = (stop - start - shift) // period
        if times < 2:
            break
        begin = start + shift
        cost = sum(cuts[begin + step * period] for step in range(1, times)) / (times - 1)
        if best is None or (cost, -times, begin) < best:
            best = (cost, -times, begin)
    assert best is not None
    return Run(best[2], best[2] - best[1] * period, period)
