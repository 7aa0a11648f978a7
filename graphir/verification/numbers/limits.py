"""How a comparison is graded: the limits that hold for two models, whichever value is compared."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from graphir.arrays import Array
from graphir.verification.verdict import Verdict

from .compare import (
    LEAST_STEPS,
    MOST_STEPS,
    NOISE_LEAST,
    Comparison,
    Floor,
    compare,
    difference,
    grade,
    is_exact,
    noise_limit,
    relative_step,
)
from .local import local_limit, worst_channel

# One step of 8 bits, relative to the largest magnitude that they hold.
QUANTIZED_STEP = 1 / 127
# Sums of what is a step apart were seen two steps apart in 2 of 147,456 elements (mobilenet1.0_int8).
HARDLY_ANY = 1e-4
FLOAT32_STEP = float(np.finfo(np.float32).eps)


@dataclass(frozen=True)
class GradingLimits:
    """Stated tolerances, or else what follows from floors. `steps` are those of the coarser types that the reference's
    values came through, by their names, `step` that of one that was asked for and holds for all; `elsewhere` says that
    the two are computed on different devices, `quantized` that both round to 8 bits on the way, `same_kernels` that the
    same ones do so. `by_sums` is what the sums on the way lose, which explains a difference that passes."""

    rtol: float | None = None
    atol: float | None = None
    step: float = 0.0
    steps: Mapping[str, float] = field(default_factory=dict)
    elsewhere: bool = False
    quantized: bool = False
    by_sums: float = 0.0
    same_kernels: bool = False

    @property
    def stated(self) -> bool:
        """Whether the user said what may differ: then no floor is needed."""
        return self.rtol is not None or self.atol is not None

    @property
    def coarsest(self) -> float:
        """The coarsest step of any value."""
        return max(self.step, *self.steps.values(), 0.0)

    def step_of(self, source: str) -> float:
        """Return the step of the coarser type that one of the reference's values came through, 0 if it is none."""
        return max(self.step, self.steps.get(source, 0.0))

    def rounding(self, step: float) -> float:
        """Return the relative difference that two runs of the same may always have."""
        return noise_limit(0.0, step, elsewhere=self.elsewhere)

    def compare(
        self, name: str, reference: Array, candidate: Array, floor: Floor | float = 0.0, step: float = 0.0
    ) -> Comparison:
        """Compare two results whose axes are in order; see `compare.compare`."""
        result = compare(
            name, reference, candidate, floor=floor, rtol=self.rtol, atol=self.atol, step=step,
            elsewhere=self.elsewhere,
        )  # fmt: skip
        result = replace(result, by_sums=self.by_sums)
        if not self.quantized or self.stated or (self.same_kernels and _many_apart(reference, candidate)):
            return result
        return within_a_step(result, reference, candidate)

    def within_roundings(
        self, result: Comparison, reference: Array, candidate: Array, floor: Floor, roundings: int
    ) -> Comparison:
        """Return the comparison of one part's results of a narrow type, which differ by no more than the part rounds.

        A chain of layers may lose MOST_STEPS; of the kernels of a part, so many `roundings`, each may lose LEAST_STEPS.
        What rounding the operands does is no excuse where one kernel alone reads the same numbers in both models.
        """
        step = relative_step(reference)
        is_narrow = step > FLOAT32_STEP and reference.shape == candidate.shape
        if not is_narrow or not result.verdict.passes or self.stated or self.elsewhere or self.quantized:
            return result
        is_single = roundings == 1
        limit = max(roundings * LEAST_STEPS * step, 0.0 if is_single else result.limit)
        channel = worst_channel(
            reference, candidate, None if is_single else floor.deviation, min(limit, MOST_STEPS * step),
            bounded=floor.bounded,
        )  # fmt: skip
        if channel is None or not channel.differs:
            return result
        relative, allowed = local_limit(channel)
        return replace(
            result, scale=channel.scale, max_abs=channel.max_abs, relative=relative, limit=allowed,
            verdict=Verdict.BROKEN, place=str(channel),
        )  # fmt: skip

    def is_settled(self, result: Comparison, *, alone: bool, again: bool = True) -> bool:
        """Return whether a larger floor would change nothing: the results are equal, or differ by no more than any
        other order of a sum makes them. What passes without a floor is explained by one that was measured once, all
        else by one that was measured `again`; `alone` says that nothing need be explained that passes without one."""
        if self.stated or result.verdict is Verdict.IDENTICAL:
            return True
        passes_alone = result.verdict.passes and result.relative <= NOISE_LEAST
        is_explained = result.verdict.passes and result.explained
        return (passes_alone and (alone or is_explained)) or (is_explained and (again or alone))

    def is_beyond(self, found: Comparison, step: float, *arrays: Array) -> bool:
        """Return whether no floor can make a difference of float32 or float64 numbers pass."""
        if self.stated or self.quantized or found.place or not found.verdict.differs or not found.limit:
            return False
        is_wide = all(array.dtype in (np.float32, np.float64) for array in arrays)
        return is_wide and found.relative > noise_limit(math.inf, step, elsewhere=self.elsewhere)


def _many_apart(reference: Array, candidate: Array) -> bool:
    """Return whether more than next to no element differs: where the same kernels round to 8 bits, scales that differ
    by some units in their last place move a quotient up to 255 by no more than 2^-14, and turn as few."""
    if reference.shape != candidate.shape or reference.dtype.kind not in "iuf" or candidate.dtype.kind not in "iuf":
        return True
    wanted = reference.astype(np.float64)
    apart = np.abs(wanted - candidate) > NOISE_LEAST * np.abs(wanted).max(initial=0.0)
    return int(np.count_nonzero(apart)) > max(1.0, HARDLY_ANY * reference.size)


def within_a_step(found: Comparison, reference: Array, candidate: Array) -> Comparison:
    """Return the comparison of results that are rounded to 8 bits on the way: one step of that is rounding too.

    A step of quantized numbers is 1, and 2 among one of ten thousand; of what is computed from them it is taken to be
    1/127 of the largest magnitude. What rounding the inputs moves by more than that, many such steps, stays what it is:
    not deterministic.
    """
    if found.place:
        scale, max_abs, _ = difference(reference, candidate)
        whole = replace(found, scale=scale, max_abs=max_abs, relative=max_abs / scale, note="", place="")
        return replace(whole, limit=QUANTIZED_STEP, verdict=grade(whole.relative, QUANTIZED_STEP))
    if found.verdict.passes or not math.isfinite(found.relative):
        return found
    if is_exact(reference) and is_exact(candidate):
        if max(reference.dtype.itemsize, candidate.dtype.itemsize) > 1 or reference.dtype.kind == "b":
            return found
        limit = 1.0 / found.scale if found.scale else math.inf
        # Sums of what is a step apart round to two steps between next to no elements.
        two_apart = np.count_nonzero(np.abs(reference.astype(np.int16) - candidate.astype(np.int16)) > 1)
        passes = found.max_abs <= 1.0 or (found.max_abs <= 2.0 and two_apart <= HARDLY_ANY * reference.size)
        return replace(found, limit=limit, verdict=Verdict.NOISE if passes else found.verdict)
    limit = max(found.limit, QUANTIZED_STEP)
    if found.verdict is Verdict.NOT_DETERMINISTIC and found.relative > limit:
        return replace(found, limit=limit)
    return replace(found, limit=limit, verdict=grade(found.relative, limit))
