"""Convolution and Deconvolution in numpy, after MXNet's documented formulas.

Sizes: convolution `floor((size + 2 pad - dilate (kernel - 1) - 1) / stride) + 1`; deconvolution
`stride (size - 1) + dilate (kernel - 1) + 1 - 2 pad + adj` (src/operator/nn/convolution-inl.h, deconvolution-inl.h).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from graphir.converters.mxnet.reference.contract import (
    Array,
    Attributes,
    Reference,
    accumulator,
    channels_first,
    per_axis,
    require,
)
from graphir.converters.mxnet.reference.convolution_deformable import OPERATORS as DEFORMABLE


def patches(data: Array, kernel: Sequence[int], stride: Sequence[int], dilate: Sequence[int]) -> Array:
    """(N, C, *spatial) to (N, C, *kernel, *output): every element that each output position looks at."""
    sizes = [
        (size - step * (length - 1) - 1) // stride_ + 1
        for size, length, stride_, step in zip(data.shape[2:], kernel, stride, dilate, strict=True)
    ]
    require(min(sizes) > 0, f"kernel {tuple(kernel)} exceeds the padded input {data.shape[2:]}")
    result = np.empty((*data.shape[:2], *kernel, *sizes), data.dtype)
    for position in itertools.product(*(range(length) for length in kernel)):
        window = tuple(
            slice(at * step, at * step + stride_ * (size - 1) + 1, stride_)
            for at, step, stride_, size in zip(position, dilate, stride, sizes, strict=True)
        )
        result[(slice(None), slice(None), *position)] = data[(slice(None), slice(None), *window)]
    return result


def padded(data: Array, pad: Sequence[int]) -> Array:
    """Zeros around every spatial axis of (N, C, *spatial)."""
    return np.pad(data, [(0, 0), (0, 0), *((amount, amount) for amount in pad)])


def add_bias(result: Array, bias: Sequence[Array]) -> Array:
    """Add the bias (F,), when there is one, along axis 1."""
    if not bias:
        return result
    require(bias[0].shape == (result.shape[1],), f"bias {bias[0].shape} for {result.shape[1]} filters")
    return np.asarray(result + bias[0].reshape(1, -1, *(1,) * (result.ndim - 2)).astype(result.dtype))


def convolution(attrs: Attributes, data: Array, weight: Array, *bias: Array) -> Array:
    """Cross-correlation of (N, C, *spatial) with weight (F, C / groups, *kernel), 1 to 3 spatial axes.

    Channels-last layouts hold data as (N, *spatial, C) and weight as (F, *kernel, C / groups).
    """
    layout = attrs.get("layout")
    first = channels_first(layout)
    if not first:
        data, weight = np.moveaxis(data, -1, 1), np.moveaxis(weight, -1, 1)
    kernel = tuple(attrs["kernel"])
    spatial = len(kernel)
    groups, filters = int(attrs.get("num_group", 1)), int(attrs["num_filter"])
    stride = per_axis(attrs.get("stride"), spatial, 1)
    dilate = per_axis(attrs.get("dilate"), spatial, 1)
    pad = per_axis(attrs.get("pad"), spatial, 0)
    require(data.ndim == spatial + 2, f"data of rank {data.ndim} for a kernel of {spatial} axes")
    require(min(*stride, *dilate) > 0, "stride and dilate must be positive")
    channels = data.shape[1]
    require(channels % groups == 0, f"{channels} input channels do not divide into {groups} groups")
    require(filters % groups == 0, f"{filters} filters do not divide into {groups} groups")
    require(
        weight.shape == (filters, channels // groups, *kernel),
        f"weight {weight.shape}, expected {(filters, channels // groups, *kernel)}",
    )
    dtype = accumulator(data.dtype)
    seen = patches(padded(data.astype(dtype, copy=False), pad), kernel, stride, dilate)
    batch, sizes = data.shape[0], seen.shape[2 + spatial :]
    columns = seen.reshape(batch, groups, -1, int(np.prod(sizes)))
    matrix = weight.astype(dtype, copy=False).reshape(groups, filters // groups, -1)
    result = add_bias(np.matmul(matrix, columns).reshape(batch, filters, *sizes), bias).astype(data.dtype, copy=False)
    return result if first else np.moveaxis(result, 1, -1)


def deconvolution_padding(
    attrs: Attributes, sizes: Sequence[int], extents: Sequence[int], stride: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(pad, adj) per axis. A target_shape overrides both: its surplus is halved, the odd one goes to adj."""
    spatial = len(sizes)
    target = attrs.get("target_shape")
    if not target or not any(target):
        return per_axis(attrs.get("pad"), spatial, 0), per_axis(attrs.get("adj"), spatial, 0)
    surplus = [
        step * (size - 1) + extent - wanted
        for step, size, extent, wanted in zip(stride, sizes, extents, per_axis(target, spatial, 0), strict=True)
    ]
    require(min(surplus) >= 0, f"target_shape {tuple(target)} is too big")
    return tuple((amount + 1) // 2 for amount in surplus), tuple(amount % 2 for amount in surplus)


def deconvolution(attrs: Attributes, data: Array, weight: Array, *bias: Array) -> Array:
    """The transpose of convolution: weight (C, F / groups, *kernel) spread by each input element over the output."""
    first = channels_first(attrs.get("layout"))
    if not first:
        data, weight = np.moveaxis(data, -1, 1), np.moveaxis(weight, -1, 1)
    kernel = tuple(attrs["kernel"])
    spatial = len(kernel)
    groups, filters = int(attrs.get("num_group", 1)), int(attrs["num_filter"])
    stride = per_axis(attrs.get("stride"), spatial, 1)
    dilate = per_axis(attrs.get("dilate"), spatial, 1)
    require(data.ndim == spatial + 2, f"data of rank {data.ndim} for a kernel of {spatial} axes")
    batch, channels, *sizes = data.shape
    require(channels % groups == 0, f"{channels} input channels do not divide into {groups} groups")
    require(filters % groups == 0, f"{filters} filters do not divide into {groups} groups")
    require(
        weight.shape == (channels, filters // groups, *kernel),
        f"weight {weight.shape}, expected {(channels, filters // groups, *kernel)}",
    )
    extents = [step * (length - 1) + 1 for step, length in zip(dilate, kernel, strict=True)]
    pad, adj = deconvolution_padding(attrs, sizes, extents, stride)
    require(all(a < s for a, s in zip(adj, stride, strict=True)), f"adj {adj} must be smaller than stride {stride}")
    dtype = accumulator(data.dtype)
    columns = data.astype(dtype, copy=False).reshape(batch, groups, channels // groups, -1)
    matrix = weight.astype(dtype, copy=False).reshape(groups, channels // groups, -1)
    spread = np.matmul(matrix.transpose(0, 2, 1), columns).reshape(batch, filters, *kernel, *sizes)
    full = [s * (size - 1) + extent + a for s, size, extent, a in zip(stride, sizes, extents, adj, strict=True)]
    result = np.zeros((batch, filters, *full), dtype)
    everything = (slice(None), slice(None))
    for position in itertools.product(*(range(length) for length in kernel)):
        window = tuple(
            slice(at * step, at * step + s * (size - 1) + 1, s)
            for at, step, s, size in zip(position, dilate, stride, sizes, strict=True)
        )
        result[everything + window] += spread[everything + position]
    kept = tuple(slice(p, size - p) for p, size in zip(pad, full, strict=True))
    result = add_bias(result[everything + kept], bias).astype(data.dtype, copy=False)
    return result if first else np.moveaxis(result, 1, -1)


OPERATORS: Mapping[str, Reference] = {
    **DEFORMABLE,
    "Convolution": convolution,
    "Convolution_v1": convolution,
    "Deconvolution": deconvolution,
}
