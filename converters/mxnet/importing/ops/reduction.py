"""Reductions, positions of extremes, and sorting.

A reduction over all axes has the shape (1,), or () under numpy's shape semantics. Positions come as numbers of the
data's dtype (argmax, argmin) or as float32 unless `dtype` says otherwise (topk, argsort).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.ops.exact_reduction import (
    NAN_WINS,
    compensated,
    euclidean,
    mean_of_nothing,
    nan_first,
    norm_of_integers,
    of_bool,
    of_integers,
    of_nothing,
    with_nan,
)
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops import reduction as ir
from graphir.ops.base import Operator
from graphir.ops.indexing import CumSum, OneHot
from graphir.ops.shape import Reshape, Shape, Squeeze
from graphir.types import DType

MEAN: Callable[..., Operator] = ir.ReduceMean


def _axes(node: ImportNode, data: Value) -> tuple[int, ...] | None:
    """Return the axes to reduce, None for all, as without axes whatever `exclude` says; with it they are the others."""
    axis = node.attrs["axis"]
    exclude = node.attrs.get("exclude")
    if axis is None or axis == ():
        return None
    axes: tuple[int, ...] = (axis,) if isinstance(axis, int) else tuple(axis)
    if None in axes:
        node.refuse(f"axis {axis} leaves an axis open")
    if not exclude:
        return axes
    rank = node.rank(data)
    chosen = {index % rank for index in axes if -rank <= index < rank}
    if len(chosen) != len(axes):
        node.refuse(f"axis {list(axes)} does not name {len(axes)} of the {rank} axes of {data.name}")
    return tuple(index for index in range(rank) if index not in chosen)


def _reduce(node: ImportNode, kind: Callable[..., Operator], data: Value, last: bool = True) -> Value:
    """Return the reduction of the data after the node's attributes; `last` if it gives the node's result."""
    axes, keepdims = _axes(node, data), bool(node.attrs["keepdims"])
    if axes == () or (axes is not None and data.rank == 0):
        return node.emit(ew.Identity(), data) if last else data
    add = node.emit if last else node.step
    if axes is None or (data.rank is not None and len({axis % max(data.rank, 1) for axis in axes}) == data.rank):
        if keepdims or data.rank == 1:
            return add(kind(keepdims=True), data)
        total = node.step(kind(keepdims=False), data)
        return add(Reshape(), total, node.vector([1]))
    return add(kind(keepdims=keepdims), data, node.vector(axes))


def _given(node: ImportNode, kind: Callable[..., Operator], data: Value) -> Value:
    """Return the reduction on the way to the node's result."""
    return _reduce(node, kind, data, last=False)


def _keeps_all(node: ImportNode, data: Value) -> bool:
    """Return whether no axis is reduced."""
    return _axes(node, data) == () or data.rank == 0


def reduction(kind: Callable[..., Operator], node: ImportNode) -> Value:
    """Import an operator that the IR has for floats; MXNet's way with integers, bool and NaN is put together."""
    data = node.input(0)
    if _keeps_all(node, data):
        return _reduce(node, kind, data)
    reduce = partial(_given, node)
    if data.dtype is DType.BOOL:
        return of_bool(node, kind, data, reduce)
    if data.dtype is not None and data.dtype.is_integer:
        return of_integers(node, kind, data, _axes(node, data), reduce)
    if kind in (ir.ReduceMax, ir.ReduceMin) and node.is_strict(NAN_WINS):
        return with_nan(node, kind, data, reduce)
    if kind is ir.ReduceMean and of_nothing(data, _axes(node, data)):
        return mean_of_nothing(node, data, reduce)
    return _reduce(node, kind, data)


def without_nan(kind: Callable[..., Operator], neutral: float, node: ImportNode) -> Value:
    """Import a reduction that takes NaN for its neutral element."""
    data = node.input(0)
    if data.dtype is not None and not data.dtype.is_float:
        return reduction(kind, node)
    missing = node.step(ew.IsNaN(), data)
    filled = node.step(ew.Where(), missing, node.scalar_like(data, neutral), data, suffix="filled")
    if kind is ir.ReduceProd or _keeps_all(node, data):
        return _reduce(node, kind, filled)
    reduce = partial(_given, node)
    return compensated(node, reduce(kind, filled), data, _axes(node, data), reduce, passes_nan=True)


def import_norm(node: ImportNode) -> Value:
    """Return the L1 or L2 norm of the elements along the axes."""
    order = node.attrs["ord"]
    if order not in (1, 2):
        node.refuse(f"ord {order}; MXNet has 1 and 2")
    data, wanted = node.input(0), node.attrs["out_dtype"]
    result = _norm(node, data, order)
    if wanted is None or DType.of(wanted) is data.dtype:
        return result
    return node.emit(ew.Cast(DType.of(wanted)), result)


def _norm(node: ImportNode, data: Value, order: int) -> Value:
    reduce, axes = partial(_given, node), _axes(node, data)
    if data.dtype is DType.BOOL:
        return of_bool(node, ir.ReduceMax, data, reduce)
    integers = data.dtype is not None and data.dtype.is_integer
    if _keeps_all(node, data):
        return node.step(ew.Abs(), data)
    if integers and (order == 1 or of_nothing(data, axes)):
        return of_integers(node, ir.ReduceSum, node.step(ew.Abs(), data), axes, reduce)
    if order == 1:
        return compensated(node, reduce(ir.ReduceL1, data), data, axes, reduce)
    if not integers:
        return euclidean(node, data, reduce)
    over = [] if axes is None else [node.vector(axes)]

    def keeping(kind: Callable[..., Operator], value: Value) -> Value:
        return node.step(kind(keepdims=True), value, *over)

    return norm_of_integers(node, data, keeping, reduce)


def import_moments(node: ImportNode) -> list[Value]:
    """Mean and population variance over `axes`."""
    data, axes, keepdims = node.input(0), node.attrs["axes"], bool(node.attrs["keepdims"])
    over = [] if axes is None else [node.vector(axes)]

    def kept(kind: Callable[..., Operator], value: Value) -> Value:
        return node.step(kind(keepdims=True), value, *over)

    def mean(value: Value, suffix: str) -> Value:
        if value.dtype is not None and value.dtype.is_integer:
            return of_integers(node, ir.ReduceMean, value, axes, kept)
        if of_nothing(value, axes):
            return mean_of_nothing(node, value, kept)
        return node.step(MEAN(keepdims=True), value, *over, suffix=suffix)

    center = mean(data, "mean")
    if data.dtype is None or data.dtype.is_float:
        center = compensated(node, center, data, axes, kept)
    deviation = node.step(ew.Sub(), data, center, suffix="deviation")
    variance = mean(node.step(ew.Mul(), deviation, deviation, suffix="square"), "variance")
    if keepdims:
        return [center, variance]
    if axes is None or len(axes) == data.rank:
        one = node.vector([1])
        return [node.step(Reshape(), value, one, suffix="flat") for value in (center, variance)]
    return [node.step(Squeeze(), value, *over, suffix="flat") for value in (center, variance)]


def _flat(node: ImportNode, data: Value) -> Value:
    """Return the data as a vector."""
    return data if data.rank == 1 else node.step(Reshape(), data, node.vector([-1]), suffix="flat")


def positions(kind: type[ir.ArgMax] | type[ir.ArgMin], node: ImportNode) -> Value:
    """argmax or argmin along `axis`, of the flattened data without one; the first of equals."""
    data, axis, keepdims = node.input(0), node.attrs["axis"], bool(node.attrs["keepdims"])
    dtype = data.dtype or DType.FLOAT32
    if axis is not None:
        sought = nan_first(node, kind, data, axis)
        result = node.step(kind(axis=axis, keepdims=keepdims or data.rank == 1), sought)
        return node.emit(ew.Cast(dtype), result)
    result = node.step(kind(axis=0, keepdims=True), nan_first(node, kind, _flat(node, data), 0))
    if keepdims and node.rank(data) != 1:
        result = node.step(Reshape(), result, node.vector([1] * node.rank(data)), suffix="keepdims")
    return node.emit(ew.Cast(dtype), result)


def import_argmax_channel(node: ImportNode) -> Value:
    """Return the position of the maximum along axis 1."""
    data = node.input(0)
    sought = nan_first(node, ir.ArgMax, data, 1)
    return node.emit(ew.Cast(data.dtype or DType.FLOAT32), node.step(ir.ArgMax(axis=1, keepdims=False), sought))


def _size(node: ImportNode, data: Value, axis: int) -> Value:
    """Return the size of an axis as a vector of one element, a constant where it is known."""
    if data.rank is not None and isinstance(data.shape[axis], int):  # type: ignore[index]
        return node.vector([data.shape[axis]])  # type: ignore[index]
    return node.step(Shape(start=axis, end=None if axis == -1 else axis + 1), data, suffix="size")


def _order(node: ImportNode, largest: bool, k: int) -> tuple[Value, Value, Value, int]:
    """(data, its largest or smallest elements in order, their positions, axis); `k` below 1 means all."""
    data, axis = node.input(0), node.attrs["axis"]
    if axis is None:
        data, axis = _flat(node, data), 0
    if data.rank is not None and not -data.rank <= axis < data.rank:
        node.refuse(f"axis {axis} does not exist in {data.type}")
    count = node.vector([k]) if k > 0 else _size(node, data, axis)
    values, indices = node.steps(ir.TopK(axis=axis, largest=largest), data, count)
    return data, values, indices, axis


def import_topk(node: ImportNode) -> Value | list[Value]:
    """Return the k largest (`is_ascend`: smallest) elements along `axis`: positions, values, both or a mask of 0 and
    1."""
    attrs = node.attrs
    kind, dtype = attrs["ret_typ"], DType.of(attrs["dtype"])
    data, values, indices, axis = _order(node, not attrs["is_ascend"], attrs["k"])
    if kind == "value":
        return values
    if kind == "mask":
        return _mask(node, data, indices, axis)
    result = indices if dtype is DType.INT64 else node.cast(indices, dtype, suffix="indices")
    return result if kind == "indices" else [values, result]


def _mask(node: ImportNode, data: Value, indices: Value, axis: int) -> Value:
    """1 where an element is among the chosen ones, else 0."""
    axis = axis if axis < 0 else axis - node.rank(data)
    chosen = node.step(OneHot(axis=axis), indices, _size(node, data, axis), node.constant([0.0, 1.0], DType.FLOAT32))
    mask = node.step(ir.ReduceSum(keepdims=False), chosen, node.vector([axis - 1]), suffix="mask")
    if data.dtype not in (None, DType.FLOAT32):
        assert data.dtype is not None
        mask = node.cast(mask, data.dtype, suffix="mask")
    source = node.input(0)
    if source is data:
        return mask
    shape = node.shape(source)
    static = all(isinstance(size, int) for size in shape)
    wanted = node.vector([int(size) for size in shape]) if static else node.step(Shape(), source)  # type: ignore[arg-type]
    return node.emit(Reshape(), mask, wanted)


def import_argsort(node: ImportNode) -> Value:
    """Return the positions that sort along `axis`."""
    indices, dtype = _order(node, not node.attrs["is_ascend"], 0)[2], DType.of(node.attrs["dtype"])
    return indices if dtype is DType.INT64 else node.emit(ew.Cast(dtype), indices)


def import_cumsum(node: ImportNode) -> Value:
    """Return the running sum along `axis`, of the flattened data without one."""
    data, axis, wanted = node.input(0), node.attrs["axis"], node.attrs["dtype"]
    if axis is None:
        data, axis = _flat(node, data), 0
    result = DType.of(wanted) if wanted is not None else DType.INT64 if data.dtype is DType.BOOL else data.dtype
    if result is not None and result is not data.dtype:
        data = node.cast(data, result)
    if result is None or result.bits > 16 or result.is_float:
        return node.emit(CumSum(), data, node.constant(axis, DType.INT64))
    wide = node.cast(data, DType.INT64, suffix="wide")  # ONNX has no running sum of bytes
    return node.emit(ew.Cast(result), node.step(CumSum(), wide, node.constant(axis, DType.INT64)))


IMPORTS: dict[str, ImportFunction] = {
    "sum": partial(reduction, ir.ReduceSum),
    "mean": partial(reduction, ir.ReduceMean),
    "max": partial(reduction, ir.ReduceMax),
    "min": partial(reduction, ir.ReduceMin),
    "prod": partial(reduction, ir.ReduceProd),
    "nansum": partial(without_nan, ir.ReduceSum, 0.0),
    "nanprod": partial(without_nan, ir.ReduceProd, 1.0),
    "norm": import_norm,
    "moments": import_moments,
    "argmax": partial(positions, ir.ArgMax),
    "argmin": partial(positions, ir.ArgMin),
    "argmax_channel": import_argmax_channel,
    "topk": import_topk,
    "sort": lambda node: _order(node, not node.attrs["is_ascend"], 0)[1],
    "argsort": import_argsort,
    "_np_cumsum": import_cumsum,
}
