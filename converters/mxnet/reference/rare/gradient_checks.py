"""Checks of gradients in numpy: whether all elements are finite, and sums of squares."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, require


def _require_floats(attrs: Attributes, arrays: tuple[Array, ...]) -> None:
    require(attrs.get("num_arrays", len(arrays)) == len(arrays), f"{len(arrays)} arrays")
    require(len({array.dtype for array in arrays}) == 1, f"dtypes {[str(array.dtype) for array in arrays]}")
    require(arrays[0].dtype.kind == "f", f"dtype {arrays[0].dtype}, expected floats")


def all_finite(attrs: Attributes, *arrays: Array) -> Array:
    """Return 1 if every element of every array is finite, else 0; a vector of one float32."""
    require(attrs.get("init_output", True), "init_output False starts from what the memory held")
    _require_floats(attrs, arrays)
    return np.array([float(all(np.isfinite(array).all() for array in arrays))], np.float32)


def multi_sum_sq(attrs: Attributes, *arrays: Array) -> Array:
    """Return the sum of squares of each array, in float32, of squares in its own dtype."""
    _require_floats(attrs, arrays)
    with np.errstate(all="ignore"):
        return np.array([np.square(array).astype(np.float32).sum(dtype=np.float32) for array in arrays], np.float32)


OPERATORS: Mapping[str, Reference] = {
    "all_finite": all_finite,
    "multi_all_finite": all_finite,
    "multi_sum_sq": multi_sum_sq,
}
