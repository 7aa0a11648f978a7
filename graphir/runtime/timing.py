"""What samples of times say: percentiles of one, and how much longer another takes, with a confidence interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.structure.record import record

# With fewer rounds the interval would say more about chance than about the models.
LEAST_ROUNDS = 10
LEVEL = 0.95
# Two sessions of one file differ by up to a hundredth for as long as they live: where memory lies is drawn once.
RESOLUTION = 1.01
RESAMPLES = 1000
# Elements of the resamples that are held at a time.
HELD = 1 << 20


@record
class Latency:
    """Times of calls in seconds: how many, the least, percentiles (linear between the two nearest), mean, the most."""

    runs: int
    least: float
    p50: float
    p90: float
    p99: float
    mean: float
    most: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Latency:
        """Return the latency of at least one call.

        >>> found = Latency.of([0.001, 0.002, 0.003, 0.004, 0.1])
        >>> found.p50, round(found.p90, 4), round(found.mean, 3)
        (0.003, 0.0616, 0.022)
        """
        samples = np.asarray(seconds, np.float64)
        p50, p90, p99 = np.percentile(samples, (50, 90, 99))
        return cls(
            len(samples), float(samples.min()), float(p50), float(p90), float(p99), float(samples.mean()),
            float(samples.max()),
        )  # fmt: skip


@record
class Ratio:
    """The median of the second's times over the median of the first's, and between which numbers it lies with the
    probability `level`. `low` and `high` are None with fewer than `LEAST_ROUNDS` rounds."""

    value: float
    low: float | None
    high: float | None
    rounds: int
    level: float = LEVEL

    @property
    def verdict(self) -> str:
        """`slower` or `faster` (the second) where the whole interval is more than a hundredth away from 1, else
        `no difference shown`, or `too few rounds`."""
        if self.low is None or self.high is None:
            return "too few rounds"
        if self.low > RESOLUTION:
            return "slower"
        return "faster" if self.high < 1 / RESOLUTION else "no difference shown"


def ratio_of(first: Sequence[float], second: Sequence[float], seed: int = 0) -> Ratio:
    """Return how the times of two compare that took turns: element i of each is from round i.

    The interval is the percentile bootstrap's. Whole rounds are drawn, so that what slows both down at once cancels,
    and in blocks of neighbours (their length the square root of the number of rounds; Kuensch 1989, made circular),
    because a machine's state outlasts a round: drawn one by one, rounds would promise more than they know.
    """
    pairs = np.asarray([first, second], np.float64)
    rounds = pairs.shape[1]
    value = float(np.median(pairs[1]) / np.median(pairs[0]))
    if rounds < LEAST_ROUNDS:
        return Ratio(value, None, None, rounds)
    low, high = np.quantile(_resample_ratios(pairs, seed), ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return Ratio(value, float(low), float(high), rounds)


def _resample_ratios(pairs: NDArray[Any], seed: int) -> NDArray[Any]:
    """Ratios of medians of so many resamples."""
    generator = np.random.Generator(np.random.PCG64(seed))
    rounds = pairs.shape[1]
    length = round(rounds**0.5)
    blocks = -(-rounds // length)
    at_once = max(1, HELD // rounds)
    ratios = []
    for start in range(0, RESAMPLES, at_once):
        count = min(at_once, RESAMPLES - start)
        begins = generator.integers(0, rounds, (count, blocks, 1))
        drawn = ((begins + np.arange(length)) % rounds).reshape(count, -1)[:, :rounds]
        medians = np.median(pairs[:, drawn], axis=2)
        ratios.append(medians[1] / medians[0])
    return np.concatenate(ratios)
