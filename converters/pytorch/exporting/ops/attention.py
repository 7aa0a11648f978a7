"""Caches of keys and values."""

from __future__ import annotations

from graphir.converters.pytorch.exporting.context import ExportNode, call, row, table
from graphir.ops import attention as ir
from graphir.ops.base import normalize_axis


def export_tensor_scatter(node: ExportNode[ir.TensorScatter]) -> None:
    """A function of the file."""
    op = node.op
    axis = normalize_axis(op.axis, node.rank()) - node.rank()
    starts = None if node.optional(2) is None else node.tensor(2)
    options = {
        "axis": None if axis == -2 else str(axis),
        "circular": "True" if op.mode is ir.WriteMode.CIRCULAR else None,
    }
    node.emit(call(node.function("write_to_cache"), node.tensor(0), node.tensor(1), starts, **options))


EXPORTS = table(row(ir.TensorScatter, export_tensor_scatter))

__all__ = ["EXPORTS"]
