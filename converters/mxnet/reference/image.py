"""Images of their blocks in numpy (src/operator/nn/im2col-inl.h)."""

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
    counts = [
        (size + 2 * p - d * (k - 1) - 1) // s + 1
        for size, k, s, d, p in zip(image, kernel, stride, dilate, pad, strict=True)
    ]
    batch, rows, blocks = data.shape
    require(rows % (kernel[0] * kernel[1]) == 0 and blocks == counts[0] * counts[1], f"blocks {data.shape}")
    found = np.zeros((batch, rows // (kernel[0] * kernel[1]), *(s + 2 * p for s, p in zip(image, pad, strict=True))))
    parts = data.reshape(batch, found.shape[1], *kernel, *counts)
    for row, column in itertools.product(*map(range, kernel)):
        ends = [
            slice(place * d, place * d + (count - 1) * s + 1, s)
            for place, d, s, count in zip((row, column), dilate, stride, counts, strict=True)
        ]
        found[:, :, ends[0], ends[1]] += parts[:, :, row, column]
    top, left = pad
    return found[:, :, top : top + image[0], left : left + image[1]].astype(data.dtype)


OPERATORS: Mapping[str, Reference] = {"col2im": col2im}

__all__ = ["OPERATORS"]
