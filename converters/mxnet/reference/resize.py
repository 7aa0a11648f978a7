"""Upsampling, bilinear resizing and sampling in numpy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, accumulator, require
from graphir.converters.mxnet.reference.convolution import deconvolution


def upsampling(attrs: Attributes, data: Array, *others: Array) -> Array:
    """nearest: each input scaled up to `scale` times the first one's size, then concatenated or summed.

    bilinear: a grouped deconvolution with the second input as weight (C, 1, k, k), k = 2 scale - scale mod 2.
    """
    scale = int(attrs["scale"])
    if attrs["sample_type"] == "bilinear":
        return bilinear_upsampling(scale, data, others[0])
    rows = data.shape[2] * scale
    enlarged = []
    for array in (data, *others):
        require(rows % array.shape[2] == 0, f"height {array.shape[2]} does not divide {rows}")
        factor = rows // array.shape[2]
        enlarged.append(array.repeat(factor, axis=2).repeat(factor, axis=3))
    if attrs.get("multi_input_mode", "concat") == "sum":
        return np.asarray(sum(enlarged[1:], enlarged[0]))
    return np.concatenate(enlarged, axis=1)


def bilinear_upsampling(scale: int, data: Array, weight: Array) -> Array:
    """Return the deconvolution that UpSampling's bilinear mode is."""
    channels = data.shape[1]
    kernel, pad = 2 * scale - scale % 2, (scale - 1 + 1) // 2
    attrs = {
        "kernel": (kernel, kernel),
        "stride": (scale, scale),
        "pad": (pad, pad),
        "num_filter": channels,
        "num_group": channels,
    }
    return deconvolution(attrs, data, weight)


def resized_length(attrs: Attributes, size: int, length_key: str, scale_key: str, like: int | None) -> int:
    """Return the output size of one axis of BilinearResize2D (src/operator/contrib/bilinear_resize-inl.h)."""
    mode, scale = attrs.get("mode", "size"), attrs.get(scale_key)
    if mode == "size":
        scaled = attrs.get("scale_height") is not None  # alone, a width's scale is not read
        if not scaled or scale is None:
            return int(attrs.get(length_key, 1))
        return int(np.float32(scale) * np.float32(size))
    if mode == "odd_scale":
        factor = np.float32(1.0 if scale is None else scale)
        return int(size * factor) if size % 2 == 0 else int((size - 1) * factor) + 1
    if mode == "like":
        require(like is not None, "mode like wants a second input")
        return like or 0
    even = size % 2 == 0
    moves = {"to_even_down": 0 if even else -1, "to_even_up": 0 if even else 1}
    moves |= {"to_odd_down": -1 if even else 0, "to_odd_up": 1 if even else 0}
    require(mode in moves, f"mode {mode!r} is unknown")
    return size + moves[mode]


def interpolation(size: int, wanted: int, align_corners: bool) -> tuple[Array, Array, Array]:
    """(lower index, upper index, weight of the upper) of each output position along one axis.

    align_corners maps end to end, `i (size - 1) / (wanted - 1)`; otherwise pixel centres meet,
    `(i + 0.5) size / wanted - 0.5` and not below 0. A single position is the first element either way.
    """
    position = np.arange(wanted, dtype=np.float32)
    if wanted == 1:
        source = position
    elif align_corners:
        source = position * (np.float32(size - 1) / np.float32(wanted - 1))
    else:
        source = np.maximum((position + np.float32(0.5)) * (np.float32(size) / np.float32(wanted)) - np.float32(0.5), 0)
    low = np.minimum(source.astype(np.int64), size - 1)
    return low, np.minimum(low + 1, size - 1), source - low


def bilinear_resize(attrs: Attributes, data: Array, *like: Array) -> Array:
    """(N, C, H, W) resized by linear interpolation on both spatial axes."""
    require(data.ndim == 4, f"data of rank {data.ndim}, expected 4")
    aligned = bool(attrs.get("align_corners", True))
    wide = data.astype(accumulator(data.dtype))
    for axis, names in ((2, ("height", "scale_height")), (3, ("width", "scale_width"))):
        wanted = resized_length(attrs, data.shape[axis], *names, like[0].shape[axis] if like else None)
        require(wanted > 0, f"{names[0]} {wanted} must be positive")
        low, high, weight = interpolation(data.shape[axis], wanted, aligned)
        weight = weight.astype(wide.dtype).reshape(-1, *(1,) * (3 - axis))
        wide = np.take(wide, low, axis=axis) * (1 - weight) + np.take(wide, high, axis=axis) * weight
    return wide.astype(data.dtype)


def grid_generator(attrs: Attributes, data: Array) -> Array:
    """Sampling grids (N, 2, H, W), x then y in [-1, 1], from affine matrices (N, 6) or from flows (N, 2, H, W)."""
    if attrs["transform_type"] == "warp":
        height, width = data.shape[2:]
        x = (data[:, 0] + np.arange(width)) / ((width - 1) / 2) - 1
        y = (data[:, 1] + np.arange(height)[:, None]) / ((height - 1) / 2) - 1
        return np.asarray(np.stack([x, y], axis=1).astype(data.dtype))
    height, width = attrs["target_shape"]
    require(height > 0 and width > 0, f"target_shape {(height, width)} must be positive")
    x, y = np.meshgrid(-1 + np.arange(width) * 2 / (width - 1), -1 + np.arange(height) * 2 / (height - 1))
    points = np.stack([x.ravel(), y.ravel(), np.ones(height * width)])
    return np.asarray((data.reshape(-1, 2, 3) @ points).reshape(-1, 2, height, width).astype(data.dtype))


def bilinear_sampler(attrs: Attributes, data: Array, grid: Array) -> Array:
    """data read at grid positions ((x + 1) (W - 1) / 2, likewise y) by bilinear interpolation; 0 outside, and NaN at
    positions that are no numbers."""
    height, width = data.shape[2:]
    x, y = (grid[:, 0] + 1) * (width - 1) / 2, (grid[:, 1] + 1) * (height - 1) / 2
    left, top = np.floor(x).astype(np.int64), np.floor(y).astype(np.int64)
    result = np.zeros((data.shape[0], data.shape[1], *grid.shape[2:]), accumulator(data.dtype))
    samples = np.arange(data.shape[0])[:, None, None]
    for column, row in ((left, top), (left + 1, top), (left, top + 1), (left + 1, top + 1)):
        weight = (1 - np.abs(x - column)) * (1 - np.abs(y - row))
        inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
        outcome = data[samples, :, np.clip(row, 0, height - 1), np.clip(column, 0, width - 1)]
        result += np.where(inside[:, None], np.moveaxis(outcome, -1, 1), 0) * weight[:, None]
    return result.astype(data.dtype)


def spatial_transformer(attrs: Attributes, data: Array, location: Array) -> Array:
    """bilinear_sampler at the affine grid of `location` (N, 6)."""
    require(attrs["transform_type"] == "affine", "transform_type must be affine")
    return bilinear_sampler({}, data, grid_generator(attrs, location))


OPERATORS: Mapping[str, Reference] = {
    "BilinearSampler": bilinear_sampler,
    "GridGenerator": grid_generator,
    "SpatialTransformer": spatial_transformer,
    "UpSampling": upsampling,
    "_contrib_BilinearResize2D": bilinear_resize,
}
