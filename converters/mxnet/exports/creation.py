"""Constants and ranges whose shapes are known."""

from __future__ import annotations

from graphir.converters.mxnet.export_context import ExportNode, ExportTable, dtype_name
from graphir.ops.creation import ConstantOfShape, Fill, Range
from graphir.types import DType


def _filled(node: ExportNode, value: float, dtype: DType) -> None:
    shape = node.sizes(node.result.shape, node.result.name) or (1,)
    if 0 in shape:
        node.refuse("MXNet has no tensors without elements")
    held = DType.FLOAT32 if dtype is DType.BOOL else dtype
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


EXPORTS: ExportTable = {ConstantOfShape: export_constant_of_shape, Fill: export_fill, Range: export_range}

__all__ = ["EXPORTS"]
