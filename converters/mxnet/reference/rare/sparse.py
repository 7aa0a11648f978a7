"""Operators on sparse arrays in numpy: dense arrays that remember, from the cast on, what MXNet stores of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, require
from graphir.converters.mxnet.reference.elementwise import OPERATORS as ELEMENTWISE
from graphir.converters.mxnet.reference.indexing import OPERATORS as INDEXING


class RowSparse(np.ndarray[Any, np.dtype[Any]]):
    """An array of which MXNet stores the rows that are not 0 throughout."""


class Matrix(np.ndarray[Any, np.dtype[Any]]):
    """A matrix of which MXNet stores the elements other than 0."""


def cast_storage(attrs: Attributes, data: Array) -> Array:
    """Return the same elements; csr has two axes."""
    require(attrs["stype"] != "csr" or data.ndim == 2, f"rank {data.ndim} as csr")
    kind = {"csr": Matrix, "row_sparse": RowSparse}.get(attrs["stype"])
    return np.array(data) if kind is None else np.array(data).view(kind)


def stored(data: Array) -> Array:
    """Return which elements are stored: all of a dense array."""
    if isinstance(data, Matrix):
        return np.asarray(np.asarray(data) != 0)
    if isinstance(data, RowSparse):
        rows = (np.asarray(data).reshape(len(data), -1) != 0).any(1)
        return np.array(np.broadcast_to(rows.reshape(-1, *[1] * (data.ndim - 1)), data.shape))
    return np.ones(data.shape, bool)


def scattered(
    function: Reference, attrs: Attributes, data: Array, *others: Array, of_rows_only: bool = False
) -> Array:
    """Return the function of what the first operand stores; 0 elsewhere."""
    result = function(attrs, np.asarray(data), *(np.asarray(each) for each in others))
    assert isinstance(result, np.ndarray)
    if of_rows_only and not isinstance(data, RowSparse):
        return result
    return np.where(stored(data), result, np.zeros((), result.dtype))


def retain(attrs: Attributes, data: Array, indices: Array) -> Array:
    """Return the rows that `indices` names, zeros in place of the others."""
    require(isinstance(data, RowSparse), "data that is not row_sparse")
    require(indices.ndim == 1, f"indices of rank {indices.ndim}")
    result = np.zeros_like(data)
    kept = np.isin(np.arange(len(data)), indices.astype(np.int64))
    result[kept] = data[kept]
    return result


def getnnz(attrs: Attributes, data: Array) -> Array:
    """Return how many elements a matrix stores, in all or in each row."""
    require(isinstance(data, Matrix), "data that is not csr")
    require(attrs.get("axis") in (None, 1), f"axis {attrs.get('axis')}")
    counts = stored(data).sum(1, dtype=np.int64)
    return np.asarray(counts if attrs.get("axis") == 1 else counts.sum(keepdims=True))


OPERATORS: Mapping[str, Reference] = {
    "_contrib_SparseEmbedding": INDEXING["Embedding"],
    "_contrib_getnnz": getnnz,
    "_scatter_elemwise_div": partial(scattered, ELEMENTWISE["elemwise_div"], of_rows_only=True),
    "_scatter_minus_scalar": partial(scattered, ELEMENTWISE["_minus_scalar"]),
    "_scatter_plus_scalar": partial(scattered, ELEMENTWISE["_plus_scalar"]),
    "_sparse_retain": retain,
    "cast_storage": cast_storage,
}
