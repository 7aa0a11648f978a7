"""Loss heads at inference in numpy: labels do not matter there and may be absent."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphir.converters.mxnet.reference.activation import softmax_values
from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, accumulator
from graphir.converters.mxnet.reference.elementwise_unary import OPERATORS as UNARY


def softmax_output(attrs: Attributes, data: Array, *label: Array) -> Array:
    """softmax over axis 1 (multi_output), over the last axis (preserve_shape), else over the flattened sample."""
    wide = data.astype(accumulator(data.dtype))
    if attrs.get("multi_output"):
        flat = wide.reshape(data.shape[0], data.shape[1], -1)
        result = softmax_values(flat, 1)
    elif attrs.get("preserve_shape"):
        result = softmax_values(wide, data.ndim - 1)
    else:
        result = softmax_values(wide.reshape(data.shape[0], -1), 1)
    return result.reshape(data.shape).astype(data.dtype)


def prediction(attrs: Attributes, data: Array, *label: Array) -> Array:
    """Return the data as it is."""
    return data


def softmax_cross_entropy(attrs: Attributes, data: Array, label: Array) -> Array:
    """- sum over samples of log max(softmax(x)[label], 1e-8), as a vector of one element."""
    rows = softmax_values(data.astype(accumulator(data.dtype)), 1).astype(data.dtype)
    chosen = rows[np.arange(data.shape[0]), label.astype(np.int64)].astype(accumulator(data.dtype))
    with np.errstate(divide="ignore"):  # of float16 1e-8 is 0
        losses = -np.log(np.maximum(chosen, data.dtype.type(1e-8).astype(chosen.dtype)))
    return np.array([losses.sum()]).astype(data.dtype)


LABELLED = (
    "LinearRegressionOutput",
    "LogisticRegressionOutput",
    "MAERegressionOutput",
    "SVMOutput",
    "SoftmaxOutput",
)
"""Operators whose last input is a label that inference does not read."""

OPERATORS: Mapping[str, Reference] = {
    "LinearRegressionOutput": prediction,
    "LogisticRegressionOutput": lambda attrs, data, *label: np.asarray(UNARY["sigmoid"]({}, data)),
    "MAERegressionOutput": prediction,
    "MakeLoss": prediction,
    "SVMOutput": prediction,
    "SoftmaxOutput": softmax_output,
    "make_loss": prediction,
    "softmax_cross_entropy": softmax_cross_entropy,
}
