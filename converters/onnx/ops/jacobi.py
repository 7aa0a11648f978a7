"""Eigenvectors and singular values by Jacobi's rotations: half as many pairs of rows at once as there are rows.

Source: G. Golub, C. Van Loan, Matrix Computations, 8.5 (the rotation, the parallel ordering) and 8.6.3 (one-sided).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from graphir.converters.kernel.maker import Iteration, Maker
from graphir.converters.kernel.refusals import Refusal
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops import factorization as ir
from graphir.ops.indexing import Gather, GatherElements
from graphir.ops.linear import MatMul
from graphir.ops.reduction import ArgMax, ReduceL2, ReduceMax, ReduceSum, TopK
from graphir.ops.shape import Expand, Reshape, Shape, Transpose, Unsqueeze
from graphir.ops.shape_parts import Concat
from graphir.safety.limits import charge_elements, charge_list
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


MOST_SWEEPS = 16
Compose = Callable[[Maker, Value], Sequence[Value]]


class Pairs(NamedTuple):
    """The pairs of an iteration: each row's partner (M), where in a matrix (M, M) the partners meet, the diagonal."""

    partner: Value
    meets: Value
    diagonal: Value


def rounds_of(size: int) -> list[list[int]]:
    """Return each row's partner, round by round, so that every two meet once; of an odd number one is its own partner.

    >>> rounds_of(3)
    [[0, 2, 1], [2, 1, 0], [1, 0, 2]]
    """
    charge_list(size * size, "the pairs of a matrix's rows")
    players = list(range(size + size % 2))
    rounds = []
    for _ in range(max(len(players) - 1, 1)):
        partners = list(range(size))
        for player, other in zip(players, reversed(players), strict=True):
            if player < size and other < size:
                partners[player] = other
        rounds.append(partners)
        players = [players[0], players[-1], *players[1:-1]]
    return rounds


def _pairs(make: Maker, size: int, number: Value) -> Pairs:
    """Return the pairs of the iteration of that number."""
    rounds = rounds_of(size)
    turn = make(ew.Mod(), number, make.constant(len(rounds), DType.INT64))
    partner = make(Gather(0), make.constant(rounds, DType.INT64), turn)
    meets = make(ew.Equal(), make(Unsqueeze(), partner, make.vector(-1)), places_of(make, size))
    return Pairs(partner, meets, unit_matrix(make, size, DType.BOOL))


def _rotation(make: Maker, size: int, pairs: Pairs, products: Value) -> Value:
    """Return the transposed rotation that makes the products (*, M, M) of all pairs 0."""
    zero, one, last = make.number(0.0), make.number(1.0), make.vector(-1)
    indices = places_of(make, size)
    entries = diagonal(make, products)
    off_diagonal = make(ReduceSum(keepdims=False), make(ew.Where(), pairs.meets, products, zero), last)
    other = make(Gather(-1), entries, pairs.partner)
    slope = make(ew.Div(), make(ew.Sub(), other, entries), make(ew.Add(), off_diagonal, off_diagonal))
    sign = make(ew.Where(), make(ew.Equal(), slope, zero), one, make(ew.Sign(), slope))
    root = make(ew.Sqrt(), make(ew.Add(), one, make(ew.Mul(), slope, slope)))
    tangent = make(ew.Div(), sign, make(ew.Add(), make(ew.Abs(), slope), root))
    stays = make(ew.Or(), make(ew.Equal(), off_diagonal, zero), make(ew.Equal(), indices, pairs.partner))
    tangent = make(ew.Where(), stays, zero, tangent)
    # that of a pair's second row is the first one's: a rotation only if both agree to the last digit
    others = make(ew.Neg(), make(Gather(-1), tangent, pairs.partner))
    tangent = make(ew.Where(), make(ew.Less(), indices, pairs.partner), tangent, others)
    cosine = make(ew.Reciprocal(), make(ew.Sqrt(), make(ew.Add(), one, make(ew.Mul(), tangent, tangent))))
    sine = make(ew.Mul(), tangent, cosine)
    spread = make(ew.Where(), pairs.meets, make(Unsqueeze(), sine, last), zero)
    return turned(make, make(ew.Where(), pairs.diagonal, make(Unsqueeze(), cosine, last), spread))


def _tolerance(make: Maker, size: int) -> Value:
    """Return what is 0 beside 1: the rounding of sums of that many products."""
    return make.number(float(np.finfo(make.dtype.value).eps) * max(4, size / 4))


def _any(make: Maker, condition: Value) -> Value:
    """Return whether a condition holds anywhere, as a scalar."""
    zero, one = make.number(0.0), make.number(1.0)
    return make(ew.Greater(), make(ReduceMax(keepdims=False), make(ew.Where(), condition, one, zero)), zero)


def _unit(make: Maker, like: Value, size: int) -> Value:
    """Unit matrices of the batch of a value."""
    shape = make(Concat(0), make(Shape(0, -2), like), make.vector(size, size))
    return make(Expand(), unit_matrix(make, size), shape)


def _order_rows(make: Maker, rows: Value, order: Value) -> Value:
    """Rows (*, M, N) in the order of the indices (*, M)."""
    indices = make(Expand(), make(Unsqueeze(), order, make.vector(-1)), make(Shape(), rows))
    return make(GatherElements(-2), rows, indices)


def _leads_below_zero(make: Maker, rows: Value) -> Value:
    """Return whether the largest component of each row (*, M, N) is negative, (*, M, 1)."""
    lead = make(GatherElements(-1), rows, make(ArgMax(axis=-1), make(ew.Abs(), rows)))
    return make(ew.Less(), lead, make.number(0.0))


def _compose_in_double(compose: Compose, make: Maker, a: Value) -> Sequence[Value]:
    """Return what is composed of the operand as float64, in the operand's dtype: hundreds of rotations would drift in
    less."""
    if make.dtype is DType.FLOAT64:
        return compose(make, a)
    wide = make.of(DType.FLOAT64)
    return [wide(ew.Cast(make.dtype), value) for value in compose(wide, wide(ew.Cast(DType.FLOAT64), a))]


def compose_symmetric_eigen(make: Maker, op: ir.SymmetricEigen, operands: Sequence[Value]) -> Sequence[Value]:
    """Rotations from both sides until the matrix is diagonal."""
    return _compose_in_double(_symmetric_eigen, make, operands[0])


def compose_svd(make: Maker, op: ir.SVD, operands: Sequence[Value]) -> Sequence[Value]:
    """Rotations of the rows until all are orthogonal; their lengths are the singular values."""
    return _compose_in_double(_svd, make, operands[0])


def _symmetric_eigen(make: Maker, a: Value) -> Sequence[Value]:
    """Vectors and values."""
    size, _ = known_sizes(a)
    axes = make.vector(-2, -1)

    def step(make: Maker, number: Value, states: Sequence[Value]) -> Iteration:
        matrix, vectors = states
        pairs = _pairs(make, size, number)
        rotation = _rotation(make, size, pairs, matrix)
        matrix = make(MatMul(), make(MatMul(), rotation, matrix), turned(make, rotation))
        matrix = make(ew.Mul(), make(ew.Add(), matrix, turned(make, matrix)), make.number(0.5))
        sizes = make(ew.Abs(), matrix)
        off_diagonal = make(ReduceMax(), make(ew.Where(), pairs.diagonal, make.number(0.0), sizes), axes)
        limit = make(ew.Mul(), make(ReduceMax(), sizes, axes), _tolerance(make, size))
        condition = _any(make, make(ew.Greater(), off_diagonal, limit))
        return Iteration([matrix, make(MatMul(), rotation, vectors)], (), condition)

    lower = lower_triangle(make, size)
    start = make(ew.Where(), lower, a, turned(make, a))
    matrix, vectors = make.loop(MOST_SWEEPS * len(rounds_of(size)), [start, _unit(make, a, size)], step)
    values, order = make.all(TopK(axis=-1, largest=False), diagonal(make, matrix), make.vector(size))
    vectors = _order_rows(make, vectors, order)
    return [make(ew.Where(), _leads_below_zero(make, vectors), make(ew.Neg(), vectors), vectors), values]


def _svd(make: Maker, a: Value) -> Sequence[Value]:
    """U, S and V."""
    size, _ = known_sizes(a)
    zero, last = make.number(0.0), make.vector(-1)

    def step(make: Maker, number: Value, states: Sequence[Value]) -> Iteration:
        rows, vectors = states
        pairs = _pairs(make, size, number)
        products = make(MatMul(), rows, turned(make, rows))
        rotation = _rotation(make, size, pairs, products)
        lengths = make(Unsqueeze(), make(ew.Sqrt(), diagonal(make, products)), last)
        limit = make(ew.Mul(), make(ew.Mul(), lengths, turned(make, lengths)), _tolerance(make, size))
        off_diagonal = make(ew.Where(), pairs.diagonal, zero, make(ew.Abs(), products))
        condition = _any(make, make(ew.Greater(), off_diagonal, limit))
        return Iteration([make(MatMul(), rotation, rows), make(MatMul(), rotation, vectors)], (), condition)

    count = MOST_SWEEPS * len(rounds_of(size))
    rows, vectors = make.loop(count, [a, _unit(make, a, size)], step)
    lengths, order = make.all(TopK(axis=-1), make(ReduceL2(keepdims=False), rows, last), make.vector(size))
    rows, vectors = (_order_rows(make, value, order) for value in (rows, vectors))
    divisor = make(Unsqueeze(), lengths, last)
    divisor = make(ew.Where(), make(ew.Equal(), divisor, zero), make.number(1.0), divisor)
    rows = make(ew.Div(), rows, divisor)
    is_turned = _leads_below_zero(make, rows)
    rows, vectors = (make(ew.Where(), is_turned, make(ew.Neg(), value), value) for value in (rows, vectors))
    return [turned(make, vectors), lengths, rows]
