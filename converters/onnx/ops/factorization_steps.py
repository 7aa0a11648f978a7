"""Steps that the loops over matrices share."""

from __future__ import annotations

import numpy as np

from graphir.converters.kernel.maker import Maker
from graphir.converters.kernel.refusals import Refusal
from graphir.graph import Value
from graphir.ops.indexing import Gather
from graphir.ops.shape import Reshape, Transpose
from graphir.safety.limits import charge_elements
from graphir.types import DType


def known_sizes(value: Value) -> tuple[int, int]:
    """Return the rows and columns of matrices. Refuses open ones: they are how often a loop runs, and its tables."""
    sizes = () if value.shape is None else value.shape[-2:]
    known = [size for size in sizes if isinstance(size, int)]
    if len(known) != 2:
        raise Refusal(f"the sizes of the matrices {value.name} {value.type} are open; state the inputs' shapes")
    return known[0], known[1]


def rank_of(value: Value) -> int:
    """Return the number of axes. Refuses an open one."""
    if value.rank is None:
        raise Refusal(f"the number of axes of {value.name} {value.type} is open; state the inputs' shapes")
    return value.rank


def turned(make: Maker, value: Value) -> Value:
    """Matrices transposed."""
    rank = rank_of(value)
    return make(Transpose((*range(rank - 2), rank - 1, rank - 2)), value)


def places_of(make: Maker, size: int) -> Value:
    """Return the numbers from 0 to size - 1."""
    return make.vector(*range(size))


def unit_matrix(make: Maker, size: int, dtype: DType | None = None) -> Value:
    """Return a unit matrix, in the operands' dtype if none is stated. Raises LimitError for one that is too large."""
    charge_elements(size * size, "a unit matrix")
    return make.constant(np.eye(size, dtype=np.bool_), dtype or make.dtype)


def lower_triangle(make: Maker, size: int) -> Value:
    """Return where a square matrix has no column behind the row. Raises LimitError for one that is too large."""
    charge_elements(size * size, "a triangle of a matrix")
    return make.constant(np.tri(size, dtype=np.bool_), DType.BOOL)


def unstacked(make: Maker, rows: Value, *, columns: bool = False) -> Value:
    """Return what a loop stacked in front, (M, *, N), as matrices (*, M, N), or with `columns` (*, N, M)."""
    rank = rank_of(rows)
    last = (rank - 1, 0) if columns else (0, rank - 1)
    return make(Transpose((*range(1, rank - 1), *last)), rows)


def diagonal(make: Maker, matrix: Value) -> Value:
    """Return the diagonal of square matrices."""
    size, _ = known_sizes(matrix)
    flat = make(Reshape(), matrix, make.vector(*[0] * (rank_of(matrix) - 2), size * size))
    return make(Gather(-1), flat, make.vector(*range(0, size * size, size + 1)))
