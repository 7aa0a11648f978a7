"""NumPy-style operators that make arrays out of numbers, in numpy (src/operator/numpy/np_init_op.cc)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from graphir.converters.mxnet.reference.contract import (
    Array,
    Attributes,
    Reference,
    named_dtype,
    normalized_axis,
    require,
)
from graphir.converters.mxnet.reference.indexing import filled, in_steps, require_room

FLOAT = np.dtype(np.float32)


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
    return np.asarray(ones_there.reshape(shape), named_dtype(attrs.get("dtype"), FLOAT))


def logspace(attrs: Attributes) -> Array:
    """Powers of base, of num exponents from start to stop."""
    require_room(int(attrs["num"]), "a range")
    base, ends = attrs.get("base", 10.0), (attrs["start"], attrs["stop"])
    with np.errstate(all="ignore"):
        values = np.logspace(*ends, int(attrs["num"]), bool(attrs.get("endpoint", True)), base)
        return values.astype(named_dtype(attrs.get("dtype"), FLOAT))


def indices(attrs: Attributes) -> Array:
    """Return the coordinates of a grid, one array an axis."""
    sizes = attrs["dimensions"]
    require_room(len(sizes) * math.prod(sizes), "indices")
    rows = [np.broadcast_to(np.arange(size).reshape(-1, *[1] * (len(sizes) - axis - 1)), sizes)
            for axis, size in enumerate(sizes)]  # fmt: skip
    result = np.stack(rows) if rows else np.zeros(0)
    return result.astype(named_dtype(attrs.get("dtype"), np.dtype(np.int32)))


def window(formula: Callable[[Any, Callable[[int], Array]], Array], attrs: Attributes) -> Array:
    """Return a window of M numbers. Angles are single precision, cosines too unless the result is float64; `formula`
    gets a function that rounds a weight to the dtype and one that gives the cosine of so many turns."""
    count = int(attrs["M"])
    dtype = named_dtype(attrs.get("dtype"), FLOAT)
    if count <= 1:
        return np.ones(max(count, 0), dtype)
    require_room(count, "a window")

    def cosine(turns: int) -> Array:
        places = np.arange(count).astype(np.float32)
        angle = np.float32(2 * turns) * np.float32(math.pi) * places / np.float32(count - 1)
        return np.cos(angle.astype(np.float64) if dtype == np.float64 else angle)

    return np.asarray(formula(dtype.type, cosine)).astype(dtype)


def diag_indices_from(attrs: Attributes, data: Array) -> Array:
    """Row i of the result are the places on axis i of the main diagonal."""
    require(data.ndim >= 2 and len(set(data.shape)) == 1, f"shape {data.shape}, expected equal sizes")
    return np.stack(np.diag_indices_from(data)).astype(np.int64)


def diag(attrs: Attributes, data: Array) -> Array:
    """numpy.diag."""
    require(data.ndim in (1, 2), f"{data.ndim} axes, expected 1 or 2")
    return np.array(np.diag(data, int(attrs.get("k") or 0)))


def diagflat(attrs: Attributes, data: Array) -> Array:
    """numpy.diagflat, but of no scalars."""
    require(data.ndim > 0, "a scalar")
    return np.diagflat(data, int(attrs.get("k") or 0))


def diagonal(attrs: Attributes, data: Array) -> Array:
    """numpy.diagonal."""
    axes = (normalized_axis(int(attrs.get(key, default)), data.ndim) for key, default in (("axis1", 0), ("axis2", 1)))
    return np.array(np.diagonal(data, int(attrs.get("offset") or 0), *axes))


OPERATORS: Mapping[str, Reference] = {
    "_np_diag": diag,
    "_np_diagflat": diagflat,
    "_np_diagonal": diagonal,
    "_npi_arange": arange,
    "_npi_blackman": partial(window, lambda to, cos: to(0.42) - to(0.5) * cos(1) + to(0.08) * cos(2)),
    "_npi_diag_indices_from": diag_indices_from,
    "_npi_eye": eye,
    "_npi_hamming": partial(window, lambda to, cos: to(0.54) - to(0.46) * cos(1)),
    "_npi_hanning": partial(window, lambda to, cos: to(0.5) - to(0.5) * cos(1)),
    "_npi_identity": identity,
    "_npi_indices": indices,
    "_npi_logspace": logspace,
    "_npi_ones": lambda attrs: filled(attrs, 1.0),
    "_npi_zeros": lambda attrs: filled(attrs, 0.0),
}
