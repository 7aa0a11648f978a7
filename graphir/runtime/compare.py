"""Comparing tensors and grading the difference against the noise that the computation itself has."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

NOISE_LEAST = 1e-5
NOISE_MOST = 1e-3
NOISE_FACTOR = 50.0
SUSPICIOUS_FACTOR = 20.0


class Verdict(enum.Enum):
    """How two results relate: identical, different by rounding only, more than that, or not the same computation."""

    IDENTICAL = "identical"
    NOISE = "noise"
    SUSPICIOUS = "suspicious"
    BROKEN = "broken"

    @property
    def passes(self) -> bool:
        """Whether the difference is explained by rounding."""
        return self in (Verdict.IDENTICAL, Verdict.NOISE)


@dataclass(frozen=True)
class Comparison:
    """Two results of one value.

    `scale` is the largest magnitude in the reference, `max_abs` the largest difference, `relative` their quotient
    (infinite where shapes, or the places of infinities and NaN, differ), `floor` the relative change that rounding the
    inputs causes, `limit` what was allowed, `note` what was found where numbers cannot say it.
    """

    name: str
    shape: tuple[int, ...]
    scale: float
    max_abs: float
    relative: float
    floor: float
    limit: float
    verdict: Verdict
    note: str = ""


def difference(reference: Array, candidate: Array) -> tuple[float, float, str]:
    """Scale, largest difference (infinite if the arrays cannot be compared) and a note that says why not."""
    if reference.shape != candidate.shape:
        return 0.0, float("inf"), f"the shapes differ: {list(reference.shape)} and {list(candidate.shape)}"
    if reference.dtype.kind in "OUS" or candidate.dtype.kind in "OUS":
        same = bool(np.array_equal(reference, candidate))
        return 1.0, 0.0 if same else float("inf"), "" if same else "the texts differ"
    left, right = reference.astype(np.float64), candidate.astype(np.float64)
    finite = np.isfinite(left)
    scale = float(np.abs(left[finite]).max(initial=0.0))
    if not np.array_equal(left[~finite], right[~finite], equal_nan=True) or not np.isfinite(right[finite]).all():
        return scale, float("inf"), "infinities or NaN stand in different places"
    return scale, float(np.abs(left[finite] - right[finite]).max(initial=0.0)), ""


def noise_limit(floor: float) -> float:
    """The relative difference that still counts as rounding, for a measured noise floor."""
    return min(max(NOISE_FACTOR * floor, NOISE_LEAST), NOISE_MOST)


def compare(
    name: str,
    reference: Array,
    candidate: Array,
    *,
    floor: float = 0.0,
    rtol: float | None = None,
    atol: float | None = None,
) -> Comparison:
    """Compare two results and grade the difference.

    Without tolerances the verdict follows from the noise floor. With them a difference passes up to
    `atol + rtol * scale`, both 0 where not given.
    """
    scale, max_abs, note = difference(reference, candidate)
    relative = 0.0 if max_abs == 0 else max_abs / scale if scale else float("inf")
    if rtol is not None or atol is not None:
        allowed = (atol or 0.0) + (rtol or 0.0) * scale
        limit = allowed / scale if scale else allowed
        passes = max_abs <= allowed
        verdict = Verdict.IDENTICAL if max_abs == 0 else Verdict.NOISE if passes else Verdict.BROKEN
    else:
        limit = noise_limit(floor)
        verdict = grade(relative, limit)
    return Comparison(name, tuple(reference.shape), scale, max_abs, relative, floor, limit, verdict, note)


def grade(relative: float, limit: float) -> Verdict:
    """The verdict on a relative difference, given what counts as rounding."""
    if relative == 0:
        return Verdict.IDENTICAL
    if relative <= limit:
        return Verdict.NOISE
    return Verdict.SUSPICIOUS if relative <= SUSPICIOUS_FACTOR * limit else Verdict.BROKEN


__all__ = ["Comparison", "Verdict", "compare", "difference", "grade", "noise_limit"]
