"""Fourier's transforms and the count sketch, which MXNet's builds have for GPUs only: by their documentation."""

from __future__ import annotations

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.graph import Value
from graphir.ops.elementwise import Equal, Mul
from graphir.ops.linear import MatMul
from graphir.ops.shape import Reshape, Shape, Squeeze, Unsqueeze
from graphir.ops.shape_parts import Slice
from graphir.ops.signal import DFT
from graphir.types import DType


def _float_rows(node: ImportNode, *ranks: int) -> Value:
    """Return the operand, of floats and of one of these numbers of axes."""
    data = node.input(0)
    if node.rank(data) not in ranks or (data.dtype is not None and not data.dtype.is_float):
        node.refuse(f"{data.name} is {data.type}; MXNet takes floats of {' or '.join(map(str, ranks))} axes")
    return data


def import_fft(node: ImportNode) -> Value:
    """The transform along the last axis, real and imaginary parts in turn: (..., d) to (..., 2 d)."""
    data = _float_rows(node, 2, 4)
    signal = node.step(Unsqueeze(), data, node.vector([-1]), suffix="signal")
    spectrum = node.step(DFT(), signal)
    return node.emit(Reshape(), spectrum, node.vector([0] * (node.rank(data) - 1) + [-1]))


def import_ifft(node: ImportNode) -> Value:
    """The real part of the inverse transform, not divided by d, of parts in turn: (..., 2 d) to (..., d)."""
    data = _float_rows(node, 2, 4)
    size = node.shape(data)[-1]
    if isinstance(size, int) and size % 2:
        node.refuse(f"{data.name} is {data.type}: real and imaginary parts in turn are an even number")
    rank = node.rank(data)
    pairs = node.step(Reshape(), data, node.vector([0] * (rank - 1) + [-1, 2]), suffix="pairs")
    signal = node.step(DFT(inverse=True), pairs)
    real = node.step(Slice(), signal, *(node.vector([number]) for number in (0, 1, -1)), suffix="real")
    length = node.step(Shape(rank - 1, rank), pairs, suffix="length")
    factor = node.cast(length, data.dtype or DType.FLOAT32, suffix="factor")
    return node.emit(Mul(), node.step(Squeeze(), real, node.vector([-1])), factor)


def import_count_sketch(node: ImportNode) -> Value:
    """(N, d) to (N, out_dim): each column times its sign `s`, added to the column that `h` names."""
    data = _float_rows(node, 2, 4)
    count = node.attrs["out_dim"]
    if count < 1:
        node.refuse(f"out_dim {count}, expected 1 or more")
    node.charge_vector(range(count))
    columns = node.step(Reshape(), node.input(1), node.vector([-1, 1]), suffix="columns")
    chosen = node.step(Equal(), node.cast(columns, DType.INT64), node.vector(range(count)), suffix="chosen")
    table = node.cast(chosen, data.dtype or DType.FLOAT32, suffix="table")
    signs = node.step(Reshape(), node.input(2), node.vector([-1]), suffix="signs")
    return node.emit(MatMul(), node.step(Mul(), data, signs, suffix="signed"), table)


IMPORTS: dict[str, ImportFunction] = {
    "_contrib_count_sketch": import_count_sketch,
    "_contrib_fft": import_fft,
    "_contrib_ifft": import_ifft,
}
