"""Numbers as a foreign program holds them."""

from __future__ import annotations

import math

from graphir.types import DType


def converted(number: float, dtype: DType) -> float | int | bool:
    """Return a number in a dtype as C converts it: integers lose the fraction and, where they are too small, high bits.

    >>> converted(2.7, DType.INT32), converted(-2.7, DType.INT32), converted(257.5, DType.UINT8)
    (2, -2, 1)
    >>> converted(math.nan, DType.INT32), converted(math.inf, DType.INT8)
    (-2147483648, 0)
    """
    if dtype is DType.BOOL:
        return bool(number)
    if not dtype.is_integer:
        return number
    if isinstance(number, float):
        # C leaves open what does not fit; x86 takes the lowest integer of 32 bits, or of 64 for wider dtypes.
        least = -(1 << (63 if dtype.bits > 32 else 31))
        number = math.trunc(number) if math.isfinite(number) and least <= number < -least else least
    kept = int(number) & ((1 << dtype.bits) - 1)
    is_signed = dtype.value.startswith("int")
    return kept - (1 << dtype.bits) if is_signed and kept >> (dtype.bits - 1) else kept
