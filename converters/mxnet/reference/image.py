"""Images of their blocks, and the correlation of two, in numpy.

Sources: src/operator/nn/im2col-inl.h, src/operator/correlation.cc.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, per_axis, require


def col2im(attrs: Attributes, data: Array) -> Array:
    """Blocks (N, C * kh kw, blocks) added up to images (N, C, H, W)."""
    image, kernel = tuple(attrs["output_size"]), tuple(attrs["kernel"])
    require(len(image) == len(kernel) == 2 and data.ndim == 3, f"output_size {image}, kernel {kernel}, {data.shape}")
    stride, dilate = per_axis(attrs.get("stride"), 2, 1), per_axis(attrs.get("dilate"), 2, 1)
    pad = per_axis(attrs.get("pad"), 2, 0)
    require(min(pad) >= 0, f"pad {pad}, expected at least 0")
    counts = [
        (size + 2 * p - d * (k - 1) - 1) // s + 1
        for size, k, s, d, p in zip(image, kernel, stride, dilate, pad, strict=True)
    ]
    batch, rows, blocks = data.shape
    require(rows % (kernel[0] * kernel[1]) == 0 and blocks == counts[0] * counts[1], f"blocks {data.shape}")
    result = np.zeros((batch, rows // (kernel[0] * kernel[1]), *(s + 2 * p for s, p in zip(image, pad, strict=True))))
    parts = data.reshape(batch, result.shape[1], *kernel, *counts)
    for row, column in itertools.product(*map(range, kernel)):
        ends = [
            slice(index * d, index * d + (count - 1) * s + 1, s)
            for index, d, s, count in zip((row, column), dilate, stride, counts, strict=True)
        ]
        result[:, :, ends[0], ends[1]] += parts[:, :, row, column]
    top, left = pad
    return result[:, :, top : top + image[0], left : left + image[1]].astype(data.dtype)


def correlation(attrs: Attributes, left: Array, right: Array) -> Array:
    """For each place and each shift the sum over a patch, divided by its number of elements."""
    kernel, reach = attrs.get("kernel_size", 1), attrs.get("max_displacement", 1)
    stride, step, pad = attrs.get("stride1", 1), attrs.get("stride2", 1), attrs.get("pad_size", 0)
    require(left.shape == right.shape and left.ndim == 4, f"{left.shape}, {right.shape}")
    require(kernel > 0 and kernel % 2 == 1, f"a kernel of {kernel}")
    require(left.dtype.kind == "f", f"{left.dtype}")
    require(reach >= 0 and min(stride, step) >= 1 and pad >= 0, f"{reach}, {stride}, {step}, {pad}")
    around = [(0, 0), (0, 0), (pad, pad), (pad, pad)]
    first, second = (np.pad(image.astype(np.float64), around) for image in (left, right))
    border = reach + (kernel - 1) // 2
    height, width = (-(-(size - 2 * border) // stride) for size in first.shape[2:])
    require(height > 0 and width > 0, f"images {left.shape}")
    count = 2 * (reach // step) + 1
    result = np.empty((left.shape[0], count * count, height, width))
    for shift, row, column in itertools.product(range(count * count), range(height), range(width)):
        top, side = row * stride + reach, column * stride + reach
        down, across = ((index - count // 2) * step for index in divmod(shift, count))
        one = first[:, :, top : top + kernel, side : side + kernel]
        other = second[:, :, top + down : top + down + kernel, side + across : side + across + kernel]
        both = one * other if attrs.get("is_multiply", True) else np.abs(one - other)
        result[:, shift, row, column] = both.sum((1, 2, 3)) / (kernel * kernel * left.shape[1])
    return result.astype(left.dtype)


def im2col(attrs: Attributes, data: Array) -> Array:
    """Images (N, C, H, W) as blocks (N, C * kh kw, blocks)."""
    kernel = tuple(attrs["kernel"])
    require(len(kernel) == 2 and data.ndim == 4 and data.dtype.kind == "f", f"{kernel}, {data.dtype}{data.shape}")
    stride, dilate = per_axis(attrs.get("stride"), 2, 1), per_axis(attrs.get("dilate"), 2, 1)
    top, left = per_axis(attrs.get("pad"), 2, 0)
    image = np.pad(data, [(0, 0), (0, 0), (top, top), (left, left)])
    counts = [
        (size - d * (k - 1) - 1) // s + 1 for size, k, s, d in zip(image.shape[2:], kernel, stride, dilate, strict=True)
    ]
    require(min(counts) > 0, f"{kernel}, {data.shape}")
    result = np.empty((*image.shape[:2], *kernel, *counts), data.dtype)
    for indices in itertools.product(*map(range, kernel), *map(range, counts)):
        row, column = (indices[axis] * dilate[axis] + indices[2 + axis] * stride[axis] for axis in (0, 1))
        result[:, :, indices[0], indices[1], indices[2], indices[3]] = image[:, :, row, column]
    return result.reshape(data.shape[0], image.shape[1] * kernel[0] * kernel[1], counts[0] * counts[1])


OPERATORS: Mapping[str, Reference] = {"Correlation": correlation, "col2im": col2im, "im2col": im2col}
