"""Operators on the bits of integers in numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, as_c, require


def pairwise(function: Callable[[Array, Array], Array]) -> Reference:
    """Return a function of two integer arrays of one dtype that broadcast."""

    def evaluate_pair(attrs: Attributes, left: Array, right: Array) -> Array:
        require(left.dtype == right.dtype and left.dtype.kind in "iub", f"dtypes {left.dtype} and {right.dtype}")
        return np.asarray(function(left, right))

    return evaluate_pair


def with_scalar(function: Callable[[Array, Array], Array]) -> Reference:
    """Return a function of an integer array and a number in its dtype."""

    def evaluate_scalar(attrs: Attributes, data: Array) -> Array:
        require(data.dtype.kind in "iub", f"dtype {data.dtype}, expected integers")
        return np.asarray(function(data, as_c(float(attrs.get("scalar", 1.0)), data.dtype)))

    return evaluate_scalar


def bitwise_not(attrs: Attributes, data: Array) -> Array:
    """~x, bit by bit."""
    require(data.dtype.kind in "iub", f"dtype {data.dtype}, expected integers")
    return np.asarray(np.invert(data))


OPERATORS: Mapping[str, Reference] = {
    "_npi_bitwise_and": pairwise(np.bitwise_and),
    "_npi_bitwise_and_scalar": with_scalar(np.bitwise_and),
    "_npi_bitwise_not": bitwise_not,
    "_npi_bitwise_or": pairwise(np.bitwise_or),
    "_npi_bitwise_or_scalar": with_scalar(np.bitwise_or),
    "_npi_bitwise_xor": pairwise(np.bitwise_xor),
    "_npi_bitwise_xor_scalar": with_scalar(np.bitwise_xor),
}
