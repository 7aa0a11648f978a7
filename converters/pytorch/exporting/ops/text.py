"""Texts: PyTorch has no tensors of them."""

from __future__ import annotations

from graphir.converters.pytorch.exporting.context import AnyNode, rows, table
from graphir.ops import text as ir


def refuse_texts(node: AnyNode) -> None:
    """Always refused."""
    node.refuse("PyTorch has no tensors of string; do this before the model and feed it numbers")


EXPORTS = table(*rows((ir.StringConcat, ir.StringNormalizer, ir.StringSplit, ir.RegexFullMatch), refuse_texts))

__all__ = ["EXPORTS"]
