"""The package is what the tree says: the list of packages, the weight of imports, and the rules for its files."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphir.extras import DRAWING, EXTRAS

ROOT = Path(__file__).resolve().parents[1]
LONGEST_FILE = 400
BINARY = {".npy", ".npz", ".onnx", ".params", ".pb", ".png", ".safetensors"}
BUILT = {"__pycache__", "build", "dist", "node_modules"}
HIDDEN_BUT_OURS = {".ci", ".github", ".gitignore"}
# Frameworks that the core must not know; runtime/ alone may import onnxruntime, converters/onnx alone onnx.
FRAMEWORKS = {"mxnet", "onnx", "onnxruntime", "tensorflow", "torch"}


def is_ours(path: Path) -> bool:
    """Neither built, nor hidden, nor reached through the symlink."""
    parts = path.relative_to(ROOT).parts
    hidden = any(part.startswith(".") and part not in HIDDEN_BUT_OURS for part in parts)
    return not (hidden or BUILT.intersection(parts) or any(part.endswith(".egg-info") for part in parts))


def project_files() -> list[Path]:
    found: list[Path] = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if is_ours(Path(folder, name))]
        found += (Path(folder, name) for name in names if is_ours(Path(folder, name)))
    return sorted(found)


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


NAMED_EXTRAS = re.compile(r"(?:\.|graphir|graphir-converter|\.whl)\[([a-z0-9,-]+)\]['\" ]")
FILES = project_files()
TEXTS = [path for path in FILES if path.suffix not in BINARY]
MODULES = [path for path in FILES if path.suffix == ".py" and shown(path).startswith(("graphir/", "converters/"))]


def test_extras_that_pages_name_exist() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="ascii"))["project"]
    pages = [path for path in FILES if path.suffix == ".md"]
    lists = [found for path in pages for found in NAMED_EXTRAS.findall(path.read_text(encoding="utf-8"))]
    assert {extra for found in lists for extra in found.split(",")} - set(settings["optional-dependencies"]) == set()
    assert lists


def packages_in(folder: str, name: str) -> Iterator[str]:
    for path in FILES:
        if path.name == "__init__.py" and shown(path).startswith(folder + "/"):
            yield ".".join((name, *path.parent.relative_to(ROOT / folder).parts))


def test_pyproject_lists_the_packages_of_the_tree() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="ascii"))["tool"]["setuptools"]
    in_tree = {*packages_in("graphir", "graphir"), *packages_in("converters", "graphir.converters")}
    assert settings["packages"] == sorted(in_tree), "packages of [tool.setuptools] in pyproject.toml, in order"


@pytest.mark.parametrize(
    "file",
    [
        "graphir/py.typed",
        "graphir/serial/FORMAT.md",
        "graphir/serial/schema.json",
        "converters/mxnet/schema/operators.json",
        "converters/tensorflow/schema/operators.json",
    ],
)
def test_data_of_the_package_is_there(file: str) -> None:
    assert (ROOT / file).is_file()



def test_the_hints_name_what_pyproject_asks_for() -> None:
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="ascii"))["project"]["optional-dependencies"]
    assert {name: list(held) for name, held in EXTRAS.items()} == {name: stated[name] for name in EXTRAS}


def test_drawing_is_installed_by_default() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="ascii"))["project"]
    assert set(DRAWING) <= set(project["dependencies"])
    assert "plot" not in project["optional-dependencies"]


# No index has graphir until it is released: a clone, or a wheel by its address, is what can be installed.
OF_AN_INDEX = re.compile(r"(?:pip|pipx|uv pip|uvx)\s[^\n]*graphir-converter(?:\[[\w,]*\])?+['\"]?+(?! *@)")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("pip install 'graphir-" + "converter[cpu]'", True),
        ("uvx --from graphir-" + "converter graphir", True),
        ("pip install 'graphir-converter[cpu] @ https://example.org/x.whl'", False),
        ("pip install '.[cpu]'", False),
    ],
)
def test_what_no_index_has(text: str, found: bool) -> None:
    assert bool(OF_AN_INDEX.search(text)) is found


def test_nobody_is_told_to_install_what_no_index_has() -> None:
    texts = {shown(path): path.read_text(encoding="ascii") for path in TEXTS}
    told = [name for name, text in texts.items() if OF_AN_INDEX.search(text) and name != "CHANGELOG.md"]
    assert told == []


def test_every_folder_of_modules_is_a_package() -> None:
    folders = {path.parent for path in MODULES}
    assert [shown(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


def test_import_graphir_is_light() -> None:
    script = "import json, sys, graphir; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    roots = {name.partition(".")[0] for name in json.loads(run.stdout)}
    assert roots & (FRAMEWORKS | {"numpy", "ml_dtypes", "safetensors"}) == set()


def allowed_frameworks(path: Path) -> set[str]:
    place = shown(path)
    if place in ("converters/mxnet/live/child.py", "converters/mxnet/live/capture_script.py"):
        return {"mxnet"}  # programs that run where MXNet is; nothing imports them
    if place == "converters/tensorflow/live/child.py":
        return {"tensorflow"}  # the same where TensorFlow is
    if place == "converters/pytorch/live/child.py" or place.startswith("converters/pytorch/functions/"):
        return {"torch"}  # the same where torch is, and what is copied into modules that are written
    if place.startswith("graphir/runtime/"):
        return {"onnxruntime", "onnx"}
    return {"onnx"} if place.startswith("converters/onnx/") else set()


def imported_roots(tree: ast.AST) -> Iterator[str]:
    """Top-level names of every absolute import at any depth, `import_module("x")` and `__import__("x")` included."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name.partition(".")[0] for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module.partition(".")[0]
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(module)), *_],
            ):
                yield module.partition(".")[0]


def forbidden_imports(path: Path) -> set[str]:
    """Return the frameworks that a module imports and may not. Only a module with such words is parsed."""
    text = path.read_text(encoding="ascii")
    forbidden = FRAMEWORKS - allowed_frameworks(path)
    words = rf"(import\w*|from)\W+({'|'.join(FRAMEWORKS)})\b"
    return set(imported_roots(ast.parse(text))) & forbidden if re.search(words, text) else set()


def test_no_framework_where_none_belongs() -> None:
    assert {shown(path): roots for path in MODULES if (roots := forbidden_imports(path))} == {}


@pytest.mark.parametrize(
    ("source", "roots"),
    [
        pytest.param("import onnx.helper", {"onnx"}, id="import"),
        pytest.param("def f():\n    from onnx import helper", {"onnx"}, id="in a function"),
        pytest.param("from . import onnx", set(), id="relative"),
        pytest.param("import importlib\nimportlib.import_module('mxnet.nd')", {"importlib", "mxnet"}, id="by name"),
        pytest.param("__import__('tensorflow')", {"tensorflow"}, id="dunder"),
    ],
)
def test_imported_roots(source: str, roots: set[str]) -> None:
    assert set(imported_roots(ast.parse(source))) == roots


def test_files_are_short_enough() -> None:
    lengths = {shown(path): len(path.read_bytes().splitlines()) for path in MODULES}
    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}


def test_text_is_ascii() -> None:
    assert [shown(path) for path in TEXTS if not path.read_bytes().isascii()] == []


# Folders of one person's machine. Written in pieces, so that this file does not hold what it looks for.
MACHINE_PATH = re.compile(
    rb"(?<![\w.\-*])/(?:" + rb"|".join((b"home", b"root", b"Users", b"work", b"tmp/w")) + rb")/\w"
)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        pytest.param(b"see /" + b"home/someone/x", True, id="home"),
        pytest.param(b'"/' + b'work/main"', True, id="quoted"),
        pytest.param(b"https://example.org/" + b"home/page", False, id="address"),
        pytest.param(b"frame/" + b"work/x", False, id="inside a path"),
    ],
)
def test_machine_path_pattern(content: bytes, found: bool) -> None:
    assert bool(MACHINE_PATH.search(content)) is found


def test_no_machine_path_in_files() -> None:
    assert [shown(path) for path in FILES if MACHINE_PATH.search(path.read_bytes())] == []
