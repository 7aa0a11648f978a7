"""Reductions over axes, positions of extremes, and the k largest elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from graphir.converters.pytorch.exporting.context import (
    AnyNode,
    ExportFunction,
    ExportNode,
    Expr,
    axes_text,
    binary,
    call,
    dtype_text,
    number_text,
    row,
    table,
    tuple_of,
)
from graphir.converters.pytorch.exporting.expression import SIMPLE
from graphir.converters.pytorch.exporting.unsigned import UNSIGNED, comparable_tensor, computable_tensor, restored
from graphir.ops import reduction as ir
from graphir.types import DType


def axes_of(node: ExportNode[ir.Reduce]) -> Sequence[int] | None:
    """Return the axes from the front, none at all where nothing is reduced; None for those that only a run knows."""
    is_given = node.optional(1) is not None and node.shape(1) != (0,)
    axes = node.known(1) if is_given else ()
    if is_given and axes is None:
        count = node.shape(1)[0]
        if node.op.noop_with_empty_axes and not (isinstance(count, int) and count):
            node.refuse(f"the axes {node.input(1).name} are known by a run only, and none of them would mean none")
        return None
    if not axes:
        return () if node.op.noop_with_empty_axes else range(node.rank())
    return sorted(node.axis(axis, node.rank()) for axis in axes)


def reduced(node: ExportNode[ir.Reduce], data: str, method: str, dtype: DType | None = None) -> Expr:
    """Return the data reduced by a method of tensors that takes axes; in `dtype` where that would give another one."""
    axes = axes_of(node)
    if axes is not None and not axes:
        return Expr(data)
    options = {"keepdim": "True" if node.op.keepdims else None, "dtype": dtype_text(dtype) if dtype else None}
    where = axes_text(axes) if axes is not None and method == "logsumexp" else _where(node, axes)
    return Expr(call(f"{data}.{method}", where, **options))


def _where(node: ExportNode[ir.Reduce], axes: Sequence[int] | None) -> str | None:
    """Return the axes of a reduction, as a run has them where they are not known; None for all of them."""
    if axes is None:
        return node.int_list(1)
    return None if len(axes) == node.rank() and not node.op.keepdims else axes_text(axes)


def _sum_dtype(node: AnyNode) -> DType | None:
    """Return the dtype that torch has to be told for sums: it takes int64 for all integers."""
    dtype = node.dtype()
    return None if dtype.is_float or dtype in UNSIGNED or dtype is DType.INT64 else dtype


def total(before: str = "") -> ExportFunction:
    """Return the sum of the elements, or of what a method makes of each."""

    def export_total(node: ExportNode[ir.Reduce]) -> None:
        data = computable_tensor(node)
        if before and not (before == "abs" and node.dtype() in UNSIGNED):
            data = Expr(f"{data.atom}.{before}()")
        node.emit(restored(node, reduced(node, data.atom, "sum", _sum_dtype(node))))

    return export_total


def by_floats(write: Callable[[ExportNode[ir.Reduce], str], Expr]) -> ExportFunction:
    """Return what needs floats; integers take part as float64."""

    def export_by_floats(node: ExportNode[ir.Reduce]) -> None:
        dtype = node.dtype()
        if dtype.is_float:
            node.emit(write(node, node.tensor().atom))
        else:
            node.emit(node.cast(write(node, f"{node.tensor().atom}.double()"), dtype))

    return export_by_floats


def log_sum(node: ExportNode[ir.Reduce], data: str) -> Expr:
    """Return the logarithm of the sum."""
    return Expr(f"{reduced(node, data, 'sum').atom}.log()")


def norm(node: ExportNode[ir.Reduce], data: str) -> Expr:
    """torch.linalg.vector_norm, which is the root of the sum of squares."""
    axes = axes_of(node)
    if axes is not None and not axes:
        return Expr(f"{data}.abs()")
    keepdim = "True" if node.op.keepdims else None
    return Expr(call("torch.linalg.vector_norm", data, dim=_where(node, axes), keepdim=keepdim))


def export_mean(node: ExportNode[ir.Reduce]) -> None:
    """mean; integers are divided toward zero, as the number of them is."""
    if node.dtype().is_float:
        node.emit(reduced(node, node.tensor().atom, "mean"))
        return
    axes = axes_of(node)
    if axes is None or node.dtype() is DType.UINT64:
        node.refuse(f"the mean of {node.dtype()} over axes that only a run knows, or without a sign")
    count = Expr("1")
    for place, axis in enumerate(axes):
        count = binary("*", count, node.size(0, axis)) if place else node.size(0, axis)
    text = reduced(node, computable_tensor(node).atom, "sum")
    node.emit(node.cast(call("torch.div", text, count, rounding_mode='"trunc"'), node.dtype()))


def export_prod(node: ExportNode[ir.Reduce]) -> None:
    """prod, which takes one axis at a time, or all of them."""
    axes = axes_of(node)
    text, given = computable_tensor(node).atom, _sum_dtype(node)
    dtype = None if given is None else dtype_text(given)
    if axes is None:
        keepdim = "True" if node.op.keepdims else "False"
        text = call(node.function("prod"), text, node.int_list(1), keepdim)
        node.emit(text if dtype is None else f"{text}.to({dtype})")
        return
    if len(axes) == node.rank() and not node.op.keepdims:
        node.emit(restored(node, call(f"{text}.prod", dtype=dtype)))
        return
    for axis in sorted(axes, reverse=True):
        text = call(f"{text}.prod", str(axis), keepdim="True" if node.op.keepdims else None, dtype=dtype)
    node.emit(restored(node, text))


def extreme(method: str, empty: float) -> ExportFunction:
    """amax or amin; of no elements `empty`, or the end of the integers on that side."""

    def export_extreme(node: ExportNode[ir.Reduce]) -> None:
        dtype, sizes = node.dtype(), [node.export.size(dim) for dim in node.shape(node.result)]
        if 0 in node.shape() and "0" not in sizes and None not in sizes:
            value, shape = number_text(_end(dtype, empty), dtype), tuple_of(sizes)
            node.emit(call("torch.full", shape, value, dtype=dtype_text(dtype), device=node.device))
            return
        node.emit(restored(node, reduced(node, comparable_tensor(node).atom, method), compared=True))

    return export_extreme


def _end(dtype: DType, empty: float) -> float | bool | int:
    """Return the infinity of a sign in a dtype: that, or the last number on that side."""
    if dtype.is_float:
        return empty
    if dtype is DType.BOOL:
        return empty > 0
    is_signed = not dtype.value.startswith("u")
    if empty > 0:
        return (1 << (dtype.bits - is_signed)) - 1
    return -(1 << (dtype.bits - 1)) if is_signed else 0


def position(method: str) -> ExportFunction:
    """argmax or argmin, which give the first of equal elements; the last one of a tensor that is turned round."""

    def export_position(node: ExportNode[ir.ArgMax | ir.ArgMin]) -> None:
        data, op = comparable_tensor(node), node.op
        axis = node.axis(op.axis, node.rank())
        keepdim = "True" if op.keepdims else None
        if not op.select_last_index:
            node.emit(call(f"{data.atom}.{method}", str(axis), keepdim=keepdim))
            return
        text = call(f"{data.atom}.flip({axis}).{method}", str(axis), keepdim=keepdim)
        node.emit(binary("-", binary("-", node.size(0, axis), "1"), text))

    return export_position


def export_topk(node: ExportNode[ir.TopK]) -> None:
    """The first elements of a stable sort: torch.topk gives equal elements in any order."""
    op, rank = node.op, node.rank()
    axis = node.axis(op.axis, rank)
    count = node.number(1) or f"int({node.tensor(1)})"
    options = {"dim": None if axis == rank - 1 else str(axis), "descending": "True" if op.largest else None}
    order = call(f"{node.tensor().atom}.sort", **options, stable="True")
    if node.is_read(0) and node.is_read(1):
        order = node.step(order, "order").atom
    end = f":{count}" if SIMPLE.fullmatch(count) else f": {count}"
    sliced = f"[..., {end}]" if 0 < axis == rank - 1 else f"[{':, ' * axis}{end}]"
    node.emit(f"{order}.values{sliced}")
    node.emit(f"{order}.indices{sliced}", 1)


EXPORTS = table(
    row(ir.ReduceSum, total()),
    row(ir.ReduceL1, total("abs")),
    row(ir.ReduceSumSquare, total("square")),
    row(ir.ReduceL2, by_floats(norm)),
    row(ir.ReduceLogSum, by_floats(log_sum)),
    row(ir.ReduceLogSumExp, by_floats(lambda node, data: reduced(node, data, "logsumexp"))),
    row(ir.ReduceMean, export_mean),
    row(ir.ReduceProd, export_prod),
    row(ir.ReduceMax, extreme("amax", -math.inf)),
    row(ir.ReduceMin, extreme("amin", math.inf)),
    row(ir.ArgMax, position("argmax")),
    row(ir.ArgMin, position("argmin")),
    row(ir.TopK, export_topk),
)
