"""What float16 and bfloat16 hold, and whether numbers survive in them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.structure.record import record
from graphir.tensor import Tensor
from graphir.types import DType

ROWS_AT_ONCE = 1 << 18
"""How many elements are looked at in one piece."""

OF_ONE_ROW = 1 / 32
"""The part of a row's norm that underflow may take."""

SCALED_UP = 1024
"""How much a channel may be scaled up behind its filter: 1 / sqrt(epsilon) for epsilon 1e-6."""

SLACK = 2.0**-8
"""How far a norm that is summed in float32 may be from the norm."""

HEADROOM = 4.0
"""How much larger than the measured numbers other inputs may make them."""


@record
class Form:
    """A narrow floating dtype: its largest number, its smallest normal one, and the distance from 1 to the next."""

    dtype: DType
    largest: float
    smallest: float
    step: float

    @property
    def allowed(self) -> float:
        """The largest number that may be measured."""
        return self.largest / HEADROOM


FORMS = {
    DType.FLOAT16: Form(DType.FLOAT16, 65504.0, 2.0**-14, 2.0**-10),
    DType.BFLOAT16: Form(DType.BFLOAT16, 255 * 2.0**120, 2.0**-126, 2.0**-7),
}


def form_of(dtype: DType) -> Form:
    """Return the form of a narrow dtype.

    >>> form_of(DType.FLOAT16).allowed
    16376.0
    """
    return FORMS[dtype]


def why_lost(tensor: Tensor, form: Form) -> str:
    """Return what a tensor of float32 loses in the narrow dtype beyond its rounding, "" if nothing.

    Infinities and NaN are the same in both. What is lost is measured by norms, row by row of the first axis (the filter
    of one channel): no row may lose more than a step of the largest row's norm, nor more than 1/32 of its own unless
    that is less than what a batch normalization behind it can scale up to such a step, by 1 / sqrt(epsilon). A single
    number may so lose no digit to underflow.
    """
    array = tensor.numpy()
    if not array.size:
        return ""
    rows = array.reshape(array.shape[0], -1) if array.ndim > 1 else array.reshape(1, -1)
    step = max(1, ROWS_AT_ONCE // max(rows.shape[1], 1))
    parts = [rows[start : start + step] for start in range(0, rows.shape[0], step)]
    if _loses_only_rounding(rows, form):
        return ""
    largest = max(_largest_norm(part) for part in parts)
    return next(filter(None, (_why_rows_lost(part, largest, form) for part in parts)), "")


def _loses_only_rounding(rows: NDArray[Any], form: Form) -> bool:
    """Return whether a bound from the rows' norms alone shows that none loses too much, in one pass over the elements.

    Half a step of a number, or of the smallest normal one, is the most that rounding takes from each element. The norms
    are summed in float32: `SLACK` is more than 2**12 such roundings take from a sum that is made in pieces.
    """
    if rows.dtype != np.float32:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.sqrt(np.einsum("ij,ij->i", rows, rows).astype(np.float64))
    if not norms.max() <= form.largest:  # NaN and infinities too
        return False
    lost = (norms * (1 + SLACK) + np.sqrt(rows.shape[1]) * form.smallest) * form.step / 2
    allowed = form.step * norms.max() * (1 - SLACK)
    return bool((lost <= np.minimum(allowed, np.maximum(norms * OF_ONE_ROW * (1 - SLACK), allowed / SCALED_UP))).all())


def _largest_norm(rows: NDArray[Any]) -> float:
    finite = np.where(np.isfinite(rows), rows, 0).astype(np.float64)
    return float(np.sqrt((finite * finite).sum(axis=1)).max(initial=0.0))


def _why_rows_lost(rows: NDArray[Any], largest: float, form: Form) -> str:
    finite = np.where(np.isfinite(rows), rows, 0)
    size = float(np.abs(finite).max(initial=0.0))
    if size > form.largest:
        return f"it holds {_extreme(finite):.6g}, beyond {form.largest:g}, the largest {form.dtype}"
    wide = finite.astype(np.float64)
    rounded = finite.astype(form.dtype.numpy()).astype(np.float64)
    if not np.isfinite(rounded).all():
        return f"it holds {_extreme(finite):.6g}, which rounds to infinity in {form.dtype}"
    norms = np.sqrt((wide * wide).sum(axis=1))
    lost = np.sqrt(((wide - rounded) ** 2).sum(axis=1))
    allowed = form.step * largest
    excess = lost - np.minimum(allowed, np.maximum(norms * OF_ONE_ROW, allowed / SCALED_UP))
    worst = int(np.argmax(excess))
    if excess[worst] <= 0:
        return ""
    share = lost[worst] / norms[worst]
    small = float(np.abs(wide[worst][wide[worst] != 0]).min())
    return f"it holds numbers as small as {small:.3g}, of which {form.dtype} loses {share:.2%} by underflow"


def _extreme(array: NDArray[Any]) -> float:
    return float(array.reshape(-1)[int(np.argmax(np.abs(array)))])


def why_out_of_range(largest: float, form: Form) -> str:
    """Return what speaks against numbers of which `largest` is the largest magnitude that was measured, "" if
    nothing."""
    if largest > form.allowed:
        return (
            f"numbers up to {largest:.4g} were measured in it, and {form.dtype} ends at {form.largest:g} "
            f"(a factor of {HEADROOM:g} is kept for other inputs)"
        )
    if 0 < largest < form.smallest:
        return f"no number above {largest:.3g} was measured in it, where {form.dtype} has few digits left"
    return ""


def narrowed(tensor: Tensor, dtype: DType) -> Tensor:
    """Return the tensor in the narrow dtype, rounded to the nearest; a large one is computed when it is written."""
    result = tensor.converted(dtype)
    return Tensor.of(result.numpy()) if tensor.size <= SMALL else result


SMALL = 1 << 10
