"""Operators that MXNet has since 2.0 in numpy: places named by tensors, and shapes that are computed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, require
from graphir.converters.mxnet.reference.indexing import gather_nd
from graphir.converters.mxnet.reference.shape import reshaped_shape


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
    "_contrib_dynamic_reshape": dynamic_reshape,
    "_npi_advanced_indexing": advanced_indexing,
    "_npi_advanced_indexing_multiple": several_indices,
}
