"""The functions and classes that a module's file may have: read as text from `functions/`, never run here."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent.parent / "functions"


class Function(NamedTuple):
    """A function's text and the names that it reads of others."""

    text: str
    reads: frozenset[str]


@cache
def all_functions() -> dict[str, Function]:
    """Return the functions of all files by name, in the order of the files."""
    result: dict[str, Function] = {}
    for path in sorted(FOLDER.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
                result[node.name] = Function(ast.get_source_segment(text, node) or "", frozenset(names))
    return result


def functions_for(names: Iterable[str]) -> list[Function]:
    """These functions and those that they call, in the order of the files."""
    table = all_functions()
    wanted: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        if name in table and name not in wanted:
            wanted.add(name)
            pending += table[name].reads
    return [function for name, function in table.items() if name in wanted]
