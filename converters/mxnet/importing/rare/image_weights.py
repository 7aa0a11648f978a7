"""Which pixels of an image OpenCV makes a pixel of a resized one of, and by which weights, on one axis.

Places are computed in float64 and rounded to float32 as OpenCV does it, for the bytes to be the same. Source:
modules/imgproc/src/resize.cpp of OpenCV 3.4.2, which MXNet 1.9.1 is built with.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

NEAREST, LINEAR, CUBIC, AREA, LANCZOS = range(5)
# What areas are where one axis or both get more pixels: two neighbours, at other places than LINEAR's.
AREA_OF_FEW = 5
# Weights of bytes are whole multiples of 1 / UNIT.
UNIT = 2048
_STEEPNESS = np.float32(-0.75)
_DIAGONAL = math.sqrt(0.5)
_CIRCLE = (
    (1.0, 0.0), (-_DIAGONAL, -_DIAGONAL), (0.0, 1.0), (_DIAGONAL, -_DIAGONAL),
    (-1.0, 0.0), (_DIAGONAL, _DIAGONAL), (0.0, -1.0), (-_DIAGONAL, _DIAGONAL),
)  # fmt: skip


def _ratio(size: int, wanted: int) -> float:
    return 1.0 / (wanted / size)


def nearest(size: int, wanted: int) -> Array:
    """The one pixel that each of `wanted` is.

    >>> nearest(4, 6).tolist()
    [0, 0, 1, 2, 2, 3]
    """
    result: Array = np.floor(np.arange(wanted) * _ratio(size, wanted)).astype(np.int64)
    return np.minimum(result, size - 1)


def _starts(size: int, wanted: int) -> tuple[Array, Array]:
    """The pixel before the middle of each, and how far behind it that is."""
    indices = ((np.arange(wanted) + 0.5) * _ratio(size, wanted) - 0.5).astype(np.float32)
    floor = np.floor(indices)
    return floor.astype(np.int64), (indices - floor).astype(np.float32)


def neighbours(size: int, wanted: int, method: int, *, rows: bool) -> tuple[Array, Array]:
    """The two pixels (wanted, 2) that each is made of and their weights, float32, by LINEAR or AREA_OF_FEW.

    Beyond the border both are the last one: columns then have the weights 1 and 0, rows keep theirs, which bytes are
    rounded differently by.
    """
    if method == AREA_OF_FEW:
        return _areas_of_few(size, wanted)
    start, fraction = _starts(size, wanted)
    if not rows:
        fraction = np.where((start < 0) | (start >= size - 1), np.float32(0), fraction)
    indices = np.clip(start[:, None] + np.arange(2), 0, size - 1)
    return indices, np.stack([np.float32(1) - fraction, fraction], axis=1)


def matrix(size: int, wanted: int, method: int, *, whole: bool) -> Array:
    """The weights (wanted, size) as a matrix; with `whole` whole multiples of 1 / UNIT, times UNIT."""
    if method == AREA:
        return _areas(size, wanted)
    if method == AREA_OF_FEW:
        indices, weights = _areas_of_few(size, wanted)
    else:
        start, fraction = _starts(size, wanted)
        weights = _cubic(fraction) if method == CUBIC else _lanczos(fraction)
        count = weights.shape[1]
        indices = np.clip(start[:, None] + np.arange(count) - (count // 2 - 1), 0, size - 1)
    if whole:
        weights = np.rint(weights * np.float32(UNIT))
    result = np.zeros((wanted, size))
    np.add.at(result, (np.arange(wanted)[:, None], indices), weights.astype(np.float64))
    return result


def whole_ratio(size: int, wanted: int) -> bool:
    """Whether areas are of whole pixels to OpenCV, which divides twice: 1 / (1 / 49) is not 49."""
    ratio = _ratio(size, wanted)
    return bool(abs(ratio - round(ratio)) < np.finfo(np.float64).eps)


def area_terms(size: int, wanted: int) -> tuple[Array, Array]:
    """The pixels (wanted, terms) that each area is a sum of, in their order, and their weights, float32; the weights
    behind the last one are 0."""
    parts = _areas(size, wanted)
    first = (parts != 0).argmax(axis=1)
    terms = int((size - (parts != 0)[:, ::-1].argmax(axis=1) - first).max())
    indices = np.minimum(first[:, None] + np.arange(terms), size - 1)
    inside = first[:, None] + np.arange(terms) < size
    weights = np.take_along_axis(parts, indices, axis=1) * inside
    return indices, weights.astype(np.float32)


def cubic_terms(size: int, wanted: int) -> tuple[Array, Array]:
    """The four pixels (wanted, 4) that each is made of and their weights, whole multiples of 1 / UNIT times UNIT."""
    start, fraction = _starts(size, wanted)
    indices = np.clip(start[:, None] + np.arange(-1, 3), 0, size - 1)
    return indices, np.rint(_cubic(fraction) * np.float32(UNIT)).astype(np.float32)


def _cubic(x: Array) -> Array:
    one, a = np.float32(1), _STEEPNESS
    first = ((a * (x + one) - 5 * a) * (x + one) + 8 * a) * (x + one) - 4 * a
    second = ((a + 2) * x - (a + 3)) * x * x + one
    third = ((a + 2) * (one - x) - (a + 3)) * (one - x) * (one - x) + one
    result: Array = np.stack([first, second, third, one - first - second - third], axis=1).astype(np.float32)
    return result


def _lanczos(fractions: Array) -> Array:
    """Eight weights of a windowed sine, which add up to 1."""
    result = np.zeros((len(fractions), 8), np.float32)
    for row, fraction in zip(result, fractions.astype(np.float64), strict=True):
        if fraction < np.finfo(np.float32).eps:
            row[3] = 1
            continue
        angle = -(fraction + 3) * math.pi / 4
        sine, cosine = math.sin(angle), math.cos(angle)
        for index, (left, right) in enumerate(_CIRCLE):
            distance = -(fraction + 3 - index) * math.pi / 4
            row[index] = (left * sine + right * cosine) / (distance * distance)
        row *= np.float32(1) / np.cumsum(row, dtype=np.float32)[-1]
    return result


def _areas(size: int, wanted: int) -> Array:
    """The part that each pixel has of the area of one of fewer."""
    ratio = _ratio(size, wanted)
    result = np.zeros((wanted, size))
    for row in range(wanted):
        begin, end = row * ratio, row * ratio + ratio
        width = min(ratio, size - begin)
        last = min(math.floor(end), size - 1)
        first = min(math.ceil(begin), last)
        if first - begin > 1e-3:
            result[row, first - 1] += np.float32((first - begin) / width)
        result[row, first:last] += np.float32(1 / width)
        if end - last > 1e-3:
            result[row, last] += np.float32(min(end - last, 1.0, width) / width)
    return result


def _areas_of_few(size: int, wanted: int) -> tuple[Array, Array]:
    """Two neighbours of each pixel, the second one's weight its part of the pixel's area."""
    inverse = wanted / size
    pixels = np.arange(wanted)
    start = np.floor(pixels * _ratio(size, wanted)).astype(np.int64)
    fraction = ((pixels + 1) - (start + 1) * inverse).astype(np.float32)
    fraction = np.where(fraction <= 0, np.float32(0), fraction - np.floor(fraction))
    fraction = np.where((start < 0) | (start >= size - 1), np.float32(0), fraction)
    indices = np.clip(start[:, None] + np.arange(2), 0, size - 1)
    return indices, np.stack([np.float32(1) - fraction, fraction], axis=1)
