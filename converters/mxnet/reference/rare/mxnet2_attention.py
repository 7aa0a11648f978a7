"""Sliding-window attention of MXNet 2.0 in numpy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, require


def _window_columns(attrs: Attributes, dilation: Array) -> Iterator[tuple[int, int, int]]:
    """Yield each head, each column of its window, and the column's offset from the query."""
    width = int(attrs["w"])
    for head, step in enumerate(dilation):
        for column in range(2 * width + 1 if attrs["symmetric"] else width + 1):
            yield head, column, (column - width) * int(step)


def _check_dtypes(dilation: Array, *floats: Array) -> None:
    require(all(array.dtype == np.float32 for array in floats), "operands that are not float32")
    require(dilation.dtype == np.int32, f"dilation of {dilation.dtype}")


def _width(attrs: Attributes) -> int:
    return int(attrs["w"]) * (2 if attrs["symmetric"] else 1) + 1


def score(attrs: Attributes, query: Array, key: Array, dilation: Array) -> Array:
    """Return the products of each query (N, length, heads, size) and the keys in its window."""
    _check_dtypes(dilation, query, key)
    length = query.shape[1]
    result = np.zeros((*query.shape[:3], _width(attrs)), np.float32)
    for head, column, offset in _window_columns(attrs, dilation):
        first, last = max(0, -offset), min(length, length - offset)
        if first < last:
            products = query[:, first:last, head] * key[:, first + offset : last + offset, head]
            result[:, first:last, head, column] = products.sum(-1)
    return result


def context(attrs: Attributes, weights: Array, value: Array, dilation: Array) -> Array:
    """Return the weighted sum of the values in each window."""
    _check_dtypes(dilation, weights, value)
    length = value.shape[1]
    result = np.zeros(value.shape, np.float32)
    for head, column, offset in _window_columns(attrs, dilation):
        first, last = max(0, -offset), min(length, length - offset)
        if first < last:
            factor = weights[:, first:last, head, column, None]
            result[:, first:last, head] += factor * value[:, first + offset : last + offset, head]
    return result


def mask_like(attrs: Attributes, weights: Array, dilation: Array, valid: Array) -> Array:
    """Return 1 where the query and the key are both below the valid length, else 0."""
    _check_dtypes(dilation, weights)
    require(valid.dtype == np.int32, f"valid_length of {valid.dtype}")
    positions = np.arange(weights.shape[1])
    result = np.zeros_like(weights)
    for head, column, offset in _window_columns(attrs, dilation):
        limit = valid[:, None]
        result[:, :, head, column] = (positions < limit) & (positions + offset >= 0) & (positions + offset < limit)
    return result


OPERATORS: Mapping[str, Reference] = {
    "_contrib_sldwin_atten_context": context,
    "_contrib_sldwin_atten_mask_like": mask_like,
    "_contrib_sldwin_atten_score": score,
}
