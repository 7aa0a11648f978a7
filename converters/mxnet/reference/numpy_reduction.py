"""Reductions of MXNet's NumPy-style interface in numpy (src/operator/numpy/np_broadcast_reduce_op.h).

Sums are accumulated in a wider dtype when the result's is another than the data's, and converted once; a mean is the
converted sum divided by the converted number of elements. Reductions of no elements are 0, of products and means too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from graphir.converters.mxnet.reference.contract import (
    Array,
    Attributes,
    Reference,
    accumulator,
    as_c,
    named_dtype,
    normalized_axes,
    normalized_axis,
    require,
)
from graphir.converters.mxnet.reference.elementwise import divide
from graphir.converters.mxnet.reference.reduction import spoiled

WIDER = {"int8": "int32", "uint8": "uint32", "int32": "int64", "float16": "float32", "float32": "float64"}


def chosen_axes(attrs: Attributes, rank: int, scalar: bool = True) -> tuple[int, ...]:
    """Return all axes for None, none for (); data without axes may have its axis 0 named."""
    axis = attrs.get("axis")
    if axis is None:
        return tuple(range(rank))
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    if rank == 0 and scalar and set(axes) <= {0, -1}:
        return ()
    return normalized_axes(axes, rank)


def _c(values: Array, dtype: np.dtype[Any]) -> Array:
    """Converted as C does on x86: through int32 to narrower integers."""
    with np.errstate(all="ignore"):
        if values.dtype.kind == "f" and dtype.kind == "i" and dtype.itemsize < 4:
            values = values.astype(np.int32)
        return np.asarray(values.astype(dtype))


def total(function: Callable[..., Any], attrs: Attributes, data: Array, dtype: np.dtype[Any]) -> Array:
    """Return the sum or product of the elements, in the dtype."""
    axes, keep = chosen_axes(attrs, data.ndim), bool(attrs.get("keepdims"))
    require(attrs.get("initial") is None, "initial, which MXNet has not made")
    wide = accumulator(data.dtype) if dtype == data.dtype else np.dtype(WIDER.get(str(data.dtype), "int64"))
    if data.dtype == np.float64 or not axes:
        wide = data.dtype
    values = data.astype(dtype if data.dtype.kind == "b" else wide)
    with np.errstate(all="ignore"):
        result = np.asarray(function(values, axis=axes, keepdims=keep, dtype=values.dtype))
        if function is np.sum and values.dtype.kind == "f" and axes and values.size:
            result = np.where(spoiled(values, axes, keep), np.nan, result).astype(values.dtype)
    if not data.size and result.size:
        result = np.zeros_like(result)
    return _c(result, dtype)


def totals(function: Callable[..., Any], attrs: Attributes, data: Array) -> Array:
    """Sums or products; of bool int64."""
    natural = np.dtype(np.int64) if data.dtype.kind == "b" else data.dtype
    dtype = named_dtype(attrs.get("dtype"), natural)
    allowed = data.dtype.kind != "b" or str(dtype) in ("int32", "int64", "float32", "float64")
    require(allowed, f"dtype {dtype} of bool data")
    return total(function, attrs, data, dtype)


def mean(attrs: Attributes, data: Array) -> Array:
    """Return the mean; of integers float32."""
    natural = data.dtype if data.dtype.kind == "f" else np.dtype(np.float32)
    dtype = named_dtype(attrs.get("dtype"), natural)
    axes = chosen_axes(attrs, data.ndim)
    number = int(np.prod([data.shape[axis] for axis in axes], dtype=np.int64))
    if dtype.kind == "b" and data.dtype.kind == "b":
        return np.asarray(data.any(axis=axes, keepdims=bool(attrs.get("keepdims"))))
    result = total(np.sum, attrs, data, dtype)
    if dtype.kind == "b" or not number:
        return result
    count = as_c(number, dtype)
    require(dtype.kind == "f" or bool(count), f"{number} elements, a number that is 0 in {dtype}")
    with np.errstate(all="ignore"):
        return np.asarray(divide(result, count)).astype(dtype)


def extremes(function: Callable[..., Any], attrs: Attributes, data: Array) -> Array:
    """Return the largest or smallest element; not a number wins."""
    require(attrs.get("initial") is None, "initial, which MXNet has not made")
    axes = chosen_axes(attrs, data.ndim, scalar=False)
    require(all(data.shape[axis] for axis in axes), "no elements to choose from")
    with np.errstate(all="ignore"):
        return np.asarray(function(data, axis=axes, keepdims=bool(attrs.get("keepdims"))))


def quantifier(function: Callable[..., Any]) -> Reference:
    """Return whether all elements, or any, are other than 0."""
    return lambda attrs, data: np.asarray(
        function(data != 0, axis=chosen_axes(attrs, data.ndim), keepdims=bool(attrs.get("keepdims")))
    )


def positions(function: Callable[..., Any], attrs: Attributes, data: Array) -> Array:
    """Return the first position of the extreme as int64, along the axis or in the flattened data."""
    require(data.dtype.kind != "b", "bool data")
    axis, keep = attrs.get("axis"), bool(attrs.get("keepdims"))
    if data.ndim == 0 or axis is None:
        require(bool(data.size), "no elements to choose from")
        result = np.asarray(function(data), np.int64)
        return result.reshape((1,) * data.ndim) if keep else result
    index = normalized_axis(int(axis), data.ndim)
    require(bool(data.shape[index]), "no elements to choose from")
    return np.asarray(function(data, axis=index, keepdims=keep), np.int64)


OPERATORS: Mapping[str, Reference] = {
    "_np_all": quantifier(np.all),
    "_np_any": quantifier(np.any),
    "_np_max": partial(extremes, np.max),
    "_np_min": partial(extremes, np.min),
    "_np_prod": partial(totals, np.prod),
    "_np_sum": partial(totals, np.sum),
    "_npi_argmax": partial(positions, np.argmax),
    "_npi_argmin": partial(positions, np.argmin),
    "_npi_mean": mean,
}
