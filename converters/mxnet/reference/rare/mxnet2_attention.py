"""Attention in a sliding window, which MXNet has since 2.0, in numpy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, require


def _columns(attrs: Attributes, dilation: Array) -> Iterator[tuple[int, int, int]]:
    """Head, column of the window and its distance from the place."""
    width = int(attrs["w"])
    for head, apart in enumerate(dilation):
        for column in range(2 * width + 1 if attrs["symmetric"] else width + 1):
            yield head, column, (column - width) * int(apart)


def _check(dilation: Array, *floats: Array) -> None:
    require(all(each.dtype == np.float32 for each in floats), "operands that are not float32")
    require(dilation.dtype == np.int32, f"dilation of {dilation.dtype}")


def _width(attrs: Attributes) -> int:
    return int(attrs["w"]) * (2 if attrs["symmetric"] else 1) + 1


def score(attrs: Attributes, query: Array, key: Array, dilation: Array) -> Array:
    """Return each query times the keys in its window."""
    _check(dilation, query, key)
    length = query.shape[1]
    result = np.zeros((*query.shape[:3], _width(attrs)), np.float32)
    for head, column, apart in _columns(attrs, dilation):
        first, last = max(0, -apart), min(length, length - apart)
        if first < last:
            products = query[:, first:last, head] * key[:, first + apart : last + apart, head]
            result[:, first:last, head, column] = products.sum(-1)
    return result


def context(attrs: Attributes, weights: Array, value: Array, dilation: Array) -> Array:
    """Return the values in each window, weighted."""
    _check(dilation, weights, value)
    length = value.shape[1]
    result = np.zeros(value.shape, np.float32)
    for head, column, apart in _columns(attrs, dilation):
        first, last = max(0, -apart), min(length, length - apart)
        if first < last:
            factor = weights[:, first:last, head, column, None]
            result[:, first:last, head] += factor * value[:, first + apart : last + apart, head]
    return result


def mask_like(attrs: Attributes, weights: Array, dilation: Array, valid: Array) -> Array:
    """1 where both places are below the valid length."""
    _check(dilation, weights)
    require(valid.dtype == np.int32, f"valid_length of {valid.dtype}")
    own = np.arange(weights.shape[1])
    result = np.zeros_like(weights)
    for head, column, apart in _columns(attrs, dilation):
        limit = valid[:, None]
        result[:, :, head, column] = (own < limit) & (own + apart >= 0) & (own + apart < limit)
    return result


OPERATORS: Mapping[str, Reference] = {
    "_contrib_sldwin_atten_context": context,
    "_contrib_sldwin_atten_mask_like": mask_like,
    "_contrib_sldwin_atten_score": score,
}
