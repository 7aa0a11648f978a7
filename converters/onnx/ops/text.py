"""Operators on texts."""

from __future__ import annotations

from graphir.converters.onnx.exporting.context import direct, row, table
from graphir.converters.onnx.importing.context import ImportNode, ImportTable
from graphir.converters.onnx.importing.context import direct as import_direct
from graphir.ops import text as ir


def import_regex_full_match(node: ImportNode) -> None:
    """Read RegexFullMatch. ONNX's schema lets the pattern be absent, but says nothing of what that would match."""
    node.emit(ir.RegexFullMatch(node.attribute("pattern")), node.input(0))


EXPORTS = table(
    row(ir.StringConcat, direct(since=20)),
    row(ir.StringNormalizer, direct(since=10)),
    row(ir.StringSplit, direct(since=20)),
    row(ir.RegexFullMatch, direct(since=20)),
    row(ir.TfIdfVectorizer, direct(since=9)),
)

IMPORTS: ImportTable = {
    "StringConcat": {20: import_direct(ir.StringConcat)},
    "StringNormalizer": {10: import_direct(ir.StringNormalizer)},
    "StringSplit": {20: import_direct(ir.StringSplit)},
    "RegexFullMatch": {20: import_regex_full_match},
    "TfIdfVectorizer": {9: import_direct(ir.TfIdfVectorizer)},
}
