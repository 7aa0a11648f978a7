"""Bytes of images that are sums in float32, in the order and with the rounding of OpenCV 3.4.2 on x86-64.

A sum that lies half way between two bytes is decided by its last digit, and halves are common: 2.5 rows for one make
40% and 40% and 20% of bytes. So what is added here is added term by term, each product and sum rounded to float32, as
`ResizeArea_Invoker`, `ResizeAreaFast_Invoker` and `VResizeCubicVec_32s8u` of modules/imgproc/src/resize.cpp do it.

Which pixels of an image OpenCV makes a pixel of a resized one of, and by which weights, on one axis.

Places are computed in float64 and rounded to float32 as OpenCV does it, for the bytes to be the same. Source:
modules/imgproc/src/resize.cpp of OpenCV 3.4.2, which MXNet 1.9.1 is built with.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphir.converters.mxnet.importing.context import ImportNode
from graphir.graph import Value
from graphir.ops.elementwise import Add, Cast, Clip, Div, Floor, Mul, Round, Where
from graphir.ops.indexing import Gather
from graphir.ops.linear import MatMul
from graphir.ops.shape import Transpose
from graphir.types import DType

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
    """Return the one pixel that each of `wanted` is.

    >>> nearest(4, 6).tolist()
    [0, 0, 1, 2, 2, 3]
    """
    result: Array = np.floor(np.arange(wanted) * _ratio(size, wanted)).astype(np.int64)
    return np.minimum(result, size - 1)


def _starts(size: int, wanted: int) -> tuple[Array, Array]:
    """Return the pixel before the middle of each, and how far behind it that is."""
    indices = ((np.arange(wanted) + 0.5) * _ratio(size, wanted) - 0.5).astype(np.float32)
    floor = np.floor(indices)
    return floor.astype(np.int64), (indices - floor).astype(np.float32)


def neighbours(size: int, wanted: int, method: int, *, rows: bool) -> tuple[Array, Array]:
    """Return the two pixels (wanted, 2) that each is made of and their weights, float32, by LINEAR or AREA_OF_FEW.

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
    """Return the weights (wanted, size) as a matrix; with `whole` whole multiples of 1 / UNIT, times UNIT."""
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
    """Return whether areas are of whole pixels to OpenCV, which divides twice: 1 / (1 / 49) is not 49."""
    ratio = _ratio(size, wanted)
    return bool(abs(ratio - round(ratio)) < np.finfo(np.float64).eps)


def area_terms(size: int, wanted: int) -> tuple[Array, Array]:
    """Return the pixels (wanted, terms) that each area is a sum of, in their order, and their weights, float32; the
    weights behind the last one are 0."""
    parts = _areas(size, wanted)
    first = (parts != 0).argmax(axis=1)
    terms = int((size - (parts != 0)[:, ::-1].argmax(axis=1) - first).max())
    indices = np.minimum(first[:, None] + np.arange(terms), size - 1)
    inside = first[:, None] + np.arange(terms) < size
    weights = np.take_along_axis(parts, indices, axis=1) * inside
    return indices, weights.astype(np.float32)


def cubic_terms(size: int, wanted: int) -> tuple[Array, Array]:
    """Return the four pixels (wanted, 4) that each is made of and their weights, whole multiples of 1 / UNIT times
    UNIT."""
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
    """Return the part that each pixel has of the area of one of fewer."""
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


# Terms of a sum beyond which the graph would hold more nodes than exact bytes are worth.
MOST_TERMS = 64
# Bytes of a row that OpenCV's vectors hold; what is left of a row is summed in whole numbers.
LANES = 8


class ImageAxis(NamedTuple):
    """One axis of the image: where it is, its sizes before and after as numbers if known, and as vectors of one."""

    axis: int
    size: int | None
    wanted: int | None
    size_value: Value | None = None
    wanted_value: Value | None = None

    @property
    def known(self) -> bool:
        """Whether both sizes are numbers."""
        return self.size is not None and self.wanted is not None

    @property
    def sizes(self) -> tuple[int, int]:
        """Both sizes, of an axis that has them."""
        assert self.size is not None
        assert self.wanted is not None
        return self.size, self.wanted


def areas(node: ImportNode, data: Value, rows: ImageAxis, columns: ImageAxis) -> Value | None:
    """Bytes as means of areas; None where a pixel is made of too many."""
    if whole_ratio(*rows.sizes) and whole_ratio(*columns.sizes):
        return _whole_areas(node, data, rows, columns)
    across, down = (_charged(node, axis) for axis in (columns, rows))
    if max(across[0].shape[1], down[0].shape[1]) > MOST_TERMS:
        return None
    total = _sum_of_terms(node, data, columns.axis, *across, (-1, 1))
    total = _sum_of_terms(node, total, rows.axis, *down, (-1, 1, 1))
    # The parts of an area add up to 1 but for their last digits: nothing rounds beyond 255.
    return node.emit(Cast(DType.UINT8), node.step(Round(), total, suffix="rounded"))


def _charged(node: ImportNode, axis: ImageAxis) -> tuple[Array, Array]:
    size, wanted = axis.sizes
    node.charge(size * wanted, "its weights")
    return area_terms(size, wanted)


def _sum_of_terms(
    node: ImportNode, data: Value, axis: int, places: Array, weights: Array, shape: tuple[int, ...]
) -> Value:
    """Return each place of the result on an axis as a sum of elements (wanted, terms), from the first to the last."""
    total: Value | None = None
    for indices, factors in zip(places.T, weights.T, strict=True):
        part = node.step(Gather(axis), data, node.constant(indices, DType.INT64), suffix="pixels")
        if part.dtype is DType.UINT8:
            part = node.cast(part, DType.FLOAT32, suffix="numbers")
        part = node.step(Mul(), part, node.constant(factors.reshape(shape)), suffix="part")
        total = part if total is None else node.step(Add(), total, part, suffix="sum")
    assert total is not None
    return total


def _whole_areas(node: ImportNode, data: Value, rows: ImageAxis, columns: ImageAxis) -> Value:
    """Areas of whole pixels: a whole sum, rounded to float32, times one float32."""
    rank = rows.axis + 3
    leading = tuple(range(rank - 3))
    tall, wide = (_sums(node, axis) for axis in (rows, columns))
    numbers = node.cast(data, DType.FLOAT64, suffix="numbers")
    planes = node.step(Transpose((*leading, rank - 1, rank - 3, rank - 2)), numbers, suffix="planes")
    total = node.step(MatMul(), planes, node.constant(wide.T), suffix="columns")
    total = node.step(MatMul(), node.constant(tall), total, suffix="rows")
    total = node.cast(total, DType.FLOAT32, suffix="single")
    count = (rows.sizes[0] // rows.sizes[1]) * (columns.sizes[0] // columns.sizes[1])
    share = np.float32(1) / np.float32(count)
    rounded = node.step(Round(), node.step(Mul(), total, node.constant(share)), suffix="rounded")
    pixels = node.step(Transpose((*leading, rank - 2, rank - 1, rank - 3)), rounded, suffix="pixels")
    return node.emit(Cast(DType.UINT8), pixels)


def _sums(node: ImportNode, axis: ImageAxis) -> Array:
    size, wanted = axis.sizes
    node.charge(size * wanted, "its weights")
    return np.kron(np.eye(wanted), np.ones((1, size // wanted)))


def cubic(node: ImportNode, data: Value, rows: ImageAxis, columns: ImageAxis, channels: int | None) -> Value:
    """Bytes by cubic interpolation: rows in float32 as far as vectors of eight reach, what is left in whole numbers."""
    rank = rows.axis + 3
    leading = tuple(range(rank - 3))
    size, wanted = columns.sizes
    node.charge(size * wanted, "its weights")
    wide = matrix(size, wanted, CUBIC, whole=True).astype(np.float32)
    numbers = node.cast(data, DType.FLOAT32, suffix="numbers")
    planes = node.step(Transpose((*leading, rank - 1, rank - 3, rank - 2)), numbers, suffix="planes")
    across = node.step(MatMul(), planes, node.constant(wide.T), suffix="columns")
    total = _rows_of_cubic(node, across, rows, rank - 2)
    left = _left_over(wanted, channels)
    if left.any():
        exact = _whole_rows(node, across, rows)
        total = node.step(Where(), node.constant(left), exact, total, suffix="either")
    limits = node.constant(0.0, DType.FLOAT32), node.constant(255.0, DType.FLOAT32)
    total = node.step(Clip(), total, *limits, suffix="limited")
    pixels = node.step(Transpose((*leading, rank - 2, rank - 1, rank - 3)), total, suffix="pixels")
    return node.emit(Cast(DType.UINT8), pixels)


def _left_over(wanted: int, channels: int | None) -> Array:
    """Return the elements (channels, 1, columns) of a row that are left when vectors hold the others; none of a number
    of channels that is not known."""
    if channels is None:
        return np.zeros((1, 1, wanted), np.bool_)
    count = wanted * channels
    indices = np.arange(count).reshape(wanted, channels)
    result: Array = (indices >= count // LANES * LANES).T[:, None, :]
    return result


def _rows_of_cubic(node: ImportNode, across: Value, rows: ImageAxis, axis: int) -> Value:
    size, wanted = rows.sizes
    node.charge(wanted * 4, "its weights")
    indices, weights = cubic_terms(size, wanted)
    total = _sum_of_terms(node, across, axis, indices, weights / np.float32(UNIT * UNIT), (-1, 1))
    return node.step(Round(), total, suffix="rounded")


def _whole_rows(node: ImportNode, across: Value, rows: ImageAxis) -> Value:
    """Sums of whole numbers, halves up."""
    size, wanted = rows.sizes
    node.charge(size * wanted, "its weights")
    tall = matrix(size, wanted, CUBIC, whole=True)
    double = node.cast(across, DType.FLOAT64, suffix="double")
    total = node.step(MatMul(), node.constant(tall), double, suffix="whole")
    total = node.step(Div(), total, node.constant(float(UNIT * UNIT), DType.FLOAT64), suffix="scaled")
    raised = node.step(Add(), total, node.constant(0.5, DType.FLOAT64), suffix="raised")
    return node.cast(node.step(Floor(), raised, suffix="down"), DType.FLOAT32, suffix="single")
