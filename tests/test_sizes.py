"""No function is longer than a page, takes more than one can keep in mind, or branches more than one can follow.

The complexity is ruff's part (C901, at most 12). What stands here has no list of exemptions: a public function of the
library and one that mirrors a foreign signature take the parameters that their contract names.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
from pathlib import Path
from types import FunctionType

import pytest

import graphir
import graphir.converters.mxnet.mx

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("graphir", "converters", "tests", "tools", "benchmarks", "models")
LINES = 60
PARAMETERS = 8
# Functions of modules that are written: they take what ONNX's operators have as attributes.
WRITTEN = ROOT / "converters" / "pytorch" / "functions"
DROP_INS = Path(inspect.getfile(graphir.converters.mxnet.mx)).resolve().parent

Function = ast.FunctionDef | ast.AsyncFunctionDef


FILE = 500_000  # bytes: whatever is larger is made by a script, or lies elsewhere


def functions(tree: ast.AST) -> list[Function]:
    return [node for node in ast.walk(tree) if isinstance(node, Function)]


def lines(function: Function) -> int:
    """Lines from `def` to the end, decorators not counted."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


def parameters(function: Function) -> int:
    """Parameters without self and cls; *args and **kwargs count."""
    found = function.args
    named = [*found.posonlyargs, *found.args, *found.kwonlyargs]
    gathered = [held for held in (found.vararg, found.kwarg) if held is not None]
    return len([held for held in (*named, *gathered) if held.arg not in ("self", "cls")])


def contracts() -> set[tuple[Path, str]]:
    """Functions whose signature is a contract: those of `graphir.__all__`, and the drop-ins for MXNet's own with the
    methods of their classes."""
    public: list[object] = [getattr(graphir, name) for name in graphir.__all__]
    for file in set(DROP_INS.rglob("*.py")) - {DROP_INS / "install.py"}:  # its import takes live MXNet's place
        name = ".".join(("graphir.converters.mxnet.mx", *file.relative_to(DROP_INS).with_suffix("").parts))
        module = importlib.import_module(name.removesuffix(".__init__"))
        public += [getattr(module, name) for name in getattr(module, "__all__", ())]
    public += [held for kind in public if isinstance(kind, type) for held in vars(kind).values()]
    found = [inspect.unwrap(held) for held in public if isinstance(held, FunctionType)]
    return {(Path(inspect.getfile(held)).resolve(), held.__name__) for held in found}


CONTRACTS = contracts()


def offenders(text: str, path: Path) -> list[str]:
    """What is too large in a file, each with its place."""
    found = []
    for function in functions(ast.parse(text)):
        place = f"{path.name}:{function.lineno}: {function.name}"
        if lines(function) > LINES:
            found.append(f"{place} has {lines(function)} lines, at most {LINES} are allowed")
        is_free = (path, function.name) in CONTRACTS or path.is_relative_to(WRITTEN)
        if parameters(function) > PARAMETERS and not is_free:
            found.append(f"{place} has {parameters(function)} parameters, at most {PARAMETERS} are allowed")
    return found


@pytest.mark.parametrize("folder", FOLDERS)
def test_functions_are_small(folder: str) -> None:
    files = [path.resolve() for path in (ROOT / folder).rglob("*.py")]
    assert [text for path in sorted(set(files)) for text in offenders(path.read_text(), path)] == []


SAMPLES = [
    ("def f(a, b, c, d, e, f, g, h): ...", []),
    ("class C:\n    def f(self, a, b, c, d, e, f, g, h): ...", []),
    ("def f(a, b, c, /, d, e, *f, g, h, **i): ...", ["sample.py:1: f has 9 parameters, at most 8 are allowed"]),
    ("def f():\n" + "    a = 1\n" * 59, []),
    ("def f():\n" + "    a = 1\n" * 60, ["sample.py:1: f has 61 lines, at most 60 are allowed"]),
    ("async def f():\n" + "    a = 1\n" * 60, ["sample.py:1: f has 61 lines, at most 60 are allowed"]),
]


@pytest.mark.parametrize(("text", "expected"), SAMPLES)
def test_the_guard_sees_what_is_too_large(text: str, expected: list[str]) -> None:
    assert offenders(text, Path("sample.py")) == expected


def test_contracts_are_public_functions_and_drop_ins() -> None:
    names = {name for _, name in CONTRACTS}
    assert {"load", "convert", "verify", "export_model"} <= names


def test_no_tracked_file_is_large() -> None:
    """Generated networks, and folders of a wrong command, have no place in the history."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    tracked = [ROOT / name for name in listed.stdout.split("\0") if name]
    if listed.returncode:  # no checkout of git
        tracked = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    assert tracked
    sizes = {path.relative_to(ROOT).as_posix(): path.stat().st_size for path in tracked if path.is_file()}
    assert not {name: size for name, size in sizes.items() if size > FILE}
