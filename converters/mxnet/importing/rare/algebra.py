"""Linear algebra beyond products: determinants, diagonals, triangles, and products that need their places.

MXNet computes these of float32 and float64 only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.ops.linear import by_factor
from graphir.errors import ShapeError
from graphir.graph import Value
from graphir.ops.elementwise import Identity, Log, Mul, Where
from graphir.ops.indexing import Gather
from graphir.ops.linear import Det, MatMul
from graphir.ops.reduction import ReduceSum
from graphir.ops.shape import Reshape, Shape, Transpose, Unsqueeze
from graphir.ops.shape_parts import Concat
from graphir.types import DType, unify_dim

Places = NDArray[np.int64]


def require_wide(node: ImportNode, *values: Value) -> None:
    """Refuse dtypes other than float32 and float64, which MXNet refuses when it runs."""
    for value in values:
        if value.dtype not in (None, DType.FLOAT32, DType.FLOAT64):
            node.refuse(f"{value.name} is {value.dtype}; MXNet computes this of float32 and float64 only")


def square_size(node: ImportNode, value: Value) -> int:
    """Return the known number of rows of square matrices, the last two axes. Refuses others."""
    if node.rank(value) < 2:
        node.refuse(f"{value.name} is {value.type}, expected square matrices")
    rows, columns = node.sizes(value, (-2, -1))
    if rows != columns:
        node.refuse(f"{value.name} is {value.type}, expected square matrices")
    return rows


def turned(node: ImportNode, value: Value, suffix: str = "turned") -> Value:
    """Return the matrices in the last two axes transposed."""
    rank = node.rank(value)
    return node.step(Transpose((*range(rank - 2), rank - 1, rank - 2)), value, suffix=suffix)


def same_batch(node: ImportNode, left: Value, right: Value) -> None:
    """Refuse operands whose axes before the last two differ: MXNet's do not broadcast."""
    ranks = node.rank(left), node.rank(right)
    if ranks[0] != ranks[1] or ranks[0] < 2:
        node.refuse(f"operands of {ranks[0]} and {ranks[1]} axes; MXNet wants equally many, 2 or more")
    for one, other in zip(node.shape(left)[:-2], node.shape(right)[:-2], strict=True):
        if isinstance(one, int) and isinstance(other, int) and one != other:
            node.refuse(f"batch sizes of {left.type} and {right.type} differ; MXNet does not broadcast them")


def import_det(node: ImportNode) -> Value:
    """Return the determinant of square matrices; that of a single one has the shape (1,)."""
    data = node.input(0)
    if node.rank(data) == 2 and not node.np_shape:
        return node.emit(Reshape(), node.step(Det(), data), node.vector([1]))
    return node.emit(Det(), data)


def _diagonal_places(node: ImportNode, size: int, offset: int) -> Places:
    """Return the flat places of a diagonal of matrices of that size, `offset` above the main one."""
    count = size - abs(offset)
    node.charge(max(count, 0), "the places of a diagonal")
    rows = np.arange(max(count, 0)) + max(-offset, 0)
    return np.asarray(rows * size + rows + offset, np.int64)


def _triangle_places(node: ImportNode, size: int, offset: int, lower: bool) -> Places:
    """Return the flat places of a triangle, of a lower one row by row, of an upper one column by column.

    One off the main diagonal is the one that does not have it.
    """
    node.charge(size * size, "the places of a triangle")
    is_lower = offset < 0 or (offset == 0 and lower)
    rows, columns = np.tril_indices(size, -abs(offset))
    return np.asarray(rows * size + columns if is_lower else columns * size + rows, np.int64)


def _taken(node: ImportNode, data: Value, places: Places, suffix: str = "") -> tuple[Gather, Value, Value]:
    """Return what takes the elements at these flat places of matrices."""
    size = square_size(node, data)
    if not len(places):
        node.refuse(f"offset {node.attrs['offset']} is outside of matrices of {size} rows")
    flat = node.step(Reshape(), data, node.vector([0] * (node.rank(data) - 2) + [size * size]), suffix="flat")
    return Gather(-1), flat, node.constant(places, DType.INT64)


def _placed(node: ImportNode, data: Value, places: Places, size: int) -> Value:
    """Matrices of that size, the vectors' elements at these flat places and zeros elsewhere."""
    node.charge(size * size, "the places of elements")
    table, mask = np.zeros(size * size, np.int64), np.zeros(size * size, np.bool_)
    table[places], mask[places] = np.arange(len(places)), True
    spread = node.step(Gather(-1), data, node.constant(table, DType.INT64), suffix="spread")
    stored = node.constant(mask, DType.BOOL)
    kept = node.step(Where(), stored, spread, node.scalar_like(data, 0.0), suffix="kept")
    return node.emit(Reshape(), kept, node.vector([0] * (node.rank(data) - 1) + [size, size]))


def _length(node: ImportNode, data: Value) -> int:
    """Return the known length of vectors, the last axis."""
    require_wide(node, data)
    if node.rank(data) < 1:
        node.refuse(f"{data.name} has no axis")
    return node.sizes(data, (-1,))[0]


def import_extractdiag(node: ImportNode) -> Value:
    """Return the diagonal `offset` above the main one, of square matrices."""
    data = node.input(0)
    require_wide(node, data)
    return node.emit(*_taken(node, data, _diagonal_places(node, square_size(node, data), node.attrs["offset"])))


def import_makediag(node: ImportNode) -> Value:
    """Matrices with the vectors on the diagonal `offset` above the main one."""
    data, offset = node.input(0), node.attrs["offset"]
    size = _length(node, data) + abs(offset)
    return _placed(node, data, _diagonal_places(node, size, offset), size)


def import_extracttrian(node: ImportNode) -> Value:
    """Return the elements of a triangle of square matrices, row by row, of an upper one column by column."""
    data = node.input(0)
    require_wide(node, data)
    indices = _triangle_places(node, square_size(node, data), node.attrs["offset"], node.attrs["lower"])
    return node.emit(*_taken(node, data, indices))


def import_maketrian(node: ImportNode) -> Value:
    """Matrices with the vectors' elements in a triangle, in the order of extracttrian."""
    data, offset = node.input(0), node.attrs["offset"]
    length = _length(node, data)
    rows = int((2 * length) ** 0.5)
    if rows * (rows + 1) // 2 != length or not length:
        node.refuse(f"{length} elements make no triangle")
    size = rows + abs(offset)
    return _placed(node, data, _triangle_places(node, size, offset, node.attrs["lower"]), size)


def import_sumlogdiag(node: ImportNode) -> Value:
    """Return the sum of the logarithms of the diagonal; that of a single matrix has the shape (1,)."""
    data = node.input(0)
    require_wide(node, data)
    result = node.step(*_taken(node, data, _diagonal_places(node, square_size(node, data), 0)), suffix="diagonal")
    keeps = node.rank(data) == 2
    return node.emit(ReduceSum(keepdims=keeps), node.step(Log(), result), node.vector([-1]))


def triangle(node: ImportNode, data: Value, lower: bool) -> Value:
    """Return the triangle of square matrices with the main diagonal, zeros in place of the other one's elements."""
    size = square_size(node, data)
    node.charge(size * size, "the places of a triangle")
    mask = np.tri(size, dtype=np.bool_)
    stored = node.constant(mask if lower else mask.T, DType.BOOL)
    return node.step(Where(), stored, data, node.scalar_like(data, 0.0), suffix="triangle")


def import_trmm(node: ImportNode) -> Value:
    """alpha op(A) B, or alpha B op(A) with `rightside`, of which A's other triangle is not read."""
    attrs = node.attrs
    matrix, data = node.input(0), node.input(1)
    require_wide(node, matrix, data)
    same_batch(node, matrix, data)
    factor = triangle(node, matrix, attrs["lower"])
    if attrs["transpose"]:
        factor = turned(node, factor)
    pair = (data, factor) if attrs["rightside"] else (factor, data)
    if attrs["alpha"] == 1.0:
        return node.emit(MatMul(), *pair)
    return node.emit(*by_factor(node, node.step(MatMul(), *pair), attrs["alpha"]))


def import_khatri_rao(node: ImportNode) -> Value:
    """Column by column the Kronecker product of matrices, which have equally many columns."""
    first, *others = node.take_inputs(1, or_more=True)
    require_wide(node, first, *others)
    for value in node.inputs:
        if node.rank(value) != 2:
            node.refuse(f"{value.name} is {value.type}, expected a matrix")
        try:
            unify_dim(node.shape(first)[1], node.shape(value)[1])
        except ShapeError:
            node.refuse(f"{first.type} and {value.type} differ in their columns")
    for value in others:
        rows = node.step(Unsqueeze(), first, node.vector([1]), suffix="rows")
        pairs = node.step(Mul(), rows, node.step(Unsqueeze(), value, node.vector([0]), suffix="apart"), suffix="pairs")
        columns = node.step(Shape(1, 2), value, suffix="columns")
        shape = node.step(Concat(0), node.vector([-1]), columns, suffix="shape")
        first = node.step(Reshape(), pairs, shape, suffix="product")
    return node.emit(Identity(), first)


IMPORTS: dict[str, ImportFunction] = {
    "_linalg_det": import_det,
    "_linalg_extractdiag": import_extractdiag,
    "_linalg_extracttrian": import_extracttrian,
    "_linalg_makediag": import_makediag,
    "_linalg_maketrian": import_maketrian,
    "_linalg_sumlogdiag": import_sumlogdiag,
    "_linalg_trmm": import_trmm,
    "khatri_rao": import_khatri_rao,
}
