"""Differences from MXNet that are recorded in docs/mxnet-numbers.md: each with the proof that it is that one.

A row says of one result (flat arrays of one dtype) which elements it explains; what is left over is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.reference import quantized, quantized_fused
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.errors import GraphirError
from tests.fuzz.symbols.draw import Drawn

Array = NDArray[Any]
Explains = Callable[[Drawn, Array, Array], NDArray[np.bool_]]

EVERYWHERE = ("onnx", "reference", "torch")
LARGEST_HALF = 65504.0


@dataclass(frozen=True)
class Recorded:
    """`operators` is a regular expression of operators, `reason` what is recorded; `roads` has `reference` where numpy
    computes as the model does, not as MXNet."""

    operators: str
    reason: str
    explains: Explains
    roads: tuple[str, ...] = ("onnx", "torch")


def _within_units(count: int) -> Explains:
    """Integers as far apart as so many units in the last place of the largest float32 that they come from."""

    def explains(drawn: Drawn, found: Array, wanted: Array) -> NDArray[np.bool_]:
        true = wanted.astype(np.float64)
        unit = float(np.spacing(np.float32(np.abs(true).max(initial=0.0))))
        return np.asarray(np.abs(found.astype(np.float64) - true) <= count * unit) & (wanted.dtype == np.int32)

    return explains


def _integers_beyond_half(drawn: Drawn, found: Array, wanted: Array) -> NDArray[np.bool_]:
    """Where an integer beyond the range of float16 beside which it stands is infinite in MXNet."""
    beyond = np.zeros(wanted.shape, bool)
    halves = [array for array in drawn.values.values() if array.dtype == np.float16]
    for array in drawn.values.values():
        if array.dtype.kind in "iu" and halves:
            beyond |= np.broadcast_to(np.abs(array.astype(np.float64)) > LARGEST_HALF, wanted.shape)
    return beyond & ~np.isfinite(wanted.astype(np.float64))


def _cut_beside(drawn: Drawn, found: Array, wanted: Array) -> NDArray[np.bool_]:
    """Integers cut from real numbers that agree to 23 bits: beside each other, or both rounded to them. What has no
    place in the dtype wraps around, and lies beside its first number on the other side."""
    true = wanted.astype(np.float64)
    apart = np.abs(found.astype(np.float64) - true)
    apart = np.minimum(apart, 2.0 ** (8 * wanted.dtype.itemsize) - apart)
    near = apart <= np.maximum(1.0, 4 * np.spacing(np.abs(true).astype(np.float32)))
    return np.asarray(near) & (wanted.dtype.kind in "iu")


def _last_channels(drawn: Drawn, found: Array, wanted: Array) -> NDArray[np.bool_]:
    """The channels of bytes beyond the last four, of images whose nearest pixels are taken."""
    places = np.zeros(wanted.shape, bool)
    channels = wanted.shape[-1] if wanted.ndim else 0
    if str(drawn.case.attrs.get("interp", 1)) == "0" and wanted.dtype == np.uint8 and channels > 4 and channels != 6:
        places[..., channels // 4 * 4 :] = True
    return places


def _spread_by_blocks(drawn: Drawn, found: Array, wanted: Array) -> NDArray[np.bool_]:
    """Where a matrix has a number in its triangle that is none, MXNet's NaN."""
    matrix = next(iter(drawn.values.values()))
    lower = str(drawn.case.attrs.get("lower", True)) not in ("0", "False")
    triangle = np.tril(matrix) if lower else np.triu(matrix)
    odd = np.isnan(triangle.astype(np.float64)).any(axis=(-2, -1))
    return np.asarray(odd[..., None, None] & np.isnan(wanted.astype(np.float64)))


def _border_without_values(drawn: Drawn, found: Array, wanted: Array) -> NDArray[np.bool_]:
    """The channels behind those of which the border has a value, where it has any."""
    places = np.zeros(wanted.shape, bool)
    stated = [text for text in str(drawn.case.attrs.get("values", "")).strip("()[] ").split(",") if text.strip()]
    if stated and wanted.ndim:
        places[..., len(stated) :] = True
    return places


def before_rounding(drawn: Drawn) -> list[Array]:
    """What the reference rounds to 8 bits on its way, as it is before; nothing where it refuses the symbol."""
    seen: list[Array] = []
    rounds = quantized.saturated

    def kept(values: Array, dtype: str) -> Array:
        seen.append(np.asarray(values, np.float64))
        return rounds(values, dtype)

    try:
        with (
            mock.patch.object(quantized, "saturated", kept),
            mock.patch.object(quantized_fused, "saturated", kept),
            np.errstate(all="ignore"),
        ):
            evaluate(read_symbol(drawn.symbol), drawn.values)
    except GraphirError:
        return []
    return seen


def _ties_of_steps(drawn: Drawn, found: Array, wanted: Array) -> NDArray[np.bool_]:
    """Integers one step apart, of which the number before rounding is half way, within 8 units of a float32's
    last place; and all of those of an operand that is rounded half way itself."""
    none = np.zeros(wanted.shape, bool)
    if wanted.dtype.kind not in "iu":
        return none
    tied = none
    for values in before_rounding(drawn):
        unit = np.spacing(np.maximum(np.abs(values), 128.0).astype(np.float32)).astype(np.float64)
        half_way = np.abs(np.abs(values - np.trunc(values)) - 0.5) <= 8 * unit
        tied = tied | (half_way if half_way.shape == wanted.shape else half_way.any())
    return tied & (np.abs(found.astype(np.int64) - wanted.astype(np.int64)) == 1)


def _nothing_to_measure(drawn: Drawn, found: Array, wanted: Array) -> NDArray[np.bool_]:
    """0 for data that are all 0, of which MXNet makes 0 / 0."""
    zero = not any(array.any() for array in drawn.values.values())
    return np.asarray(found == 0) & zero


def _counts_of_specials(drawn: Drawn, found: Array, wanted: Array) -> NDArray[np.bool_]:
    """Counts of what is not 0, of data with NaN: as many apart, at most, as there are NaN."""
    missing = sum(int(np.isnan(array.astype(np.float64)).sum()) for array in drawn.values.values())
    if float(drawn.case.attrs.get("ord", 2)) != 0 or not missing:
        return np.zeros(wanted.shape, bool)
    return np.asarray(np.abs(found.astype(np.float64) - wanted.astype(np.float64)) <= missing)


def _zero_times_infinity(drawn: Drawn, found: Array, wanted: Array) -> NDArray[np.bool_]:
    """Zeros of which MXNet makes NaN, by a slope that is infinite or NaN."""
    slopes = [array for name, array in drawn.values.items() if name.endswith("gamma")]
    wild = any(not np.isfinite(slope.astype(np.float64)).all() for slope in slopes)
    return np.asarray(np.isnan(wanted.astype(np.float64)) & (found == 0) & wild)


def _another_basis(drawn: Drawn, found: Array, wanted: Array) -> NDArray[np.bool_]:
    """Orthonormal eigenvectors (rows, columns of `_npi_eigh`) of equal eigenvalues, or with two largest components, one
    of which has to be positive."""
    none = np.zeros(wanted.shape, bool)
    given = next(iter(drawn.values.values())).astype(np.float64)
    columns, upper = drawn.case.op == "_npi_eigh", drawn.case.attrs.get("UPLO") == "U"
    lower = np.tril(given.swapaxes(-1, -2) if upper else given)
    if found.shape != lower.shape or not np.isfinite(found).all():
        return none
    whole = lower + np.tril(lower, -1).swapaxes(-1, -2)
    scale = max(float(np.abs(whole).max(initial=0)), 1e-30)
    rows = found.astype(np.float64).swapaxes(-1, -2) if columns else found.astype(np.float64)
    turned = rows @ whole
    values = (turned * rows).sum(-1, keepdims=True)
    unit = rows @ rows.swapaxes(-1, -2) - np.eye(rows.shape[-1])
    if np.abs(turned - values * rows).max() > 1e-4 * scale or np.abs(unit).max() > 1e-4:
        return none
    gaps = np.abs(values - values.swapaxes(-1, -2)) + np.eye(rows.shape[-1]) * 2 * scale
    equal = (gaps < 1e-5 * scale).any(axis=-1)
    ordered = np.sort(np.abs(rows), axis=-1)
    allowed = equal | (ordered[..., -1] - ordered[..., max(-2, -rows.shape[-1])] < 1e-5)
    return none | (allowed[..., None, :] if columns else allowed[..., None])


def _lost_in_a_sum(drawn: Drawn, found: Array, wanted: Array) -> NDArray[np.bool_]:
    """Where the sum along the last axis of the second operand is another number when it is rounded on the way."""
    alpha = list(drawn.values.values())[1]
    rounded = np.cumsum(alpha, axis=-1, dtype=alpha.dtype)[..., -1].astype(np.float64)
    exact = alpha.astype(np.float64).sum(-1)
    with np.errstate(all="ignore"):
        lost = np.abs(rounded - exact) > 1e-3 * np.abs(exact)
    return np.full(wanted.shape, bool(lost.any()))


def _powers_beyond_range(drawn: Drawn, found: Array, wanted: Array) -> NDArray[np.bool_]:
    """Norms of a negative order of magnitudes so far apart that the power of their ratio is no number of the dtype."""
    order = float(drawn.case.attrs.get("ord", 2))
    sizes = np.abs(next(iter(drawn.values.values())).astype(np.float64))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    if order >= 0 or not sizes.size or wanted.dtype.kind != "f":
        return np.zeros(wanted.shape, bool)
    powers = np.log(sizes.max() / sizes.min()) * max(-order, 1.0)
    return np.full(wanted.shape, powers > np.log(float(np.finfo(wanted.dtype).max)))


def _magnitudes_without_place(drawn: Drawn, found: Array, wanted: Array) -> NDArray[np.bool_]:
    """Norms of integers with a magnitude that the dtype cannot hold: the order in which MXNet meets it decides."""
    (data,) = drawn.values.values()
    if data.dtype.kind != "i":
        return np.zeros(wanted.shape, bool)
    limit = 2.0**63 if data.dtype == np.int64 else float(np.iinfo(data.dtype).max)
    sizes = np.abs(data.astype(np.float64))  # of int64 the last 512 are 2^63 in float64, where MXNet takes them
    return np.full(wanted.shape, bool(((sizes >= limit) if data.dtype == np.int64 else (sizes > limit)).any()))


def _distances_without_place(drawn: Drawn, found: Array, wanted: Array) -> NDArray[np.bool_]:
    """Distances of integers that their dtype cannot hold: C leaves undefined what such a subtraction gives."""
    left, right = drawn.values.values()
    if left.dtype != right.dtype or left.dtype not in (np.int32, np.int64):
        return np.zeros(wanted.shape, bool)
    distances = np.abs(left.astype(object) - right.astype(object))
    return np.full(wanted.shape, bool((distances > np.iinfo(left.dtype).max).any()))


RECORDED: Sequence[Recorded] = (
    Recorded(
        r"^_contrib_quantized_elemwise_add$",
        "a sum as int32 has the 24 bits of the float32 in which MXNet computes it, whose last ones depend on the order",
        _within_units(4), EVERYWHERE,
    ),
    Recorded(
        r"^_contrib_quantize_v2$",
        "data that are all 0 have no range of their own: MXNet divides 0 by 0, the model gives 0",
        _nothing_to_measure,
    ),
    Recorded(
        r"^gamma$",
        "of integers a gamma function is cut from a real number, which may lie just below or above a factorial",
        _cut_beside, EVERYWHERE,
    ),
    Recorded(
        r"^_contrib_quantized_|^_contrib_(re)?quantize|^_sg_mkldnn",
        "numbers half way between two steps of 8 bits are rounded by the last digit of their scale",
        _ties_of_steps, EVERYWHERE,
    ),
    Recorded(
        r"^(_npi_norm|norm)$",
        "of integers the magnitude of the least number has no place in their dtype: what follows depends on the order",
        _magnitudes_without_place, EVERYWHERE,
    ),
    Recorded(
        r"^_contrib_allclose$",
        "the distance of two integers has no place in their dtype, and C leaves undefined what their difference is",
        _distances_without_place, EVERYWHERE,
    ),
    Recorded(
        r"^_npi_norm$",
        "of order 0 MXNet counts NaN by its place among the other numbers",
        _counts_of_specials, EVERYWHERE,
    ),
    Recorded(
        r"^_npi_norm$",
        "of a negative order MXNet divides by the largest magnitude, beside which the small ones are 0",
        _powers_beyond_range, EVERYWHERE,
    ),
    Recorded(
        r"^_random_pdf_dirichlet$",
        "parameters of both signs, of which small ones are lost in MXNet's sum of them",
        _lost_in_a_sum, EVERYWHERE,
    ),
    Recorded(
        r"^(_linalg_syevd|_npi_eigh)$",
        "eigenvectors of equal eigenvalues are another basis, and the first of two largest components decides the sign",
        _another_basis, EVERYWHERE,
    ),
    Recorded(
        r"^_linalg_trsm$",
        "NaN in the triangle that is read spreads by BLAS's blocks of rows",
        _spread_by_blocks, EVERYWHERE,
    ),
    Recorded(
        r"^_cvcopyMakeBorder$",
        "of channels that have no value of the border MXNet reads what lies behind the values",
        _border_without_values, EVERYWHERE,
    ),
    Recorded(
        r"^_(image_resize|cvimresize)$",
        "of pixels of more than four bytes that are no multiple of four, OpenCV leaves the last bytes undefined",
        _last_channels, EVERYWHERE,
    ),
    Recorded(
        r"^LeakyReLU$",
        "MXNet multiplies zeros by the slope, onnxruntime leaves them alone: of an infinite slope NaN comes",
        _zero_times_infinity,
    ),
    Recorded(
        r"^_npi_|^broadcast_|^elemwise_",
        "onnxruntime casts an integer beside float16 to float32 at once: beyond 65504 it is not infinite",
        _integers_beyond_half,
    ),
)  # fmt: skip


OVERFLOWS = "MXNet's float16 overflows on the way; in float32 MXNet itself has the model's number"


def overflowed(drawn: Drawn, found: Array, wanted: Array, wider: Array) -> NDArray[np.bool_]:
    """Which float16 elements are not finite in MXNet, but what was found where MXNet has float32 in place of float16.

    The tolerance is one of rounding to float16, of what was found and of terms that cancel each other in float32."""
    if found.shape != wider.shape or wanted.dtype != np.float16:
        return np.zeros(wanted.shape, bool)
    with np.errstate(all="ignore"):
        left, right = found.astype(np.float64), wider.astype(np.float16).astype(np.float64)
        apart = np.abs(left - right) <= 4e-3 * np.abs(right) + 1e-5 * drawn.largest
        same = (apart & np.isfinite(left)) | (left == right) | (np.isnan(left) & np.isnan(right))
    return np.asarray(same & ~np.isfinite(wanted))


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


__all__ = ["OVERFLOWS", "RECORDED", "Recorded", "explained", "overflowed"]
