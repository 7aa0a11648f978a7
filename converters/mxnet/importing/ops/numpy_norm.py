"""Norms of vectors and matrices of MXNet's NumPy-style interface.

`flag` says which function of `linalg.norm` made the node: -2 the 2-norm of all elements, 1 the Frobenius norm of a
matrix, 2 its nuclear norm; with others two axes are a matrix and one a vector. Norms of singular values are refused:
ONNX has no decomposition.
"""

from __future__ import annotations

import math

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.ops.exact_reduction import Reduce, euclidean, with_nan
from graphir.converters.mxnet.importing.ops.numpy_reduction import cast, reducer, reduces_nothing
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops import reduction as ir
from graphir.types import DType

ALL, FROBENIUS, NUCLEAR = -2, 1, 2


def _axes(node: ImportNode, data: Value) -> tuple[int, ...]:
    """The axes of the vector, or of the rows and the columns: without any the last two, or the only one."""
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
    """The norm that `flag`, `ord` and the number of axes say."""
    data, flag, order = node.input(0), node.attrs["flag"], node.attrs["ord"]
    if data.dtype is not None and not data.dtype.is_float:
        node.refuse(f"{data.name} is {data.dtype}; MXNet's norms of integers are not those of numbers")
    if flag == ALL:
        if node.attrs["axis"] is not None:
            node.refuse("a norm of all elements with an axis")
        if node.rank(data) == 0:
            return node.emit(ew.Abs(), data)
        return node.emit(ew.Identity(), euclidean(node, data, reducer(node, None)))
    axes = _axes(node, data)
    if reduces_nothing(data, axes):
        node.refuse(f"{data.name} has no elements: {data.type}")
    if len(axes) == 1:
        if flag == NUCLEAR:
            node.refuse("the nuclear norm of a vector")
        return node.emit(ew.Identity(), _of_vector(node, data, order, axes))
    if flag == FROBENIUS:
        return node.emit(ew.Identity(), euclidean(node, data, reducer(node, axes)))
    if flag == NUCLEAR or order in (2, -2):
        node.refuse(f"flag {flag} and ord {order:g}: a norm of singular values, which ONNX has no decomposition for")
    return node.emit(ew.Identity(), _of_matrix(node, data, order, axes))


def _of_matrix(node: ImportNode, data: Value, order: float, axes: tuple[int, ...]) -> Value:
    """The largest or smallest sum of magnitudes of a column (1, -1), or of a row."""
    if order not in (1, -1) and not math.isinf(order):
        node.refuse(f"ord {order:g} of a matrix")
    summed, chosen = (axes[0], axes[1]) if abs(order) == 1 else (axes[1], axes[0])
    sums = reducer(node, (summed,), keepdims=True)(ir.ReduceL1, data)
    kept = reducer(node, (chosen,), keepdims=True)
    found = with_nan(node, ir.ReduceMax if order > 0 else ir.ReduceMin, sums, kept)
    if node.attrs["keepdims"]:
        return found
    return reducer(node, tuple(sorted(axes)), keepdims=False)(ir.ReduceMax, found)


def _of_vector(node: ImportNode, data: Value, order: float, axes: tuple[int, ...]) -> Value:
    """The root of the sum of powers of magnitudes; how many are not 0 for 0."""
    reduce = reducer(node, axes)
    if order == 2:
        return euclidean(node, data, reduce)
    if math.isinf(order):
        node.refuse(f"ord {order:g} of a vector, which MXNet makes of other operators")
    dtype = data.dtype or DType.FLOAT32
    zero = node.scalar_like(data, 0.0)
    size = node.step(ew.Abs(), data)
    if order == 0:
        counted = cast(node, node.step(ew.Not(), node.step(ew.Equal(), size, zero)), dtype)
        count = reduce(ir.ReduceSum, counted)
        infinite = reduce(ir.ReduceSum, cast(node, node.step(ew.IsInf(), data), dtype))
        some = node.step(ew.Greater(), infinite, zero, suffix="some_infinite")
        return node.step(ew.Where(), some, infinite, count, suffix="count")
    return _of_powers(node, data, size, order, axes, reduce)


def _of_powers(
    node: ImportNode, data: Value, size: Value, order: float, axes: tuple[int, ...], reduce: Reduce
) -> Value:
    """By way of the magnitude that counts most, so that no power overflows: the largest, of a negative order the
    smallest. Zeros do not count, two infinities are no number."""
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
    found = node.step(ew.Where(), none, zero, scaled, suffix="of_some")
    infinite = node.step(ew.IsInf(), data)
    count = reduce(ir.ReduceSum, cast(node, infinite, data.dtype or DType.FLOAT32))
    single = node.step(ew.Equal(), count, one, suffix="one_infinite")
    missing = reduce(ir.ReduceSum, cast(node, node.step(ew.IsNaN(), data), data.dtype or DType.FLOAT32))
    spoiled = node.step(ew.Or(), node.step(ew.Greater(), missing, zero), node.step(ew.Greater(), count, one))
    found = node.step(ew.Where(), single, node.scalar_like(data, math.inf), found, suffix="of_infinite")
    return node.step(ew.Where(), spoiled, node.scalar_like(data, math.nan), found, suffix="exact")


IMPORTS: dict[str, ImportFunction] = {"_npi_norm": import_norm}

__all__ = ["IMPORTS"]
