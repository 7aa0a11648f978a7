"""Operators that MXNet has since 2.0 in numpy: triangles, rearrangements, computed shapes, indices that are tensors."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, normalized_axis, require
from graphir.converters.mxnet.reference.indexing import gather_nd
from graphir.converters.mxnet.reference.numpy_elementwise import common
from graphir.converters.mxnet.reference.shape import reshaped_shape


def triu(attrs: Attributes, data: Array) -> Array:
    """Return the upper triangle of the last two axes from diagonal k on; a vector is each row of a square matrix."""
    require(data.ndim > 0, "no axes")
    return np.triu(data, attrs.get("k", 0))


def tri(attrs: Attributes) -> Array:
    """Ones at and below diagonal k."""
    columns = attrs.get("M")
    shape = (attrs["N"], attrs["N"] if columns is None else columns)
    return np.tri(*shape, attrs.get("k", 0), dtype=attrs.get("dtype") or "float32")


def kron(attrs: Attributes, left: Array, right: Array) -> Array:
    """Return every element of the one times the whole of the other."""
    dtype = common(left, right)
    return np.kron(left.astype(dtype), right.astype(dtype))


def cross(attrs: Attributes, left: Array, right: Array) -> Array:
    """Return the cross product along an axis each; that of vectors of two numbers is its third element."""
    axes = [normalized_axis(attrs.get(name, -1), each.ndim) for name, each in (("axisa", left), ("axisb", right))]
    dtype = common(left, right)
    a, b = (np.moveaxis(each, axis, 0).astype(dtype) for each, axis in zip((left, right), axes, strict=True))
    require(a.shape == b.shape or {len(a), len(b)} != {3}, f"shapes {left.shape} and {right.shape}")
    flat = len(a) == len(b) == 2
    a, b = (np.concatenate([each, np.zeros_like(each[:1])]) if len(each) == 2 else each for each in (a, b))
    after, last = ([1, 2, 0], [2, 0, 1])
    result = a[after] * b[last] - a[last] * b[after]
    return result[2] if flat else np.moveaxis(result, 0, normalized_axis(attrs.get("axisc", -1), result.ndim))


def interp(attrs: Attributes, xp: Array, fp: Array, *x: Array) -> Array:
    """Straight lines between points."""
    require(attrs.get("period") is None, f"period {attrs.get('period')}")
    at = np.asarray(attrs["x_scalar"]) if attrs.get("x_is_scalar") else x[0]
    return np.asarray(np.interp(at, xp, fp, left=attrs.get("left"), right=attrs.get("right")))


def _places(attrs: Attributes, data: Array, places: Array, updates: Array) -> tuple[Array, tuple[Array, ...], Array]:
    where = tuple(places.astype(np.int64))
    return data.copy(), where, np.broadcast_to(updates.astype(data.dtype), data[where].shape)


def index_add(attrs: Attributes, data: Array, places: Array, updates: Array) -> Array:
    """The values added to the places, each time a place is named."""
    result, where, values = _places(attrs, data, places, updates)
    np.add.at(result, where, values)
    return result


def index_update(attrs: Attributes, data: Array, places: Array, updates: Array) -> Array:
    """Return the values put to the places."""
    result, where, values = _places(attrs, data, places, updates)
    result[where] = values
    return result


def advanced_indexing(attrs: Attributes, data: Array, indices: Array) -> Array:
    """Rows by a vector of bool, or those that integers name, none of them negative."""
    if indices.dtype == bool:
        require(indices.shape == data.shape[:1], f"mask {indices.shape} for data {data.shape}")
    else:
        require(indices.dtype.kind in "iu", f"indices of {indices.dtype}")
        require(bool(((indices >= 0) & (indices < len(data))).all()), "an index outside the data")
    return np.array(data[indices])


def several_indices(attrs: Attributes, data: Array, indices: Array) -> Array:
    """data[indices[0], ..., indices[m - 1]]."""
    require(indices.dtype.kind in "iu" and indices.ndim > 1, f"indices {indices.dtype}{indices.shape}")
    return gather_nd({}, data, indices)


def dynamic_reshape(attrs: Attributes, data: Array, shape: Array) -> Array:
    """Reshape by codes, -2 excepted."""
    codes = [int(code) for code in shape]
    require(-2 not in codes, "code -2")
    return data.reshape(reshaped_shape(data.shape, codes))


OPERATORS: Mapping[str, Reference] = {
    "_copyto": lambda attrs, data: data,
    "_npi_cross": cross,
    "_npi_interp": interp,
    "_npi_kron": kron,
    "_npi_repeats": lambda attrs, data: np.repeat(data, attrs["repeats"], attrs.get("axis")),
    "_npi_rollaxis": lambda attrs, data: np.rollaxis(data, attrs["axis"], attrs.get("start", 0)),
    "_npi_tri": tri,
    "_npi_tril_indices": lambda attrs: np.tril_indices(attrs["n"], attrs.get("k", 0), attrs["m"]),
    "_npi_triu": triu,
    "_npx_index_add": index_add,
    "_npx_index_update": index_update,
    "_contrib_dynamic_reshape": dynamic_reshape,
    "_npi_advanced_indexing": advanced_indexing,
    "_npi_advanced_indexing_multiple": several_indices,
}
