"""Activations and softmax in numpy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import (
    Array,
    Attributes,
    Reference,
    accumulator,
    named_dtype,
    normalized_axis,
    require,
)
from graphir.converters.mxnet.reference.elementwise_unary import UNARY, erf

SELU_ALPHA = 1.6732632423543772848170429916717
SELU_LAMBDA = 1.0507009873554804934193349852946


def softplus(data: Array) -> Array:
    """log(1 + exp(x)) without overflow."""
    return np.asarray(np.maximum(data, 0) + np.log1p(np.exp(-np.abs(data))))


def log_sigmoid(data: Array) -> Array:
    """-log(1 + e^-x)."""
    return -softplus(-data)


def mish(data: Array) -> Array:
    """x tanh(log(1 + e^x))."""
    return np.asarray(data * np.tanh(softplus(data)))


def activation(attrs: Attributes, data: Array) -> Array:
    """relu, sigmoid, tanh, softsign, softrelu (softplus) or, of MXNet 2.0, mish and log_sigmoid."""
    kind = attrs["act_type"]
    functions = {name: UNARY[name] for name in ("relu", "sigmoid", "tanh", "softsign")} | {
        "softrelu": softplus, "mish": mish, "log_sigmoid": log_sigmoid,
    }  # fmt: skip
    require(kind in functions, f"act_type {kind!r} is unknown")
    function = functions[kind]
    with np.errstate(over="ignore"):
        return function(data.astype(accumulator(data.dtype), copy=False)).astype(data.dtype, copy=False)


def prelu_slopes(gamma: Array, data: Array) -> Array:
    """gamma of one axis runs along axis 1 of data (axis 0 of a vector), gamma of two along the first two."""
    require(gamma.ndim <= 2, f"gamma {gamma.shape}, expected one or two axes")
    if gamma.ndim == 2:
        require(data.ndim > 1, f"gamma {gamma.shape} for {data.shape}")
        return gamma.reshape(*gamma.shape, *(1,) * (data.ndim - 2))
    if gamma.ndim == 1 and gamma.size > 1 and data.ndim > 1:
        require(gamma.shape[0] == data.shape[1], f"gamma {gamma.shape} for {data.shape[1]} channels")
        return gamma.reshape(1, -1, *(1,) * (data.ndim - 2))
    return gamma


def leaky_relu(attrs: Attributes, data: Array, *gamma: Array) -> Array:
    """leaky, prelu, rrelu (inference: the mean of its bounds), elu, selu or gelu (exact, by erf)."""
    kind = attrs.get("act_type", "leaky")
    wide = data.astype(accumulator(data.dtype))
    slope = attrs.get("slope", 0.25)
    with np.errstate(over="ignore"):
        if kind == "gelu":
            result = 0.5 * wide * (1 + erf(wide / np.sqrt(2.0)))
        elif kind == "selu":
            result = SELU_LAMBDA * np.where(wide > 0, wide, SELU_ALPHA * np.expm1(wide))
        elif kind == "elu":
            result = np.where(wide > 0, wide, slope * np.expm1(wide))
        else:
            if kind == "prelu":
                slope = prelu_slopes(gamma[0].astype(wide.dtype), data)
            elif kind == "rrelu":
                slope = (attrs.get("lower_bound", 0.125) + attrs.get("upper_bound", 0.334)) / 2
            else:
                require(kind == "leaky", f"act_type {kind!r} is unknown")
            result = np.where(wide > 0, wide, slope * wide)
    return np.asarray(result).astype(data.dtype)


def softmax_values(data: Array, axis: int) -> Array:
    """exp(x) / sum exp(x) along the axis, shifted by the maximum."""
    with np.errstate(all="ignore"):
        powers = np.exp(data - data.max(axis=axis, keepdims=True))
        return np.asarray(powers / powers.sum(axis=axis, keepdims=True))


def scaled_logits(attrs: Attributes, data: Array, length: tuple[Array, ...], axis: int, sign: float) -> Array:
    """sign x / temperature in the accumulation dtype; entries from `length` on become -inf."""
    temperature = 1.0 if attrs.get("temperature") is None else float(attrs["temperature"])
    with np.errstate(all="ignore"):
        logits = sign * data.astype(accumulator(data.dtype)) / np.float32(temperature)
    if not attrs.get("use_length"):
        return np.asarray(logits)
    return np.where(within(data, length, axis), logits, -np.inf).astype(logits.dtype)


def within(data: Array, length: tuple[Array, ...], axis: int) -> Array:
    """Return whether an entry counts: the first `length` along the axis."""
    require(len(length) == 1, "use_length wants the input length")
    position = np.arange(data.shape[axis]).reshape(-1, *(1,) * (data.ndim - 1 - axis))
    kept = (*data.shape[:axis], 1, *data.shape[axis + 1 :])
    return np.asarray(position < length[0].reshape(kept))


def softmax(attrs: Attributes, data: Array, *length: Array) -> Array:
    """softmax(x / temperature) along axis; with use_length only the first `length` entries count, the rest are 0."""
    return signed_softmax(attrs, data, length, 1.0)


def signed_softmax(attrs: Attributes, data: Array, length: tuple[Array, ...], sign: float) -> Array:
    """softmax(sign x / temperature); 0 beyond the length."""
    axis = normalized_axis(attrs.get("axis", -1), data.ndim)
    result = softmax_values(scaled_logits(attrs, data, length, axis, sign), axis)
    if attrs.get("use_length"):
        result = np.where(within(data, length, axis), result, 0)
    return result.astype(named_dtype(attrs.get("dtype"), data.dtype))


def log_softmax(attrs: Attributes, data: Array, *length: Array) -> Array:
    """x / temperature - log sum exp(x / temperature) along axis."""
    axis = normalized_axis(attrs.get("axis", -1), data.ndim)
    logits = scaled_logits(attrs, data, length, axis, 1.0)
    with np.errstate(all="ignore"):
        shifted = logits - logits.max(axis=axis, keepdims=True)
        result = shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
    return np.asarray(result.astype(named_dtype(attrs.get("dtype"), data.dtype)))


def softmax_activation(attrs: Attributes, data: Array) -> Array:
    """mode instance: softmax along the last axis; mode channel: along axis 1.

    MXNet's documentation speaks of the instance; its kernel flattens all axes but the last (softmax_activation-inl.h).
    """
    wide = data.astype(accumulator(data.dtype))
    if attrs.get("mode", "instance") == "channel":
        require(data.ndim >= 3, f"mode channel wants rank 3 or more, data has {data.ndim}")
        return softmax_values(wide, 1).astype(data.dtype)
    return softmax_values(wide, data.ndim - 1).astype(data.dtype)


OPERATORS: Mapping[str, Reference] = {
    "Activation": activation,
    "LeakyReLU": leaky_relu,
    "SoftmaxActivation": softmax_activation,
    "log_softmax": log_softmax,
    "softmax": softmax,
    "softmin": lambda attrs, data, *length: signed_softmax(attrs, data, length, -1.0),
}
