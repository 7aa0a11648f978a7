"""Fourier transforms as products with the matrix of their roots of unity."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from graphir.converters.mxnet.exporting.context import AnyNode, Entry, ExportNode, row, table
from graphir.converters.mxnet.exporting.ops.linear import product_dtype
from graphir.ops import signal as ir
from graphir.ops.base import normalize_axis
from graphir.types import DType

MOST = 1 << 26
"""So many elements a transform's matrix may have (256 MB of float32)."""


def _roots(node: ExportNode[ir.DFT | ir.STFT], taken: int, given: int, length: int, parts: int) -> NDArray[np.float64]:
    """Return the matrix (taken * parts, given * parts of the result) of a transform of `length`.

    Rows are places of the signal with real and imaginary part, columns places of the result. A one-sided inverse takes
    half a spectrum, of which all but the ends stand for two places, and gives real numbers.
    """
    op = node.op
    inverse = isinstance(op, ir.DFT) and op.inverse
    real = inverse and op.onesided
    rows = taken * parts
    columns = given * (1 if real else 2)
    if rows * columns > MOST:
        node.refuse(f"its matrix has {rows} x {columns} elements; MXNet has no Fourier transform of its own on CPUs")
    turns = np.arange(taken)[:, None] * np.arange(given) % length
    angles = 2 * math.pi * turns / length
    cosine, sine = np.cos(angles), np.sin(angles) * (1 if inverse else -1)
    if real:
        indices = np.arange(taken)
        twice = np.where((indices == 0) | (2 * indices == length), 1.0, 2.0)[:, None]
        cosine, sine = cosine * twice, sine * twice
    result = np.zeros((taken, parts, given, 1 if real else 2))
    result[:, 0, :, 0] = cosine
    if parts == 2:
        result[:, 1, :, 0] = -sine
    if not real:
        result[:, 0, :, 1] = sine
        if parts == 2:
            result[:, 1, :, 1] = cosine
    return np.asarray(result.reshape(rows, columns) / (length if inverse else 1))


def _transformed(node: AnyNode, data: Entry, rank: int, matrix: NDArray[np.float64], given: int) -> Entry:
    """Return the product of (..., taken, parts) with the matrix, as (..., given, parts of the result)."""
    wide = product_dtype(node.dtype())
    if wide is not node.dtype():
        data = node.step("Cast", data, suffix="wide", dtype=wide.value)
    kept = (0,) * (rank - 2)
    rows = node.step("Reshape", data, suffix="rows", shape=(*kept, -3))
    roots = node.constant(matrix.astype(wide.numpy()), wide, "roots")
    product = node.step("dot", rows, roots, suffix="product")
    result = node.step("Reshape", product, suffix="places", shape=(*kept, -4, given, matrix.shape[1] // given))
    if wide is not node.dtype():
        result = node.step("Cast", result, suffix="result", dtype=node.dtype().value)
    return result


def export_dft(node: ExportNode[ir.DFT]) -> None:
    """One dot of the places along the axis."""
    op = node.op
    rank = node.rank()
    axes, lengths = node.numbers(2), node.numbers(1)
    axis = normalize_axis(-2 if axes is None else axes[0], rank)
    size, parts = node.fixed((node.shape()[axis], node.shape()[-1]), node.input(0).name)
    (given,) = node.fixed((node.result.shape or (None,) * rank)[axis : axis + 1], node.result.name)  # type: ignore[arg-type]
    halved = op.onesided and op.inverse
    length = given if halved else size if lengths is None else lengths[0]
    taken = min(size, length // 2 + 1 if halved else length)
    data = node.entry(0)
    if taken < size:
        data = node.step("slice_axis", data, suffix="taken", axis=axis, begin=0, end=taken)
    matrix = _roots(node, taken, given, length, parts)
    order = (*(index for index in range(rank) if index not in (axis, rank - 1)), axis, rank - 1)
    if order == tuple(range(rank)):
        node.bind(_transformed(node, data, rank, matrix, given))
        return
    data = node.step("transpose", data, suffix="places_last", axes=order)
    result = _transformed(node, data, rank, matrix, given)
    node.emit("transpose", result, axes=tuple(order.index(index) for index in range(rank)))


def export_stft(node: ExportNode[ir.STFT]) -> None:
    """take of all windows, weighted, and one dot of their places."""
    steps, lengths = node.numbers(1), node.numbers(3)
    assert steps is not None
    size, parts = node.fixed(node.shape()[1:], node.input(0).name)
    length = node.fixed(node.shape(2), node.input(2).name)[0] if lengths is None else lengths[0]
    count = (size - length) // steps[0] + 1
    given = length // 2 + 1 if node.op.onesided else length
    matrix = _roots(node, length, given, length, parts)
    node.charge(max(count, 0) * length, "the places of its windows")
    places = np.arange(count)[:, None] * steps[0] + np.arange(length)
    indices = node.constant(places, DType.INT64, "places")
    frames = node.step("take", node.entry(0), indices, suffix="frames", axis=1, mode="clip")
    if node.optional(2) is not None:
        weights = node.step("Reshape", node.entry(2), suffix="weights", shape=(1, 1, -1, 1))
        frames = node.step("broadcast_mul", frames, weights, suffix="weighted")
    node.bind(_transformed(node, frames, 4, matrix, given))


EXPORTS = table(row(ir.DFT, export_dft), row(ir.STFT, export_stft))
