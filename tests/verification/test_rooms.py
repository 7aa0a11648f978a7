"""The rooms of verification import one way, lazy imports and those for type checkers included."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import graphir.verification

PACKAGE = "graphir.verification"
ROOT = Path(graphir.verification.__file__).parent
# Words and choices that every room knows, then the rooms, each with what it may import before it.
ROOMS = [
    "verdict", "options", "numbers", "running", "pairs", "regions", "grading", "report", "causes",
]  # fmt: skip


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
    allowed = {(room, name) for name in ROOMS[: ROOMS.index(room) + 1]}
    assert taken <= allowed, taken - allowed


# Whose constants stand beside their derivations, or beside the reason of a choice.
DERIVED = ["numbers", "pairs", "regions", "grading", "causes"]


def bare_constants(path: Path) -> Iterator[str]:
    """Numeric constants of a module without a comment before them, or before the constants right above."""
    text = path.read_text(encoding="utf-8")
    lines, explained = text.splitlines(), set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).strip("()").split(",")[0].isupper():
            numbers = [part.value for part in ast.walk(node.value) if isinstance(part, ast.Constant)]
            if lines[node.lineno - 2].startswith("#") or node.lineno - 1 in explained:
                explained.add(node.end_lineno)
            elif any(type(number) in (int, float) for number in numbers):
                yield f"{path.relative_to(ROOT)}: {ast.unparse(node)}"


@pytest.mark.parametrize("room", DERIVED)
def test_every_constant_has_its_reason_beside_it(room: str) -> None:
    assert [one for path in sorted((ROOT / room).glob("*.py")) for one in bare_constants(path)] == []


def test_few_modules_stand_between_the_command_and_the_verdict() -> None:
    """Those through which the graphs of both models go, from the command to the verdict."""
    package = ROOT.parent
    paths = [path for path in package.rglob("*.py") if path.name != "sides.py"]
    modules = [path for path in paths if re.search(r"\bimport .*\bSides\b", path.read_text(encoding="utf-8"))]
    assert len(modules) <= 15, modules
