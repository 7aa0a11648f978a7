"""Calls timed in turn: warm, in an order that is drawn anew each round, within a time."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence

import numpy as np

from graphir.safety.collector import paused_collector
from graphir.structure.record import record

# Rounds that are timed whatever the time, and as many as are kept however quick a call is.
LEAST_ROUNDS, MOST_ROUNDS = 3, 10_000
# The part of the time that goes into warming up, and the calls that are enough for it.
WARM_UP_SHARE, MOST_WARM_UPS = 0.1, 200
Call = Callable[[], object]


@record
class Timings:
    """Seconds that each of some calls took: the first of all calls, those that are counted (element i of each is from
    round i), and how many calls came between."""

    first: tuple[float, ...]
    timed: tuple[tuple[float, ...], ...]
    warm_ups: int


def measure(
    calls: Sequence[Call],
    *,
    seconds: float,
    seed: int = 0,
    warm_up: int | None = None,
    clock: Callable[[], float] = time.perf_counter,
    before_timing: Callable[[], object] = lambda: None,
) -> Timings:
    """Time calls in turns: each round has every call once, in an order drawn from `seed`.

    First each is called once, then `warm_up` more times, or (None) for a tenth of `seconds` but at least once; these do
    not count. Then rounds follow until `seconds` have passed since the beginning, at least 3 and at most 10,000. A call
    that has begun is never broken off. What a call returns is held until its time is taken. The collector of cycles
    rests while calls are timed. `before_timing` is called once, between the warm-up and the first round.
    """
    begin = clock()
    first = tuple(_time_call(call, clock) for call in calls)
    warm_ups = 0
    while warm_ups < warm_up if warm_up is not None else _is_cold(warm_ups, clock() - begin, seconds):
        for call in calls:
            call()
        warm_ups += 1
    before_timing()
    gc.collect()
    generator = np.random.Generator(np.random.PCG64(seed))
    timed: list[list[float]] = [[] for _ in calls]
    with paused_collector():
        while len(timed[0]) < LEAST_ROUNDS or (clock() - begin < seconds and len(timed[0]) < MOST_ROUNDS):
            for index in generator.permutation(len(calls)).tolist() if len(calls) > 1 else (0,):
                timed[index].append(_time_call(calls[index], clock))
    return Timings(first, tuple(map(tuple, timed)), warm_ups)


def _is_cold(warm_ups: int, passed: float, seconds: float) -> bool:
    return not warm_ups or (warm_ups < MOST_WARM_UPS and passed < seconds * WARM_UP_SHARE)


def _time_call(call: Call, clock: Callable[[], float]) -> float:
    start = clock()
    result = call()
    taken = clock() - start
    del result
    return taken
