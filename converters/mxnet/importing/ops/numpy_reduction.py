"""Reductions of MXNet's NumPy-style interface.

A reduction over all axes has no axes; `axis=()` reduces none of them. Sums of bool are int64, means of integers
float32; with `dtype` MXNet adds in a wider dtype and converts once, before a mean is divided. MXNet's floating-point
sums are compensated: they are not a number once anything follows an infinity.
"""

from __future__ import annotations

import math
from functools import partial

from graphir.converters.kernel.numbers import converted
from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.ops.exact_reduction import (
    NAN_WINS,
    Kind,
    Reduce,
    compensated,
    nan_first,
    of_bool,
    of_integers,
    with_nan,
)
from graphir.converters.mxnet.importing.sizes import static_size
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops import reduction as ir
from graphir.ops.indexing import Gather
from graphir.ops.shape import Reshape, Shape, Size
from graphir.types import DType

Axes = tuple[int, ...] | None

# In what MXNet accumulates integers and floats when the result is of another dtype.
ACCUMULATORS = {
    DType.BOOL: DType.INT64,
    DType.INT8: DType.INT32,
    DType.UINT8: DType.UINT32,
    DType.INT32: DType.INT64,
    DType.INT64: DType.INT64,
    DType.FLOAT16: DType.FLOAT32,
    DType.FLOAT32: DType.FLOAT64,
    DType.FLOAT64: DType.FLOAT64,
}
OF_BOOL = (DType.INT32, DType.INT64, DType.FLOAT32, DType.FLOAT64)


def axes_of(node: ImportNode, data: Value, scalar: bool = True) -> Axes:
    """Return the axes to reduce, from the front where the rank is known; None for all of them, () for none.

    Data without axes has none to reduce, whatever the attribute says, where `scalar` allows that.
    """
    axis = node.attrs["axis"]
    if axis is None:
        return None
    axes: tuple[int, ...] = (axis,) if isinstance(axis, int) else tuple(axis)
    if None in axes:
        node.refuse(f"axis {axis} leaves an axis open")
    if data.rank is None:
        return axes
    if data.rank == 0 and scalar and all(axis in (0, -1) for axis in axes):
        return ()
    result = tuple(sorted(node.axis(axis, data.rank) for axis in axes))
    if len(set(result)) != len(result):
        node.refuse(f"axis {list(axes)} names an axis twice")
    return result


def reducer(node: ImportNode, axes: Axes, keepdims: bool | None = None) -> Reduce:
    """Import a function that reduces a value over the axes; of none it gives the value."""
    keep = bool(node.attrs["keepdims"]) if keepdims is None else keepdims

    def reduce(kind: Kind, value: Value) -> Value:
        if axes == ():
            return value
        return node.step(kind(keepdims=keep), value, *([] if axes is None else [node.vector(axes)]))

    return reduce


def reduces_nothing(data: Value, axes: Axes) -> bool:
    """Return whether a reduced axis is known to have no elements."""
    if data.rank is None:
        return False
    return 0 in [static_size(data, axis) for axis in (range(data.rank) if axes is None else axes)]


def refuse_initial(node: ImportNode) -> None:
    """MXNet has the attribute and refuses every value of it."""
    if node.attrs.get("initial") is not None:
        node.refuse(f"initial {node.attrs['initial']}, which MXNet has not made")


def result_dtype(node: ImportNode, of_integers_too: bool) -> DType:
    """Return the dtype of a sum, or of a mean: the attribute's, or that which the data's gives."""
    data, wanted = node.input(0), node.attrs["dtype"]
    if wanted is not None:
        result = DType.of(wanted)
        if of_integers_too and data.dtype is DType.BOOL and result not in OF_BOOL:
            node.refuse(f"dtype {result} of bool data; MXNet has int32, int64, float32 and float64")
        return result
    source = data.dtype or DType.FLOAT32
    if source.is_float:
        return source
    if not of_integers_too:
        return DType.FLOAT32
    return DType.INT64 if source is DType.BOOL else source


def total(node: ImportNode, kind: Kind, data: Value, wanted: DType, axes: Axes, reduce: Reduce) -> Value:
    """Return the sum or product as MXNet accumulates it, in the dtype that is wanted."""
    source = data.dtype or DType.FLOAT32
    accumulator = source if wanted is source else ACCUMULATORS.get(source, source)
    if source.is_float:
        value = node.cast(data, accumulator) if wanted is not source else data
        result = reduce(kind, value)
        if kind is ir.ReduceSum and axes != ():
            result = compensated(node, result, value, axes, reduce)
        return node.cast(result, wanted)
    if wanted is source or axes == ():
        return node.cast(of_integers(node, kind, data, axes, reduce), wanted)
    wide = node.cast(data, DType.INT64)
    if kind is ir.ReduceSum and source is not DType.INT64:
        result = reduce(kind, wide)
    else:
        result = of_integers(node, kind, wide, axes, reduce)
    return node.cast(node.cast(result, accumulator), wanted)


def totals(kind: Kind, node: ImportNode) -> Value:
    """Sums or products. MXNet leaves products of no elements 0."""
    data = node.input(0)
    refuse_initial(node)
    axes = axes_of(node, data)
    chosen = ir.ReduceSum if reduces_nothing(data, axes) else kind
    result = total(node, chosen, data, result_dtype(node, True), axes, reducer(node, axes))
    return node.emit(ew.Identity(), result)


def import_mean(node: ImportNode) -> Value:
    """Return the sum in the result's dtype, divided by the number of elements in it; of no elements 0."""
    data = node.input(0)
    refuse_initial(node)
    axes = axes_of(node, data)
    wanted, reduce = result_dtype(node, False), reducer(node, axes)
    if axes == ():
        return node.emit(ew.Cast(wanted), data)
    if reduces_nothing(data, axes):
        return node.emit(ew.Identity(), total(node, ir.ReduceSum, data, wanted, axes, reduce))
    if wanted is (data.dtype or wanted) and wanted.is_float:
        mean = reduce(ir.ReduceMean, data)
        return node.emit(ew.Identity(), compensated(node, mean, data, axes, reduce))
    result = total(node, ir.ReduceSum, data, wanted, axes, reduce)
    if wanted is DType.BOOL:
        return node.emit(ew.Identity(), result)
    return node.emit(ew.Div(), result, count_like(node, data, result, axes))


def count_like(node: ImportNode, data: Value, result: Value, axes: Axes, less: int = 0) -> Value:
    """Return how many elements each of the result's was made of, less a number, in its dtype, in which it wraps
    around."""
    dtype = result.dtype or DType.FLOAT32
    sizes = [static_size(data, axis) for axis in (range(node.rank(data)) if axes is None else axes)]
    if None in sizes:
        if axes is None:
            outcome = node.step(Size(), data, suffix="count")
        else:
            chosen = node.step(Gather(axis=0), node.step(Shape(), data), node.vector(axes), suffix="sizes")
            outcome = node.step(ir.ReduceProd(keepdims=False), chosen, suffix="count")
        if less:
            outcome = node.step(ew.Sub(), outcome, node.constant(less, DType.INT64), suffix="count")
        return node.cast(outcome, dtype)
    number = math.prod(size for size in sizes if size is not None) - less
    if converted(number, dtype) == 0 and not dtype.is_float:
        node.refuse(f"a division by {number} in {dtype}, where it is 0; MXNet ends there")
    return node.constant(converted(number, dtype), dtype)


def extremes(kind: Kind, node: ImportNode) -> Value:
    """Import the largest or the smallest element. In a strict import NaN wins."""
    data = node.input(0)
    refuse_initial(node)
    axes = axes_of(node, data, scalar=False)
    reduce = reducer(node, axes)
    if reduces_nothing(data, axes):
        node.refuse(f"{data.name} has no elements to choose from: {data.type}")
    if axes == () or data.rank == 0:
        return node.emit(ew.Identity(), data)
    if data.dtype is DType.BOOL:
        return node.emit(ew.Identity(), of_bool(node, kind, data, reduce))
    is_integer = data.dtype is not None and data.dtype.is_integer
    exact = not is_integer and node.is_strict(NAN_WINS)
    return node.emit(ew.Identity(), with_nan(node, kind, data, reduce) if exact else reduce(kind, data))


def quantifier(every: bool, node: ImportNode) -> Value:
    """Return whether every element is other than 0, or any: how many are not so, or are, is counted. NaN is other than
    0."""
    data = node.input(0)
    axes = axes_of(node, data)
    holds = node.cast(data, DType.BOOL)
    if axes == ():
        return node.emit(ew.Identity(), holds)
    if every:
        holds = node.step(ew.Not(), holds)
    count = reducer(node, axes)(ir.ReduceSum, node.cast(holds, DType.INT32, suffix="counted"))
    result = node.cast(count, DType.BOOL, suffix="some")
    return node.emit(ew.Not() if every else ew.Identity(), result)


def positions(kind: type[ir.ArgMax] | type[ir.ArgMin], node: ImportNode) -> Value:
    """argmax or argmin as int64: the first of equals, or the first that is not a number."""
    data, axis, keepdims = node.input(0), node.attrs["axis"], bool(node.attrs["keepdims"])
    if data.dtype is DType.BOOL:
        node.refuse("bool data, of which MXNet has no positions")
    rank = node.rank(data)
    if rank == 0:
        axis = None
    if axis is not None:
        axis = node.axis(axis, rank)
    if reduces_nothing(data, None if axis is None else (axis,)):
        node.refuse(f"{data.name} has no elements to choose from: {data.type}")
    if axis is not None:
        return node.emit(kind(axis=axis, keepdims=keepdims), nan_first(node, kind, data, axis))
    flat = data if rank == 1 else node.step(Reshape(), data, node.vector([-1]), suffix="flat")
    op = kind(axis=0, keepdims=keepdims and rank == 1)
    sought = nan_first(node, kind, flat, 0)
    if keepdims and rank > 1:
        return node.emit(Reshape(), node.step(op, sought), node.vector([1] * rank))
    return node.emit(op, sought)


IMPORTS: dict[str, ImportFunction] = {
    "_np_all": partial(quantifier, True),
    "_np_any": partial(quantifier, False),
    "_np_max": partial(extremes, ir.ReduceMax),
    "_np_min": partial(extremes, ir.ReduceMin),
    "_np_prod": partial(totals, ir.ReduceProd),
    "_np_sum": partial(totals, ir.ReduceSum),
    "_npi_argmax": partial(positions, ir.ArgMax),
    "_npi_argmin": partial(positions, ir.ArgMin),
    "_npi_mean": import_mean,
}
