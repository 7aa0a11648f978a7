"""Operators of MXNet's NumPy-style interface in numpy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, require
from graphir.converters.mxnet.reference.elementwise import divide


def reshape(attrs: Attributes, data: Array) -> Array:
    """Return the elements in C order, whatever `order` says, with `newshape`, one size of which may be -1."""
    require(min(attrs["newshape"], default=0) >= -1, f"newshape {attrs['newshape']}")
    return data.reshape(attrs["newshape"])


def around(attrs: Attributes, data: Array) -> Array:
    """Rounded to integers, ties to even ones; negative decimals zero digits of integers. MXNet refuses float16."""
    require(data.dtype != np.float16, "float16, which MXNet does not round")
    decimals = int(attrs.get("decimals") or 0)
    if data.dtype.kind in "iu":
        if decimals >= 0:
            return data.astype(np.float64).astype(data.dtype) if data.dtype.itemsize == 8 else data
        unit = 10 ** min(-decimals, 19)
        return np.zeros_like(data) if unit > np.iinfo(data.dtype).max else divide(data, data.dtype.type(unit)) * unit
    require(abs(decimals) <= 308, f"decimals {decimals}")
    ten = data.dtype.type(10)
    with np.errstate(all="ignore"):
        for _ in range(abs(decimals)):
            data = data * ten if decimals > 0 else data / ten
        data = np.rint(data)
        for _ in range(abs(decimals)):
            data = data / ten if decimals > 0 else data * ten
    return np.asarray(data)


def tril(attrs: Attributes, data: Array) -> Array:
    """Return the lower triangle of the last two axes up to diagonal k; a vector is each row of a square matrix."""
    require(data.ndim > 0, "no axes")
    return np.tril(data, attrs.get("k", 0))


OPERATORS: Mapping[str, Reference] = {"_np_reshape": reshape, "_npi_around": around, "_npi_tril": tril}
