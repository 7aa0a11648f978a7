"""Comparing tensors and grading the difference against the noise that the computation itself has."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from graphir.arrays import Array
from graphir.errors import VerificationError
from graphir.ops import Operator
from graphir.ops.activation import Sigmoid
from graphir.ops.lost import lost_unmoved
from graphir.types import Shape
from graphir.verification.verdict import Verdict

from .local import BESIDE_ONE, local_limit, worst_channel

# Adding up 84 numbers in another order: each addition loses up to half a unit in the last place of float32, 2**-24.
NOISE_LEAST = 5e-6
# A choice: agreement of what rounding alone moves by more than a thousandth of its scale proves nothing.
NOISE_MOST = 1e-3
# Honest conversions were seen to differ by up to 11 times the floor, the largest change of four runs: about twice that.
NOISE_FACTOR = 20.0
# Honest conversions were seen to differ by up to 11 times the floor; from here on layers are asked too.
DOUBT_FACTOR = 10.0
# Other kernels on another device: what onnxruntime's CPU kernels differ by is no measure of theirs.
NOISE_LEAST_ELSEWHERE = 1e-5
NOISE_FACTOR_ELSEWHERE = 50.0
# Some units in the last place of float32, as any other order of a sum makes them.
PLAIN_NOISE = 1e-6
OF_ONE = "numbers so small that a sigmoid's rounding, some units in the last place of 1, is all that differs"
# Limits in units of the element type's own precision, where that is coarse (float16, bfloat16).
LEAST_STEPS = 4
# Five binary digits of those that the type has: as many as 32 layers lose that round one after the other.
MOST_STEPS = 32
# What is compared is widened to float64 so many elements at a time: with what is made of them some 10 MB, which stay in
# the processor's caches.
ELEMENTS_AT_ONCE = 1 << 18


@dataclass(frozen=True)
class Floor:
    """By how much rounding alone moves a value, as it was measured.

    `overall` is the largest relative change (infinite where shapes, or the places of infinities and NaN, change),
    `deviation` the largest change of each element, None where nothing moved. `bounded` says that the value comes from
    a function such as a sigmoid, which is computed to some units in the last place of 1, not of its results; `unit` is
    that of a value that is a sigmoid's very result, and 0 for others.
    """

    overall: float = 0.0
    deviation: Array | None = None
    bounded: bool = False
    unit: float = 0.0

    def seen(self, array: Array, again: Array) -> Floor:
        """With another run of the value."""
        scale, largest, _ = difference(array, again)
        if not largest:
            return self
        change = largest / scale if scale else math.inf
        if array.shape != again.shape or _is_text(array):
            return replace(self, overall=change)
        moved = _change(array, again)
        deviation = moved if self.deviation is None else np.maximum(self.deviation, moved)
        return replace(self, overall=max(self.overall, change), deviation=deviation)


def static_floor(operator: type[Operator], shape: Shape, read: Shape = (), terms: object = 0) -> Floor:
    """Return the floor of an operator's results before anything was moved, of the arguments of `lost_unmoved`."""
    lost = lost_unmoved(operator, shape, read, terms)
    return Floor(lost / NOISE_FACTOR, unit=BESIDE_ONE if issubclass(operator, Sigmoid) else 0.0)


def widest(floors: Iterable[Floor]) -> Floor:
    """Return the floor of a value that several operators give, of which each has one of these."""
    all_floors = [Floor(), *floors]
    return Floor(max(floor.overall for floor in all_floors), unit=max(floor.unit for floor in all_floors))


def _change(array: Array, again: Array) -> Array:
    """Return the finite magnitude of the change of each element; complex numbers by the larger of their parts."""
    if array.dtype.kind == "c":
        return np.maximum(_change(array.real, again.real), _change(array.imag, again.imag))
    wide = array.dtype if array.dtype in (np.float32, np.float64) else np.float64 if is_exact(array) else np.float32
    with np.errstate(invalid="ignore"):
        moved = np.abs(again.astype(wide) - array.astype(wide))
    return np.where(np.isfinite(moved), moved, 0)


@dataclass(frozen=True)
class Comparison:
    """Two results of one value.

    `scale` is the largest magnitude in the reference, `max_abs` the largest difference, `relative` their quotient
    (infinite where shapes, or the places of infinities and NaN, differ), `floor` the relative change that rounding the
    inputs causes, `limit` what was allowed, `note` what was found where numbers cannot say it. Where one channel
    differs for its own magnitude they are those of that channel, which `place` names. A floor is measured where a
    difference asks for it; it is 0 where that is below what any other order of a sum makes. `is_random` says that two
    runs of one model on the same inputs differ, `is_faint` that the rounding of a sigmoid's 1 is all that differs;
    `feeds` is the set of inputs that the note names, `by_sums` what sums on the way lose.
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
    place: str = ""
    is_random: bool = False
    is_faint: bool = False
    feeds: str = ""
    by_sums: float = 0.0

    def noted(self, note: str, **changes: Any) -> Comparison:
        """Return the same with one more note, and with these changes."""
        return replace(self, note="; ".join(filter(None, (self.note, note))), **changes)

    @staticmethod
    def without_result(name: str, shape: tuple[int, ...], note: str) -> Comparison:
        """Return what stands for a value that the candidate does not give."""
        return Comparison(name, shape, 0.0, math.inf, math.inf, 0.0, 0.0, Verdict.BROKEN, note)

    @property
    def share(self) -> float:
        """The difference as a share of what is allowed."""
        return self.relative / self.limit if self.limit else self.relative

    @property
    def explained(self) -> bool:
        """Whether the difference is about as large as the measured floor, not only below what float32 allows on one
        device; where something else was allowed, that explains it."""
        usual = max(NOISE_FACTOR * self.floor, NOISE_LEAST)
        return self.relative <= max(DOUBT_FACTOR * self.floor, PLAIN_NOISE, self.by_sums) or self.limit != usual


def difference(reference: Array, candidate: Array) -> tuple[float, float, str]:
    """Scale, largest difference (infinite if the arrays cannot be compared) and a note that says why not.

    Integers and booleans are compared exactly; any difference among them counts at least 1. Complex numbers are
    compared by their parts.
    """
    if reference.shape != candidate.shape:
        return 0.0, math.inf, f"the shapes differ: {list(reference.shape)} and {list(candidate.shape)}"
    if _is_text(reference) or _is_text(candidate):
        same = _is_text(reference) and _is_text(candidate) and bool(np.array_equal(reference, candidate))
        return 1.0, 0.0 if same else math.inf, "" if same else "the texts differ"
    left, right = _real_parts(reference), _real_parts(candidate)
    scale = largest = 0.0
    for start in range(0, left.size, ELEMENTS_AT_ONCE):
        first, second = left[start : start + ELEMENTS_AT_ONCE], right[start : start + ELEMENTS_AT_ONCE]
        seen = _finite_difference(first, second)
        if seen is not None:
            scale, largest = max(scale, seen[0]), max(largest, seen[1])
            continue
        a, b = first.astype(np.float64), second.astype(np.float64)
        finite = np.isfinite(a)
        scale = max(scale, float(np.abs(a[finite]).max(initial=0.0)))
        if not np.array_equal(a[~finite], b[~finite], equal_nan=True) or not np.isfinite(b[finite]).all():
            largest = math.inf
            continue
        largest = max(largest, float(np.abs(a[finite] - b[finite]).max(initial=0.0)))
    if largest == math.inf:
        return scale, largest, _about_infinities(left, right)
    differing = int(np.count_nonzero(left != right)) if is_exact(reference) and is_exact(candidate) else 0
    if differing:
        return scale, max(largest, 1.0), f"{differing} of {left.size} elements differ"
    return scale, largest, ""


def _finite_difference(reference: Array, candidate: Array) -> tuple[float, float] | None:
    """Scale and largest difference of finite numbers in a type that the processor computes with, which takes no copy
    where they are equal; None where that is not what they are."""
    if reference.dtype != candidate.dtype or reference.dtype not in (np.float32, np.float64) or not reference.size:
        return None
    scale = _magnitude(reference)
    if not math.isfinite(scale):
        return None
    if np.array_equal(reference, candidate):
        return scale, 0.0
    with np.errstate(invalid="ignore", over="ignore"):
        largest = _magnitude(np.subtract(reference, candidate, dtype=np.float64))
    return (scale, largest) if math.isfinite(largest) else None


def _magnitude(array: Array) -> float:
    """Return the largest magnitude, NaN where one is in it."""
    return max(-float(array.min()), float(array.max()))


def _about_infinities(reference: Array, candidate: Array) -> str:
    """Return what is to be said of infinities or NaN that stand in different places."""
    overflown = 0
    for start in range(0, reference.size, ELEMENTS_AT_ONCE):
        part = slice(start, start + ELEMENTS_AT_ONCE)
        a, b = reference[part].astype(np.float64), candidate[part].astype(np.float64)
        overflown += int(np.count_nonzero(np.isfinite(a) & np.isinf(b)))
    said = "infinities or NaN stand in different places"
    return f"{said}: {overflown} finite numbers overflow to infinity in the candidate" if overflown else said


def same(array: Array, other: Array) -> bool:
    """Return whether two runs of a value gave the same."""
    return array.shape == other.shape and not difference(array, other)[1]


def relative_change(array: Array, again: Array) -> float:
    """Return the largest difference over the scale; 0 where the scale is 0 or a difference is not finite."""
    scale, max_abs, _ = difference(array, again)
    return max_abs / scale if scale and math.isfinite(max_abs) else 0.0


def noise_limit(floor: float, step: float = 0.0, *, elsewhere: bool = False) -> float:
    """Return the relative difference that still counts as rounding, for a measured noise floor.

    `step` is the distance from 1 to the next number of the coarser element type; `elsewhere` says that the two results
    were computed on different devices.

    >>> noise_limit(0.0), noise_limit(2.0**-20), noise_limit(1.0)
    (5e-06, 1.9073486328125e-05, 0.001)
    """
    least, factor = (NOISE_LEAST_ELSEWHERE, NOISE_FACTOR_ELSEWHERE) if elsewhere else (NOISE_LEAST, NOISE_FACTOR)
    least, most = max(least, LEAST_STEPS * step), max(NOISE_MOST, MOST_STEPS * step)
    return min(max(factor * floor, least), most)


def compare(
    name: str,
    reference: Array,
    candidate: Array,
    *,
    floor: Floor | float = 0.0,
    rtol: float | None = None,
    atol: float | None = None,
    step: float = 0.0,
    elsewhere: bool = False,
) -> Comparison:
    """Compare two results and grade the difference.

    Without tolerances the verdict follows from the noise floor, for the whole and for each channel by itself (see
    `local`). Integers and booleans have no rounding, so a difference of theirs is broken, and noise where rounding the
    inputs changes the same elements. With tolerances a difference passes up to `atol + rtol * scale`, both 0 where not
    given. What equality cannot prove (all elements NaN or infinite) is not proven. What exceeds the most that is ever
    allowed, but not what rounding alone does to the value, is not deterministic. `step` is that of a coarser type that
    the reference came through; a type of the candidate alone widens nothing. `elsewhere` is as for `noise_limit`.
    Raises VerificationError for tolerances that are negative or not finite.
    """
    measured = floor if isinstance(floor, Floor) else Floor(floor)
    scale, max_abs, note = difference(reference, candidate)
    relative = 0.0 if max_abs == 0 else max_abs / scale if scale else math.inf
    comparison: partial[Comparison] = partial(Comparison, name, tuple(reference.shape))
    if rtol is not None or atol is not None:
        allowed = _tolerance("atol", atol) + _tolerance("rtol", rtol) * scale
        limit = allowed / scale if scale else math.inf if allowed else 0.0
        verdict = Verdict.IDENTICAL if max_abs == 0 else Verdict.NOISE if max_abs <= allowed else Verdict.BROKEN
    elif is_exact(reference) and is_exact(candidate):
        limit, pair = 0.0, (reference, candidate)
        verdict, note = _graded_exactly(pair, measured, max_abs, note) if max_abs else (Verdict.IDENTICAL, note)
    else:
        own, other = _steps(reference), _steps(candidate)
        # A type of the candidate counts where the reference is as coarse, by its own type or by `step`.
        kinds = (own, other) if other[0] <= max(own[0], step) else (own,)
        step, smallest = max(step, *(kind[0] for kind in kinds)), max(kind[1] for kind in kinds)
        limit = noise_limit(measured.overall, step, elsewhere=elsewhere)
        verdict = grade(relative, limit)
        if 0 < max_abs < smallest:
            verdict, note = Verdict.NOISE, "they differ below the smallest normal number only"
        elif verdict.differs and max_abs <= measured.unit:
            limit, comparison = measured.unit / scale if scale else math.inf, partial(comparison, is_faint=True)
            verdict, note = Verdict.NOISE, OF_ONE
        elif scale == 0 and 0 < max_abs < math.inf:
            verdict, note = Verdict.BROKEN, "the reference is zero everywhere, the candidate is not"
        elif verdict is Verdict.NOISE:
            channel = worst_channel(reference, candidate, measured.deviation, max(limit, MOST_STEPS * step),
                                    bounded=measured.bounded, elsewhere=elsewhere)  # fmt: skip
            if channel is not None and channel.differs and max_abs > measured.unit:
                scale, max_abs, (relative, limit) = channel.scale, channel.max_abs, local_limit(channel)
                verdict, note = Verdict.BROKEN, f"in {channel}, whose numbers are smaller than others beside them"
                comparison = partial(comparison, place=str(channel))
        elif verdict.differs and moves_too_much(measured, step) and relative <= NOISE_FACTOR * measured.overall:
            verdict, note = Verdict.NOT_DETERMINISTIC, _about_movement(measured)
    if verdict is Verdict.IDENTICAL and says_nothing(reference):
        verdict, note = Verdict.NOT_PROVEN, "every element is infinite or NaN: that both are so proves nothing"
    if not note and reference.dtype != candidate.dtype and not _is_text(reference):
        note = f"the dtypes differ: {reference.dtype} and {candidate.dtype}"
    return comparison(scale, max_abs, relative, measured.overall, limit, verdict, note)


def moves_too_much(floor: Floor, step: float = 0.0) -> bool:
    """Return whether rounding alone moves a value by more than the most that is ever allowed."""
    return floor.overall > noise_limit(math.inf, step)


def _about_movement(floor: Floor) -> str:
    if floor.overall == math.inf:
        return "rounding alone changes its shape, or where its infinities and NaN stand"
    return f"rounding alone moves it by {floor.overall:.2g} of its scale, more than is ever allowed"


def _graded_exactly(pair: tuple[Array, Array], floor: Floor, max_abs: float, note: str) -> tuple[Verdict, str]:
    """Return the verdict on integers or booleans that differ, and what is to be said."""
    if max_abs == math.inf and floor.overall == math.inf:
        return Verdict.NOT_DETERMINISTIC, _about_movement(floor)
    if max_abs == math.inf or floor.deviation is None:
        return Verdict.BROKEN, note
    moved = floor.deviation != 0
    if moved[pair[0] != pair[1]].all():
        return Verdict.NOISE, f"{note}, each of them one that rounding alone changes too"
    return Verdict.BROKEN, f"{note}; rounding alone changes {int(np.count_nonzero(moved))}, others"


def grade(relative: float, limit: float) -> Verdict:
    """Return the verdict on a relative difference, given what counts as rounding."""
    if relative == 0:
        return Verdict.IDENTICAL
    return Verdict.NOISE if relative <= limit else Verdict.BROKEN


def _is_text(array: Array) -> bool:
    return array.dtype.kind in "OUST"


def is_exact(array: Array) -> bool:
    return array.dtype.kind in "iub"


def _real_parts(array: Array) -> Array:
    flat = array.reshape(-1)
    return np.concatenate([flat.real, flat.imag]) if array.dtype.kind == "c" else flat


def _tolerance(name: str, given: float | None) -> float:
    if given is None:
        return 0.0
    if not 0 <= given < math.inf:
        raise VerificationError(f"{name}={given}: a tolerance is a number from 0 on")
    return given


def says_nothing(reference: Array) -> bool:
    """Return whether all elements of an array are infinite or NaN."""
    if not reference.size or _is_text(reference) or is_exact(reference):
        return False
    parts = _real_parts(reference)
    return not any(
        np.isfinite(parts[start : start + ELEMENTS_AT_ONCE].astype(np.float64)).any()
        for start in range(0, parts.size, ELEMENTS_AT_ONCE)
    )


def relative_step(array: Array) -> float:
    """Return the distance from 1 to the next number of an array's real type; 0 of any other type."""
    return _steps(array)[0]


def _steps(array: Array) -> tuple[float, float]:
    """Return the relative step and the smallest normal number of an array's real type; 0 of any other type."""
    import ml_dtypes

    finfo: Any = ml_dtypes.finfo  # of NumPy's types too; one of float8 has the kind of these
    try:
        info = finfo(array.dtype)
    except ValueError:  # whole numbers, texts
        return 0.0, 0.0
    return float(info.eps), float(info.tiny)
