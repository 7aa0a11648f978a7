"""Deformable convolutions in numpy (src/operator/contrib/deformable_convolution-inl.h, modulated_...-inl.h).

Each kernel position of each output pixel reads the input at a learned offset, by bilinear interpolation. The plain kind
reads 0 outside [0, size) and the last pixel between it and the end; the modulated kind interpolates with zeros all
around, and weighs each reading by a mask.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, per_axis, require


def read_points(data: Array, y: Array, x: Array, to_border: bool) -> Array:
    """(C, H, W) read at points y and x of one shape: (C, *shape). `to_border` is the plain kind's rule."""
    height, width = data.shape[1:]
    if to_border:
        outside = (y < 0) | (x < 0) | (y >= height) | (x >= width)
        found = read_points(data, np.clip(y, 0, height - 1), np.clip(x, 0, width - 1), False)
        return np.where(outside, np.zeros((), data.dtype), found)
    top, left = np.floor(y).astype(np.int64), np.floor(x).astype(np.int64)
    result = np.zeros((data.shape[0], *y.shape), data.dtype)
    for row, column in ((top, left), (top, left + 1), (top + 1, left), (top + 1, left + 1)):
        weight = (1 - np.abs(y - row)) * (1 - np.abs(x - column))
        weight = np.where((row >= 0) & (row < height) & (column >= 0) & (column < width), weight, 0)
        result += data[:, np.clip(row, 0, height - 1), np.clip(column, 0, width - 1)] * weight.astype(data.dtype)
    return result


def deformed(attrs: Attributes, data: Array, offset: Array, mask: Array | None, weight: Array) -> Array:
    """The convolution (N, F, H', W'), without bias.

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


def deformable_convolution(attrs: Attributes, data: Array, offset: Array, weight: Array, *bias: Array) -> Array:
    """Convolution at learned offsets."""
    return with_bias(deformed(attrs, data, offset, None, weight), bias)


def modulated_deformable_convolution(
    attrs: Attributes, data: Array, offset: Array, mask: Array, weight: Array, *bias: Array
) -> Array:
    """Convolution at learned offsets, every reading weighed by the mask."""
    return with_bias(deformed(attrs, data, offset, mask, weight), bias)


OPERATORS: Mapping[str, Reference] = {
    "_contrib_DeformableConvolution": deformable_convolution,
    "_contrib_ModulatedDeformableConvolution": modulated_deformable_convolution,
}
