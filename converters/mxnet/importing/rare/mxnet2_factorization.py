"""Factors of matrices that MXNet has since 2.0: QR, ranks and least squares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.ops.numpy_elementwise import as_dtype
from graphir.converters.mxnet.importing.rare.algebra import require_wide, turned
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops.factorization import LQ, SVD
from graphir.ops.linear import MatMul
from graphir.ops.reduction import ReduceMax, ReduceSum, ReduceSumSquare
from graphir.ops.shape import Reshape, Squeeze, Unsqueeze
from graphir.ops.shape_parts import Slice
from graphir.types import DType


def _sizes(node: ImportNode, data: Value) -> tuple[int, int]:
    """Rows and columns of matrices that are not empty."""
    rows, columns = node.sizes(data, (-2, -1)) if node.rank(data) > 1 else (0, 0)
    if not rows or not columns:
        node.refuse(f"{data.name} is {data.type}, expected matrices")
    return rows, columns


def import_qr(node: ImportNode) -> Sequence[Value]:
    """Q of orthonormal columns and R, an upper triangle, with the signs of LAPACK's reflections."""
    data = node.input(0)
    if data.dtype not in (None, DType.FLOAT32, DType.FLOAT64):
        if data.dtype in (DType.FLOAT16, DType.BOOL):
            node.refuse(f"{data.name} is {data.dtype}; MXNet takes others only")
        data = as_dtype(node, data, DType.FLOAT64)
    rows, columns = _sizes(node, data)
    node.decide(
        DecisionKind.UNDEFINED_ELEMENTS, "columns of Q for columns without a direction of their own are others"
    )
    square = data
    if rows < columns:
        square = node.step(Slice(), data, node.vector([0]), node.vector([rows]), node.vector([-1]), suffix="square")
    result, lower = node.steps(LQ(), turned(node, square))
    if rows >= columns:
        return [turned(node, result, "orthonormal"), turned(node, lower, "triangle")]
    return [turned(node, result, "orthonormal"), node.step(MatMul(), result, data, suffix="triangle")]


def _singular(node: ImportNode, data: Value, rows: int, columns: int) -> tuple[Value, Value, Value]:
    """SVD of the matrices, of the transposed ones where they are tall: left, singular values, right."""
    node.decide(
        DecisionKind.PRECISION, "whether a singular value that is 0 but for rounding counts, its last digits decide"
    )
    left, lengths, right = node.steps(SVD(), turned(node, data) if rows > columns else data)
    return left, lengths, right


def _count(node: ImportNode, lengths: Value, limit: Value) -> Value:
    """Return how many singular values are beyond the limit, as int64."""
    beyond = node.cast(node.step(ew.Greater(), lengths, limit), DType.INT64, suffix="beyond")
    return node.step(ReduceSum(keepdims=False), beyond, node.vector([-1]), suffix="rank")


def _rank_of_vector(node: ImportNode, data: Value) -> Value:
    none = node.step(ew.Equal(), data, node.scalar_like(data, 0.0), suffix="none")
    some = node.cast(node.step(ew.Not(), none), DType.INT64, suffix="some")
    return node.step(ReduceMax(keepdims=False), some, node.vector([0]), suffix="rank")


def _matrices(node: ImportNode) -> Value:
    data = node.input(0)
    require_wide(node, data)
    if node.attrs["hermitian"]:
        node.refuse("hermitian True, which MXNet 2.0 does not support")
    return data


def import_matrix_rank(node: ImportNode) -> Value:
    """Return how many singular values are beyond `tol`, which broadcasts against the batch."""
    data, limit = _matrices(node), node.input(1)
    if node.rank(data) < 2:
        return node.emit(ew.Identity(), _rank_of_vector(node, data))
    _, lengths, _ = _singular(node, data, *_sizes(node, data))
    if node.rank(limit):
        limit = node.step(Unsqueeze(), limit, node.vector([-1]), suffix="limit")
    return node.emit(ew.Identity(), _count(node, lengths, as_dtype(node, limit, data.dtype)))


def _epsilon(node: ImportNode, data: Value) -> float:
    return float(node.attrs["finfoEps64" if data.dtype is DType.FLOAT64 else "finfoEps32"])


def _relative(node: ImportNode, lengths: Value, factor: float) -> Value:
    """Return the largest singular value times a factor."""
    largest = node.step(ReduceMax(), lengths, node.vector([-1]), suffix="largest")
    return node.step(ew.Mul(), largest, node.scalar_like(lengths, factor), suffix="least")


def import_matrix_rank_none(node: ImportNode) -> Value:
    """Return how many singular values are beyond the largest one times the larger size times the dtype's epsilon."""
    data = _matrices(node)
    if node.rank(data) < 2:
        return node.emit(ew.Identity(), _rank_of_vector(node, data))
    rows, columns = _sizes(node, data)
    _, lengths, _ = _singular(node, data, rows, columns)
    limit = _relative(node, lengths, max(rows, columns) * _epsilon(node, data))
    return node.emit(ew.Identity(), _count(node, lengths, limit))


def import_lstsq(node: ImportNode) -> Sequence[Value]:
    """Return the X of least length that brings A X nearest to B, the squares that are left, A's rank and singular
    values.

    Nothing is said of the squares where the rank is below A's columns, or A has not more rows than columns.
    """
    matrix, data = node.input(0), node.input(1)
    require_wide(node, matrix, data)
    if node.rank(matrix) != 2 or node.rank(data) not in (1, 2):
        node.refuse(f"{matrix.type} and {data.type}, expected a matrix, and a matrix or a vector")
    rows, columns = _sizes(node, matrix)
    wide = matrix.dtype or DType.FLOAT32
    cutoff = float(node.attrs["rcond"])
    if node.attrs["new_default"]:
        cutoff = _epsilon(node, matrix) * max(rows, columns)
    elif cutoff < 0:
        cutoff = float(np.finfo(wide.numpy()).eps) / 2  # LAPACK's, of numbers that are rounded
    vector = node.rank(data) == 1
    if vector:
        data = node.step(Unsqueeze(), data, node.vector([-1]), suffix="columns")
    left, lengths, right = _singular(node, matrix, rows, columns)
    limit = _relative(node, lengths, cutoff)
    rank = _count(node, lengths, limit)
    one, zero = node.scalar_like(matrix, 1.0), node.scalar_like(matrix, 0.0)
    stored = node.step(ew.Greater(), lengths, limit, suffix="held")
    inverse = node.step(ew.Where(), stored, node.step(ew.Div(), one, lengths), zero, suffix="inverse")
    scale = node.step(Unsqueeze(), inverse, node.vector([-1]), suffix="scale")
    first, second = (right, left) if rows > columns else (turned(node, left), turned(node, right))
    parts = node.step(ew.Mul(), node.step(MatMul(), first, data), scale, suffix="parts")
    result = node.step(MatMul(), second, parts, suffix="found")
    # Sums of squares of B - A X by column, or nothing.
    (count,) = node.sizes(data, (1,))
    rest = node.step(ew.Sub(), data, node.step(MatMul(), matrix, result), suffix="rest")
    squares = node.step(ReduceSumSquare(keepdims=False), rest, node.vector([0]), suffix="squares")
    full = node.step(ew.Equal(), rank, node.constant(columns if rows > columns else -1, DType.INT64))
    number = node.step(ew.Mul(), node.cast(full, DType.INT64), node.constant(count, DType.INT64))
    last = node.step(Reshape(), number, node.vector([1]), suffix="last")
    squares = node.step(Slice(), squares, node.vector([0]), last, node.vector([0]), suffix="known")
    if vector:
        result = node.step(Squeeze(), result, node.vector([-1]), suffix="vector")
    return [result, squares, rank, lengths]


IMPORTS: dict[str, ImportFunction] = {
    "_npi_lstsq": import_lstsq,
    "_npi_matrix_rank": import_matrix_rank,
    "_npi_matrix_rank_none_tol": import_matrix_rank_none,
    "_npi_qr": import_qr,
}
