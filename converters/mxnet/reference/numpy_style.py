"""Operators of MXNet's NumPy-style interface in numpy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, require


def reshape(attrs: Attributes, data: Array) -> Array:
    """The elements in C order with `newshape`, one size of which may be -1."""
    require(attrs.get("order", "C") == "C", f"order {attrs.get('order')}, expected C")
    return data.reshape(attrs["newshape"])


def around(attrs: Attributes, data: Array) -> Array:
    """Rounded to integers, ties to even ones; MXNet refuses float16."""
    require(data.dtype != np.float16, "float16, which MXNet does not round")
    require(not attrs.get("decimals"), f"decimals {attrs.get('decimals')}, expected 0")
    return data if data.dtype.kind in "iu" else np.rint(data)


def tril(attrs: Attributes, data: Array) -> Array:
    """The lower triangle of the last two axes up to diagonal k."""
    require(data.ndim >= 2, f"{data.ndim} axes, expected 2 or more")
    return np.tril(data, attrs.get("k", 0))


OPERATORS: Mapping[str, Reference] = {"_np_reshape": reshape, "_npi_around": around, "_npi_tril": tril}

__all__ = ["OPERATORS"]
