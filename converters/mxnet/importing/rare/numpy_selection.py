"""NumPy-style operators that choose, test, fill, difference and assign elements."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from graphir.converters.kernel.numbers import converted
from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode, to_single
from graphir.converters.mxnet.importing.ops.numpy_elementwise import same_dtypes
from graphir.converters.mxnet.importing.sizes import static_size
from graphir.decisions import DecisionKind
from graphir.graph import Graph, Value
from graphir.ops import elementwise as ir
from graphir.ops.base import Operator
from graphir.ops.control import Scan
from graphir.ops.indexing import CumSum, Gather
from graphir.ops.reduction import ReduceMin
from graphir.ops.shape import Expand, Reshape, Shape, Unsqueeze
from graphir.ops.shape_parts import Concat, Slice
from graphir.types import DType, TensorType

# Polynomials of more coefficients, and of an open number of them, are a Scan.
UNROLLED = 32
# So many differences of differences are taken one by one.
DIFFERENCES = 64


def import_where(node: ImportNode) -> Value:
    """x where the condition is not 0, else y; all three broadcast, x and y are of one dtype."""
    x, y = node.input(1), node.input(2)
    if None not in (x.dtype, y.dtype) and x.dtype is not y.dtype:
        node.refuse(f"operands of {x.dtype} and {y.dtype}, which MXNet wants to be one")
    return node.emit(ir.Where(), node.cast(node.input(0), DType.BOOL), x, y)


def where_scalar(node: ImportNode, *, left: bool) -> Value:
    """Return the scalar where the condition is not 0 (`left`), or where it is 0, and the data elsewhere."""
    data = node.input(1)
    scalar = node.scalar_like(data, float(node.attrs["scalar"]))
    choices = (scalar, data) if left else (data, scalar)
    return node.emit(ir.Where(), node.cast(node.input(0), DType.BOOL), *choices)


def import_where_scalars(node: ImportNode) -> Value:
    """Return one of two numbers, as float32."""
    numbers = (node.constant(float(node.attrs[name]), DType.FLOAT32) for name in ("x", "y"))
    return node.emit(ir.Where(), node.cast(node.input(0), DType.BOOL), *numbers)


def filled(node: ImportNode, number: float, dtype: DType) -> Value:
    """Return a number in the shape of the data."""
    return node.emit(Expand(), node.constant(converted(number, dtype), dtype), node.step(Shape(), node.input(0)))


def predicate(op: Operator, node: ImportNode, *, of_integers: bool=False) -> Value:
    """Import a test of floats, which integers and bool never pass (or always, `of_integers`)."""
    data = node.input(0)
    if data.dtype is not None and not data.dtype.is_float:
        return filled(node, of_integers, DType.BOOL)
    return node.emit(op, data)


def import_isfinite(node: ImportNode) -> Value:
    """|x| < infinity, which what is not a number is not."""
    data = node.input(0)
    if data.dtype is not None and not data.dtype.is_float:
        return filled(node, True, DType.BOOL)
    return node.emit(ir.Less(), node.step(ir.Abs(), data), node.scalar_like(data, math.inf))


def import_nan_to_num(node: ImportNode) -> Value:
    """Numbers in place of NaN and of the infinities: those that are stated, or 0 and the ends of the dtype's range."""
    data = node.input(0)
    dtype = data.dtype or DType.FLOAT32
    if not dtype.is_float:
        return node.emit(ir.Identity(), data)
    largest = float(np.finfo(dtype.numpy()).max)
    high, low = node.attrs["posinf"], node.attrs["neginf"]
    high, low = largest if high is None else high, -largest if low is None else low
    result = node.step(ir.Where(), node.step(ir.IsNaN(), data), node.scalar_like(data, node.attrs["nan"]), data)
    above = node.step(ir.Equal(), result, node.scalar_like(data, math.inf), suffix="above")
    result = node.step(ir.Where(), above, node.scalar_like(data, high), result, suffix="limited")
    below = node.step(ir.Equal(), result, node.scalar_like(data, -math.inf), suffix="below")
    return node.emit(ir.Where(), below, node.scalar_like(data, low), result)


def import_full_like(node: ImportNode) -> Value:
    """Return a number in the shape of the data and in the stated dtype, or the data's."""
    stated = node.attrs["dtype"]
    dtype = DType.of(stated) if stated not in (None, "None") else node.input(0).dtype
    return filled(node, float(node.attrs["fill_value"]), dtype or DType.FLOAT32)


def import_constraint_check(node: ImportNode) -> Value:
    """Return whether all elements are true; MXNet stops where they are not."""
    data = node.input(0)
    if data.dtype is not DType.BOOL:
        node.refuse(f"{data.dtype} data, expected bool")
    text = f"where not all are true MXNet stops ({node.attrs['msg'][:80]}); here the result is false"
    node.decide(DecisionKind.CHECK, text)
    flat = node.step(Reshape(), node.cast(data, DType.INT32), node.vector([-1]))
    whole = node.step(Concat(0), flat, node.constant([1], DType.INT32), suffix="and_true")
    return node.emit(ir.Cast(DType.BOOL), node.step(ReduceMin(keepdims=False), whole))


def import_allclose(node: ImportNode) -> Value:
    """Return whether all |a - b| <= atol + rtol |b|, as a uint8 without axes."""
    left, right = node.take_inputs(2)
    node.same_shapes(left, right)
    if left.dtype is None or left.dtype is not right.dtype:
        node.refuse(f"{left.type} and {right.type}, expected one dtype")
    wide = DType.FLOAT64 if left.dtype is DType.FLOAT64 or left.dtype.is_integer else DType.FLOAT32
    a, b = (node.cast(value, wide) for value in (left, right))
    rtol, atol = (node.scalar_like(b, to_single(node.attrs[name])) for name in ("rtol", "atol"))
    bound = node.step(ir.Add(), node.step(ir.Mul(), node.step(ir.Abs(), b), rtol), atol, suffix="bound")
    distance = node.step(ir.Abs(), node.step(ir.Sub(), a, b), suffix="distance")
    close = node.step(ir.Or(), node.step(ir.LessOrEqual(), distance, bound), node.step(ir.Equal(), a, b))
    if node.attrs["equal_nan"] and left.dtype.is_float:
        both = node.step(ir.And(), node.step(ir.IsNaN(), a), node.step(ir.IsNaN(), b), suffix="both_nan")
        close = node.step(ir.Or(), close, both)
    least = node.step(ReduceMin(keepdims=False), node.cast(close, DType.INT32), suffix="least")
    return node.emit(ir.Cast(DType.UINT8), least)


def _numbers(node: ImportNode) -> Value:
    data = node.input(0)
    if data.dtype is DType.BOOL:
        node.refuse("bool data, which MXNet refuses")
    return data


def _difference(node: ImportNode, data: Value, axis: int) -> Value:
    """Return each element less the one before it."""
    axes, one = node.vector([axis]), node.vector([1])
    behind = node.step(Slice(), data, one, node.vector([2**31 - 1]), axes, suffix="behind")
    before = node.step(Slice(), data, node.vector([0]), node.vector([-1]), axes, suffix="before")
    return node.step(ir.Sub(), behind, before, suffix="difference")


def import_diff(node: ImportNode) -> Value:
    """Differences of neighbours, taken n times."""
    data, count = _numbers(node), node.attrs["n"]
    axis = node.axis(node.attrs["axis"], node.rank(data))
    size = static_size(data, axis)
    if count < 0:
        node.refuse(f"n {count}, expected 0 or more")
    count = count if size is None else min(count, size)
    if count > DIFFERENCES:
        node.refuse(f"differences taken {count} times, expected {DIFFERENCES} at most")
    for _ in range(count):
        data = _difference(node, data, axis)
    return node.emit(ir.Identity(), data)


def import_ediff1d(node: ImportNode) -> Value:
    """Differences of neighbours of the flat data, with stated elements before and behind them."""
    data, attrs = _numbers(node), node.attrs
    dtype = data.dtype or DType.FLOAT32
    result = [_difference(node, node.step(Reshape(), data, node.vector([-1]), suffix="flat"), 0)]
    slot = 1
    for name, index in (("to_begin", 0), ("to_end", 2)):
        added = None
        if attrs[f"{name}_arr_given"] and attrs[f"{name}_scalar"] is not None:
            node.refuse(f"{name} is given as an array and as a scalar, of which MXNet leaves an element undefined")
        if attrs[f"{name}_arr_given"]:
            added = node.step(Reshape(), node.input(slot), node.vector([-1]), suffix=name)
            slot += 1
        elif attrs[f"{name}_scalar"] is not None:
            added = node.constant([converted(attrs[f"{name}_scalar"], dtype)], dtype)
        if added is not None:
            result.insert(index, added)
    return node.emit(Concat(0), *result) if len(result) > 1 else node.emit(ir.Identity(), result[0])


def import_polyval(node: ImportNode) -> Value:
    """Return the polynomial with the coefficients p, that of the highest power first, at each x, by Horner's rule."""
    coefficients, x = same_dtypes(node)
    if x.dtype is DType.BOOL:
        node.refuse("bool data, which MXNet refuses")
    if node.rank(coefficients) != 1:
        node.refuse(f"coefficients {coefficients.type}, expected one axis")
    count = static_size(coefficients, 0)
    zero = node.scalar_like(x, 0)
    start = node.step(Expand(), zero, node.step(Shape(), x), suffix="zeros")
    if count is None or count > UNROLLED:
        return _scanned(node, coefficients, x, start)
    result = start
    for index in range(count):
        ends = (node.vector([index]), node.vector([index + 1]), node.vector([0]))
        coefficient = node.step(Reshape(), node.step(Slice(), coefficients, *ends), node.vector([]))
        result = node.step(ir.Add(), node.step(ir.Mul(), result, x, suffix="risen"), coefficient, suffix="sum")
    return node.emit(ir.Identity(), result)


def _scanned(node: ImportNode, coefficients: Value, x: Value, start: Value) -> Value:
    body = Graph(f"{node.name}_horner", parent=node.graph)
    result = body.add_input(node.fresh_name(f"{node.name}_found"), start.type)
    coefficient = body.add_input(node.fresh_name(f"{node.name}_coefficient"), TensorType(x.dtype, ()))
    risen = body.add(ir.Mul(), result, x, name=node.fresh_name(f"{node.name}_risen"))
    body.set_outputs([body.add(ir.Add(), risen, coefficient, name=node.fresh_name(f"{node.name}_sum"))])
    names = node.result_names(1)
    return node.graph.add_node(
        Scan(1, 1), [start, coefficients], name=node.name, subgraphs=[body], output_names=names
    ).outputs[0]


def _text(node: ImportNode, name: str, default: str | None = None) -> str:
    """Return an attribute that MXNet's registry has no type for."""
    result: str | None = node.attrs[name] or default
    if result is None:
        node.refuse(f"{name} is missing; MXNet has no default for it")
    return result


def _place(node: ImportNode) -> tuple[int, int]:
    """Return the first axis of the data that the mask covers, and how many follow behind the mask's last."""
    text = _text(node, "start_axis", "0")
    data, mask = node.input(0), node.input(1)
    try:
        start = int(text)
    except ValueError:
        node.refuse(f"start_axis {text!r}, expected a number")
    rest = node.rank(data) - node.rank(mask) - start
    if start < 0 or rest < 0:
        node.refuse(f"a mask {mask.type} from axis {start} on, for data {data.type}")
    return start, rest


def _mask(node: ImportNode, rest: int) -> Value:
    """Return whether an element is chosen, as bool that broadcasts to the data."""
    mask = node.input(1)
    mask = node.cast(mask, DType.BOOL)
    rank = node.rank(mask)
    return node.step(Unsqueeze(), mask, node.vector(range(rank, rank + rest)), suffix="mask") if rest else mask


def import_assign_scalar(node: ImportNode) -> Value:
    """Return a number in place of the chosen elements."""
    text, (_, rest) = _text(node, "value"), _place(node)
    try:
        number = float(text)
    except ValueError:
        node.refuse(f"value {text!r}, expected a number")
    data = node.input(0)
    return node.emit(ir.Where(), _mask(node, rest), node.scalar_like(data, number), data)


def import_assign_tensor(node: ImportNode) -> Value:
    """Return the rows of a tensor, one after another, in place of what is chosen; a single row or element
    everywhere."""
    start, rest = _place(node)
    data, value = node.input(0), node.input(2)
    if None not in (data.dtype, value.dtype) and data.dtype is not value.dtype:
        node.refuse(f"data of {data.dtype} and elements of {value.dtype}, which MXNet wants to be one")
    mask, rank = _mask(node, rest), node.rank(value)
    if all(size == 1 for size in node.shape(value)):
        return node.emit(ir.Where(), mask, node.step(Reshape(), value, node.vector([])), data)
    if start:
        node.refuse(f"elements {value.type} from axis {start} on: only one element, or axis 0, is known")
    if rank not in (rest, rest + 1):
        node.refuse(f"elements {value.type}, expected {rest} or {rest + 1} axes")
    if rank == rest or static_size(value, 0) == 1:
        return node.emit(ir.Where(), mask, value, data)
    node.decide(DecisionKind.CHECK, "that there are as many rows as elements are chosen, which MXNet checks, is not")
    return node.emit(ir.Where(), mask, _rows(node, value), data)


def _rows(node: ImportNode, value: Value) -> Value:
    """For each place of the mask the row that is next; behind the last one a row of zeros, so that there is one."""
    mask = node.input(1)
    bits = node.cast(mask, DType.BOOL)
    flat = node.step(Reshape(), node.cast(bits, DType.INT64, suffix="bits"), node.vector([-1]), suffix="flat")
    count = node.step(CumSum(), flat, node.constant(0, DType.INT64), suffix="count")
    next_ = node.step(ir.Max(), node.step(ir.Sub(), count, node.vector([1])), node.vector([0]), suffix="next")
    sizes = [node.step(Shape(1), value, suffix="row_sizes")] if node.rank(value) > 1 else []
    shape = node.step(Concat(0), node.vector([1]), *sizes, suffix="row_shape") if sizes else node.vector([1])
    empty = node.step(Expand(), node.scalar_like(value, 0), shape, suffix="empty")
    rows = node.step(Concat(0), value, empty, suffix="rows")
    indices = node.step(Reshape(), next_, node.step(Shape(), mask), suffix="places")
    return node.step(Gather(), rows, indices, suffix="chosen")


IMPORTS: dict[str, ImportFunction] = {
    "_contrib_allclose": import_allclose,
    "_npi_diff": import_diff,
    "_npi_ediff1d": import_ediff1d,
    "_npi_full_like": import_full_like,
    "_npi_isfinite": import_isfinite,
    "_npi_isinf": partial(predicate, ir.IsInf()),
    "_npi_isnan": partial(predicate, ir.IsNaN()),
    "_npi_isneginf": partial(predicate, ir.IsInf(detect_positive=False)),
    "_npi_isposinf": partial(predicate, ir.IsInf(detect_negative=False)),
    "_npi_nan_to_num": import_nan_to_num,
    "_npi_polyval": import_polyval,
    "_npi_where": import_where,
    "_npi_where_lscalar": partial(where_scalar, left=True),
    "_npi_where_rscalar": partial(where_scalar, left=False),
    "_npi_where_scalar2": import_where_scalars,
    "_npx_constraint_check": import_constraint_check,
    "_npi_boolean_mask_assign_scalar": import_assign_scalar,
    "_npi_boolean_mask_assign_tensor": import_assign_tensor,
}
