"""What PyTorch has no values of: texts, and operators of domains that graphir does not know."""

from __future__ import annotations

from graphir.converters.pytorch.exporting.context import AnyNode, ExportNode, row, rows, table
from graphir.ops import text as ir
from graphir.ops.foreign import Foreign


def refuse_texts(node: AnyNode) -> None:
    """Always refused."""
    node.refuse("PyTorch has no tensors of string; do this before the model and feed it numbers")


def refuse_foreign(node: ExportNode[Foreign]) -> None:
    """Refused by name."""
    op = node.op
    node.refuse(f"{op.operator_name} of the domain {op.foreign_domain or 'ai.onnx'} has no known meaning in PyTorch")


EXPORTS = table(
    *rows((ir.StringConcat, ir.StringNormalizer, ir.StringSplit, ir.RegexFullMatch), refuse_texts),
    row(Foreign, refuse_foreign),
)
