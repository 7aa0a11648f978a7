"""Differences from MXNet that are recorded in docs/mxnet-numbers.md: each with the proof that it is that one.

A row says of one result (flat arrays of one dtype) which elements it explains; what is left over is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.fuzz.symbols.draw import Drawn

Array = NDArray[Any]
Explains = Callable[[Drawn, Array, Array], NDArray[np.bool_]]

LARGEST_HALF = 65504.0


@dataclass(frozen=True)
class Recorded:
    """`operators` is a regular expression of operators, `reason` what is recorded; `roads` has `reference` where numpy
    computes as the model does, not as MXNet."""

    operators: str
    reason: str
    explains: Explains
    roads: tuple[str, ...] = ("onnx",)


def _within_units(count: int) -> Explains:
    """Integers as far apart as so many units in the last place of the largest float32 that they come from."""

    def explains(drawn: Drawn, found: Array, wanted: Array) -> NDArray[np.bool_]:
        true = wanted.astype(np.float64)
        unit = float(np.spacing(np.float32(np.abs(true).max(initial=0.0))))
        return np.asarray(np.abs(found.astype(np.float64) - true) <= count * unit) & (wanted.dtype == np.int32)

    return explains


def _overflow_of_half(drawn: Drawn, found: Array, wanted: Array) -> NDArray[np.bool_]:
    """Where MXNet's float16 overflows, of operands that reach half of its range, and the model's number is finite."""
    reach = max((float(np.abs(array[np.isfinite(array)]).max(initial=0)) for array in drawn.values.values()), default=0)
    has_half = wanted.dtype == np.float16 or any(array.dtype == np.float16 for array in drawn.values.values())
    explained = ~np.isfinite(wanted.astype(np.float64)) & (reach >= LARGEST_HALF / 2) & has_half
    return np.asarray(explained)


def _integers_beyond_half(drawn: Drawn, found: Array, wanted: Array) -> NDArray[np.bool_]:
    """Where an integer beyond the range of float16 beside which it stands is infinite in MXNet."""
    beyond = np.zeros(wanted.shape, bool)
    halves = [array for array in drawn.values.values() if array.dtype == np.float16]
    for array in drawn.values.values():
        if array.dtype.kind in "iu" and halves:
            beyond |= np.broadcast_to(np.abs(array.astype(np.float64)) > LARGEST_HALF, wanted.shape)
    return beyond & ~np.isfinite(wanted.astype(np.float64))


def _cut_beside(drawn: Drawn, found: Array, wanted: Array) -> NDArray[np.bool_]:
    """Integers cut from real numbers that agree to 23 bits: beside each other, or both rounded to those bits."""
    true = wanted.astype(np.float64)
    apart = np.abs(found.astype(np.float64) - true)
    near = apart <= np.maximum(1.0, 4 * np.spacing(np.abs(true).astype(np.float32)))
    return np.asarray(near) & (wanted.dtype.kind in "iu")


def _few_off_by_one(drawn: Drawn, found: Array, wanted: Array) -> NDArray[np.bool_]:
    """Single integers, one in fifty at most, that are 1 apart: cutting in place of rounding would move half of them."""
    apart = np.abs(found.astype(np.int64) - wanted.astype(np.int64)) if wanted.dtype.kind in "iu" else np.zeros(1)
    few = 0 < int((apart > 0).sum()) <= max(1, wanted.size // 50) and int(apart.max()) == 1
    return np.full(wanted.shape, few)


RECORDED: Sequence[Recorded] = (
    Recorded(
        r"^_contrib_quantized_elemwise_add$",
        "a sum as int32 has the 24 bits of the float32 in which MXNet computes it, whose last ones depend on the order",
        _within_units(4), ("onnx", "reference"),
    ),
    Recorded(
        r"^gamma$",
        "of integers a gamma function is cut from a real number, which may lie just below or above a factorial",
        _cut_beside, ("onnx", "reference"),
    ),
    Recorded(
        r"^(_image_resize|_cvimresize)$",
        "integers interpolated half way between two are rounded by the last digit of a sum",
        _few_off_by_one, ("reference",),
    ),
    Recorded(
        r"^_random_pdf_",
        "densities of float16 are computed in float32 and overflow later than MXNet's",
        _overflow_of_half, ("onnx", "reference"),
    ),
    Recorded(
        r"^_npi_|^broadcast_|^elemwise_",
        "onnxruntime casts an integer beside float16 to float32 at once: beyond 65504 it is not infinite",
        _integers_beyond_half,
    ),
)  # fmt: skip


def explained(drawn: Drawn, road: str, found: Array, wanted: Array) -> tuple[NDArray[np.bool_], str]:
    """Which elements of a result a recorded difference explains, and the reasons."""
    places, reasons = np.zeros(wanted.shape, bool), []
    for row in RECORDED:
        if road in row.roads and re.search(row.operators, drawn.case.op):
            more = row.explains(drawn, found, wanted) & (found != wanted)
            if (more & ~places).any():
                reasons.append(row.reason)
            places |= more
    return places, "; ".join(reasons)


__all__ = ["RECORDED", "Recorded", "explained"]
