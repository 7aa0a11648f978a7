"""Operators that write into a copy of an array, and the arithmetic of places, in numpy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import (
    Array,
    Attributes,
    Reference,
    as_c,
    normalized_axis,
    require,
)


def chosen(attrs: Attributes, data: Array) -> tuple[slice, ...]:
    """Return the slices that begin, end and step say."""
    begin, end = attrs["begin"], attrs["end"]
    step = attrs.get("step") or (None,) * len(begin)
    require(len(begin) == len(end) == len(step) <= data.ndim and 0 not in step, f"{begin}, {end}, {step}")
    return tuple(slice(*bounds) for bounds in zip(begin, end, step, strict=True))


def slice_assign(attrs: Attributes, data: Array, new: Array) -> Array:
    """Return a slice replaced by an array of its shape."""
    result, index = np.array(data), chosen(attrs, data)
    require(result[index].shape == new.shape, f"{new.shape} in place of {result[index].shape}")
    require(data.dtype == new.dtype, f"{new.dtype} in an array of {data.dtype}")
    result[index] = new
    return result


def slice_assign_scalar(attrs: Attributes, data: Array) -> Array:
    """Return a slice filled with a number; an array without axes stays as it is."""
    result = np.array(data)
    index = chosen(attrs, data)
    if data.ndim:
        result[index] = as_c(float(attrs.get("scalar") or 0.0), data.dtype)
    return result


def index_copy(attrs: Attributes, data: Array, places: Array, rows: Array) -> Array:
    """Rows written at places, one after the other; places outside are refused."""
    require(places.ndim == 1 and rows.shape == (len(places), *data.shape[1:]), f"{rows.shape} at {places.shape}")
    require(data.dtype == rows.dtype, f"{rows.dtype} in an array of {data.dtype}")
    result, numbers = np.array(data), places.astype(np.int64)
    require(bool(((numbers >= 0) & (numbers < len(data))).all()), "a place outside")
    for index, row in zip(numbers, rows, strict=True):
        result[index] = row
    return result


def scatter_set_nd(attrs: Attributes, data: Array, new: Array, indices: Array) -> Array:
    """Elements written at the places that the columns of the indices name."""
    require(tuple(attrs["shape"]) == data.shape and indices.ndim > 1, f"{data.shape}, indices {indices.shape}")
    result = np.array(data)
    result[tuple(indices.astype(np.int64))] = new
    return result


def divided(number: Array, by: int) -> tuple[Array, Array]:
    """Quotient toward 0 and remainder, as C has them."""
    quotient = np.abs(number) // by * np.sign(number)
    return quotient, number - quotient * by


def unravel_index(attrs: Attributes, data: Array) -> Array:
    """Coordinates of places, the first one unlimited."""
    shape = attrs.get("shape") or ()
    require(bool(shape) and min(shape[1:], default=1) > 0 and data.ndim == 1, f"shape {shape}, data {data.shape}")
    left, rows = data.astype(np.int64), list[Array]()
    for size in reversed(shape[1:]):
        left, rest = divided(left, size)
        rows.insert(0, rest)
    return np.asarray(np.stack([left, *rows]), data.dtype)


def ravel_multi_index(attrs: Attributes, data: Array) -> Array:
    """Places of coordinates; sums with a row of floats are of its dtype, and are cut to integers."""
    shape = attrs.get("shape") or ()
    require(data.ndim == 2 and len(data) == len(shape) > 0, f"shape {shape}, data {data.shape}")
    total = data[0].astype(np.int64)
    for row, size in zip(data[1:], shape[1:], strict=True):
        product = total * size
        total = (product.astype(row.dtype) + row if row.dtype.kind == "f" else product + row).astype(np.int64)
    return np.asarray(total, data.dtype)


def index_array(attrs: Attributes, data: Array) -> Array:
    """Return the coordinates of every element, of all axes or those named, last in the result."""
    axes = attrs.get("axes")
    named = range(data.ndim) if axes is None else [normalized_axis(axis, data.ndim) for axis in axes]
    result = np.zeros((*data.shape, len(named)), np.int64)
    for index, axis in enumerate(named):
        result[..., index] = np.arange(data.shape[axis]).reshape(-1, *[1] * (data.ndim - axis - 1))
    return result


OPERATORS: Mapping[str, Reference] = {
    "_CrossDeviceCopy": lambda attrs, data: data,
    "_contrib_index_array": index_array,
    "_contrib_index_copy": index_copy,
    "_ravel_multi_index": ravel_multi_index,
    "_scatter_set_nd": scatter_set_nd,
    "_slice_assign": slice_assign,
    "_slice_assign_scalar": slice_assign_scalar,
    "_unravel_index": unravel_index,
}
