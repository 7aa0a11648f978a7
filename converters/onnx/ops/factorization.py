"""Factors of matrices as loops over their columns: ONNX has no such operators.

A loop touches whole batches at once. What it leaves behind in rows and columns that are done is never read again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphir.converters.kernel.maker import Iteration, Maker
from graphir.converters.onnx.exporting.composed import composed
from graphir.converters.onnx.exporting.context import row, table
from graphir.converters.onnx.importing.context import ImportTable
from graphir.converters.onnx.ops.jacobi import (
    compose_svd,
    compose_symmetric_eigen,
    diagonal,
    known_sizes,
    lower_triangle,
    places_of,
    turned,
    unit_matrix,
    unstacked,
)
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops import factorization as ir
from graphir.ops.indexing import Gather
from graphir.ops.reduction import ArgMax, ReduceL2, ReduceProd, ReduceSum
from graphir.ops.shape import Expand, Shape, Squeeze, Unsqueeze
from graphir.ops.shape_parts import Concat, Slice
from graphir.types import DType

Composition = Callable[[Maker, Any, Sequence[Value]], Sequence[Value]]


def compose_cholesky(make: Maker, op: ir.Cholesky, operands: Sequence[Value]) -> Sequence[Value]:
    """Column by column: a column is divided by the root of its pivot, and its product leaves what is behind it."""
    (a,) = operands
    size, _ = known_sizes(a)

    def step(make: Maker, number: Value, states: Sequence[Value]) -> Iteration:
        (rest,) = states
        column = make(Gather(-1), rest, number)
        index = make(Unsqueeze(), number, make.vector(0))
        scaled = make(ew.Div(), column, make(ew.Sqrt(), make(Gather(-1), column, index)))
        outer = make(ew.Mul(), make(Unsqueeze(), scaled, make.vector(-1)), make(Unsqueeze(), scaled, make.vector(-2)))
        is_below = make(ew.GreaterOrEqual(), places_of(make, size), number)
        return Iteration([make(ew.Sub(), rest, outer)], [make(ew.Where(), is_below, scaled, make.number(0.0))])

    _, stacked = make.loop(size, [a if op.lower else turned(make, a)], step)
    return [unstacked(make, stacked, columns=op.lower)]


def _substitute_rows(make: Maker, matrix: Value, sides: Value, *, lower: bool, transpose: bool = False) -> Value:
    """X of op(A) X = B for a triangular A, row by row: forwards where op(A) is a lower one."""
    size, _ = known_sizes(matrix)
    forwards = lower != transpose

    def step(make: Maker, number: Value, states: Sequence[Value]) -> Iteration:
        (rest,) = states
        at = number if forwards else make(ew.Sub(), make.constant(size - 1, DType.INT64), number)
        index = make(Unsqueeze(), at, make.vector(0))
        factors = make(Gather(-2 if transpose else -1), matrix, at)
        pivot = make(Unsqueeze(), make(Gather(-1), factors, index), make.vector(-1))
        row = make(ew.Div(), make(Gather(-2), rest, index), pivot)
        product = make(ew.Mul(), make(Unsqueeze(), factors, make.vector(-1)), row)
        return Iteration([make(ew.Sub(), rest, product)], [make(Squeeze(), row, make.vector(-2))])

    _, stacked = make.loop(size, [sides], step)
    solution = unstacked(make, stacked)
    return solution if forwards else make(Gather(-2), solution, make.vector(*reversed(range(size))))


def compose_triangular_solve(make: Maker, op: ir.TriangularSolve, operands: Sequence[Value]) -> Sequence[Value]:
    """Substitution; X op(A) = B is op(A)^T X^T = B^T."""
    matrix, sides = operands
    if not op.rightside:
        return [_substitute_rows(make, matrix, sides, lower=op.lower, transpose=op.transpose)]
    solution = _substitute_rows(make, matrix, turned(make, sides), lower=op.lower, transpose=not op.transpose)
    return [turned(make, solution)]


def _eliminate_rows(make: Maker, matrix: Value, sides: Value | None) -> tuple[Value, Value]:
    """Gauss's elimination with the largest pivot of a column: the rows (*, M, M + K) of the upper triangle and of the
    right sides, and (M, *, 1) whether a row was exchanged. Below the triangle there is what was not cleared."""
    size, _ = known_sizes(matrix)
    indices = places_of(make, size)

    def step(make: Maker, number: Value, states: Sequence[Value]) -> Iteration:
        (rest,) = states
        index = make(Unsqueeze(), number, make.vector(0))
        column = make(ew.Abs(), make(Gather(-1), rest, number))
        open_rows = make(ew.GreaterOrEqual(), indices, number)
        chosen = make(ArgMax(axis=-1), make(ew.Where(), open_rows, column, make.number(-1.0)))
        is_chosen = make(Unsqueeze(), make(ew.Equal(), indices, chosen), make.vector(-1))
        only = make(ew.Where(), is_chosen, rest, make.number(0.0))
        pivots = make(ReduceSum(), only, make.vector(-2))
        exchanged = make(ew.Where(), is_chosen, make(Gather(-2), rest, index), rest)
        pivot = make(Gather(-1), pivots, index)
        ratio = make(ew.Div(), make(Gather(-1), exchanged, index), pivot)
        is_zero = make(ew.Equal(), pivot, make.number(0.0))  # the column below is 0 as well
        factors = make(ew.Where(), is_zero, make.number(0.0), ratio)
        rest = make(ew.Sub(), exchanged, make(ew.Mul(), factors, pivots))
        moved = make(ew.Not(), make(ew.Equal(), chosen, number))
        return Iteration([rest], [make(Squeeze(), pivots, make.vector(-2)), moved])

    whole = matrix if sides is None else make(Concat(-1), matrix, sides)
    _, rows, moved = make.loop(size, [whole], step)
    return unstacked(make, rows), moved


def _solve_system(make: Maker, matrix: Value, sides: Value) -> Value:
    """X of A X = B."""
    size, _ = known_sizes(matrix)
    rows, _ = _eliminate_rows(make, matrix, sides)
    axis = make.vector(-1)
    upper = make(Slice(), rows, make.vector(0), make.vector(size), axis)
    right = make(Slice(), rows, make.vector(size), make.vector(2**31 - 1), axis)
    return _substitute_rows(make, upper, right, lower=False)


def compose_solve(make: Maker, op: ir.Solve, operands: Sequence[Value]) -> Sequence[Value]:
    """Elimination and substitution."""
    return [_solve_system(make, *operands)]


def compose_inverse(make: Maker, op: ir.Inverse, operands: Sequence[Value]) -> Sequence[Value]:
    """Return the solution for the unit matrix."""
    (a,) = operands
    unit = unit_matrix(make, known_sizes(a)[0])
    return [_solve_system(make, a, make(Expand(), unit, make(Shape(), a)))]


def compose_sign_log_det(make: Maker, op: ir.SignLogDet, operands: Sequence[Value]) -> Sequence[Value]:
    """Return the signs of the pivots and of the exchanges; the sum of the pivots' logarithms."""
    rows, moved = _eliminate_rows(make, operands[0], None)
    pivots = diagonal(make, rows)
    ones = make.number(1.0)
    exchanges = make(Squeeze(), make(ew.Where(), moved, make(ew.Neg(), ones), ones), make.vector(-1))
    signs = [
        make(ReduceProd(keepdims=False), make(ew.Sign(), pivots), make.vector(-1)),
        make(ReduceProd(keepdims=False), exchanges, make.vector(0)),
    ]
    logarithms = make(ew.Log(), make(ew.Abs(), pivots))
    return [make(ew.Mul(), *signs), make(ReduceSum(keepdims=False), logarithms, make.vector(-1))]


def compose_lq(make: Maker, op: ir.LQ, operands: Sequence[Value]) -> Sequence[Value]:
    """Householder's reflections of the rows, applied to the matrix and to a unit matrix below it."""
    (a,) = operands
    rows, columns = known_sizes(a)
    indices = places_of(make, columns)
    zero, one = make.number(0.0), make.number(1.0)

    def step(make: Maker, number: Value, states: Sequence[Value]) -> Iteration:
        (whole,) = states
        index, last = make(Unsqueeze(), number, make.vector(0)), make.vector(-1)
        line = make(Gather(-2), whole, index)
        tail = make(ew.Where(), make(ew.Less(), number, indices), line, zero)
        head = make(Gather(-1), line, index)
        length = make(ReduceL2(), make(Concat(-1), head, tail), last)
        behind = make(ReduceL2(), tail, last)
        beta = make(ew.Where(), make(ew.Less(), head, zero), length, make(ew.Neg(), length))
        is_done = make(ew.Equal(), behind, zero)
        lead = make(ew.Where(), is_done, one, make(ew.Sub(), head, beta))
        ratio = make(ew.Div(), make(ew.Sub(), beta, head), make(ew.Where(), is_done, one, beta))
        tau = make(ew.Where(), is_done, zero, ratio)
        unit = make(ew.Cast(make.dtype), make(ew.Equal(), indices, number))
        vector = make(ew.Add(), make(ew.Div(), tail, lead), unit)
        along = make(ew.Mul(), make(ReduceSum(), make(ew.Mul(), whole, vector), last), tau)
        return Iteration([make(ew.Sub(), whole, make(ew.Mul(), along, vector))])

    batch = make(Shape(0, -2), a)
    shape = make(Concat(0), batch, make.vector(columns, columns))
    unit = make(Expand(), unit_matrix(make, columns), shape)
    (whole,) = make.loop(rows, [make(Concat(-2), a, unit)], step)
    axis = make.vector(-2)
    top = make(Slice(), whole, make.vector(0), make.vector(rows), axis)
    left = make(Slice(), top, make.vector(0), make.vector(rows), make.vector(-1))
    lower = make(ew.Where(), lower_triangle(make, rows), left, zero)
    product = turned(make, make(Slice(), whole, make.vector(rows), make.vector(2**31 - 1), axis))
    return [make(Slice(), product, make.vector(0), make.vector(rows), axis), lower]


def in_double(compose: Composition) -> Composition:
    """Return the same of the operands as float64, in the operands' dtype: elimination loses three digits of a matrix of
    33 rows in float32, where MXNet's library loses none."""

    def widely(make: Maker, op: Any, operands: Sequence[Value]) -> Sequence[Value]:
        if make.dtype is DType.FLOAT64:
            return compose(make, op, operands)
        wide = make.of(DType.FLOAT64)
        results = compose(wide, op, [wide(ew.Cast(DType.FLOAT64), value) for value in operands])
        return [wide(ew.Cast(make.dtype), value) for value in results]

    return widely


EXPORTS = table(
    row(ir.Cholesky, composed(compose_cholesky)),
    row(ir.Inverse, composed(in_double(compose_inverse))),
    row(ir.LQ, composed(compose_lq)),
    row(ir.SVD, composed(compose_svd)),
    row(ir.SignLogDet, composed(in_double(compose_sign_log_det))),
    row(ir.Solve, composed(in_double(compose_solve))),
    row(ir.SymmetricEigen, composed(compose_symmetric_eigen)),
    row(ir.TriangularSolve, composed(compose_triangular_solve)),
)
IMPORTS: ImportTable = {}
