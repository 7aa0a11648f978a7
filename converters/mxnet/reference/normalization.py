"""Normalizations in numpy, inference mode."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import (
    Array,
    Attributes,
    Reference,
    accumulator,
    normalized_axis,
    require,
)


def along(vector: Array, axis: int, rank: int) -> Array:
    """Return a vector laid along one axis of an array of that rank."""
    return vector.reshape(*(-1 if index == axis else 1 for index in range(rank)))


def batch_norm(
    attrs: Attributes, data: Array, gamma: Array, beta: Array, mean: Array, variance: Array
) -> Array | tuple[Array, ...]:
    """(x - mean) / sqrt(var + eps) gamma + beta along axis, from the moving statistics; fix_gamma makes gamma 1.

    With output_mean_var also the mean and, as MXNet's CPU operator hands it out, 1 / sqrt(var + eps).
    """
    axis = normalized_axis(attrs.get("axis", 1), data.ndim)
    channels = data.shape[axis]
    for name, vector in (("gamma", gamma), ("beta", beta), ("moving_mean", mean), ("moving_var", variance)):
        require(vector.shape == (channels,), f"{name} {vector.shape} for {channels} channels")
    dtype = accumulator(data.dtype)
    scale = np.ones(channels, dtype) if attrs.get("fix_gamma", True) else gamma.astype(dtype)
    inverse = 1 / np.sqrt(variance.astype(dtype) + dtype.type(attrs.get("eps", 1e-3)))
    factor = scale * inverse
    shift = beta.astype(dtype) - mean.astype(dtype) * factor
    result = data.astype(dtype, copy=False) * along(factor, axis, data.ndim)
    result += along(shift, axis, data.ndim)
    result = result.astype(data.dtype, copy=False)
    return (result, mean, inverse.astype(mean.dtype)) if attrs.get("output_mean_var") else result


def batch_norm_v1(attrs: Attributes, *inputs: Array) -> Array | tuple[Array, ...]:
    """BatchNorm along axis 1, which with output_mean_var gives the variance as it is."""
    result = batch_norm(attrs, *inputs)
    return (*result[:2], inputs[4]) if isinstance(result, tuple) else result


def batch_norm_relu(attrs: Attributes, *inputs: Array) -> Array | tuple[Array, ...]:
    """BatchNorm, then max(0, y)."""
    result = batch_norm(attrs, *inputs)
    if isinstance(result, tuple):
        return (np.maximum(result[0], 0), *result[1:])
    return np.maximum(result, 0)


def local_response_norm(attrs: Attributes, data: Array) -> Array:
    """x / (knorm + alpha / nsize * sum of x^2 over nsize channels around it) ^ beta."""
    size = int(attrs["nsize"])
    require(size > 0 and size % 2 == 1, f"nsize {size}, expected an odd number above 0")
    wide = data.astype(accumulator(data.dtype))
    half, channels = size // 2, data.shape[1]
    squares = wide * wide
    total = np.zeros_like(wide)
    for channel in range(channels):
        total[:, channel] = squares[:, max(0, channel - half) : channel + half + 1].sum(axis=1)
    scale = attrs.get("knorm", 2.0) + attrs.get("alpha", 1e-4) / size * total
    return np.asarray((wide * scale ** -float(attrs.get("beta", 0.75))).astype(data.dtype))


def standardized(data: Array, axes: tuple[int, ...], eps: float) -> tuple[Array, Array, Array]:
    """((x - mean) / std, mean, std) over the axes, kept with size 1; std = sqrt(var + eps), var the population's."""
    mean = data.mean(axis=axes, keepdims=True)
    deviation = np.sqrt(data.var(axis=axes, keepdims=True) + data.dtype.type(eps))
    return np.asarray((data - mean) / deviation), np.asarray(mean), np.asarray(deviation)


def instance_norm(attrs: Attributes, data: Array, gamma: Array, beta: Array) -> Array:
    """Standardized over the spatial axes of each sample and channel, times gamma plus beta (C,)."""
    wide = data.astype(accumulator(data.dtype))
    result, _, _ = standardized(wide, tuple(range(2, data.ndim)), attrs.get("eps", 1e-3))
    return (result * along(gamma, 1, data.ndim) + along(beta, 1, data.ndim)).astype(data.dtype)


def layer_norm(attrs: Attributes, data: Array, gamma: Array, beta: Array) -> Array | tuple[Array, ...]:
    """Standardized over one axis, times gamma plus beta; output_mean_var adds mean and std, the axis kept as 1."""
    axis = normalized_axis(attrs.get("axis", -1), data.ndim)
    require(gamma.shape == (data.shape[axis],), f"gamma {gamma.shape} for an axis of {data.shape[axis]}")
    wide = data.astype(accumulator(data.dtype))
    result, mean, deviation = standardized(wide, (axis,), attrs.get("eps", 1e-5))
    result = (result * along(gamma, axis, data.ndim) + along(beta, axis, data.ndim)).astype(data.dtype)
    if not attrs.get("output_mean_var"):
        return result
    return result, mean.astype(data.dtype), deviation.astype(data.dtype)


def group_norm(attrs: Attributes, data: Array, gamma: Array, beta: Array) -> Array | tuple[Array, ...]:
    """Standardized over each sample's groups of neighbouring channels, times gamma plus beta.

    gamma and beta hold one number a group in MXNet 1.x, one a channel in 2.0; their size tells which.
    """
    groups = int(attrs.get("num_groups", 1))
    require(data.shape[1] % groups == 0, f"{data.shape[1]} channels do not divide into {groups} groups")
    wide = data.astype(accumulator(data.dtype)).reshape(data.shape[0], groups, -1)
    result, mean, deviation = standardized(wide, (2,), attrs.get("eps", 1e-5))
    require(gamma.shape in ((groups,), (data.shape[1],)), f"gamma {gamma.shape} for {groups} groups")
    scale, shift = (np.repeat(vector, data.shape[1] // vector.size) for vector in (gamma, beta))
    result = result.reshape(data.shape) * along(scale, 1, data.ndim) + along(shift, 1, data.ndim)
    result = result.astype(data.dtype)
    if not attrs.get("output_mean_var"):
        return result
    return result, mean[:, :, 0].astype(data.dtype), deviation[:, :, 0].astype(data.dtype)


def l2_normalization(attrs: Attributes, data: Array) -> Array:
    """x / sqrt(sum x^2 + eps) over a sample (instance), its channels (channel) or its pixels (spatial)."""
    mode = attrs.get("mode", "instance")
    axes = {"instance": tuple(range(1, data.ndim)), "channel": (1,), "spatial": tuple(range(2, data.ndim))}[mode]
    require(mode == "instance" or data.ndim >= 3, f"mode {mode} wants rank 3 or more, data has {data.ndim}")
    wide = data.astype(accumulator(data.dtype))
    eps = data.dtype.type(attrs.get("eps", 1e-10)).astype(wide.dtype)
    with np.errstate(all="ignore"):
        norm = np.sqrt((wide * wide).sum(axis=axes, keepdims=True) + eps)
        return np.asarray((wide / norm).astype(data.dtype))


OPERATORS: Mapping[str, Reference] = {
    "BatchNorm": batch_norm,
    "BatchNorm_v1": batch_norm_v1,
    "CuDNNBatchNorm": batch_norm,
    "GroupNorm": group_norm,
    "InstanceNorm": instance_norm,
    "L2Normalization": l2_normalization,
    "LRN": local_response_norm,
    "LayerNorm": layer_norm,
    "_contrib_BatchNormWithReLU": batch_norm_relu,
    "_contrib_SyncBatchNorm": batch_norm,
}
