"""Operators of domains that graphir does not know."""

from __future__ import annotations

from graphir.converters.mxnet.exporting.context import ExportNode, ExportTable
from graphir.ops.foreign import Foreign


def refuse_foreign(node: ExportNode) -> None:
    """Foreign."""
    op: Foreign = node.op
    node.refuse(f"{op.operator_name} of the domain {op.foreign_domain or 'ai.onnx'} has no known meaning in MXNet")


EXPORTS: ExportTable = {Foreign: refuse_foreign}

__all__ = ["EXPORTS"]
