"""What rounding to 8 bits on the way excuses: a step of them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.verification.verdict import Verdict

from .compare import Comparison, difference, grade, is_exact

Array = NDArray[Any]

# One step of 8 bits, relative to the largest magnitude that they hold.
QUANTIZED_STEP = 1 / 127
HARDLY_ANY = 1e-4


def within_a_step(found: Comparison, reference: Array, candidate: Array) -> Comparison:
    """The comparison of results that are rounded to 8 bits on the way: one step of that is rounding too.

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
        passes = found.max_abs <= 1.0 or (found.max_abs <= 2.0 and _hardly_any(reference, candidate))
        return replace(found, limit=limit, verdict=Verdict.NOISE if passes else found.verdict)
    limit = max(found.limit, QUANTIZED_STEP)
    if found.verdict is Verdict.NOT_DETERMINISTIC and found.relative > limit:
        return replace(found, limit=limit)
    return replace(found, limit=limit, verdict=grade(found.relative, limit))


def _hardly_any(reference: Array, candidate: Array) -> bool:
    """Whether two steps of 8 bits lie between next to no elements: sums of what is a step apart may be rounded so."""
    apart = np.abs(reference.astype(np.int16) - candidate.astype(np.int16)) > 1
    return bool(np.count_nonzero(apart) <= HARDLY_ANY * apart.size)


__all__ = ["QUANTIZED_STEP", "within_a_step"]
