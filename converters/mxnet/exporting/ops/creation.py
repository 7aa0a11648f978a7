"""Constants, ranges and unit matrices, of known shapes or those of other tensors."""

from __future__ import annotations

from graphir.converters.mxnet.exporting.context import ExportNode, ExportTable, dtype_name
from graphir.converters.mxnet.exporting.dtypes import held_dtype
from graphir.graph import Value
from graphir.ops.creation import ConstantOfShape, EyeLike, Fill, Range
from graphir.ops.shape import Shape
from graphir.types import DType, Sym

COUNTING = (DType.FLOAT32, DType.FLOAT64, DType.INT32, DType.INT64)


def _filled(node: ExportNode, value: float, dtype: DType) -> None:
    shape = node.sizes(node.result.shape, node.result.name) or (1,)
    held = DType.FLOAT32 if dtype is DType.BOOL else held_dtype(dtype)
    if held is DType.INT64 and int(float(value)) != value:
        node.refuse(f"the number {value} is an attribute, which MXNet reads as float64; that does not hold it")
    node.emit("_full", carried=held, shape=shape, value=float(value), dtype=dtype_name(held))


def export_constant_of_shape(node: ExportNode) -> None:
    """_full; of the open shape of another tensor, ones_like times the number."""
    source, shape = whole_shape_of(node.value(0)), node.result.shape
    if source is None or (shape is not None and all(isinstance(size, int) for size in shape)):
        _filled(node, node.op.value, node.op.dtype)
    else:
        fill_like(node, source, float(node.op.value), node.op.dtype)


def fill_like(node: ExportNode, source: Value, number: float, dtype: DType) -> None:
    """One number everywhere, in the shape of another tensor."""
    held = DType.FLOAT32 if dtype is DType.BOOL else held_dtype(dtype)
    like = node.export.raw(source)
    if node.export.carried(source) is not held:
        like = node.export.cast(like, held)
    if number in (0, 1):
        node.emit("ones_like" if number else "zeros_like", like, carried=held)
    else:
        node.emit("_mul_scalar", node.step("ones_like", like), carried=held, scalar=number)


def whole_shape_of(value: Value) -> Value | None:
    """The tensor whose whole shape a value is, None if it is none."""
    producer = value.producer
    if producer is None or not isinstance(producer.op, Shape) or producer.op.start or producer.op.end is not None:
        return None
    return producer.inputs[0]


def export_fill(node: ExportNode) -> None:
    """_full, where the shape is known by now."""
    _filled(node, node.op.value, node.op.dtype)


def export_range(node: ExportNode) -> None:
    """_arange of constants; from 0 to the open size of an input, arange_like along that axis."""
    start, limit, delta = (node.number(slot) for slot in range(3))
    if start is not None and limit is not None and delta is not None:
        node.emit("_arange", start=start, stop=limit, step=delta, dtype=dtype_name(node.dtype()))
        return
    place = _place_of(node, node.value(1))
    if place is None or (start, delta) != (0, 1):
        node.refuse("its bounds are computed; MXNet wants them as attributes")
    source, axis = place
    entry, carried = node.export.raw(source), node.export.carried(source)
    if carried not in COUNTING:
        entry, carried = node.export.cast(entry, DType.FLOAT32), DType.FLOAT32
    if carried is node.dtype():
        node.emit("_contrib_arange_like", entry, axis=axis)
    else:
        node.emit("Cast", node.step("_contrib_arange_like", entry, axis=axis), dtype=dtype_name(node.dtype()))


def _place_of(node: ExportNode, size: Value) -> tuple[Value, int] | None:
    """An input and an axis of it whose size a value is."""
    if size.known is None or len(size.known.elements) != 1:
        return None
    (wanted,) = size.known.elements
    for value in node.export.graph.inputs:
        if isinstance(wanted, Sym) and wanted in (value.shape or ()):
            return value, (value.shape or ()).index(wanted)
    return None


def export_eye_like(node: ExportNode) -> None:
    """_eye."""
    rows, columns = node.sizes(node.shape(), node.value(0).name)
    dtype = node.result.dtype
    if dtype is None:
        node.refuse("the dtype of its result is unknown")
    held = DType.FLOAT32 if dtype is DType.BOOL else held_dtype(dtype)
    node.emit("_eye", carried=held, N=rows, M=columns, k=node.op.k, dtype=dtype_name(held))


EXPORTS: ExportTable = {
    ConstantOfShape: export_constant_of_shape,
    Fill: export_fill,
    Range: export_range,
    EyeLike: export_eye_like,
}

__all__ = ["EXPORTS"]
