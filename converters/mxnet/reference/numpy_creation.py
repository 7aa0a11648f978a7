"""NumPy-style operators that make arrays out of numbers, in numpy (src/operator/numpy/np_init_op.cc)."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, named_dtype, require
from graphir.converters.mxnet.reference.indexing import filled, in_steps, require_room

FLOAT = np.dtype(np.float32)


def zeros(attrs: Attributes) -> Array:
    """Zeros of `shape`."""
    return filled(attrs, 0.0)


def ones(attrs: Attributes) -> Array:
    """Ones of `shape`."""
    return filled(attrs, 1.0)


def arange(attrs: Attributes) -> Array:
    """start, start + step, ... before stop, possibly nothing; without stop from 0 to start."""
    start, stop, step = attrs["start"], attrs.get("stop"), attrs.get("step", 1.0)
    first, last = (0.0, start) if stop is None else (start, stop)
    require(step != 0 and attrs.get("repeat", 1) == 1, f"step {step}, repeat {attrs.get('repeat')}")
    count = max(math.ceil((last - first) / step), 0)
    require_room(count, "a range")
    return in_steps(first, step, np.arange(count), named_dtype(attrs.get("dtype"), FLOAT))


def eye(attrs: Attributes) -> Array:
    """N by M, N without it, with ones on diagonal k."""
    rows, columns = int(attrs["N"]), attrs.get("M")
    wide = rows if columns in (None, "None") else int(columns)
    require(min(rows, wide) >= 0, f"{rows} by {wide}")
    require_room(rows * wide, "a matrix")
    return np.eye(rows, wide, int(attrs.get("k") or 0), named_dtype(attrs.get("dtype"), FLOAT))


def identity(attrs: Attributes) -> Array:
    """Zeros of `shape`, with ones in the places 0, n + 1, 2 (n + 1), ... before n^2, n the first size."""
    shape = attrs["shape"]
    require(bool(shape) and min(shape) >= 0, f"shape {shape}")
    require_room(math.prod(shape), "a matrix")
    places = np.arange(math.prod(shape))
    ones_there = (places % (shape[0] + 1) == 0) & (places < shape[0] ** 2)
    return ones_there.astype(named_dtype(attrs.get("dtype"), FLOAT)).reshape(shape)


OPERATORS: Mapping[str, Reference] = {
    "_npi_arange": arange,
    "_npi_eye": eye,
    "_npi_identity": identity,
    "_npi_ones": ones,
    "_npi_zeros": zeros,
}

__all__ = ["OPERATORS"]
