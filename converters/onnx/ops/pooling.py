"""Windowed and global pooling."""

from __future__ import annotations

from typing import Any

from graphir.ops.pooling import AveragePool, GlobalAveragePool, GlobalLpPool, GlobalMaxPool, LpPool, MaxPool, MaxRoiPool

from ..context import ExportNode, ExportTable, direct
from ..padding import pad_attributes, unless_all


def _window_attributes(op: MaxPool | AveragePool | LpPool) -> dict[str, Any]:
    return {
        "kernel_shape": op.kernel_shape,
        "strides": unless_all(op.strides, 1),
        "dilations": unless_all(op.dilations, 1),
        "ceil_mode": 1 if op.ceil_mode else None,
        **pad_attributes(op.padding),
    }


def export_max_pool(node: ExportNode) -> None:
    """MaxPool."""
    op: MaxPool = node.op
    node.emit("MaxPool", node.input_names(), storage_order=op.storage_order or None, **_window_attributes(op))


def export_average_pool(node: ExportNode) -> None:
    """AveragePool; dilations exist from opset 19 on."""
    op: AveragePool = node.op
    attributes = _window_attributes(op)
    if attributes["dilations"] is not None and node.opset < 19:
        node.refuse(f"a dilated AveragePool exists from opset 19 on, the target is {node.opset}")
    node.emit("AveragePool", node.input_names(), count_include_pad=1 if op.count_include_pad else None, **attributes)


def export_lp_pool(node: ExportNode) -> None:
    """LpPool; ceil mode and dilations exist from opset 18 on."""
    op: LpPool = node.op
    attributes = _window_attributes(op)
    if node.opset < 18 and (attributes["ceil_mode"] or attributes["dilations"]):
        node.refuse(f"LpPool with ceil mode or dilations exists from opset 18 on, the target is {node.opset}")
    node.emit("LpPool", node.input_names(), p=op.p, **attributes)


EXPORTS: ExportTable = {
    MaxPool: export_max_pool,
    AveragePool: export_average_pool,
    LpPool: export_lp_pool,
    GlobalAveragePool: direct(),
    GlobalMaxPool: direct(),
    GlobalLpPool: direct(),
    MaxRoiPool: direct(),
}

__all__ = ["EXPORTS"]
