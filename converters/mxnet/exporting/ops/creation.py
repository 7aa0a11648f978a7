"""Constants, ranges and unit matrices, of known shapes or those of other tensors."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from graphir.converters.mxnet.exporting.context import AnyNode, Entry, ExportNode, dtype_name, row, table
from graphir.converters.mxnet.exporting.dtypes import held_dtype
from graphir.graph import Value
from graphir.ops.creation import ConstantOfShape, EyeLike, Fill, Range
from graphir.ops.shape import Shape
from graphir.types import Dim, DType, Sym

MOST_SEARCHED = 1000
COUNTING = (DType.FLOAT32, DType.FLOAT64, DType.INT32, DType.INT64)


def _filled(node: AnyNode, value: float, dtype: DType) -> None:
    shape = node.fixed(node.result.shape, node.result.name) or (1,)
    stored = DType.FLOAT32 if dtype is DType.BOOL else held_dtype(dtype)
    _check_number(node, value, stored)
    node.emit("_full", carried=stored, shape=shape, value=float(value), dtype=dtype_name(stored))


def _check_number(node: AnyNode, value: float, stored: DType) -> None:
    if stored is DType.INT64 and int(float(value)) != value:
        node.refuse(f"the number {value} is an attribute, which MXNet reads as float64; that does not hold it")


def export_constant_of_shape(node: ExportNode[ConstantOfShape]) -> None:
    """_full; of the open shape of another tensor, ones_like times the number; of other open sizes, broadcast."""
    source, shape = whole_shape_of(node.input(0)), node.result.shape
    if shape is not None and all(isinstance(size, int) for size in shape):
        _filled(node, node.op.value, node.op.dtype)
    elif source is not None:
        fill_like(node, source, float(node.op.value), node.op.dtype)
    else:
        _fill_open(node, node.op.value, node.op.dtype)


def _fill_open(node: AnyNode, number: float, dtype: DType) -> None:
    """One number along axes of known size, and along those whose size some tensor before has as well."""
    shape = node.result.shape or ()
    indices = {axis: place_of(node, size) for axis, size in enumerate(shape) if not isinstance(size, int)}
    if not shape or None in indices.values():
        _filled(node, number, dtype)
        return
    stored = DType.FLOAT32 if dtype is DType.BOOL else held_dtype(dtype)
    _check_number(node, number, stored)
    known = tuple(size if isinstance(size, int) else 1 for size in shape)
    result = node.step("_full", shape=known, value=float(number), dtype=dtype_name(stored))
    for axis, index in indices.items():
        assert index is not None
        zeros = node.step("zeros_like", _counted(node, *index, stored), suffix="open")
        column = tuple(-1 if other == axis else 1 for other in range(len(shape)))
        open_axis = node.step("Reshape", zeros, suffix="open_axis", shape=column)
        result = node.step("broadcast_add", result, open_axis, suffix="filled")
    node.bind(result, carried=stored)


def _counted(node: AnyNode, source: Value, axis: int, dtype: DType) -> Entry:
    """Return the numbers from 0 on along an axis of a tensor, in a dtype."""
    entry, carried = node.export.raw(source), node.export.carried(source)
    if carried not in COUNTING:
        entry, carried = node.export.cast(entry, DType.FLOAT32), DType.FLOAT32
    counted = node.step("_contrib_arange_like", entry, axis=axis)
    return counted if carried is dtype else node.export.cast(counted, dtype)


def fill_like(node: AnyNode, source: Value, number: float, dtype: DType) -> None:
    """One number everywhere, in the shape of another tensor."""
    stored = DType.FLOAT32 if dtype is DType.BOOL else held_dtype(dtype)
    like = node.export.raw(source)
    if node.export.carried(source) is not stored:
        like = node.export.cast(like, stored)
    if number in (0, 1):
        node.emit("ones_like" if number else "zeros_like", like, carried=stored)
    else:
        node.emit("_mul_scalar", node.step("ones_like", like), carried=stored, scalar=number)


def whole_shape_of(value: Value) -> Value | None:
    """Return the tensor whose whole shape a value is, None if it is none."""
    producer = value.producer
    if producer is None or not isinstance(producer.op, Shape) or producer.op.start or producer.op.end is not None:
        return None
    return producer.inputs[0]


def export_range(node: ExportNode[Range]) -> None:
    """_arange of constants; from 0 to the open size of an input, arange_like along that axis."""
    start, limit, delta = (node.number(slot) for slot in range(3))
    if start is not None and limit is not None and delta is not None:
        node.emit("_arange", start=start, stop=limit, step=delta, dtype=dtype_name(node.dtype()))
        return
    size = node.input(1).known
    index = None if size is None or len(size.elements) != 1 else place_of(node, size.elements[0])
    if index is None or (start, delta) != (0, 1):
        node.refuse("its bounds are computed; MXNet wants them as attributes")
    source, axis = index
    entry, carried = node.export.raw(source), node.export.carried(source)
    if carried not in COUNTING:
        entry, carried = node.export.cast(entry, DType.FLOAT32), DType.FLOAT32
    if carried is node.dtype():
        node.emit("_contrib_arange_like", entry, axis=axis)
    else:
        node.emit("Cast", node.step("_contrib_arange_like", entry, axis=axis), dtype=dtype_name(node.dtype()))


def place_of(node: AnyNode, wanted: Dim | float) -> tuple[Value, int] | None:
    """Return a tensor and an axis of it that has this size: an input, or what the node's operands are computed of."""
    if not isinstance(wanted, Sym):
        return None
    result = next((value for value in node.export.graph.inputs if wanted in (value.shape or ())), None)
    result = result or _place_before(node.node.inputs, wanted)
    return None if result is None or result.shape is None else (result, result.shape.index(wanted))


def _place_before(values: Iterable[Value | None], wanted: Sym) -> Value | None:
    """Return the nearest tensor of which values are computed that has an axis of this size."""
    pending, seen = deque(values), set[Value]()
    while pending and len(seen) < MOST_SEARCHED:
        value = pending.popleft()
        if value is None or value in seen:
            continue
        seen.add(value)
        if wanted in (value.shape or ()):
            return value
        if value.producer is not None:
            pending.extend(value.producer.inputs)
    return None


def export_eye_like(node: ExportNode[EyeLike]) -> None:
    """_eye."""
    rows, columns = node.fixed(node.shape(), node.input(0).name)
    dtype = node.result.dtype
    if dtype is None:
        node.refuse("the dtype of its result is unknown")
    stored = DType.FLOAT32 if dtype is DType.BOOL else held_dtype(dtype)
    node.emit("_eye", carried=stored, N=rows, M=columns, k=node.op.k, dtype=dtype_name(stored))


EXPORTS = table(
    row(ConstantOfShape, export_constant_of_shape),
    row(Fill, lambda node: _filled(node, node.op.value, node.op.dtype)),
    row(Range, export_range),
    row(EyeLike, export_eye_like),
)
