"""Statistics of MXNet's NumPy-style interface in numpy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphir.converters.mxnet.reference.contract import (
    Array,
    Attributes,
    Reference,
    accumulator,
    as_c,
    named_dtype,
    normalized_axis,
    require,
)
from graphir.converters.mxnet.reference.elementwise import divide
from graphir.converters.mxnet.reference.numpy_reduction import chosen_axes, total


def _elements(data: Array, axes: tuple[int, ...]) -> int:
    result = int(np.prod([data.shape[axis] for axis in axes], dtype=np.int64))
    require(bool(result), "no elements to reduce")
    return result


def variance(attrs: Attributes, data: Array) -> Array:
    """Return the mean square of the deviations: both in the data's dtype, their sum and its quotient in the
    result's."""
    require(data.dtype.kind != "b", "bool data")
    dtype = named_dtype(attrs.get("dtype"), data.dtype)
    axes = chosen_axes(attrs, data.ndim)
    number = _elements(data, axes)
    with np.errstate(all="ignore"):
        center = np.sum(data, axis=axes, keepdims=True, dtype=data.dtype if data.dtype.kind != "f" else np.float64)
        if data.dtype.kind == "f":
            center = (center / number).astype(data.dtype)
        else:
            require(bool(as_c(number, data.dtype)), f"{number} elements, a number that is 0 in {data.dtype}")
            center = divide(np.asarray(center), as_c(number, data.dtype))
        deviation = data - center
        summed = total(np.sum, attrs, deviation * deviation, dtype)
        divisor = number - int(attrs.get("ddof", 0))
        if dtype.kind == "f":
            return np.asarray(summed / as_c(divisor + 2.0**64 if divisor < 0 else divisor, dtype)).astype(dtype)
        require(bool(as_c(divisor, dtype)), f"a division by {divisor} in {dtype}, where it is 0")
        return np.asarray(divide(summed, as_c(divisor, dtype)))


def deviation(attrs: Attributes, data: Array) -> Array:
    """Return the root of the variance; of integers it is whole."""
    result = variance(attrs, data)
    with np.errstate(all="ignore"):
        root = np.sqrt(result.astype(np.float64) if result.dtype.kind != "f" else result)
        if result.dtype.kind != "f" and result.dtype.itemsize < 4:
            root = root.astype(np.int32)
        return np.asarray(root).astype(result.dtype)


def average(attrs: Attributes, data: Array, *weights: Array) -> Array | tuple[Array, Array]:
    """Return the mean with weights, of the data's shape or along one axis, and with `returned` their sum."""
    require(data.dtype.kind != "b", "bool data")
    axes = chosen_axes(attrs, data.ndim)
    plain: dict[str, Any] = {"axis": axes, "keepdims": False}
    if not attrs.get("weighted", True):
        scale = as_c(_elements(data, axes), data.dtype)
        summed = total(np.sum, plain, data, data.dtype)
    else:
        (stored,) = weights
        require(stored.dtype == data.dtype, f"weights of {stored.dtype} for {data.dtype}")
        if stored.shape == data.shape:
            scale = total(np.sum, plain, stored, data.dtype)
        else:
            fits = stored.ndim == 1 and attrs.get("axis") is not None and len(axes) == 1
            require(fits and stored.shape[0] == data.shape[axes[0]], f"weights {stored.shape} for {data.shape}")
            scale = total(np.sum, {}, stored, data.dtype)
            stored = stored.reshape([-1 if axis == axes[0] else 1 for axis in range(data.ndim)])
        with np.errstate(all="ignore"):
            summed = total(np.sum, plain, data * stored, data.dtype)
    with np.errstate(all="ignore"):
        result = np.asarray(divide(summed, scale)).astype(data.dtype)
    return (result, scale) if attrs.get("returned") else result


def percentile(attrs: Attributes, data: Array, *asked: Array) -> Array:
    """Percentiles along the axes; those of a vector stand in front."""
    scalar = attrs.get("q_scalar")
    percents = np.asarray(float(scalar) if scalar is not None else asked[0])
    require(data.dtype.kind != "b" and percents.dtype.kind != "b" and percents.ndim <= 1, "bool, or too many axes")
    require(bool(((percents >= 0) & (percents <= 100)).all()), f"percentiles {percents}, expected 0 to 100")
    axes = chosen_axes(attrs, data.ndim, scalar=False)
    require(bool(axes) and bool(data.size), "nothing to sort")
    dtype = np.dtype(np.float64 if data.dtype == np.float64 else np.float32)
    kept = [axis for axis in range(data.ndim) if axis not in axes]
    rows = np.sort(np.transpose(data, (*kept, *axes)).reshape(*(data.shape[axis] for axis in kept), -1).astype(dtype))
    index = percents.astype(np.float64) * (rows.shape[-1] - 1) / 100
    kind = attrs.get("interpolation", "linear")
    if kind in ("lower", "higher", "nearest"):
        rounded = np.ceil(index) if kind == "higher" else np.floor(index + 0.5 * (kind == "nearest"))
        result = rows[..., rounded.astype(np.int64)]
    else:
        if kind == "midpoint":
            index = (np.floor(index) + np.ceil(index)) / 2
        low = np.floor(index).astype(np.int64)
        part = (index - low).astype(dtype)
        with np.errstate(all="ignore"):
            above = rows[..., np.minimum(low + 1, rows.shape[-1] - 1)]
            result = rows[..., low] * (1 - part) + above * part
    result = np.moveaxis(result, -1, 0) if percents.ndim else result
    if attrs.get("keepdims"):
        shape = tuple(1 if axis in axes else size for axis, size in enumerate(data.shape))
        result = result.reshape(*percents.shape, *shape)
    return np.asarray(result, dtype)


def bincount(attrs: Attributes, data: Array, *weights: Array) -> Array:
    """Return how often each number occurs, or what its weights add up to."""
    require(data.dtype.kind in "iu" and data.ndim == 1, f"{data.dtype} data of {data.ndim} axes, expected integers")
    require(not data.size or int(data.min()) >= 0, "a negative number")
    size = max(int(data.max()) + 1 if data.size else 0, int(attrs.get("minlength", 0)))
    values = weights[0] if attrs.get("has_weights") else np.ones(data.shape, data.dtype)
    require(values.dtype.kind != "b", "bool weights")
    result = np.zeros(size, accumulator(values.dtype))
    np.add.at(result, data, values)
    return result.astype(values.dtype)


def histogram(attrs: Attributes, data: Array, *bins: Array) -> tuple[Array, Array]:
    """Return the number of elements in each bin, the last one's upper limit included, and the limits."""
    require(data.dtype.kind != "b", "bool data")
    low, high = -np.inf, np.inf
    if bins:
        edges = bins[0]
    else:
        count, stated = attrs["bin_cnt"], attrs.get("range")
        limits = [float(end) for end in str(stated or "").strip("()[] ").split(",") if end.strip() not in ("", "None")]
        require(len(limits) == 2 and limits[0] <= limits[1] and count > 0, f"{count} bins of {limits}")
        low, high = limits
        low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
        edges = np.linspace(low, high, count + 1).astype(data.dtype)
    require(edges.ndim == 1, f"limits of {edges.ndim} axes")
    flat = data.reshape(-1)
    flat = flat[(flat >= low) & (flat <= high)]
    last = np.arange(1, len(edges)) == len(edges) - 1
    counts = [
        np.count_nonzero((flat >= begin) & ((flat < end) | (is_last & (flat == end))))
        for begin, end, is_last in zip(edges[:-1], edges[1:], last, strict=True)
    ]
    return np.array(counts, np.int64), edges


def trace(attrs: Attributes, data: Array) -> Array:
    """Return the sum of a diagonal of two axes, in the data's dtype."""
    require(data.dtype.kind != "b", "bool data")
    first = normalized_axis(attrs.get("axis1", 0), data.ndim)
    second = normalized_axis(attrs.get("axis2", 1), data.ndim)
    require(first != second, f"axis1 and axis2 are both axis {first}")
    result = np.trace(data, attrs.get("offset", 0), first, second, dtype=accumulator(data.dtype))
    return np.asarray(result).astype(data.dtype)


OPERATORS: Mapping[str, Reference] = {
    "_histogram": histogram,
    "_np_trace": trace,
    "_npi_average": average,
    "_npi_bincount": bincount,
    "_npi_percentile": percentile,
    "_npi_std": deviation,
    "_npi_var": variance,
}
