"""Operators on texts, which MXNet cannot hold."""

from __future__ import annotations

from graphir.converters.mxnet.exporting.context import ExportNode, ExportTable
from graphir.ops import text as ir


def export_text(node: ExportNode) -> None:
    """Always refused: the work on texts belongs before the model."""
    node.refuse("MXNet has no tensors of string; do this before the model and feed it numbers")


EXPORTS: ExportTable = dict.fromkeys(
    (ir.StringConcat, ir.StringNormalizer, ir.StringSplit, ir.RegexFullMatch), export_text
)

__all__ = ["EXPORTS"]
