"""Images resized as OpenCV does it, in numpy: pixel by pixel of the result, the columns first, then the rows."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, require

# Which pixels one of the result is made of, and by which weights.
Taps = list[tuple[Array, Array]]
NEAREST, LINEAR, CUBIC, AREA, LANCZOS = range(5)


def image_resize(attrs: Attributes, data: Array) -> Array:
    """`size` is the width and the height, or one number for both; with `keep_ratio` that of the shorter side."""
    stated = tuple(attrs.get("size", ()))
    require(data.ndim in (3, 4) and len(stated) in (1, 2) and min(stated) > 0, f"{data.shape} to the size {stated}")
    height, width = data.shape[-3:-1]
    wanted = stated[-1], stated[0]
    if len(stated) == 1 and attrs.get("keep_ratio"):
        long = stated[0] * max(height, width) // min(height, width)
        wanted = (long, stated[0]) if height > width else (stated[0], long)
    images = data.reshape(-1, *data.shape[-3:])
    result = np.stack([resized(image, *wanted, int(attrs.get("interp", LINEAR))) for image in images])
    return result.reshape(*data.shape[:-3], *result.shape[1:])


def cv_resize(attrs: Attributes, data: Array) -> Array:
    """Return one image resized to `h` rows and `w` columns."""
    require(data.ndim == 3, f"{data.ndim} axes, expected an image (H, W, C)")
    return resized(data, int(attrs["h"]), int(attrs["w"]), int(attrs.get("interp", LINEAR)))


def resized(image: Array, height: int, width: int, method: int) -> Array:
    """Return an image (H, W, C) with other sizes."""
    names = ("uint8", "float32", "float64", *(("int32",) if method == NEAREST else ()))
    require(image.dtype.name in names and 0 <= method <= LANCZOS, f"{image.dtype}, interpolation {method}")
    rows, columns, channels = image.shape
    if method == NEAREST:
        return np.asarray(image[_nearest(rows, height)][:, _nearest(columns, width)])
    is_bytes = image.dtype == np.uint8
    if (rows, columns) == (2 * height, 2 * width) and method in (LINEAR, AREA) and is_bytes:
        sums = image.reshape(height, 2, width, 2, channels).astype(np.float64).sum(axis=(1, 3)) / 4
        return np.asarray(np.floor(sums + 0.5) if channels in (1, 3, 4) else np.rint(sums)).astype(np.uint8)
    if method == AREA and rows >= height and columns >= width:
        if is_bytes:
            return np.rint(_areas_of_bytes(image, height, width)).astype(np.uint8)
        result = _applied(_applied(image.astype(np.float64), _areas(columns, width), 1), _areas(rows, height), 0)
        return result.astype(image.dtype)
    across, down = _taps(columns, width, method, inside=True), _taps(rows, height, method, inside=False)
    if not is_bytes:
        return _applied(_applied(image.astype(np.float64), across, 1), down, 0).astype(image.dtype)
    return _bytes(image, _whole(across), _whole(down))


def _areas_of_bytes(image: Array, height: int, width: int) -> Array:
    """Areas of whole pixels as a sum times a float32, others in float32, one pixel after the other."""
    (rows, columns), wanted = image.shape[:2], np.array([height, width])
    ratios = 1 / (wanted / np.array([rows, columns]))
    if (np.abs(ratios - np.rint(ratios)) < np.finfo(np.float64).eps).all():
        tall, wide = (int(ratio) for ratio in np.rint(ratios))
        sums = image.reshape(height, tall, width, wide, -1).sum(axis=(1, 3), dtype=np.int64)
        return np.asarray(sums.astype(np.float32) * (np.float32(1) / np.float32(tall * wide)))
    return _in_order(_in_order(image.astype(np.float32), _areas(columns, width), 1), _areas(rows, height), 0)


def _in_order(image: Array, taps: Taps, axis: int) -> Array:
    """`_applied`, each product and each sum rounded to float32, from the first pixel to the last."""
    planes = np.moveaxis(image, axis, 0)
    result = np.zeros((len(taps), *planes.shape[1:]), np.float32)
    for total, (indices, weights) in zip(result, taps, strict=True):
        for index, weight in zip(indices, weights, strict=True):
            total += planes[index] * weight
    return np.moveaxis(result, 0, axis)


def _bytes(image: Array, across: Taps, down: Taps) -> Array:
    """Sums in whole numbers; of two rows each product is cut on its own, of more their sum is rounded. Of four rows
    OpenCV adds up eight bytes at once, in float32, as far as a row has eight."""
    sums = _applied(image.astype(np.int64), across, 1)
    if len(down[0][0]) > 2:
        whole = (_applied(sums, down, 0) + (1 << 21)) >> 22
        if len(down[0][0]) == 4:
            at_once = whole[0].size // 8 * 8
            scaled = [(indices, weights.astype(np.float32) * np.float32(2**-22)) for indices, weights in down]
            single = np.rint(_in_order(sums.astype(np.float32), scaled, 0)).reshape(len(down), -1)
            whole.reshape(len(down), -1)[:, :at_once] = single[:, :at_once]
        return np.clip(whole, 0, 255).astype(np.uint8)
    result = [
        sum((weight * (sums[index] >> 4)) >> 16 for index, weight in zip(indices, weights, strict=True))
        for indices, weights in down
    ]
    return np.asarray((np.stack(result) + 2) >> 2, np.uint8)


def _whole(taps: Taps) -> Taps:
    return [(indices, np.rint(weights * np.float32(2048)).astype(np.int64)) for indices, weights in taps]


def _applied(image: Array, taps: Taps, axis: int) -> Array:
    parts = [
        np.tensordot(np.take(image, indices, axis), weights.astype(image.dtype), axes=([axis], [0]))
        for indices, weights in taps
    ]
    return np.stack(parts, axis=axis)


def _nearest(size: int, wanted: int) -> Array:
    ratio = 1 / (wanted / size)
    return np.array([min(math.floor(pixel * ratio), size - 1) for pixel in range(wanted)])


def _taps(size: int, wanted: int, method: int, *, inside: bool) -> Taps:
    """`inside`: of two neighbours at the border only the one that exists has a weight."""
    ratio, result = 1 / (wanted / size), []
    for pixel in range(wanted):
        if method == AREA:
            start = math.floor(pixel * ratio)
            part = float(np.float32((pixel + 1) - (start + 1) * (wanted / size)))
            index = np.float32(start + (part - math.floor(part) if part > 0 else 0))
        else:
            index = np.float32((pixel + 0.5) * ratio - 0.5)
            start = math.floor(index)
        rest = np.float32(index - np.float32(start))
        if method == AREA or (method == LINEAR and inside):
            rest = rest if 0 <= start < size - 1 else np.float32(0)
        weights = _kernel(method, rest)
        first = start - len(weights) // 2 + 1
        result.append((np.clip(np.arange(first, first + len(weights)), 0, size - 1), weights))
    return result


def _kernel(method: int, x: np.float32) -> Array:
    one = np.float32(1)
    if method in (LINEAR, AREA):
        return np.array([one - x, x], np.float32)
    if method == CUBIC:
        a = np.float32(-0.75)
        outer = [((a * d - 5 * a) * d + 8 * a) * d - 4 * a for d in (x + one,)]
        inner = [((a + 2) * d - (a + 3)) * d * d + one for d in (x, one - x)]
        return np.array([*outer, *inner, one - outer[0] - inner[0] - inner[1]], np.float32)
    if x < np.finfo(np.float32).eps:
        return np.array([0, 0, 0, 1, 0, 0, 0, 0], np.float32)
    # sin(pi d) sin(pi d / 4) / d^2 at the distances d, of which sin(pi d) is the same but for its sign
    distances = np.array([float(x) + 3 - index for index in range(8)])
    weights = np.array([(-1) ** index * math.sin(math.pi / 4 * d) / d**2 for index, d in enumerate(distances)])
    return np.asarray(weights / weights.sum(), np.float32)


def _areas(size: int, wanted: int) -> Taps:
    """Return the part of every pixel's area that lies in one of the result; parts below a thousandth do not count."""
    ratio, result = 1 / (wanted / size), []
    for pixel in range(wanted):
        begin = pixel * ratio
        indices = np.arange(size)
        parts = np.clip(np.minimum(indices + 1, begin + ratio) - np.maximum(indices, begin), 0, 1)
        parts = np.where(parts > 1e-3, parts, 0) / min(ratio, size - begin)
        result.append((indices, parts.astype(np.float32)))
    return result


OPERATORS: Mapping[str, Reference] = {"_cvimresize": cv_resize, "_image_resize": image_resize}
