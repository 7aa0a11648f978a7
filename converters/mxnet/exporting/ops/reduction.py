"""Reductions, running sums and products, positions of extremes, and the largest elements."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.converters.mxnet.exporting.context import AnyNode, Entry, ExportFunction, ExportNode, row, table
from graphir.converters.mxnet.exporting.ops.steps import bind_last, bind_named, cast, emit_as
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import indexing
from graphir.ops import reduction as ir
from graphir.ops.base import normalize_axis
from graphir.ops.elementwise import Cast
from graphir.tensor import Tensor
from graphir.types import DType

LARGEST = {DType.FLOAT16: 65504.0, DType.FLOAT32: 3.4e38, DType.FLOAT64: 1.7e308}
"""Near the largest number of a dtype, and still below it."""

COUNTABLE = {DType.INT8: 128, DType.UINT8: 256, DType.FLOAT16: 2049, DType.FLOAT32: (1 << 24) + 1}
"""So many positions can be told apart in a dtype; all that there can be in those that are not here."""

STABLE = 16
"""Axes up to this length are sorted by insertion, which keeps the order of equal elements."""


def _axes(node: ExportNode[ir.Reduce]) -> tuple[int, ...] | None:
    """Return the axes, None for all; () for none at all."""
    axes = node.numbers(1)
    if not axes:
        return () if node.op.noop_with_empty_axes else None
    return axes


def _moved(node: ExportNode[ir.Reduce]) -> bool:
    """Return whether nothing is to be reduced: MXNet would take no axes for all."""
    return _axes(node) == () or node.input(0).rank == 0


NOTHING = {
    ir.ReduceSum: 0.0, ir.ReduceL2: 0.0, ir.ReduceProd: 1.0, ir.ReduceMean: math.nan,
    ir.ReduceMax: -math.inf, ir.ReduceMin: math.inf, ir.ReduceLogSum: -math.inf, ir.ReduceLogSumExp: -math.inf,
}  # fmt: skip
"""What the reductions make of no elements."""


def _of_nothing(node: ExportNode[ir.Reduce]) -> bool:
    """Return the constant that a reduction of no elements is; whether it is one."""
    if 0 not in (node.input(0).shape or ()):
        return False
    shape = node.fixed(node.result.shape, node.result.name)
    dtype, number = node.dtype(), NOTHING[type(node.op)]
    stored = DType.FLOAT32 if dtype is DType.BOOL else dtype
    node.charge(math.prod(shape), "its result")
    result: NDArray[Any] = np.zeros(shape or (1,), stored.numpy())
    if dtype is DType.BOOL:
        result[...] = number > 0
    elif dtype.is_integer and not math.isfinite(number):
        limits = np.iinfo(str(result.dtype))
        result[...] = limits.min if number < 0 else limits.max
    else:
        result[...] = number
    name = node.export.fresh_variable(node.stem)
    node.bind(node.export.variable(name, Tensor.of(result, stored), {}), carried=stored)
    return True


def reduction(name: str, node: ExportNode[ir.Reduce]) -> None:
    """Export a reduction as MXNet's operator of this name."""
    if _of_nothing(node):
        return
    if _moved(node):
        node.emit("_copy", node.entry(0))
    else:
        node.emit(name, node.entry(0), axis=_axes(node), keepdims=node.op.keepdims)


def export_mean(node: ExportNode[ir.ReduceMean]) -> None:
    """mean; of integers the sum divided, and what is behind the point dropped."""
    if node.dtype().is_float or _moved(node):
        reduction("mean", node)
        return
    if _of_nothing(node):
        return
    shape = node.shape()
    axes = _axes(node) or tuple(range(len(shape)))
    count = math.prod(node.fixed([shape[axis] for axis in axes], node.input(0).name))
    data = node.export.cast(node.entry(0), DType.FLOAT64)
    total = node.step("sum", data, axis=_axes(node), keepdims=node.op.keepdims)
    node.emit("Cast", node.step("_div_scalar", total, suffix="mean", scalar=count), dtype=node.dtype().value)


def export_l2(node: ExportNode[ir.ReduceL2]) -> None:
    """norm over one or two axes or all, else the root of a sum of squares; of integers in float64."""
    if _of_nothing(node):
        return
    axes = _axes(node)
    if node.dtype().is_float and (axes is None or len(axes) in (1, 2)):
        node.emit("norm", node.entry(0), ord=2, axis=axes, keepdims=node.op.keepdims)
    else:
        _through_floats(node, "square", "sqrt")


def export_log_sum(node: ExportNode[ir.ReduceLogSum]) -> None:
    """The logarithm of the sum; of integers in float64."""
    if not _of_nothing(node):
        _through_floats(node, "", "log")


def _through_floats(node: ExportNode[ir.Reduce], before: str, after: str) -> None:
    """A sum under a function of real numbers, which for integers are those of float64."""
    source = node.dtype()
    dtype = source if source.is_float else DType.FLOAT64
    total = cast(node, node.entry(0), source, dtype)
    total = node.step(before, total) if before else total
    if not _moved(node):
        total = node.step("sum", total, axis=_axes(node), keepdims=node.op.keepdims)
    emit_as(node, node.step(after, total), dtype)


def export_log_sum_exp(node: ExportNode[ir.ReduceLogSumExp]) -> None:
    """The logarithm of a sum of exponentials, taken less their maximum, which is kept finite."""
    if _of_nothing(node):
        return
    if _moved(node):
        node.emit("_copy", node.entry(0))
        return
    axes, dtype = _axes(node), node.dtype()
    stored = dtype if dtype.is_float else DType.FLOAT64
    data = cast(node, node.entry(0), dtype, stored)
    highest = _finite(node, node.step("max", data, axis=axes, keepdims=True), stored)
    exponentials = node.step("exp", node.step("broadcast_sub", data, highest))
    total = node.step("log", node.step("sum", exponentials, axis=axes, keepdims=node.op.keepdims))
    same = highest
    if not node.op.keepdims:
        same = _finite(node, node.step("max", data, suffix="highest", axis=axes, keepdims=False), stored)
    emit_as(node, node.step("elemwise_add", total, same), stored)


def _finite(node: AnyNode, entry: Entry, dtype: DType) -> Entry:
    """Return the numbers with infinite ones replaced by the largest, so that a difference from them is defined."""
    bound = LARGEST[dtype]
    upper = node.step("_minimum_scalar", entry, suffix="below", scalar=bound)
    return node.step("_maximum_scalar", upper, suffix="finite", scalar=-bound)


def positions(name: str) -> ExportFunction:
    """argmax or argmin: MXNet gives the positions as numbers of the data's dtype."""

    def export_positions(node: ExportNode[ir.ArgMax | ir.ArgMin]) -> None:
        op = node.op
        value = node.input(0)
        if value.rank == 0:
            node.emit("_full", shape=(1,), value=0.0, dtype=DType.INT64.value)
            return
        shape = value.shape
        size = None if shape is None else shape[op.axis]
        data, stored = node.export.raw(value), node.export.carried(value) or node.dtype()
        limit = COUNTABLE.get(stored)
        if limit is not None and not (isinstance(size, int) and size <= limit):
            enough = DType.FLOAT32 if limit < COUNTABLE[DType.FLOAT32] else DType.FLOAT64
            if stored is not DType.FLOAT32 or isinstance(size, int):
                data, stored = node.export.cast(data, enough), enough
        attributes: dict[str, Any] = {"axis": op.axis, "keepdims": op.keepdims}
        if not op.select_last_index:
            node.emit(name, data, carried=stored, **attributes)
            return
        if not isinstance(size, int):
            node.refuse("select_last_index of an axis whose size is open; state the inputs' shapes")
        turned = node.step("reverse", data, axis=normalize_axis(op.axis, node.rank()))
        result = node.step(name, turned, **attributes)
        node.emit("_rminus_scalar", result, scalar=size - 1, carried=stored)

    return export_positions


def export_top_k(node: ExportNode[ir.TopK]) -> None:
    """topk of values and positions.

    MXNet's sort changes the order of equal elements on axes longer than STABLE, ONNX's does not: there the positions
    are put in order again.
    """
    op = node.op
    count = node.numbers(1)
    assert count is not None
    if count[0] < 1:
        node.refuse("K is 0; MXNet has no tensors without elements")
    data, size = node.entry(0), node.shape()[op.axis]
    axis = normalize_axis(op.axis, node.rank())
    values, indices = node.node.outputs
    wanted = {value: bool(value.uses) or node.export.graph.is_output(value) for value in (values, indices)}
    stored = _positions_dtype(node, indices)
    attributes: dict[str, Any] = {"axis": axis, "is_ascend": not op.largest, "dtype": stored.value}
    if not wanted[indices]:
        result = node.export.append("topk", node.stem, [data], {**attributes, "k": count[0], "ret_typ": "value"})
        node.bind((result, 0), 0)
    elif count[0] == 1 or not isinstance(size, int) or size <= STABLE:
        if not isinstance(size, int) and count[0] > 1:
            node.decide(
                DecisionKind.ORDER_OF_EQUAL_ELEMENTS, "that of MXNet's sort, on a longer axis than 16: state its size"
            )
        kind = "both" if wanted[values] else "indices"
        index = node.export.append("topk", node.stem, [data], {**attributes, "k": count[0], "ret_typ": kind})
        if wanted[values]:
            node.bind((index, 0), 0)
        node.bind((index, int(wanted[values])), 1, carried=stored)
    else:
        # All elements are sorted, then the positions within each run of equal elements, as run * size + place.
        attributes |= {"dtype": DType.INT64.value, "k": size, "ret_typ": "both"}
        index = node.export.append("topk", f"{node.stem}_sorted", [data], attributes)
        ordered, positions = (index, 0), (index, 1)
        before = node.step("slice_axis", ordered, suffix="before", axis=axis, begin=0, end=size - 1)
        behind = node.step("slice_axis", ordered, suffix="behind", axis=axis, begin=1, end=size)
        differs = node.step("_not_equal", before, behind, suffix="differs")
        steps = node.export.append("Cast", f"{node.stem}_steps", [differs], {"dtype": DType.INT64.value}), 0
        runs = node.step("_np_cumsum", steps, suffix="runs", axis=axis)
        first = node.step("slice_axis", positions, suffix="first", axis=axis, begin=0, end=1)
        zero = node.step("zeros_like", first, suffix="zero")
        runs = node.step("Concat", zero, runs, suffix="all_runs", dim=axis, num_args=2)
        keys = node.step("_mul_scalar", runs, suffix="keys", scalar=size)
        keys = node.step("elemwise_add", keys, positions, suffix="keys")
        ranked = node.step("topk", keys, suffix="ranked", axis=axis, k=count[0], ret_typ="value", is_ascend=True)
        cut = node.step("slice_axis", ordered, suffix="values", axis=axis, begin=0, end=count[0])
        bind_named(node, cut, 0)
        bind_named(node, node.step("_mod_scalar", ranked, suffix="places", scalar=size), 1)


def _positions_dtype(node: AnyNode, places: Value) -> DType:
    """Return the dtype that all who use the positions convert them to, if it is one and MXNet gives them in it; else
    int64."""
    wanted = {user.op.to if isinstance(user.op, Cast) else DType.INT64 for user, _ in places.uses}
    if len(wanted) != 1 or node.export.graph.is_output(places):
        return DType.INT64
    (dtype,) = wanted
    return dtype if dtype in (DType.UINT8, DType.INT32, DType.FLOAT16, DType.FLOAT32, DType.FLOAT64) else DType.INT64


def _axis(node: AnyNode) -> int:
    """Return the axis, a constant."""
    axes = node.numbers(1)
    assert axes is not None
    return normalize_axis(axes[0], node.rank())


def _turned(node: ExportNode[indexing.CumProd | indexing.CumSum], entry: Entry, axis: int, suffix: str) -> Entry:
    return node.step("reverse", entry, suffix=suffix, axis=axis) if node.op.reverse else entry


def _shifted(node: AnyNode, entry: Entry, axis: int, size: int, by: int) -> Entry:
    """Return the elements `by` places further on; before them ones."""
    start = node.step("slice_axis", entry, suffix=f"start{by}", axis=axis, begin=0, end=min(by, size))
    start = node.step("ones_like", start, suffix=f"ones{by}")
    if by >= size:
        return start
    kept = node.step("slice_axis", entry, suffix=f"kept{by}", axis=axis, begin=0, end=size - by)
    return node.step("Concat", start, kept, suffix=f"shifted{by}", dim=axis, num_args=2)


def export_cum_sum(node: ExportNode[indexing.CumSum]) -> None:
    """cumsum; an exclusive one is moved on by one place, a reverse one turned around."""
    op = node.op
    axis = _axis(node)
    if not op.reverse and not op.exclusive:
        node.emit("_np_cumsum", node.entry(0), axis=axis)
        return
    data = _turned(node, node.entry(0), axis, "turned")
    if op.exclusive:
        first = node.step("slice_axis", data, suffix="first", axis=axis, begin=0, end=1)
        zero = node.step("zeros_like", first, suffix="zero")
        longer = node.step("Concat", zero, data, suffix="longer", dim=axis, num_args=2)
        data = node.step("slice_axis", longer, suffix="shifted", axis=axis, begin=0, end=-1)
    if op.reverse:
        node.emit("reverse", node.step("_np_cumsum", data, suffix="sum", axis=axis), axis=axis)
    else:
        node.emit("_np_cumsum", data, axis=axis)


def export_cum_prod(node: ExportNode[indexing.CumProd]) -> None:
    """Products of elements 1, 2, 4, ... places apart: as many as the axis has bits, each with all before it."""
    op = node.op
    axis = _axis(node)
    (size,) = node.fixed(node.shape()[axis : axis + 1], node.input(0).name)
    if size == 0:
        node.refuse("MXNet has no tensors without elements")
    node.decide(DecisionKind.RUNNING_PRODUCT, "multiplied in pairs: floats may differ in the last digits")
    data = _turned(node, node.entry(0), axis, "turned")
    if op.exclusive:
        data = _shifted(node, data, axis, size, 1)
    by = 1
    while by < size:
        data = node.step("elemwise_mul", data, _shifted(node, data, axis, size, by), suffix=f"product{by}")
        by *= 2
    bind_last(node, _turned(node, data, axis, "back"))


EXPORTS = table(
    row(ir.ReduceSum, partial(reduction, "sum")),
    row(ir.ReduceMean, export_mean),
    row(ir.ReduceMax, partial(reduction, "max")),
    row(ir.ReduceMin, partial(reduction, "min")),
    row(ir.ReduceProd, partial(reduction, "prod")),
    row(ir.ReduceL2, export_l2),
    row(ir.ReduceLogSum, export_log_sum),
    row(ir.ReduceLogSumExp, export_log_sum_exp),
    row(ir.ArgMax, positions("argmax")),
    row(ir.ArgMin, positions("argmin")),
    row(ir.TopK, export_top_k),
    row(indexing.CumSum, export_cum_sum), row(indexing.CumProd, export_cum_prod),
)
