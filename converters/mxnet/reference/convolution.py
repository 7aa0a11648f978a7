"""Convolutions in numpy, also transposed ones and those at learned offsets.

Deformable convolutions in numpy (src/operator/contrib/deformable_convolution-inl.h, modulated_...-inl.h).

Each kernel position of each output pixel reads the input at a learned offset, by bilinear interpolation. The plain kind
reads 0 outside [0, size) and the last pixel between it and the end; the modulated kind interpolates with zeros all
around, and weighs each reading by a mask.
"""

from __future__ import annotations

import itertools
import math
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

# What a convolution looks at or spreads is written out for so many elements at a time, 2 MB of float32, which stay in a
# processor's cache: those of a thousand regions take gigabytes.
PATCHES_AT_ONCE = 1 << 19


def output_sizes(
    sizes: Sequence[int], kernel: Sequence[int], stride: Sequence[int], dilate: Sequence[int]
) -> list[int]:
    """Return how often a kernel lies in a padded input, along each axis."""
    counts = [
        (size - step * (length - 1) - 1) // stride_ + 1
        for size, length, stride_, step in zip(sizes, kernel, stride, dilate, strict=True)
    ]
    require(min(counts) > 0, f"kernel {tuple(kernel)} exceeds the padded input {tuple(sizes)}")
    return counts


def patches(
    data: Array, kernel: Sequence[int], stride: Sequence[int], dilate: Sequence[int], *, is_last: bool = False
) -> Array:
    """(N, C, *spatial) to (N, C, *kernel, *output): every element that each output position looks at. With the channels
    last (N, *spatial, C) to (N, *output, *kernel, C), which copies all channels of an element at once."""
    spatial = len(kernel)
    sizes = output_sizes(data.shape[1:-1] if is_last else data.shape[2:], kernel, stride, dilate)
    if max(kernel) == max(stride) == 1 and not is_last:
        return data.reshape(*data.shape[:2], *kernel, *sizes)
    shape = (len(data), *sizes, *kernel, data.shape[-1]) if is_last else (*data.shape[:2], *kernel, *sizes)
    leading = (slice(None),) * (1 if is_last else 2)
    result = np.empty(shape, data.dtype)
    for position in itertools.product(*(range(length) for length in kernel)):
        window = tuple(
            slice(at * step, at * step + stride_ * (size - 1) + 1, stride_)
            for at, step, stride_, size in zip(position, dilate, stride, sizes, strict=True)
        )
        result[(*leading, *((slice(None),) * spatial if is_last else ()), *position)] = data[(*leading, *window)]
    return result


def padded(data: Array, pad: Sequence[int]) -> Array:
    """Zeros around every spatial axis of (N, C, *spatial)."""
    return data if not any(pad) else np.pad(data, [(0, 0), (0, 0), *((amount, amount) for amount in pad)])


def add_bias(result: Array, bias: Sequence[Array]) -> Array:
    """Add the bias (F,), when there is one, along axis 1 of the array itself."""
    if bias:
        require(bias[0].shape == (result.shape[1],), f"bias {bias[0].shape} for {result.shape[1]} filters")
        result += bias[0].reshape(1, -1, *(1,) * (result.ndim - 2)).astype(result.dtype)
    return result


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
    is_last = groups == 1 and max(kernel) > 1
    ordered = np.moveaxis(weight, 1, -1) if is_last else weight
    matrix = ordered.astype(dtype, copy=False).reshape(groups, filters // groups, -1)
    around = [size + 2 * amount for size, amount in zip(data.shape[2:], pad, strict=True)]
    sizes = output_sizes(around, kernel, stride, dilate)
    result = np.empty((len(data), groups, filters // groups, math.prod(sizes)), dtype)
    at_once = max(1, PATCHES_AT_ONCE // max(1, matrix.shape[2] * groups * math.prod(sizes)))
    for start in range(0, len(data), at_once):
        part = padded(data[start : start + at_once].astype(dtype, copy=False), pad)
        if is_last:
            seen = patches(np.moveaxis(part, 1, -1).copy(), kernel, stride, dilate, is_last=True)
            columns = seen.reshape(len(part), 1, -1, matrix.shape[2]).swapaxes(2, 3)
        else:
            columns = patches(part, kernel, stride, dilate).reshape(len(part), groups, matrix.shape[2], -1)
        np.matmul(matrix, columns, out=result[start : start + at_once])
    result = add_bias(result.reshape(len(data), filters, *sizes), bias).astype(data.dtype, copy=False)
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
    """Return the transpose of convolution: weight (C, F / groups, *kernel) spread by each input element over the
    output."""
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
    turned = matrix.transpose(0, 2, 1)
    full = [s * (size - 1) + extent + a for s, size, extent, a in zip(stride, sizes, extents, adj, strict=True)]
    result = np.zeros((batch, filters, *full), dtype)
    everything = (slice(None), slice(None))
    at_once = max(1, PATCHES_AT_ONCE // max(1, filters * math.prod((*kernel, *sizes))))
    for start in range(0, batch, at_once):
        part = result[start : start + at_once]
        spread = np.matmul(turned, columns[start : start + at_once]).reshape(len(part), filters, *kernel, *sizes)
        for position in itertools.product(*(range(length) for length in kernel)):
            window = tuple(
                slice(at * step, at * step + s * (size - 1) + 1, s)
                for at, step, s, size in zip(position, dilate, stride, sizes, strict=True)
            )
            part[everything + window] += spread[everything + position]
    kept = tuple(slice(p, size - p) for p, size in zip(pad, full, strict=True))
    result = add_bias(result[everything + kept], bias).astype(data.dtype, copy=False)
    return result if first else np.moveaxis(result, 1, -1)


def read_points(data: Array, y: Array, x: Array, to_border: bool) -> Array:
    """(C, H, W) read at points y and x of one shape: (C, *shape). `to_border` is the plain kind's rule."""
    height, width = data.shape[1:]
    if to_border:
        outside = (y < 0) | (x < 0) | (y >= height) | (x >= width)
        outcome = read_points(data, np.clip(y, 0, height - 1), np.clip(x, 0, width - 1), False)
        return np.where(outside, np.zeros((), data.dtype), outcome)
    top, left = np.floor(y).astype(np.int64), np.floor(x).astype(np.int64)
    result = np.zeros((data.shape[0], *y.shape), data.dtype)
    for row, column in ((top, left), (top, left + 1), (top + 1, left), (top + 1, left + 1)):
        weight = (1 - np.abs(y - row)) * (1 - np.abs(x - column))
        weight = np.where((row >= 0) & (row < height) & (column >= 0) & (column < width), weight, 0)
        result += data[:, np.clip(row, 0, height - 1), np.clip(column, 0, width - 1)] * weight.astype(data.dtype)
    return result


def deformed(attrs: Attributes, data: Array, offset: Array, mask: Array | None, weight: Array) -> Array:
    """Return the convolution (N, F, H', W'), without bias.

    offset (N, 2 D kh kw, H', W') holds y and x in turn for every position of each of D deformable groups, mask
    (N, D kh kw, H', W') one factor a position.
    """
    kernel = tuple(attrs["kernel"])
    stride, dilate = per_axis(attrs.get("stride"), 2, 1), per_axis(attrs.get("dilate"), 2, 1)
    pad = per_axis(attrs.get("pad"), 2, 0)
    groups, parts = int(attrs.get("num_group", 1)), int(attrs.get("num_deformable_group", 1))
    filters, points = int(attrs["num_filter"]), kernel[0] * kernel[1]
    batch, channels = data.shape[:2]
    sizes = tuple(
        (size + 2 * p - d * (k - 1) - 1) // s + 1
        for size, p, d, k, s in zip(data.shape[2:], pad, dilate, kernel, stride, strict=True)
    )
    require(offset.shape == (batch, 2 * parts * points, *sizes), f"offset {offset.shape} for output {sizes}")
    require(mask is None or mask.shape == (batch, parts * points, *sizes), f"mask for output {sizes}")
    require(weight.shape == (filters, channels // groups, *kernel), f"weight {weight.shape}")
    moves = offset.reshape(batch, parts, points, 2, *sizes)
    everywhere = (batch, parts, points, *sizes)
    factors = np.ones(everywhere, data.dtype) if mask is None else mask.reshape(everywhere)
    starts = (np.arange(size) * s - p for size, s, p in zip(sizes, stride, pad, strict=True))
    rows, columns = np.meshgrid(*starts, indexing="ij")
    share = channels // parts
    seen = np.empty((batch, channels, points, *sizes), data.dtype)
    for sample, part, point in itertools.product(range(batch), range(parts), range(points)):
        owned = slice(part * share, (part + 1) * share)
        y = rows + point // kernel[1] * dilate[0] + moves[sample, part, point, 0]
        x = columns + point % kernel[1] * dilate[1] + moves[sample, part, point, 1]
        seen[sample, owned, point] = read_points(data[sample, owned], y, x, mask is None) * factors[sample, part, point]
    gathered = seen.reshape(batch, groups, -1, sizes[0] * sizes[1])
    result = np.matmul(weight.reshape(groups, filters // groups, -1), gathered)
    return np.asarray(result.reshape(batch, filters, *sizes))


def with_bias(result: Array, bias: tuple[Array, ...]) -> Array:
    """The bias (F,), when there is one, added along axis 1."""
    return result + bias[0].reshape(1, -1, 1, 1) if bias else result


def deformable_convolution(
    attrs: Attributes, data: Array, offset: Array, mask: Array | None, weight: Array, *bias: Array
) -> Array:
    """Convolution at learned offsets, every reading weighed by the mask if there is one."""
    return with_bias(deformed(attrs, data, offset, mask, weight), bias)


OPERATORS: Mapping[str, Reference] = {
    "Convolution": convolution,
    "Convolution_v1": convolution,
    "Deconvolution": deconvolution,
    "_contrib_DeformableConvolution": lambda attrs, data, offset, *rest: deformable_convolution(
        attrs, data, offset, None, *rest
    ),
    "_contrib_ModulatedDeformableConvolution": deformable_convolution,
}
