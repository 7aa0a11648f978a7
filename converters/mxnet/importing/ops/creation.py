"""Constants: filled tensors, ranges and identity matrices. What depends on nothing is computed at import."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from graphir.converters.kernel.numbers import converted
from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.sizes import axis_size, static_shape
from graphir.converters.mxnet.schema.values import TYPE_FLAGS
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops.base import normalize_axis
from graphir.ops.creation import ConstantOfShape, Fill, Range
from graphir.ops.elementwise import Add, Div, Mul
from graphir.ops.selection import CumSum
from graphir.ops.shape import Reshape, Shape, Size
from graphir.tensor import MOST_AXES
from graphir.types import DType

SMALL = 4096


def dtype_of(node: ImportNode) -> DType:
    """Return the attribute `dtype`: a name, or one of MXNet's numbers, of which -1 means float32."""
    stated = node.attrs.get("dtype")
    if isinstance(stated, int):
        return DType(TYPE_FLAGS.get(stated, "float32"))
    return DType.of(stated or "float32")


def as_constant(node: ImportNode, elements: np.ndarray) -> Value:  # type: ignore[type-arg]
    """Return the node's result as a constant under the node's name."""
    return node.graph.constant(elements, name=node.output_names[0])


def filled(value: float | None, node: ImportNode) -> Value:
    """Return a tensor of `shape` holding one value (the attribute `value` if None).

    Open sizes (0, or -1 under np_shape) follow from the users.
    """
    number = float(node.attrs["value"] if value is None else value)
    dtype, shape = dtype_of(node), node.attrs["shape"]
    least = 0 if node.np_shape else 1
    if shape and len(shape) > MOST_AXES:
        node.refuse(f"a shape of {len(shape)} axes; at most {MOST_AXES} can be held")
    if (shape or node.np_shape) and min(shape, default=least) >= least:
        if math.prod(shape) > SMALL:  # one number, whatever its size
            return node.emit(ConstantOfShape(converted(number, dtype), dtype), node.vector(shape))
        return as_constant(node, np.full(shape, converted(number, dtype), dtype.numpy()))
    sizes = tuple(size if size >= least else None for size in shape) if shape else None
    return node.emit(Fill(number, sizes, dtype))


def import_arange(node: ImportNode) -> Value:
    """start, start + step, ... before stop, each repeated; without stop from 0 to start, or as far as users read."""
    attrs = node.attrs
    if attrs.get("infer_range") and attrs["stop"] is None:
        return _as_long_as_read(node)
    start, stop = (0.0, attrs["start"]) if attrs["stop"] is None else (attrs["start"], attrs["stop"])
    step, repeats = attrs["step"], attrs["repeat"]
    if repeats < 1 or not all(math.isfinite(number) for number in (start, stop, step)):
        node.refuse(f"from {start} to {stop} in steps of {step}, each {repeats} times; MXNet does not take it either")
    ratio = 0.0 if step == 0 else (stop - start) / step
    if not math.isfinite(ratio):
        node.refuse(f"a range from {start} to {stop} in steps of {step}")
    count = math.ceil(ratio)
    if count < 1:
        node.refuse(f"nothing from {start} to {stop} in steps of {step}")
    node.charge(count * repeats, "its range")
    return as_constant(node, in_steps(node, start, step, np.repeat(np.arange(count), repeats), dtype_of(node)))


def _as_long_as_read(node: ImportNode) -> Value:
    """start, start + step, ..., of the length that the users of the range give it."""
    attrs, dtype = node.attrs, dtype_of(node)
    if attrs["repeat"] < 1:
        node.refuse(f"each {attrs['repeat']} times; MXNet does not take it either")
    first, second = in_steps(node, attrs["start"], attrs["step"], np.arange(2), dtype)
    ones = node.step(Fill(1.0, (None,), DType.INT64), suffix="ones")
    indices = node.step(CumSum(exclusive=True), ones, node.constant(0, DType.INT64), suffix="places")
    if attrs["repeat"] != 1:
        indices = node.step(Div(), indices, node.constant(attrs["repeat"], DType.INT64), suffix="repeated")
    steps = node.step(Mul(), node.cast(indices, dtype), node.constant(second - first, dtype), suffix="steps")
    return node.emit(Add(), steps, node.constant(first, dtype))


def in_steps(node: ImportNode, start: float, step: float, places: np.ndarray, dtype: DType) -> np.ndarray:  # type: ignore[type-arg]
    """start + place * step, of float32 in float32.

    For integers, and for float16 too, MXNet drops the fractions of start and step first.
    """
    if dtype.is_integer or dtype is DType.FLOAT16:
        whole = [converted(float(number), DType.INT64) for number in (start, step)]
        if whole != [start, step]:
            text = f"start {start} and step {step} became {whole[0]} and {whole[1]} for {dtype}, as MXNet does"
            node.decide(DecisionKind.RANGE, text)
        start, step = whole
    with np.errstate(all="ignore"):
        if dtype is DType.FLOAT32:
            return np.asarray(np.float32(start) + places.astype(np.float32) * np.float32(step))
        return np.asarray(start + places * step).astype(dtype.numpy())


def import_linspace(node: ImportNode) -> Value:
    """`num` values from start to stop, stop included by default."""
    attrs = node.attrs
    if attrs["num"] < 0:
        node.refuse(f"num {attrs['num']}, expected 0 or more")
    node.charge(attrs["num"], "its range")
    intervals = attrs["num"] - attrs["endpoint"]
    with np.errstate(invalid="ignore"):
        # MXNet counts up to the last one too, which numpy replaces by `stop`.
        step = (attrs["stop"] - attrs["start"]) / intervals if intervals > 0 else 0.0
        return as_constant(node, (attrs["start"] + step * np.arange(attrs["num"])).astype(dtype_of(node).numpy()))


def import_eye(node: ImportNode) -> Value:
    """N by M (N if that is not positive) with ones on diagonal k."""
    attrs = node.attrs
    if attrs["N"] < 1:
        node.refuse(f"N {attrs['N']}, expected 1 or more")
    columns = attrs["M"] if attrs["M"] > 0 else attrs["N"]
    node.charge(attrs["N"] * columns, "its matrix")
    return as_constant(node, np.eye(attrs["N"], columns, attrs["k"], dtype_of(node).numpy()))


def import_arange_like(node: ImportNode) -> Value:
    """start, start + step, ...: one an element of data (in its shape), or one an element of its axis (a vector)."""
    data, attrs = node.input(0), node.attrs
    axis, repeats, dtype = attrs["axis"], attrs["repeat"], data.dtype or DType.FLOAT32
    if repeats == 0:
        node.refuse("repeat 0, by which MXNet divides")
    shape = static_shape(data)
    if shape is not None:
        count = math.prod(shape) if axis is None else shape[normalize_axis(axis, len(shape))]
        node.charge(count, "its range")
        indices = np.trunc(np.arange(count) / repeats).astype(np.int64)  # C divides toward 0
        numbers = in_steps(node, attrs["start"], attrs["step"], indices, dtype)
        return as_constant(node, numbers.reshape(shape if axis is None else -1))
    count_value = node.step(Size(), data) if axis is None else axis_size(node, data, axis)
    zero, one = node.constant(0, DType.INT64), node.constant(1, DType.INT64)
    result = node.step(Range(), zero, count_value, one)
    if repeats != 1:
        result = node.step(Div(), result, node.constant(repeats, DType.INT64))
    result = node.cast(result, dtype)
    if attrs["step"] != 1:
        result = node.step(Mul(), result, node.constant(attrs["step"], dtype))
    if attrs["start"] != 0:
        result = node.step(Add(), result, node.constant(attrs["start"], dtype))
    return node.step(Reshape(), result, node.step(Shape(), data), suffix="whole") if axis is None else result


IMPORTS: dict[str, ImportFunction] = {
    "_zeros": partial(filled, 0.0),
    "_ones": partial(filled, 1.0),
    "_full": partial(filled, None),
    "_zeros_without_dtype": partial(filled, 0.0),
    "_arange": import_arange,
    "_linspace": import_linspace,
    "_eye": import_eye,
    "_contrib_arange_like": import_arange_like,
}
