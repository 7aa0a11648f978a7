"""Operators that choose elements by their values or places, and those that insert some, in numpy."""

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


def boolean_mask(attrs: Attributes, data: Array, mask: Array) -> Array:
    """Return the rows at which the mask is not 0."""
    require(int(attrs.get("axis") or 0) == 0, "an axis other than 0")
    require(mask.ndim == 1 and len(mask) == len(data), f"mask {mask.shape} for data {data.shape}")
    return np.array(data[mask != 0])


def unique(attrs: Attributes, data: Array) -> tuple[Array, ...]:
    """numpy.unique, with first places, places among the found and counts, as they are asked for."""
    axis = attrs.get("axis")
    if axis is not None:
        axis = normalized_axis(axis, data.ndim)
    result, *others = np.unique(data, True, True, True, axis)
    flags = [bool(attrs.get(name)) for name in ("return_index", "return_inverse", "return_counts")]
    return (result, *(each.reshape(-1).astype(np.int64) for each, flag in zip(others, flags, strict=True) if flag))


def target(attrs: Attributes, data: Array) -> tuple[Array, int]:
    """Return the data and the axis that grows or shrinks; the flattened data without one."""
    axis = attrs.get("axis")
    return (data.reshape(-1), 0) if axis is None else (data, normalized_axis(axis, data.ndim))


def delete(attrs: Attributes, data: Array, *places: Array) -> Array:
    """Without one place, those of a slice, or those that an array names and that exist."""
    data, axis = target(attrs, data)
    size, one = data.shape[axis], attrs.get("int_ind")
    if attrs.get("step") is not None:
        return np.delete(data, slice(attrs.get("start"), attrs.get("stop"), attrs["step"]), axis)
    if one is not None:
        require(-size <= one < size, f"place {one} of {size}")
        return np.delete(data, one, axis)
    named = places[0].reshape(-1)
    return np.delete(data, np.unique(named[(named >= 0) & (named < size)].astype(np.int64)), axis)


def values_of(attrs: Attributes, data: Array, values: tuple[Array, ...], places: int) -> Array:
    """Return the values of an insertion at so many places, in the data's dtype."""
    number = attrs.get("val")
    if number is not None:
        require(data.ndim == 1 and places == 1, "val along an axis of several, or at other than one place")
        return as_c(number, data.dtype)
    result = values[0].astype(data.dtype)
    while result.ndim > data.ndim:
        require(len(result) == 1, f"values {values[0].shape} for {data.shape}")
        result = result[0]
    return result


def insert_scalar(attrs: Attributes, data: Array, *values: Array) -> Array:
    """Values in front of one place."""
    data, axis = target(attrs, data)
    require(data.ndim > 0, "a scalar")
    return np.insert(data, attrs["int_ind"], values_of(attrs, data, values, 1), axis)


def insert_slice(attrs: Attributes, data: Array, *values: Array) -> Array:
    """Values in front of the places of a slice."""
    data, axis = target(attrs, data)
    require(bool(attrs.get("step")), "no step")
    indices = slice(attrs.get("start"), attrs.get("stop"), attrs["step"])
    count = len(range(data.shape[axis])[indices])
    return np.insert(data, indices, values_of(attrs, data, values, count), axis)


def insert_tensor(attrs: Attributes, data: Array, *others: Array) -> Array:
    """Values in front of the places that a vector names."""
    data, axis = target(attrs, data)
    indices = others[-1]
    require(indices.dtype == np.int64 and indices.ndim < 2, f"places {indices.dtype}{indices.shape}")
    require(indices.ndim == 1 or data.ndim == 1, f"places of shape {indices.shape}")
    return np.insert(data, indices.reshape(-1), values_of(attrs, data, others[:-1], indices.size), axis)


OPERATORS: Mapping[str, Reference] = {
    "_contrib_boolean_mask": boolean_mask,
    "_npi_delete": delete,
    "_npi_insert_scalar": insert_scalar,
    "_npi_insert_slice": insert_slice,
    "_npi_insert_tensor": insert_tensor,
    "_npi_unique": unique,
    "_npx_nonzero": lambda attrs, data: np.argwhere(np.atleast_1d(data)).astype(np.int64),
}
