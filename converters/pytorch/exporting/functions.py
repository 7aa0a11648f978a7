"""The functions and classes that a module's file may have: read as text from `functions/`, never run here."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from graphir.structure.reaching import reachable

DEFINED = re.compile(r"^(?:def|class) (\w+)", re.MULTILINE)
FOLDER = Path(__file__).parent.parent / "functions"


class Function(NamedTuple):
    """A function's text and the names that it reads of others."""

    text: str
    reads: frozenset[str]


def function_names() -> list[str]:
    """Return the names of all functions and classes, for which no file is parsed."""
    return [name for text in _texts() for name in DEFINED.findall(text)]


@cache
def _all_functions() -> dict[str, Function]:
    """Return the functions of all files by name, in the order of the files."""
    result: dict[str, Function] = {}
    for text in _texts():
        lines = text.split("\n")
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
                result[node.name] = Function("\n".join(lines[node.lineno - 1 : node.end_lineno]), frozenset(names))
    return result


def _texts() -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.py"))]


def functions_for(names: Iterable[str]) -> list[Function]:
    """These functions and those that they call, in the order of the files."""
    starts = list(names)
    table = _all_functions() if starts else {}
    wanted = set(reachable(starts, lambda name: table[name].reads if name in table else ()))
    return [function for name, function in table.items() if name in wanted]
