"""Statistics of MXNet's NumPy-style interface: deviations, averages, percentiles, counts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.ops.exact_reduction import of_integers
from graphir.converters.mxnet.importing.ops.integers import is_integer
from graphir.converters.mxnet.importing.ops.numpy_reduction import (
    Axes,
    axes_of,
    count_like,
    reducer,
    reduces_nothing,
    total,
)
from graphir.converters.mxnet.importing.sizes import static_size
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops import reduction as ir
from graphir.ops.creation import Range
from graphir.ops.indexing import Gather, OneHot
from graphir.ops.shape import Reshape, Shape, Squeeze, Transpose, Unsqueeze
from graphir.ops.shape_parts import Concat, Slice
from graphir.types import DType

UNCOUNTED = 1 << 64


def _refuse_bool(node: ImportNode, data: Value) -> None:
    if data.dtype is DType.BOOL:
        node.refuse(f"{data.name} is bool, of which MXNet has no such result")


def _refuse_nothing(node: ImportNode, data: Value, axes: Axes) -> None:
    if reduces_nothing(data, axes):
        node.refuse(f"{data.name} has no elements to reduce: {data.type}")


def deviation(root: bool, node: ImportNode) -> Value:
    """Return the variance, or its root: deviations and their squares in the data's dtype, their sum in the result's."""
    data, stated = node.input(0), node.attrs["dtype"]
    _refuse_bool(node, data)
    axes = axes_of(node, data)
    _refuse_nothing(node, data, axes)
    source = data.dtype or DType.FLOAT32
    wanted = source if stated is None else DType.of(stated)
    keeping, reduce = reducer(node, axes, keepdims=True), reducer(node, axes)
    if axes == ():
        center = data
    elif source.is_integer:
        center = of_integers(node, ir.ReduceMean, data, axes, keeping)
    else:
        center = keeping(ir.ReduceMean, data)
    difference = node.step(ew.Sub(), data, center, suffix="deviation")
    square = node.step(ew.Mul(), difference, difference, suffix="square")
    if axes == ():
        count = node.constant(1 - node.attrs["ddof"], wanted)
        summed = node.cast(square, wanted)
    else:
        summed = total(node, ir.ReduceSum, square, wanted, axes, reduce)
        count = _less(node, data, summed, axes)
    variance = node.step(ew.Div(), summed, count, suffix="variance")
    if not root:
        return node.emit(ew.Identity(), variance)
    if wanted.is_float:
        return node.emit(ew.Sqrt(), variance)
    return node.emit(ew.Cast(wanted), node.step(ew.Sqrt(), node.cast(variance, DType.FLOAT64)))


def _less(node: ImportNode, data: Value, result: Value, axes: Axes) -> Value:
    """Return the number of elements less ddof; below 0, what C makes of it as a number without sign, in a float."""
    ddof = node.attrs["ddof"]
    sizes = [static_size(data, axis) for axis in (range(node.rank(data)) if axes is None else axes)]
    known = [size for size in sizes if size is not None]
    number = int(np.prod(known, dtype=np.int64)) - ddof
    if len(known) == len(sizes) and number < 0 and result.dtype is not None and result.dtype.is_float:
        return node.scalar_like(result, float(number + UNCOUNTED))
    return count_like(node, data, result, axes, ddof)


def _summed(node: ImportNode, data: Value, axes: Axes) -> Value:
    return total(node, ir.ReduceSum, data, data.dtype or DType.FLOAT32, axes, reducer(node, axes, keepdims=False))


def import_average(node: ImportNode) -> Value | list[Value]:
    """Return the mean with weights of the data's shape, or with a vector of them along one axis; `returned` their sum
    too."""
    data, returned = node.input(0), bool(node.attrs["returned"])
    _refuse_bool(node, data)
    axes = axes_of(node, data)
    if not node.attrs["weighted"]:
        summed = _summed(node, data, axes)
        if axes == ():
            count = node.scalar_like(data, 1)
        else:
            _refuse_nothing(node, data, axes)
            count = count_like(node, data, summed, axes)
        average = node.emit(ew.Div(), summed, count)
        return [average, node.step(ew.Identity(), count)] if returned else average
    weights = node.input(1)
    if node.rank(weights) == node.rank(data):
        node.same_shapes(data, weights)
        scale = _summed(node, weights, axes)
        shaped = weights
    else:
        if axes is None or len(axes) != 1 or node.rank(weights) != 1:
            node.refuse(f"weights {weights.type} of {data.type} on axes {axes}, expected one axis and its weights")
        scale = _summed(node, weights, None)
        behind = range(1, node.rank(data) - axes[0])
        shaped = node.step(Unsqueeze(), weights, node.vector(behind), suffix="weights") if behind else weights
    product = node.step(ew.Mul(), data, shaped, suffix="weighted")
    average = node.emit(ew.Div(), _summed(node, product, axes), scale)
    return [average, node.step(ew.Identity(), scale)] if returned else average


def _in_rows(node: ImportNode, data: Value, axes: Axes) -> Value:
    """Return the reduced axes as the last one, those that are kept before it."""
    rank = node.rank(data)
    if axes is None or len(axes) == rank:
        return data if rank == 1 else node.step(Reshape(), data, node.vector([-1]), suffix="flat")
    kept = [axis for axis in range(rank) if axis not in axes]
    order = (*kept, *axes)
    if order != tuple(range(rank)):
        data = node.step(Transpose(order), data, suffix="ordered")
    if len(axes) == 1:
        return data
    return node.step(Reshape(), data, node.vector([0] * len(kept) + [-1]), suffix="rows")


def _place(node: ImportNode, count: Value) -> tuple[Value, Value]:
    """Where in `count` sorted elements the percentiles lie, as float64, and the percentiles."""
    if node.attrs["q_scalar"] is not None:
        if not 0 <= node.attrs["q_scalar"] <= 100:
            node.refuse(f"percentile {node.attrs['q_scalar']}, expected 0 to 100")
        request = node.constant(float(node.attrs["q_scalar"]), DType.FLOAT64)
    else:
        request = node.input(1)
        _refuse_bool(node, request)
        if node.rank(request) > 1:
            node.refuse(f"percentiles {request.type}, expected a vector or one of them")
        request = node.cast(request, DType.FLOAT64)
    last = node.step(ew.Sub(), count, node.constant(1, DType.INT64), suffix="last")
    product = node.step(ew.Mul(), request, node.cast(last, DType.FLOAT64), suffix="percent")
    return node.step(ew.Div(), product, node.constant(100.0, DType.FLOAT64), suffix="place"), request


def _checked(node: ImportNode, index: Value, asked: Value, count: Value) -> Value:
    """Return the index, beyond the last element where the percentile is below 0: runtimes refuse it there."""
    if node.attrs["q_scalar"] is not None:
        return index
    below = node.step(ew.Less(), asked, node.constant(0.0, DType.FLOAT64), suffix="below")
    return node.step(ew.Where(), below, count, index, suffix="checked")


def import_percentile(node: ImportNode) -> Value:
    """Percentiles of the elements along the axes; those asked for in a vector stand along the first axis."""
    data, kind = node.input(0), node.attrs["interpolation"]
    _refuse_bool(node, data)
    axes = axes_of(node, data, scalar=False)
    if axes == () or node.rank(data) == 0:
        node.refuse(f"no axis of {data.type} to sort along")
    _refuse_nothing(node, data, axes)
    dtype = DType.FLOAT64 if data.dtype is DType.FLOAT64 else DType.FLOAT32
    rows = _in_rows(node, node.cast(data, dtype), axes)
    size = static_size(rows, -1)
    sizes = node.vector([size]) if size is not None else node.step(Shape(start=-1), rows, suffix="size")
    ordered = node.steps(ir.TopK(axis=-1, largest=False), rows, sizes)[0]
    count = node.constant(size, DType.INT64) if size is not None else node.step(Squeeze(), sizes, node.vector([0]))
    place, request = _place(node, count)
    if kind == "nearest":
        place = node.step(ew.Add(), place, node.constant(0.5, DType.FLOAT64), suffix="rounded")
    low, high = node.step(ew.Floor(), place), node.step(ew.Ceil(), place)
    if kind in ("lower", "nearest", "higher"):
        index = node.cast(high if kind == "higher" else low, DType.INT64)
        result = node.step(Gather(axis=-1), ordered, _checked(node, index, request, count), suffix="chosen")
        return _percentiles(node, result, request, axes)
    if kind == "midpoint":
        middle = node.step(ew.Add(), low, high, suffix="both")
        place = node.step(ew.Mul(), middle, node.constant(0.5, DType.FLOAT64), suffix="middle")
    part = node.cast(node.step(ew.Sub(), place, low, suffix="part"), dtype)
    first = node.cast(low, DType.INT64)
    after = node.step(ew.Add(), first, node.constant(1, DType.INT64), suffix="after")
    last = node.step(ew.Sub(), count, node.constant(1, DType.INT64), suffix="last")
    second = node.step(ew.Where(), node.step(ew.Less(), after, count), after, last, suffix="above")
    below = node.step(Gather(axis=-1), ordered, _checked(node, first, request, count), suffix="below")
    above = node.step(Gather(axis=-1), ordered, second, suffix="above")
    rest = node.step(ew.Sub(), node.scalar_like(part, 1.0), part, suffix="rest")
    result = node.step(
        ew.Add(),
        node.step(ew.Mul(), below, rest, suffix="from_below"),
        node.step(ew.Mul(), above, part, suffix="from_above"),
        suffix="between",
    )
    return _percentiles(node, result, request, axes)


def _percentiles(node: ImportNode, found: Value, asked: Value, axes: Axes) -> Value:
    """Return the percentiles of a vector in front, the reduced axes kept on request."""
    several = node.rank(asked)
    if several and node.rank(found) > 1:
        rank = node.rank(found)
        found = node.step(Transpose((rank - 1, *range(rank - 1))), found, suffix="in_front")
    if node.attrs["keepdims"]:
        indices = range(node.rank(0)) if axes is None else axes
        found = node.step(Unsqueeze(), found, node.vector([axis + several for axis in indices]), suffix="kept")
    return node.emit(ew.Identity(), found)


def import_bincount(node: ImportNode) -> Value:
    """Return how often each number up to the largest occurs in a vector, or what its weights add up to."""
    data = node.input(0)
    weights = node.input(1) if node.attrs["has_weights"] else None
    for value in (data, weights or data):
        _refuse_bool(node, value)
    if data.dtype is not None and not data.dtype.is_integer:
        node.refuse(f"{data.name} is {data.dtype}, expected integers")
    if node.rank(data) != 1:
        node.refuse(f"{data.name} is {data.type}, expected a vector")
    numbers = node.cast(data, DType.INT64)
    least = node.vector([max(node.attrs["minlength"], 0) - 1])
    largest = node.step(ir.ReduceMax(keepdims=False), node.step(Concat(axis=0), numbers, least, suffix="with_least"))
    count = node.step(ew.Add(), largest, node.constant(1, DType.INT64), suffix="count")
    zero, one = node.constant(0, DType.INT64), node.constant(1, DType.INT64)
    negative = node.step(ew.Less(), numbers, zero, suffix="negative")
    index = node.step(ew.Where(), negative, count, numbers, suffix="checked")
    checked = node.step(Gather(axis=0), node.step(Range(), zero, count, one), index, suffix="numbers")
    node.decide(
        DecisionKind.COMPOSITION, "negative numbers, which MXNet refuses, are an index that runtimes refuse too"
    )
    dtype = (data if weights is None else weights).dtype or DType.INT64
    exact = DType.INT64 if dtype.is_integer else dtype
    shape = node.vector([1])
    switches = node.constant(np.array([0, 1]), DType.INT64)
    indices = node.step(OneHot(axis=-1), checked, node.step(Reshape(), count, shape), switches)
    if weights is None:
        return node.emit(ew.Cast(dtype), node.step(ir.ReduceSum(keepdims=False), indices, node.vector([0])))
    held = node.step(Unsqueeze(), node.cast(weights, exact), node.vector([1]), suffix="column")
    chosen = node.step(ew.Where(), node.cast(indices, DType.BOOL), held, node.scalar_like(held, 0), suffix="weights")
    return node.emit(ew.Cast(dtype), node.step(ir.ReduceSum(keepdims=False), chosen, node.vector([0])))


def _edges(node: ImportNode, data: Value) -> tuple[Value, tuple[float, float] | None]:
    """Return the limits of the bins in the data's dtype, and the range that is stated."""
    # The registry does not say of which kind the attribute is: its text is left to the operator.
    stated = str(node.attrs["range"] or "").strip("()[] ").split(",")
    limits = [float(end) for end in stated if end.strip() not in ("", "None")]
    count = node.attrs["bin_cnt"]
    if (count is None) != (not limits):
        node.refuse(f"bin_cnt {count} and range {limits}; MXNet takes both or neither")
    if count is None:
        return node.input(1), None
    if len(limits) != 2:
        node.refuse(f"range {limits}, expected two numbers")
    low, high = limits
    if low > high or count < 1:
        node.refuse(f"{count} bins from {low:g} to {high:g}")
    if low == high:
        low, high = low - 0.5, high + 0.5
    node.charge(count, "limits of bins")
    edges = low + np.arange(count + 1) * ((high - low) / count)
    edges[-1] = high
    return node.cast(node.constant(edges, DType.FLOAT64), data.dtype or DType.FLOAT32), (low, high)


def import_histogram(node: ImportNode) -> list[Value]:
    """Return how many elements lie in each bin, the last one's upper limit included, and the limits."""
    data = node.input(0)
    _refuse_bool(node, data)
    edges, limits = _edges(node, data)
    if node.rank(edges) != 1:
        node.refuse(f"limits {edges.type}, expected a vector")
    flat = data if node.rank(data) == 1 else node.step(Reshape(), data, node.vector([-1]), suffix="flat")
    column = node.step(Unsqueeze(), flat, node.vector([1]), suffix="column")

    def part(begin: int, end: int, suffix: str) -> Value:
        return node.step(Slice(), edges, node.vector([begin]), node.vector([end]), suffix=suffix)

    from_low = node.step(ew.GreaterOrEqual(), column, part(0, -1, "low"), suffix="from_low")
    below = node.step(ew.Less(), column, part(1, -1, "high"), suffix="below_high")
    to_last = node.step(ew.LessOrEqual(), column, part(-1, np.iinfo(np.int64).max, "last"), suffix="to_last")
    upper = node.step(Concat(axis=1), below, to_last, suffix="upper")
    inside = node.step(ew.And(), from_low, upper, suffix="inside")
    if limits is not None and is_integer(data):  # whose limits lost their fraction
        number = node.cast(column, DType.FLOAT64)
        above = node.step(ew.GreaterOrEqual(), number, node.constant(limits[0], DType.FLOAT64), suffix="above_all")
        under = node.step(ew.LessOrEqual(), number, node.constant(limits[1], DType.FLOAT64), suffix="under_all")
        in_range = node.step(ew.And(), above, under, suffix="in_range")
        inside = node.step(ew.And(), inside, in_range, suffix="inside_range")
    counted = node.cast(inside, DType.INT64, suffix="counted")
    counts = node.emit(ir.ReduceSum(keepdims=False), counted, node.vector([0]))
    return [counts, node.step(ew.Identity(), edges, suffix="edges")]


def import_trace(node: ImportNode) -> Value:
    """Return the sum of a diagonal of two axes, in the data's dtype; 0 of one that lies beside them."""
    data, rank = node.input(0), node.rank(0)
    _refuse_bool(node, data)
    first, second = node.axis(node.attrs["axis1"], rank), node.axis(node.attrs["axis2"], rank)
    if first == second:
        node.refuse(f"axis1 and axis2 are both axis {first}")
    order = (*(axis for axis in range(rank) if axis not in (first, second)), first, second)
    if order != tuple(range(rank)):
        data = node.step(Transpose(order), data, suffix="ordered")

    def numbers(axis: int) -> Value:
        size = static_size(data, axis)
        if size is not None:
            return node.constant(np.arange(size), DType.INT64)
        count = node.step(Shape(start=axis, end=None if axis == -1 else axis + 1), data, suffix="size")
        end = node.step(Squeeze(), count, node.vector([0]), suffix="size")
        return node.step(Range(), node.constant(0, DType.INT64), end, node.constant(1, DType.INT64))

    rows = node.step(Unsqueeze(), numbers(-2), node.vector([1]), suffix="rows")
    moved = node.step(ew.Add(), rows, node.constant(node.attrs["offset"], DType.INT64), suffix="moved")
    chosen = node.step(ew.Equal(), moved, numbers(-1), suffix="diagonal")
    kept = node.step(ew.Where(), chosen, data, node.scalar_like(data, 0), suffix="kept")
    axes: Sequence[int] = (rank - 2, rank - 1)
    reduce = reducer(node, tuple(axes), keepdims=False)
    if kept.dtype is not None and kept.dtype.is_integer:
        return node.emit(ew.Identity(), of_integers(node, ir.ReduceSum, kept, tuple(axes), reduce))
    return node.emit(ew.Identity(), reduce(ir.ReduceSum, kept))


IMPORTS: dict[str, ImportFunction] = {
    "_histogram": import_histogram,
    "_np_trace": import_trace,
    "_npi_average": import_average,
    "_npi_bincount": import_bincount,
    "_npi_percentile": import_percentile,
    "_npi_std": partial(deviation, True),
    "_npi_var": partial(deviation, False),
}
