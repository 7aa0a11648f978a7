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


class Repetition(NamedTuple):
    """Items `start` to `stop` are `times` repetitions of `period` items each."""

    start: int
    stop: int
    period: int

    @property
    def times(self) -> int:
        """Return the number of repetitions."""
        return (self.stop - self.start) // self.period


def find_runs(labels: Sequence[int], weights: Sequence[int], cuts: Sequence[float]) -> list[Repetition]:
    """Return runs of a sequence, none over another, in order: those of three and more repetitions, or, where there are
    none, those of two; the shortest stretch first.

    `weights` are how many nodes each item stands for. `cuts` holds what it costs to part the sequence in front of each
    item, and behind the last: of the places where a stretch may begin, those that cut least are taken. Linear in items
    for each of a bounded number of periods.
    """
    if len(labels) < 2:
        return []
    numbers = np.asarray(labels, dtype=np.int64)
    before = np.concatenate([[0], np.cumsum(np.asarray(weights, dtype=np.int64))])
    often: list[tuple[int, int, Repetition]] = []
    twice: list[tuple[int, int, Repetition]] = []
    shorter: dict[tuple[int, int], list[int]] = {}
    for period in _periods(numbers):
        for start, stop in _stretches(numbers, period):
            known = shorter.setdefault((start, stop), [])
            if any(period % shorter_period == 0 for shorter_period in known):
                continue  # some times the shorter period, in the same stretch
            known.append(period)
            run = _best_phase(start, stop, period, cuts)
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


def widen_runs(runs: Sequence[Repetition], labels: Sequence[int]) -> list[Repetition]:
    """Return the runs extended by neighbouring repetitions that are alike by these coarser labels."""
    widened_runs: list[Repetition] = []
    for index, run in enumerate(runs):
        start, stop, period = run
        least = widened_runs[-1].stop if widened_runs else 0
        most = runs[index + 1].start if index + 1 < len(runs) else len(labels)
        pattern = list(labels[start : start + period])
        while start - period >= least and list(labels[start - period : start]) == pattern:
            start -= period
        while stop + period <= most and list(labels[stop : stop + period]) == pattern:
            stop += period
        widened_runs.append(Repetition(start, stop, period))
    return widened_runs


def _is_worth(run: Repetition, covered: int) -> bool:
    """Return whether a run is worth a box; a single node must come often."""
    each = covered // run.times
    return run.times >= 2 and covered >= LEAST_COVERED and (each > 2 or run.times * each > 2 * LEAST_COVERED)


def _periods(numbers: NDArray[np.int64]) -> list[int]:
    """Return the distances that may be periods: all short ones, and those at which single items and groups of four
    recur."""
    count = len(numbers)
    recurring: Counter[int] = Counter()
    for size in (1, 4):
        last: dict[object, int] = {}
        for index in range(count - size + 1):
            key = numbers[index] if size == 1 else numbers[index : index + size].tobytes()
            if key in last:
                recurring[index - last[key]] += 1
            last[key] = index
    frequent = {distance for distance, _ in recurring.most_common(PERIODS)}
    return sorted(period for period in frequent | set(range(1, SHORT)) if 2 * period <= count)


def _stretches(numbers: NDArray[np.int64], period: int) -> list[tuple[int, int]]:
    """Return the longest stretches in which every item is the one `period` before it, twice the period or longer."""
    same = numbers[:-period] == numbers[period:]
    edges = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]]).astype(np.int8)))
    starts, stops = edges[::2], edges[1::2]
    long = stops - starts >= period
    return [(int(a), int(b) + period) for a, b in zip(starts[long], stops[long], strict=True)]


def _best_phase(start: int, stop: int, period: int, cuts: Sequence[float]) -> Repetition:
    """Return the partition of a stretch that cuts least, then the one with most repetitions, then the first."""
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
    return Repetition(best[2], best[2] - best[1] * period, period)
