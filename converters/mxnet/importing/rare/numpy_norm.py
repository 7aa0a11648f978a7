"""Norms of vectors and matrices of MXNet's NumPy-style interface.

`flag` says which function of `linalg.norm` made the node: -2 the 2-norm of all elements, 1 the Frobenius norm of a
matrix, 2 (with `ord` 2) its nuclear norm; with others two axes are a matrix and one a vector. The norms of integers are
those that MXNet computes, which stays among integers on the way.
"""

from __future__ import annotations

import math

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.ops.exact_reduction import (
    NAN_WINS,
    euclidean,
    largest_and_count,
    norm_of_integers,
    number_or_zero,
    of_bool,
    of_integers,
    with_nan,
)
from graphir.converters.mxnet.importing.ops.numpy_reduction import reducer, reduces_nothing
from graphir.converters.mxnet.importing.rare.algebra import require_wide
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops import reduction as ir
from graphir.ops.factorization import SVD
from graphir.ops.shape import Transpose, Unsqueeze
from graphir.types import DType

ALL, FROBENIUS, NUCLEAR = -2, 1, 2


def _axes(node: ImportNode, data: Value) -> tuple[int, ...]:
    """Return the axes of the vector, or of the rows and the columns: without any the last two, or the only one."""
    rank, stated = node.rank(data), node.attrs["axis"]
    if stated is None:
        if rank == 0:
            node.refuse("a tensor without axes, of which MXNet has the norm of all elements only")
        return tuple(range(rank))[-2:]
    axes = tuple(node.axis(axis, rank) for axis in stated)
    if len(axes) not in (1, 2) or len(set(axes)) != len(axes):
        node.refuse(f"axis {list(stated)}, expected one or two")
    return axes


def import_norm(node: ImportNode) -> Value:
    """Return the norm that `flag`, `ord` and the number of axes say; of bool whether any element is true."""
    data, flag = node.input(0), node.attrs["flag"]
    if flag == ALL and node.attrs["axis"] is not None:
        axes = _axes(node, data)
        if len(axes) != node.rank(data) and not reduces_nothing(data, axes):
            node.refuse("a norm of all elements with axes that are not all")
        return node.emit(ew.Identity(), _euclidean(node, data, axes))
    if flag == ALL:
        if node.rank(data) == 0:
            return node.emit(ew.Identity() if data.dtype is DType.BOOL else ew.Abs(), data)
        return node.emit(ew.Identity(), _euclidean(node, data, None))
    return node.emit(ew.Identity(), _along(node, data, _axes(node, data)))


def _along(node: ImportNode, data: Value, axes: tuple[int, ...]) -> Value:
    """Return the norm of vectors (one axis) or matrices (two); of no elements 0."""
    flag, order = node.attrs["flag"], node.attrs["ord"]
    vector = len(axes) == 1
    if vector and (flag == NUCLEAR or math.isinf(order)):
        node.refuse(f"flag {flag} and ord {order:g}: a norm of matrices, of a vector")
    if not vector and flag != FROBENIUS and order in (2, -2):
        return _of_singular_values(node, data, None if flag == NUCLEAR else order, axes)
    if not vector and flag != FROBENIUS and data.dtype is DType.BOOL:
        node.refuse(f"ord {order:g} of a matrix of bool, of which MXNet has no sums")
    if data.dtype is DType.BOOL or reduces_nothing(data, axes):
        return _summed(node, data, axes)
    if not vector:
        return _euclidean(node, data, axes) if flag == FROBENIUS else _of_matrix(node, data, order, axes)
    if data.dtype is not None and data.dtype.is_integer:
        return _of_integers(node, data, order, axes)
    return _of_vector(node, data, order, axes)


def _euclidean(node: ImportNode, data: Value, axes: tuple[int, ...] | None) -> Value:
    """Return the root of the sum of squares."""
    if data.dtype is DType.BOOL or reduces_nothing(data, axes):
        return _summed(node, data, axes)
    reduce = reducer(node, axes)
    if data.dtype is not None and data.dtype.is_integer:
        return norm_of_integers(node, data, reducer(node, axes, keepdims=True), reduce)
    return euclidean(node, data, reduce)


def _summed(node: ImportNode, data: Value, axes: tuple[int, ...] | None, keepdims: bool | None = None) -> Value:
    """Return the sum, which wraps around in integers; of bool whether any is true."""
    reduce = reducer(node, axes, keepdims)
    if data.dtype is DType.BOOL:
        return of_bool(node, ir.ReduceSum, data, reduce)
    if data.dtype is not None and data.dtype.is_integer:
        return of_integers(node, ir.ReduceSum, data, axes, reduce)
    return reduce(ir.ReduceSum, data)


def _of_matrix(node: ImportNode, data: Value, order: float, axes: tuple[int, ...]) -> Value:
    """Return the largest (ord above 0) or smallest sum of magnitudes: of a column for 1 and -1, of a row for all
    others."""
    summed, chosen = (axes[0], axes[1]) if abs(order) == 1 else (axes[1], axes[0])
    sums = _summed(node, node.step(ew.Abs(), data), (summed,), keepdims=True)
    kept = reducer(node, (chosen,), keepdims=True)
    kind = ir.ReduceMax if order > 0 else ir.ReduceMin
    floats = data.dtype is None or data.dtype.is_float
    result = with_nan(node, kind, sums, kept) if floats and node.is_strict(NAN_WINS) else kept(kind, sums)
    if node.attrs["keepdims"]:
        return result
    return reducer(node, tuple(sorted(axes)), keepdims=False)(ir.ReduceMax, result)


def _of_singular_values(node: ImportNode, data: Value, order: float | None, axes: tuple[int, ...]) -> Value:
    """Return the largest (2) or the smallest (-2) singular value, or the sum of all, of matrices with rows and columns
    along the axes; of no elements 0."""
    require_wide(node, data)
    rows, columns = node.sizes(data, axes)
    if rows > columns:
        node.refuse(f"matrices of {rows} rows and {columns} columns; MXNet decomposes those that are not tall only")
    if reduces_nothing(data, axes):
        return _summed(node, data, axes)
    others = tuple(axis for axis in range(node.rank(data)) if axis not in axes)
    if (*others, *axes) != tuple(range(node.rank(data))):
        data = node.step(Transpose((*others, *axes)), data, suffix="matrices")
    _, lengths, _ = node.steps(SVD(), data)
    kind = ir.ReduceSum if order is None else ir.ReduceMax if order > 0 else ir.ReduceMin
    result = node.step(kind(keepdims=False), lengths, node.vector([-1]), suffix="norm")
    return node.step(Unsqueeze(), result, node.vector(sorted(axes))) if node.attrs["keepdims"] else result


def _of_integers(node: ImportNode, data: Value, order: float, axes: tuple[int, ...]) -> Value:
    """Return the largest magnitude times the root of how often it occurs, a whole number; for 0 how often, of zeros
    0."""
    largest, count = largest_and_count(node, data, reducer(node, axes, keepdims=True), reducer(node, axes))
    assert data.dtype is not None
    if order == 0:
        none = node.step(ew.Equal(), largest, node.scalar_like(largest, 0), suffix="all_zero")
        counted = node.step(ew.Where(), none, node.scalar_like(count, 0.0), count, suffix="of_some")
        return node.cast(counted, data.dtype, suffix="norm")
    root = number_or_zero(node, node.step(ew.Pow(), count, node.scalar_like(count, 1 / order), suffix="root"))
    if order < 0:  # a count that has wrapped around to 0 has the root 0
        absent = node.step(ew.Equal(), count, node.scalar_like(count, 0.0), suffix="is_zero")
        root = node.step(ew.Where(), absent, node.scalar_like(count, 0.0), root, suffix="root")
    # As C converts it: of 8 bits by way of 32, and what is beyond them has a last byte of 0.
    whole = node.cast(root, DType.INT64 if data.dtype is DType.INT64 else DType.INT32, suffix="whole")
    whole = node.cast(whole, DType.INT64, suffix="whole")
    return node.cast(node.step(ew.Mul(), largest, whole, suffix="norm"), data.dtype, suffix="narrow")


def _of_vector(node: ImportNode, data: Value, order: float, axes: tuple[int, ...]) -> Value:
    """Return the root of the sum of powers of magnitudes; how many are not 0 for 0."""
    reduce = reducer(node, axes)
    if order == 2:
        return euclidean(node, data, reduce)
    dtype = data.dtype or DType.FLOAT32
    zero = node.scalar_like(data, 0.0)
    size = node.step(ew.Abs(), data)
    if order == 0:
        counted = node.cast(node.step(ew.Not(), node.step(ew.Equal(), size, zero)), dtype)
        count = reduce(ir.ReduceSum, counted)
        infinite = reduce(ir.ReduceSum, node.cast(node.step(ew.IsInf(), data), dtype))
        some = node.step(ew.Greater(), infinite, zero, suffix="some_infinite")
        return node.step(ew.Where(), some, infinite, count, suffix="count")
    # The magnitude that counts most is taken out, so that no power overflows: the largest, of a negative order the
    # smallest. Zeros do not count, two infinities give NaN.
    zero, one = node.scalar_like(data, 0.0), node.scalar_like(data, 1.0)
    keeping = reducer(node, axes, keepdims=True)
    absent = node.step(ew.Equal(), size, zero, suffix="is_zero")
    if order < 0:
        present = node.step(ew.Where(), absent, node.scalar_like(data, math.inf), size, suffix="present")
        least = keeping(ir.ReduceMin, present)
        scale = node.step(ew.Where(), node.step(ew.IsInf(), least), one, least, suffix="scale")
    else:
        largest = keeping(ir.ReduceMax, size)
        scale = node.step(ew.Where(), node.step(ew.Greater(), largest, zero), largest, one, suffix="scale")
    ratio = node.step(ew.Div(), size, scale, suffix="ratio")
    power = node.step(ew.Pow(), ratio, node.scalar_like(data, order), suffix="power")
    summed = reduce(ir.ReduceSum, node.step(ew.Where(), absent, zero, power, suffix="powers"))
    root = node.step(ew.Pow(), summed, node.scalar_like(data, 1 / order), suffix="root")
    scaled = node.step(ew.Mul(), root, reduce(ir.ReduceMax, scale), suffix="norm")
    none = node.step(ew.Equal(), reduce(ir.ReduceMax, size), zero, suffix="all_zero")
    result = node.step(ew.Where(), none, zero, scaled, suffix="of_some")
    infinite = node.step(ew.IsInf(), data)
    count = reduce(ir.ReduceSum, node.cast(infinite, dtype))
    single = node.step(ew.Equal(), count, one, suffix="one_infinite")
    missing = reduce(ir.ReduceSum, node.cast(node.step(ew.IsNaN(), data), dtype))
    spoiled = node.step(ew.Or(), node.step(ew.Greater(), missing, zero), node.step(ew.Greater(), count, one))
    result = node.step(ew.Where(), single, node.scalar_like(data, math.inf), result, suffix="of_infinite")
    return node.step(ew.Where(), spoiled, node.scalar_like(data, math.nan), result, suffix="exact")


IMPORTS: dict[str, ImportFunction] = {"_npi_norm": import_norm}
