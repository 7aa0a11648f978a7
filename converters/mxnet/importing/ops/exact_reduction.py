"""Reductions as MXNet computes them where ONNX's, or onnxruntime's of the same name, give something else.

Integers: MXNet adds and multiplies in the data's own dtype, which wraps around, and divides toward 0; onnxruntime goes
through float64 and saturates. Bool: a sum is "any", a product "all". Floats, of a strict import: NaN wins every maximum
and minimum, a norm does not overflow in its squares, and sums with compensation (nansum, the L1 norm, moments) are NaN
once anything follows an infinity. In other imports these are ONNX's operators, with a decision.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from graphir.converters.kernel.numbers import converted
from graphir.converters.mxnet.importing.context import ImportNode
from graphir.converters.mxnet.importing.sizes import static_shape, static_size
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops import reduction as ir
from graphir.ops.base import Operator
from graphir.ops.shape import Size
from graphir.ops.shape_parts import Concat, Slice
from graphir.types import DType

Kind = Callable[..., Operator]
Reduce = Callable[[Kind, Value], Value]
Axes = Sequence[int] | None

LARGEST_MASK = 1 << 16
NAN_WINS = "NaN wins or loses as the runtime has it; in MXNet it wins"


def reduced_axes(data: Value, axes: Axes) -> tuple[int, ...]:
    """Return the axes counted from the front; all for None."""
    rank = len(data.shape or ())
    return tuple(range(rank)) if axes is None else tuple(axis % rank for axis in axes)


def _reduced_sizes(data: Value, axes: Axes) -> dict[int, int] | None:
    """Return the sizes of the reduced axes, whatever the others have; None if one is not known."""
    if data.shape is None:
        return None
    result = {axis: static_size(data, axis) for axis in reduced_axes(data, axes)}
    known = {axis: size for axis, size in result.items() if size is not None}
    return known if len(known) == len(result) else None


def of_bool(node: ImportNode, kind: Kind, data: Value, reduce: Reduce) -> Value:
    """Return whether any element is true, or (products and minima) all are; of no elements a sum is false, the largest
    too."""
    wide = node.cast(data, DType.INT32, suffix="wide")
    whole = kind in (ir.ReduceProd, ir.ReduceMin)
    return node.cast(reduce(ir.ReduceMin if whole else ir.ReduceSum, wide), DType.BOOL, suffix="bool")


def of_integers(node: ImportNode, kind: Kind, data: Value, axes: Axes, reduce: Reduce) -> Value:
    """Return the sum, product or mean of integers in their own dtype; other reductions as they are."""
    if kind is ir.ReduceMean:
        return mean_of_integers(node, data, axes, reduce)
    if kind is ir.ReduceSum and data.dtype is not DType.INT64:
        return _sum_of_narrow(node, data, reduce)
    if kind not in (ir.ReduceSum, ir.ReduceProd):
        return reduce(kind, data)
    sizes = _reduced_sizes(data, axes)
    if sizes is None or 0 in sizes.values():  # nothing is added up exactly
        if sizes is None:
            text = f"onnxruntime adds and multiplies {data.dtype} data in float64, exact up to 2^53"
            node.decide(DecisionKind.INTEGER_DATA, text)
        if data.dtype is None or data.dtype is DType.INT64:
            return reduce(kind, data)
        result = reduce(kind, node.cast(data, DType.INT64, suffix="wide"))
        return node.cast(result, data.dtype, suffix="narrow")
    for axis in sizes:
        data = _halved(node, ew.Add() if kind is ir.ReduceSum else ew.Mul(), data, axis)
    return reduce(ir.ReduceMax, data)  # of one element each


def _sum_of_narrow(node: ImportNode, data: Value, reduce: Reduce) -> Value:
    assert data.dtype is not None
    total = reduce(ir.ReduceSum, node.cast(data, DType.INT64, suffix="wide"))
    return node.cast(total, data.dtype, suffix="sum")


def _halved(node: ImportNode, op: Operator, data: Value, axis: int) -> Value:
    """Return an axis reduced to one element by `op` on its halves, again and again."""
    indices = node.vector([axis])

    def part(value: Value, begin: int, end: int) -> Value:
        return node.step(Slice(), value, node.vector([begin]), node.vector([end]), indices, suffix="part")

    (size,) = node.sizes(data, (axis,))
    while size > 1:
        half = size // 2
        result = node.step(op, part(data, 0, half), part(data, half, 2 * half), suffix="halved")
        if size % 2:
            result = node.step(Concat(axis=axis), result, part(data, 2 * half, size), suffix="rest")
        data, size = result, half + size % 2
    return data


def mean_of_integers(node: ImportNode, data: Value, axes: Axes, reduce: Reduce) -> Value:
    """Return the sum, which wraps around, divided toward 0 by the number of elements, which wraps around too."""
    total = of_integers(node, ir.ReduceSum, data, axes, reduce)
    assert data.dtype is not None
    node.decide(
        DecisionKind.INTEGER_DATA, f"the mean of {data.dtype} data is divided toward 0, after a sum that wraps around"
    )
    shape = static_shape(data)
    if shape is None:
        sizes = (node.step(Size(), data), node.step(Size(), total))
        count = node.cast(node.step(ew.Div(), *sizes, suffix="count"), data.dtype, suffix="count")
        return node.step(ew.Div(), total, count, suffix="mean")
    number = math.prod(shape[axis] for axis in reduced_axes(data, axes))
    if converted(number, data.dtype) == 0:
        node.refuse(f"the mean of {number} elements of {data.dtype}, in which that number is 0; MXNet ends there")
    return node.step(ew.Div(), total, node.constant(converted(number, data.dtype), data.dtype), suffix="mean")


def of_nothing(data: Value, axes: Axes) -> bool:
    """Return whether the reduced axes are known to have no elements."""
    return 0 in (_reduced_sizes(data, axes) or {}).values()


def mean_of_nothing(node: ImportNode, data: Value, reduce: Reduce) -> Value:
    """0 / 0, which is not a number; onnxruntime's mean of no elements is 0."""
    zero = node.scalar_like(data, 0.0)
    return node.step(ew.Div(), reduce(ir.ReduceSum, data), zero, suffix="of_nothing")


def with_nan(node: ImportNode, kind: Kind, data: Value, reduce: Reduce) -> Value:
    """Return the largest or smallest element, or NaN where there is one."""
    return _unless(node, node.step(ew.IsNaN(), data), reduce(kind, data), reduce)


def _unless(node: ImportNode, spoiled: Value, result: Value, reduce: Reduce) -> Value:
    """Return the result, or not a number where one of the elements spoils it; of no elements the result."""
    any_spoiled = reduce(ir.ReduceSum, node.cast(spoiled, DType.FLOAT32, suffix="spoiled"))
    condition = node.cast(any_spoiled, DType.BOOL, suffix="spoiled")
    return node.step(ew.Where(), condition, node.scalar_like(result, math.nan), result, suffix="exact")


def compensated(
    node: ImportNode, result: Value, data: Value, axes: Axes, reduce: Reduce, *, passes_nan: bool = False
) -> Value:
    """Return a sum with compensation. In a strict import it is NaN if anything follows an infinity, with `passes_nan`
    anything but NaN."""
    if not node.is_strict("an infinity stays one; in MXNet's compensated sum it becomes NaN"):
        return result
    infinite = node.step(ew.IsInf(), data)
    sizes = _reduced_sizes(data, axes)
    if sizes is not None and 0 < math.prod(sizes.values()) <= LARGEST_MASK:
        indices = np.arange(math.prod(sizes.values()), dtype=np.int32)
        indices = indices.reshape([sizes.get(axis, 1) for axis in range(len(data.shape or ()))])
        if passes_nan:
            last = _last_number(node, data, indices, axes)
            followed = node.step(ew.Less(), node.constant(indices), last, suffix="followed")
        else:
            followed = node.constant(indices < indices.size - 1)
        infinite = node.step(ew.And(), infinite, followed, suffix="followed")
    return _unless(node, infinite, result, reduce)


def _last_number(node: ImportNode, data: Value, places: NDArray[np.int32], axes: Axes) -> Value:
    """Return the place of the last element that is a number; -1 without one."""
    none = node.constant(-1, DType.INT32)
    numbers = node.step(ew.Where(), node.step(ew.IsNaN(), data), none, node.constant(places), suffix="numbers")
    over = node.vector(reduced_axes(data, axes))
    return node.step(ir.ReduceMax(keepdims=True), numbers, over, suffix="last")


def norm_of_integers(node: ImportNode, data: Value, reduce_keeping: Reduce, reduce: Reduce) -> Value:
    """Return the largest magnitude times the root of how often it occurs: MXNet scales by it and divides as integers
    do."""
    largest, count = largest_and_count(node, data, reduce_keeping, reduce)
    root = node.step(ew.Sqrt(), count, suffix="root")
    result = node.step(ew.Mul(), node.cast(largest, DType.FLOAT64), number_or_zero(node, root), suffix="norm")
    assert data.dtype is not None
    return node.cast(result, data.dtype, suffix="whole")


def largest_and_count(node: ImportNode, data: Value, reduce_keeping: Reduce, reduce: Reduce) -> tuple[Value, Value]:
    """Return the largest magnitude of integers (int64) and how often it occurs (float64), which the data's dtype
    counts: a number that has no place in it wraps around."""
    node.decide(
        DecisionKind.INTEGER_DATA, f"the norm of {data.dtype} data is that of its largest elements alone, as in MXNet"
    )
    assert data.dtype is not None
    if data.dtype is DType.INT64:  # whose magnitudes pass through float64 in MXNet
        size = node.step(ew.Abs(), node.cast(data, DType.FLOAT64, suffix="wide"))
    else:
        size = node.step(ew.Abs(), data)
    size = node.cast(size, DType.INT64, suffix="size")
    equal = node.step(ew.Equal(), size, reduce_keeping(ir.ReduceMax, size), suffix="is_largest")
    count = reduce(ir.ReduceSum, node.cast(equal, DType.INT64, suffix="is_largest"))
    wrapped = node.cast(count, data.dtype, suffix="count")
    return reduce(ir.ReduceMax, size), node.cast(wrapped, DType.FLOAT64, suffix="count")


def number_or_zero(node: ImportNode, root: Value) -> Value:
    """0 for a root of a count that has wrapped around to less than 0: what is no number is 0 as an integer."""
    return node.step(ew.Where(), node.step(ew.IsNaN(), root), node.scalar_like(root, 0.0), root, suffix="root")


def euclidean(node: ImportNode, data: Value, reduce: Reduce) -> Value:
    """Return the L2 norm. The squares of float16, in a strict import all, have room in a wider dtype; there two
    infinities make it NaN."""
    strict = node.is_strict("squares beyond float32 are infinite, and so is the norm of two infinities")
    if not strict and data.dtype is not DType.FLOAT16:
        return reduce(ir.ReduceL2, data)
    wide = {DType.FLOAT16: DType.FLOAT32, DType.FLOAT32: DType.FLOAT64}.get(data.dtype or DType.FLOAT32)
    if wide is None:
        result = reduce(ir.ReduceL2, data)
    else:
        total = reduce(ir.ReduceL2, node.cast(data, wide, suffix="wide"))
        result = node.cast(total, data.dtype or DType.FLOAT32, suffix="norm")
    if not strict:
        return result
    infinite = node.cast(node.step(ew.IsInf(), data), DType.FLOAT32, suffix="infinite")
    count = reduce(ir.ReduceSum, infinite)
    several = node.step(ew.Greater(), count, node.constant(1.0, DType.FLOAT32), suffix="several")
    return node.step(ew.Where(), several, node.scalar_like(result, math.nan), result, suffix="exact")


def nan_first(node: ImportNode, kind: Kind, data: Value, axis: int) -> Value:
    """Return the data or, in a strict import, data in which the first extreme along the axis is the first NaN."""
    if data.dtype is None or not data.dtype.is_float:
        return data
    if not node.is_strict("NaN is chosen or not as the runtime has it; in MXNet the first NaN is"):
        return data
    missing = node.cast(node.step(ew.IsNaN(), data), data.dtype, suffix="missing")
    some = node.step(ir.ReduceMax(keepdims=True), missing, node.vector([axis]), suffix="some_missing")
    sought = missing if kind is ir.ArgMax else node.step(ew.Neg(), missing)
    return node.step(ew.Where(), node.cast(some, DType.BOOL), sought, data, suffix="sought")
