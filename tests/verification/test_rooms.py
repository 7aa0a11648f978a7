"""The rooms of verification import one way, lazy imports and those for type checkers included."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import graphir.verification

PACKAGE = "graphir.verification"
ROOT = Path(graphir.verification.__file__).parent
# Words and choices that every room knows, then the rooms, each with what it may import before it.
ROOMS = [
    "verdict", "options", "progress", "numbers", "inputs", "running", "pairs", "regions", "grading", "report", "causes",
]  # fmt: skip
# What is imported against the order, each with the reason.
EXCEPTIONS = {
    ("inputs", "running"): "what inputs reach, and how large numbers become, is measured by runs",
    ("running", "report"): "a report says which reference judged",
    ("progress", "inputs"): "the plan whose sets are counted",
    ("options", "inputs"): "the types of what a user states",
    ("options", "pairs"): "what a user states is parsed where it is used",
}


def imports(path: Path) -> Iterator[str]:
    """The rooms that a module imports."""
    package = ".".join([PACKAGE, *path.relative_to(ROOT).parent.parts])
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            base = parents[: len(parents) - node.level + 1] if node.level else []
            names = [".".join([*base, *filter(None, [node.module])])]
        for name in names:
            if name.startswith(f"{PACKAGE}."):
                yield name.removeprefix(f"{PACKAGE}.").split(".")[0]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_from_those_before_it(room: str) -> None:
    paths = [ROOT / f"{room}.py"] if (ROOT / f"{room}.py").exists() else sorted((ROOT / room).glob("*.py"))
    taken = {(room, name) for path in paths for name in imports(path)}
    allowed = {(room, name) for name in ROOMS[: ROOMS.index(room) + 1]} | EXCEPTIONS.keys()
    assert taken <= allowed, taken - allowed
