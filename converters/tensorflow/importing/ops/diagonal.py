"""Diagonals and triangles of matrices, which are the last two axes."""

from __future__ import annotations

from graphir.converters.tensorflow.importing.context import ImportFunction, ImportNode
from graphir.converters.tensorflow.importing.sizes import Count, as_vector, size_at
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops.creation import Range
from graphir.ops.indexing import Gather
from graphir.ops.shape import Pad, Reshape, Unsqueeze
from graphir.ops.shape_parts import Concat, Trilu
from graphir.types import DType

TRIANGLES = frozenset({DType.FLOAT32, DType.FLOAT64, DType.INT64, DType.BOOL})
"""What runtimes cut triangles of; other dtypes are chosen by a mask."""


def import_band_part(node: ImportNode) -> Value:
    """MatrixBandPart: `lower` diagonals below the main one and `upper` above it; negative numbers keep all of them."""
    data = node.input(0)
    lower, upper = node.integer(1, "num_lower"), node.integer(2, "num_upper")
    if node.dtype() not in TRIANGLES:
        return _mask_band(node, data, lower, upper)
    if lower >= 0:
        data = node.step(Trilu(upper=True), data, node.constant(-lower, DType.INT64), suffix="not_below")
    if upper >= 0:
        data = node.step(Trilu(upper=False), data, node.constant(upper, DType.INT64), suffix="not_above")
    return data


def _mask_band(node: ImportNode, data: Value, lower: int, upper: int) -> Value:
    offsets = _offsets(node, size_at(node, data, -2), size_at(node, data, -1))
    for limit, compare, cuts in ((-lower, ew.Less(), lower >= 0), (upper, ew.Greater(), upper >= 0)):
        if not cuts:
            continue
        outside = node.step(compare, offsets, node.constant(limit, DType.INT64), suffix="outside")
        data = node.step(ew.Where(), outside, node.scalar_like(data, 0), data, suffix="band")
    return data


def _offsets(node: ImportNode, rows: Count, columns: Count) -> Value:
    """Return column less row of every element: int64 (rows, columns)."""
    down = node.step(Unsqueeze(), _count_up(node, rows), node.vector([1]), suffix="down")
    return node.step(ew.Sub(), _count_up(node, columns), down, suffix="offsets")


def _count_up(node: ImportNode, count: Count) -> Value:
    """Return 0, 1, 2... as an int64 vector."""
    zero, unit = (node.constant(number, DType.INT64) for number in (0, 1))
    if isinstance(count, int):
        return node.vector(range(count))
    limit = node.step(Reshape(), count, node.vector([]), suffix="limit")
    return node.step(Range(), zero, limit, unit, suffix="numbers")


def _is_on_diagonal(node: ImportNode, rows: Count, columns: Count, k: int) -> Value:
    """Return whether an element is on diagonal k."""
    return node.step(ew.Equal(), _offsets(node, rows, columns), node.constant(k, DType.INT64), suffix="on_diagonal")


def _diagonal_number(node: ImportNode, slot: int) -> int:
    """Return the diagonal that is meant; 0 for operators that have the main one only."""
    if len(node) <= slot:
        return 0
    numbers = node.integers(slot, "k")
    if len(set(numbers)) != 1:
        node.refuse(f"a band of diagonals k = {list(numbers)}; only a single diagonal is supported")
    return numbers[0]


def import_matrix_diag(node: ImportNode) -> Value:
    """MatrixDiag of all versions, and Diag: matrices with the vectors (*, n) on diagonal k, the padding elsewhere."""
    diagonal = node.input(0)
    if node.op == "Diag" and node.rank(diagonal) != 1:
        node.refuse(f"the diagonal of {diagonal.type}; only a vector is supported")
    k = _diagonal_number(node, 1)
    length = size_at(node, diagonal, -1)
    stated = [node.integer(2, "num_rows"), node.integer(3, "num_cols")] if len(node) > 2 else [-1, -1]
    least = [abs(k)] * 2 if stated == [-1, -1] else [max(-k, 0), max(k, 0)]  # square where neither is stated
    rows, columns = (
        _add_to_size(node, length, more) if number == -1 else number
        for number, more in zip(stated, least, strict=True)
    )
    padding = node.input(4) if len(node) > 4 else node.scalar_like(diagonal, 0)
    spread = _spread_diagonal(node, diagonal, length, rows if k >= 0 else columns, k)
    return node.emit(ew.Where(), _is_on_diagonal(node, rows, columns, k), spread, padding)


def _add_to_size(node: ImportNode, size: Count, by: int) -> Count:
    if isinstance(size, int):
        return size + by
    return size if not by else node.step(ew.Add(), size, node.vector([by]), suffix="longer")


def _spread_diagonal(node: ImportNode, diagonal: Value, length: Count, side: Count, k: int) -> Value:
    """Return the diagonal along the rows (from the main diagonal on) or the columns, as long as that side of the
    matrix.

    On diagonal k of 0 or more the element's index is its row, below it is its column.
    """
    rank = node.rank(diagonal)
    if length != side:
        more = node.step(ew.Sub(), as_vector(node, [side]), as_vector(node, [length]), suffix="missing")
        zeros = node.vector([0] * (2 * rank - 1))
        diagonal = node.step(Pad(), diagonal, node.step(Concat(axis=0), zeros, more, suffix="pads"), suffix="long")
    return node.step(Unsqueeze(), diagonal, node.vector([-1 if k >= 0 else -2]), suffix="spread")


def import_matrix_diag_part(node: ImportNode) -> Value:
    """MatrixDiagPart of all versions, and DiagPart: diagonal k of every matrix (*, rows, columns)."""
    data = node.input(0)
    rank = node.rank(data)
    if node.op == "DiagPart" and rank != 2:
        node.refuse(f"the diagonal of {data.type}; only of a matrix is supported")
    k = _diagonal_number(node, 1)
    rows, columns = size_at(node, data, -2), size_at(node, data, -1)
    flat = node.step(Reshape(), data, node.vector([*([0] * (rank - 2)), -1]), suffix="flat")
    if isinstance(rows, int) and isinstance(columns, int):
        count = min(rows - max(-k, 0), columns - max(k, 0))
        if count < 1:
            node.refuse(f"diagonal {k} of {data.type} does not exist")
        first = max(k, 0) + max(-k, 0) * columns
        node.charge_table(count)
        return node.emit(Gather(axis=-1), flat, node.vector([first + index * (columns + 1) for index in range(count)]))
    tall, wide = as_vector(node, [rows]), as_vector(node, [columns])
    down = node.step(ew.Sub(), tall, node.vector([max(-k, 0)]), suffix="down")
    across = node.step(ew.Sub(), wide, node.vector([max(k, 0)]), suffix="across")
    indices = _count_up(node, node.step(ew.Min(), down, across, suffix="length"))
    step = node.step(ew.Add(), wide, node.vector([1]), suffix="stride")
    along = node.step(ew.Mul(), indices, step, suffix="along")
    skipped = node.step(ew.Mul(), wide, node.vector([max(-k, 0)]), suffix="skipped")
    start = node.step(ew.Add(), skipped, node.vector([max(k, 0)]), suffix="first")
    return node.emit(Gather(axis=-1), flat, node.step(ew.Add(), along, start, suffix="places"))


def import_matrix_set_diag(node: ImportNode) -> Value:
    """MatrixSetDiag of all versions: the matrices with diagonal k replaced."""
    data, diagonal = node.input(0), node.input(1)
    k = _diagonal_number(node, 2)
    rows, columns = size_at(node, data, -2), size_at(node, data, -1)
    spread = _spread_diagonal(node, diagonal, size_at(node, diagonal, -1), rows if k >= 0 else columns, k)
    return node.emit(ew.Where(), _is_on_diagonal(node, rows, columns, k), spread, data)


IMPORTS: dict[str, ImportFunction] = {
    "Diag": import_matrix_diag,
    "DiagPart": import_matrix_diag_part,
    "MatrixBandPart": import_band_part,
    "MatrixDiag": import_matrix_diag,
    "MatrixDiagPart": import_matrix_diag_part,
    "MatrixDiagPartV2": import_matrix_diag_part,
    "MatrixDiagPartV3": import_matrix_diag_part,
    "MatrixDiagV2": import_matrix_diag,
    "MatrixDiagV3": import_matrix_diag,
    "MatrixSetDiag": import_matrix_set_diag,
    "MatrixSetDiagV2": import_matrix_set_diag,
    "MatrixSetDiagV3": import_matrix_set_diag,
}
