"""Operators on texts."""

from __future__ import annotations

from graphir.converters.onnx.exporting.context import direct, row, rows, table
from graphir.converters.onnx.importing.context import ImportNode, ImportTable, direct_rows
from graphir.converters.onnx.importing.context import direct as import_direct
from graphir.ops import text as ir


def import_regex_full_match(node: ImportNode) -> None:
    """Read RegexFullMatch. ONNX's schema lets the pattern be absent, but says nothing of what that would match."""
    node.emit(ir.RegexFullMatch(node.attribute("pattern")), node.input(0))


EXPORTS = table(
    *rows((ir.StringConcat, ir.StringSplit, ir.RegexFullMatch), direct(since=20)),
    row(ir.StringNormalizer, direct(since=10)),
    row(ir.TfIdfVectorizer, direct(since=9)),
)

IMPORTS: ImportTable = {
    **direct_rows(ir.StringConcat, ir.StringSplit, since=20),
    "StringNormalizer": {10: import_direct(ir.StringNormalizer)},
    "RegexFullMatch": {20: import_regex_full_match},
    "TfIdfVectorizer": {9: import_direct(ir.TfIdfVectorizer)},
}
