"""Constants, ranges and unit matrices whose shapes are known."""

from __future__ import annotations

from graphir.converters.mxnet.export_context import ExportNode, ExportTable, dtype_name
from graphir.converters.mxnet.export_dtypes import held_dtype
from graphir.ops.creation import ConstantOfShape, EyeLike, Fill, Range
from graphir.types import DType


def _filled(node: ExportNode, value: float, dtype: DType) -> None:
    shape = node.sizes(node.result.shape, node.result.name) or (1,)
    held = DType.FLOAT32 if dtype is DType.BOOL else held_dtype(dtype)
    if held is DType.INT64 and int(float(value)) != value:
        node.refuse(f"the number {value} is an attribute, which MXNet reads as float64; that does not hold it")
    node.emit("_full", carried=held, shape=shape, value=float(value), dtype=dtype_name(held))


def export_constant_of_shape(node: ExportNode) -> None:
    """_full."""
    _filled(node, node.op.value, node.op.dtype)


def export_fill(node: ExportNode) -> None:
    """_full, where the shape is known by now."""
    _filled(node, node.op.value, node.op.dtype)


def export_range(node: ExportNode) -> None:
    """_arange of constants."""
    start, limit, delta = (node.number(slot) for slot in range(3))
    if start is None or limit is None or delta is None:
        node.refuse("its bounds are computed; MXNet wants them as attributes")
    node.emit("_arange", start=start, stop=limit, step=delta, dtype=dtype_name(node.dtype()))


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
