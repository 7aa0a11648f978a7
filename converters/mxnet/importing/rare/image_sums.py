"""Bytes of images that are sums in float32, in the order and with the rounding of OpenCV 3.4.2 on x86-64.

A sum that lies half way between two bytes is decided by its last digit, and halves are common: 2.5 rows for one make
40% and 40% and 20% of bytes. So what is added here is added term by term, each product and sum rounded to float32, as
`ResizeArea_Invoker`, `ResizeAreaFast_Invoker` and `VResizeCubicVec_32s8u` of modules/imgproc/src/resize.cpp do it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphir.converters.mxnet.importing.context import ImportNode
from graphir.converters.mxnet.importing.rare.image_weights import (
    CUBIC,
    UNIT,
    Array,
    area_terms,
    cubic_terms,
    matrix,
    whole_ratio,
)
from graphir.graph import Value
from graphir.ops.elementwise import Add, Cast, Clip, Div, Floor, Mul, Round, Where
from graphir.ops.indexing import Gather
from graphir.ops.linear import MatMul
from graphir.ops.shape import Transpose
from graphir.types import DType

# Terms of a sum beyond which the graph would hold more nodes than exact bytes are worth.
MOST_TERMS = 64
# Bytes of a row that OpenCV's vectors hold; what is left of a row is summed in whole numbers.
LANES = 8


class Axis(NamedTuple):
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


def areas(node: ImportNode, data: Value, rows: Axis, columns: Axis) -> Value | None:
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


def _charged(node: ImportNode, axis: Axis) -> tuple[Array, Array]:
    size, wanted = axis.sizes
    node.charge(size * wanted, "its weights")
    return area_terms(size, wanted)


def _sum_of_terms(
    node: ImportNode, data: Value, axis: int, places: Array, weights: Array, shape: tuple[int, ...]
) -> Value:
    """Each place of the result on an axis as a sum of elements (wanted, terms), from the first to the last."""
    total: Value | None = None
    for indices, factors in zip(places.T, weights.T, strict=True):
        part = node.step(Gather(axis), data, node.constant(indices, DType.INT64), suffix="pixels")
        if part.dtype is DType.UINT8:
            part = node.cast(part, DType.FLOAT32, suffix="numbers")
        part = node.step(Mul(), part, node.constant(factors.reshape(shape)), suffix="part")
        total = part if total is None else node.step(Add(), total, part, suffix="sum")
    assert total is not None
    return total


def _whole_areas(node: ImportNode, data: Value, rows: Axis, columns: Axis) -> Value:
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


def _sums(node: ImportNode, axis: Axis) -> Array:
    size, wanted = axis.sizes
    node.charge(size * wanted, "its weights")
    return np.kron(np.eye(wanted), np.ones((1, size // wanted)))


def cubic(node: ImportNode, data: Value, rows: Axis, columns: Axis, channels: int | None) -> Value:
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
    """The elements (channels, 1, columns) of a row that are left when vectors hold the others; none of a number of
    channels that is not known."""
    if channels is None:
        return np.zeros((1, 1, wanted), np.bool_)
    count = wanted * channels
    indices = np.arange(count).reshape(wanted, channels)
    result: Array = (indices >= count // LANES * LANES).T[:, None, :]
    return result


def _rows_of_cubic(node: ImportNode, across: Value, rows: Axis, axis: int) -> Value:
    size, wanted = rows.sizes
    node.charge(wanted * 4, "its weights")
    indices, weights = cubic_terms(size, wanted)
    total = _sum_of_terms(node, across, axis, indices, weights / np.float32(UNIT * UNIT), (-1, 1))
    return node.step(Round(), total, suffix="rounded")


def _whole_rows(node: ImportNode, across: Value, rows: Axis) -> Value:
    """Sums of whole numbers, halves up."""
    size, wanted = rows.sizes
    node.charge(size * wanted, "its weights")
    tall = matrix(size, wanted, CUBIC, whole=True)
    double = node.cast(across, DType.FLOAT64, suffix="double")
    total = node.step(MatMul(), node.constant(tall), double, suffix="whole")
    total = node.step(Div(), total, node.constant(float(UNIT * UNIT), DType.FLOAT64), suffix="scaled")
    raised = node.step(Add(), total, node.constant(0.5, DType.FLOAT64), suffix="raised")
    return node.cast(node.step(Floor(), raised, suffix="down"), DType.FLOAT32, suffix="single")
