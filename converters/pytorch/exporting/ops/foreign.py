"""Operators of domains that graphir does not know."""

from __future__ import annotations

from graphir.converters.pytorch.exporting.context import ExportNode, row, table
from graphir.ops.foreign import Foreign


def refuse_foreign(node: ExportNode[Foreign]) -> None:
    """Refused by name."""
    op = node.op
    node.refuse(f"{op.operator_name} of the domain {op.foreign_domain or 'ai.onnx'} has no known meaning in PyTorch")


EXPORTS = table(row(Foreign, refuse_foreign))

__all__ = ["EXPORTS"]
