"""Statistics of samples whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from graphir.runtime.timing import LEAST_ROUNDS, Latency, Ratio, ratio_of


def drawn(seed: int, rounds: int, factor: float = 1.0, shared: float = 0.0) -> tuple[list[float], list[float]]:
    """Times of two, the second's `factor` times the first's but for noise; what `shared` scales, a machine's state that
    lasts for many rounds, is the same for both."""
    generator = np.random.Generator(np.random.PCG64(seed))
    state = np.cumsum(generator.standard_normal(rounds)) * shared
    first, second = np.exp(state + generator.standard_normal((2, rounds)) * 0.05)
    return first.tolist(), (second * factor).tolist()


def width(found: Ratio) -> float:
    assert found.low is not None
    assert found.high is not None
    return found.high - found.low


def test_latency() -> None:
    found = Latency.of([index / 100 for index in range(100, -1, -1)])
    assert (found.runs, found.least, found.most) == (101, 0.0, 1.0)
    assert (found.p50, found.p90, found.p99, found.mean) == pytest.approx((0.5, 0.9, 0.99, 0.5))


def test_latency_of_one_run() -> None:
    found = Latency.of([0.25])
    assert {found.least, found.p50, found.p90, found.p99, found.mean, found.most} == {0.25}


@pytest.mark.parametrize("factor, verdict", [(1.0, "no difference shown"), (1.3, "slower"), (0.7, "faster")])
@pytest.mark.parametrize("shared", [0.0, 0.1])
def test_ratio(factor: float, verdict: str, shared: float) -> None:
    found = ratio_of(*drawn(1, 400, factor, shared))
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high
    assert found.low < factor < found.high
    assert (found.verdict, found.rounds) == (verdict, 400)


def test_interval_covers_as_often_as_it_says() -> None:
    """In 95 of 100 draws; 85 of 100 is what a right one fails with a probability below one in ten thousand."""
    found = [ratio_of(*drawn(seed, 100), seed=seed) for seed in range(100)]
    covered = sum(ratio.low <= 1 <= ratio.high for ratio in found if ratio.low is not None and ratio.high is not None)
    assert 85 <= covered < 100


def test_pairing_takes_the_machine_out() -> None:
    """What slows both down leaves the interval as narrow as it is on a quiet machine."""
    quiet, noisy = ratio_of(*drawn(2, 400)), ratio_of(*drawn(2, 400, shared=0.02))
    assert width(noisy) < 5 * width(quiet)


def test_same_seed_same_interval() -> None:
    samples = drawn(3, 50)
    assert ratio_of(*samples, seed=4) == ratio_of(*samples, seed=4)
    assert ratio_of(*samples, seed=4) != ratio_of(*samples, seed=5)


@pytest.mark.parametrize("rounds", [1, LEAST_ROUNDS - 1])
def test_too_few_rounds_have_no_interval(rounds: int) -> None:
    found = ratio_of(*drawn(5, rounds))
    assert (found.low, found.high, found.verdict) == (None, None, "too few rounds")


@pytest.mark.parametrize(
    "low, high, verdict",
    [
        (1.005, 1.008, "no difference shown"),
        (0.992, 0.999, "no difference shown"),
        (0.9, 1.1, "no difference shown"),
        (1.02, 1.1, "slower"),
        (0.9, 0.98, "faster"),
    ],
)
def test_what_two_sessions_of_one_file_may_differ_by_is_no_difference(low: float, high: float, verdict: str) -> None:
    assert Ratio((low + high) / 2, low, high, 100).verdict == verdict
