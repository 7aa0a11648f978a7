"""Comparing and grading: every verdict, and everything that can make two arrays incomparable."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from graphir.errors import VerificationError
from graphir.verification.numbers.compare import (
    ELEMENTS_AT_ONCE,
    NOISE_LEAST,
    NOISE_MOST,
    Floor,
    compare,
    difference,
    grade,
    noise_limit,
)
from graphir.verification.numbers.limits import GradingLimits, within_a_step
from graphir.verification.verdict import Verdict
from tests.typed import untyped

F32, F16, BF16 = np.float32, np.float16, ml_dtypes.bfloat16
NOT_DETERMINISTIC = Verdict.NOT_DETERMINISTIC
NAN, INF = math.nan, math.inf
IDENTICAL, NOISE, BROKEN = Verdict.IDENTICAL, Verdict.NOISE, Verdict.BROKEN
NOT_PROVEN = Verdict.NOT_PROVEN


def array(elements: object, dtype: Any = F32) -> np.ndarray[Any, Any]:
    return np.array(elements, dtype)


@pytest.mark.parametrize(
    "reference, candidate, verdict, note",
    [
        (array([1, 2]), array([1, 2]), IDENTICAL, ""),
        (array([0.0, 2]), array([-0.0, 2]), IDENTICAL, ""),
        (array([1, 2]), array([1, 2.000002]), NOISE, ""),
        (array([1, 2]), array([1, 2.00005]), BROKEN, ""),
        (array([1, 2]), array([1, 2.1]), BROKEN, ""),
        (array([1, 2]), array([2, 1]), BROKEN, ""),
        (array([1, 2]), array([[1, 2]]), BROKEN, "the shapes differ: [2] and [1, 2]"),
        (array([1]), array(1), BROKEN, "the shapes differ: [1] and []"),
        (array(3.0), array(3.0), IDENTICAL, ""),
        (array([]), array([]), IDENTICAL, ""),
        (array([[]]), array([]), BROKEN, "the shapes differ: [1, 0] and [0]"),
        (array([1, NAN]), array([1, NAN]), IDENTICAL, ""),
        (array([1, NAN]), array([NAN, 1]), BROKEN, "infinities or NaN stand in different places"),
        (array([1, 2]), array([1, NAN]), BROKEN, "infinities or NaN stand in different places"),
        (array([1, NAN]), array([1, 2]), BROKEN, "infinities or NaN stand in different places"),
        (array([1, INF]), array([1, INF]), IDENTICAL, ""),
        (array([1, INF]), array([1, -INF]), BROKEN, "infinities or NaN stand in different places"),
        (array([1, INF]), array([1, NAN]), BROKEN, "infinities or NaN stand in different places"),
        (array([NAN, INF]), array([NAN, INF]), NOT_PROVEN, "every element is infinite or NaN: that both are so proves"),
        (array([0, 0]), array([0, 0]), IDENTICAL, ""),
        (array([0, 0]), array([0, 1e-9]), BROKEN, "the reference is zero everywhere, the candidate is not"),
        (array([0, 0]), array([0, 1]), BROKEN, "the reference is zero everywhere, the candidate is not"),
        (array([1, 0]), array([0, 0]), BROKEN, ""),
        (array([1e-40, 0]), array([0, 0]), NOISE, "they differ below the smallest normal number only"),
        (array([1, 2], np.int64), array([1, 2], np.int64), IDENTICAL, ""),
        (array([1, 2], np.int64), array([1, 3], np.int64), BROKEN, "1 of 2 elements differ"),
        (array([2**53, 0], np.int64), array([2**53 + 1, 0], np.int64), BROKEN, "1 of 2 elements differ"),
        (array([10**9], np.int32), array([10**9 + 1], np.int32), BROKEN, "1 of 1 elements differ"),
        (array([255], np.uint8), array([254], np.uint8), BROKEN, "1 of 1 elements differ"),
        (array([True, False]), array([True, False]), IDENTICAL, ""),
        (array([True, False], bool), array([True, True], bool), BROKEN, "1 of 2 elements differ"),
        (array([1, 2]), array([1, 2], np.int64), IDENTICAL, "the dtypes differ: float32 and int64"),
        (array([1, 2], np.float64), array([1, 2]), IDENTICAL, "the dtypes differ: float64 and float32"),
        (array(["a", "b"], object), array(["a", "b"], object), IDENTICAL, ""),
        (array(["a", "b"], "U1"), array(["a", "b"], object), IDENTICAL, ""),
        (array(["a", "b"], object), array(["a", "c"], object), BROKEN, "the texts differ"),
        (array(["1"], object), array([1]), BROKEN, "the texts differ"),
        (array([1 + 2j], np.complex64), array([1 + 2j], np.complex64), IDENTICAL, ""),
        (array([1 + 2j], np.complex64), array([1 + 3j], np.complex64), BROKEN, ""),
        (array([1, 1000], F16), array([1, 1002], F16), NOISE, ""),
        (array([1, 1000], F16), array([1, 1020], F16), BROKEN, ""),
        (array([1, 1000], F16), array([1, 1200], F16), BROKEN, ""),
        (array([1, 100], BF16), array([1, 101], BF16), NOISE, ""),
        (array([1, 100], BF16), array([1, 180], BF16), BROKEN, ""),
        (array([1, 2], np.float64), array([1, 2 + 1e-9], np.float64), NOISE, ""),
    ],
)
def test_verdict(reference: Any, candidate: Any, verdict: Verdict, note: str) -> None:
    found = compare("y", reference, candidate)
    assert (found.verdict, found.note[: len(note) or None]) == (verdict, note)
    assert found.shape == reference.shape


@pytest.mark.parametrize(
    "floor, relative, verdict",
    [
        (0.0, 4e-6, NOISE),
        (0.0, 2e-5, BROKEN),
        (0.0, 3e-4, BROKEN),
        (1e-6, 9e-6, NOISE),
        (1e-6, 6e-5, BROKEN),
        (1e-6, 2e-3, BROKEN),
        (1.0, 9e-4, NOISE),
        (1e-4, 1.1e-3, BROKEN),
        (1e-4, 2.1e-2, BROKEN),
        (1.0, 1.1e-3, NOT_DETERMINISTIC),
        (2e-3, 3e-2, NOT_DETERMINISTIC),
        (2e-3, 5e-2, BROKEN),
    ],
)
def test_noise_floor_moves_the_limits(floor: float, relative: float, verdict: Verdict) -> None:
    found = compare("y", array([1.0], np.float64), array([1.0 + relative], np.float64), floor=floor)
    assert (found.verdict, found.floor) == (verdict, floor)
    assert found.relative == pytest.approx(relative, rel=1e-6)


@pytest.mark.parametrize(
    "floor, step, limit",
    [(0.0, 0.0, NOISE_LEAST), (1e-6, 0.0, 2e-5), (1.0, 0.0, NOISE_MOST), (0.0, 2**-10, 2**-8), (1.0, 2**-10, 2**-5)],
)
def test_noise_limit(floor: float, step: float, limit: float) -> None:
    assert noise_limit(floor, step) == pytest.approx(limit)


EXPLAINED = [
    # relative, floor, more, explained
    (5e-7, 0.0, {}, True),
    (3e-6, 1e-7, {}, False),
    (3e-6, 4e-7, {}, True),
    (1.5e-5, 1e-6, {}, False),
    (3e-6, 1e-7, {"rtol": 1e-4}, True),
    (3e-6, 1e-7, {"step": 2**-10}, True),
    (3e-6, 1e-7, {"elsewhere": True}, True),
]


@pytest.mark.parametrize(("relative", "floor", "more", "explained"), EXPLAINED)
def test_a_difference_that_the_floor_explains(relative: float, floor: float, more: Any, explained: bool) -> None:
    found = compare("y", array([1.0], np.float64), array([1.0 + relative], np.float64), floor=floor, **more)
    assert (found.verdict, found.explained) == (NOISE, explained)


@pytest.mark.parametrize(("floor", "limit"), [(0.0, 1e-5), (1e-6, 5e-5), (1.0, NOISE_MOST)])
def test_noise_limit_of_another_device(floor: float, limit: float) -> None:
    assert noise_limit(floor, elsewhere=True) == pytest.approx(limit)


@pytest.mark.parametrize(
    "relative, limit, verdict",
    [
        (0.0, 0.0, IDENTICAL),
        (1e-5, 1e-5, NOISE),
        (1.1e-5, 1e-5, BROKEN),
        (0.51, 0.25, BROKEN),
        (INF, 1e-3, BROKEN),
        (NAN, 1e-3, BROKEN),
    ],
)
def test_grade(relative: float, limit: float, verdict: Verdict) -> None:
    assert grade(relative, limit) is verdict


def test_other_integers_than_rounding_flips_are_broken() -> None:
    found = compare("top", array([1, 2], np.int64), array([1, 3], np.int64), floor=1e-3)
    assert found.verdict is BROKEN


@pytest.mark.parametrize(
    "candidate, rtol, atol, verdict, limit",
    [
        ([1, 4], 0.0, 0.0, IDENTICAL, 0.0),
        ([1, 4.5], 0.2, None, NOISE, 0.2),
        ([1, 4.5], 0.1, None, BROKEN, 0.1),
        ([1, 4.5], None, 0.5, NOISE, 0.125),
        ([1, 4.5], None, 0.4, BROKEN, 0.1),
        ([1, 4.5], 0.1, 0.1, NOISE, 0.125),
        ([1, 4.5], 0.1, 0.05, BROKEN, 0.1125),
        ([1, NAN], 10.0, 10.0, BROKEN, 12.5),
        ([[1, 4]], 10.0, 10.0, BROKEN, INF),
    ],
)
def test_tolerances(candidate: Any, rtol: float | None, atol: float | None, verdict: Verdict, limit: float) -> None:
    found = compare("y", array([1, 4]), array(candidate), rtol=rtol, atol=atol)
    assert found.verdict is verdict
    assert found.limit == pytest.approx(limit)


@pytest.mark.parametrize("candidate, verdict", [([0, 0.5], NOISE), ([0, 2], BROKEN)])
def test_absolute_tolerance_holds_for_a_reference_of_zeros(candidate: Any, verdict: Verdict) -> None:
    assert compare("y", array([0, 0]), array(candidate), atol=1.0).verdict is verdict


@pytest.mark.parametrize("name, value", [("rtol", -1.0), ("atol", -1e-9), ("rtol", NAN), ("atol", INF)])
def test_refused_tolerances(name: str, value: float) -> None:
    with pytest.raises(VerificationError, match=f"{name}={value}"):
        compare("y", array([1]), array([1]), **untyped({name: value}))


def test_a_difference_far_into_a_large_array_is_found() -> None:
    left = np.zeros(2 * ELEMENTS_AT_ONCE + 3, F32)
    left[1] = 8
    right = left.copy()
    right[-1] = 2
    assert difference(left, right) == (8.0, 2.0, "")


def test_what_moves_by_many_steps_of_8_bits_stays_not_deterministic() -> None:
    reference = np.linspace(-1, 1, 50, dtype=np.float32)
    moved = Floor().seen(reference, reference + np.float32(0.07))
    for off, verdict in ((0.06, Verdict.NOT_DETERMINISTIC), (0.005, Verdict.NOISE)):
        other = reference + np.float32(off)
        found = within_a_step(compare("y", reference, other, floor=moved), reference, other)
        assert found.verdict is verdict
    far = within_a_step(compare("y", reference, reference + np.float32(0.06)), reference, reference + np.float32(0.06))
    assert far.verdict is Verdict.BROKEN


MANY, FEW = 30_000, 100
STEPS_OF_8_BITS = [
    pytest.param({5: 1, 6: -1}, FEW, NOISE, id="a step each"),
    pytest.param({5: 2}, MANY, NOISE, id="two steps of one in thirty thousand"),
    pytest.param({5: 2}, FEW, BROKEN, id="two steps of one in a hundred"),
    pytest.param({5: 3}, MANY, BROKEN, id="three steps"),
    pytest.param(dict.fromkeys(range(20), 2), MANY, BROKEN, id="two steps of many"),
]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize(("moved", "size", "verdict"), STEPS_OF_8_BITS)
def test_two_steps_of_8_bits_are_rounding_in_hardly_any(
    moved: dict[int, int], size: int, verdict: Verdict, dtype: Any
) -> None:
    reference = np.full(size, 100, dtype)
    other = reference.astype(np.int32)
    for place, steps in moved.items():
        other[place] += steps
    found = other.astype(dtype)
    assert within_a_step(compare("y", reference, found), reference, found).verdict is verdict


STEP = 2.0**-10  # of float16


@pytest.mark.parametrize("factor, roundings, limits, verdict", [
    (1 + 2 * STEP, 1, GradingLimits(), Verdict.NOISE),
    (1 + 8 * STEP, 1, GradingLimits(), Verdict.BROKEN),
    (1 + 8 * STEP, 4, GradingLimits(), Verdict.NOISE),
    (1 + 24 * STEP, 4, GradingLimits(), Verdict.BROKEN),
    (1 + 24 * STEP, 100, GradingLimits(), Verdict.NOISE),  # as many as a chain may lose
    (1 + 8 * STEP, 1, GradingLimits(elsewhere=True), Verdict.NOISE),
    (1 + 8 * STEP, 1, GradingLimits(rtol=0.1), Verdict.NOISE),
])  # fmt: skip
def test_a_part_in_float16_may_lose_what_its_own_kernels_round(
    factor: float, roundings: int, limits: GradingLimits, verdict: Verdict
) -> None:
    """A channel of a hundredth of the largest numbers, in a value whose floor excuses it."""
    reference = np.ones((2, 3, 4), np.float16)
    reference[:, 1] = 100
    candidate = reference.copy()
    candidate[:, 0] *= np.float16(factor)
    result = limits.compare("part", reference, candidate, Floor(0.001), STEP)
    assert result.verdict is Verdict.NOISE
    assert limits.within_roundings(result, reference, candidate, Floor(0.001), roundings).verdict is verdict


OF_THE_SAME_KERNELS = [
    pytest.param(1, MANY, NOISE, id="one in thirty thousand"),
    pytest.param(1, FEW, NOISE, id="one in a hundred"),
    pytest.param(20, FEW, BROKEN, id="one in five"),
]


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize(("count", "size", "verdict"), OF_THE_SAME_KERNELS)
def test_the_same_kernels_turn_hardly_any_number_of_8_bits(count: int, size: int, verdict: Verdict, dtype: Any) -> None:
    reference = np.full(size, 127, dtype)
    candidate = reference.copy()
    candidate[:count] += 1
    limits = GradingLimits(quantized=True)
    assert limits.compare("y", reference, candidate).verdict is NOISE
    assert replace(limits, same_kernels=True).compare("y", reference, candidate).verdict is verdict
