"""Operators on the bits of integers in numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, as_c, require


def pairwise(function: Callable[[Array, Array], Array], attrs: Attributes, left: Array, right: Array) -> Array:
    """Apply a function of two integer arrays of one dtype that broadcast."""
    require(left.dtype == right.dtype and left.dtype.kind in "iub", f"dtypes {left.dtype} and {right.dtype}")
    return np.asarray(function(left, right))


def with_scalar(function: Callable[[Array, Array], Array], attrs: Attributes, data: Array) -> Array:
    """Apply a function of an integer array and a number in its dtype."""
    require(data.dtype.kind in "iub", f"dtype {data.dtype}, expected integers")
    return np.asarray(function(data, as_c(float(attrs.get("scalar", 1.0)), data.dtype)))


def bitwise_not(attrs: Attributes, data: Array) -> Array:
    """~x, bit by bit."""
    require(data.dtype.kind in "iub", f"dtype {data.dtype}, expected integers")
    return np.asarray(np.invert(data))


OPERATORS: Mapping[str, Reference] = {
    "_npi_bitwise_and": partial(pairwise, np.bitwise_and),
    "_npi_bitwise_and_scalar": partial(with_scalar, np.bitwise_and),
    "_npi_bitwise_not": bitwise_not,
    "_npi_bitwise_or": partial(pairwise, np.bitwise_or),
    "_npi_bitwise_or_scalar": partial(with_scalar, np.bitwise_or),
    "_npi_bitwise_xor": partial(pairwise, np.bitwise_xor),
    "_npi_bitwise_xor_scalar": partial(with_scalar, np.bitwise_xor),
}
