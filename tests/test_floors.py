"""Three floors, each importing only downwards, and no module that needs itself.

That holds for all import statements, those inside functions and those for type checkers included.

The core is `graphir/` without the rooms named next; the converters stand on it; above are conversion, benchmark,
verification, report, cli and the public names.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ABOVE = (
    *("graphir.accuracy", "graphir.benchmark", "graphir.checking", "graphir.conversion", "graphir.inputs"),
    *("graphir.inspection", "graphir.magnitudes", "graphir.memory_use", "graphir.mxnet"),
    "graphir.quantization", "graphir.simplification",
    *("graphir.verification", "graphir.report", "graphir.registry", "graphir.cli", "graphir.__main__"),
)
CONVERTERS = "graphir.converters"
FLOORS = ("core", "converters", "above")
LINKED = ROOT / "graphir" / "converters"  # a link to the folder beside it


@cache
def modules() -> dict[str, Path]:
    """The product's modules by name."""
    found = {}
    for folder, package in (("graphir", "graphir"), ("converters", CONVERTERS)):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if LINKED not in path.parents:
                parts = path.relative_to(ROOT / folder).with_suffix("").parts
                found[".".join((package, *(part for part in parts if part != "__init__")))] = path
    return found


def floor(module: str) -> int:
    """On which floor a module stands, counted from the core."""
    if module == "graphir" or any(module == room or module.startswith(f"{room}.") for room in ABOVE):
        return FLOORS.index("above")
    is_converter = module == CONVERTERS or module.startswith(f"{CONVERTERS}.")
    return FLOORS.index("converters" if is_converter else "core")


def imports(tree: ast.AST, module: str, is_package: bool, known: Iterable[str]) -> Iterator[tuple[str, int]]:
    """The modules that are imported anywhere in a tree, with the line. `graphir.__version__` is no module's."""
    package = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base += node.module.split(".") if node.module else []
            for alias in node.names:
                full = ".".join((*base, alias.name))
                if full != "graphir.__version__":
                    yield (full if full in known else ".".join(base)), node.lineno


@cache
def both(module: str) -> tuple[list[tuple[str, int]], set[str]]:
    """The product's modules that one imports, with the line, and those of them that it needs to run: what is imported
    for type checkers alone is not among these."""
    path = modules()[module]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    is_package = path.name == "__init__.py"
    stated = [pair for pair in imports(tree, module, is_package, modules()) if pair[0] in modules()]
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = []
    return stated, {name for name, _ in imports(tree, module, is_package, modules()) if name in modules()} - {module}


def imported(module: str) -> list[tuple[str, int]]:
    """The product's modules that one imports, with the line."""
    return both(module)[0]


def needed(module: str) -> set[str]:
    """The modules that one needs to run."""
    return both(module)[1]


def upward(lowest: str) -> list[str]:
    """The imports of a floor's modules that lead to a higher one."""
    return [
        f"{module}:{line} imports {name}"
        for module in modules() if floor(module) == FLOORS.index(lowest)
        for name, line in imported(module) if floor(name) > floor(module)
    ]  # fmt: skip


def circles(edges: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The groups of modules of which each needs all others, by Tarjan's algorithm."""
    places: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_ones: list[str] = []
    found = []

    def visit(module: str) -> None:
        places[module] = lowest[module] = len(places)
        open_ones.append(module)
        for other in edges[module]:
            if other not in places:
                visit(other)
                lowest[module] = min(lowest[module], lowest[other])
            elif other in open_ones:
                lowest[module] = min(lowest[module], places[other])
        if lowest[module] == places[module]:
            start = open_ones.index(module)
            group = open_ones[start:]
            del open_ones[start:]
            if len(group) > 1:
                found.append(sorted(group))

    for module in edges:
        if module not in places:
            visit(module)
    return sorted(found)


def test_the_core_knows_nothing_above_it() -> None:
    assert upward("core") == []


def test_the_converters_know_nothing_above_them() -> None:
    assert upward("converters") == []


ROOMS = ["core", "above", *(f"{CONVERTERS}.{name}" for name in ("kernel", "mxnet", "onnx", "tensorflow"))]


def room_of(module: str) -> str:
    """Where a module stands: a floor, or the folder of a format."""
    return next((room for room in ROOMS if module == room or module.startswith(f"{room}.")), FLOORS[floor(module)])


@pytest.mark.parametrize("room", ROOMS)
def test_no_module_of_a_room_needs_itself(room: str) -> None:
    inside = {module for module in modules() if room_of(module) == room}
    assert circles({module: sorted(needed(module) & inside) for module in modules() if module in inside}) == []


def test_no_module_needs_itself() -> None:
    assert circles({module: sorted(needed(module)) for module in modules()}) == []


REFERENCE = f"{CONVERTERS}.mxnet.reference"
FORMATS = tuple(f"{CONVERTERS}.{name}" for name in ("mxnet", "onnx", "tensorflow", "pytorch"))
OTHERS = tuple(name for name in FORMATS if name != f"{CONVERTERS}.mxnet")
WAYS = tuple(f"{name}.{way}" for name in FORMATS for way in ("importing", "exporting"))
APART = [
    pytest.param(
        REFERENCE,
        (*(f"{CONVERTERS}.mxnet.{room}" for room in ("importing", "exporting", "mx", "source")),
         *(f"{CONVERTERS}.{room}" for room in ("kernel", "onnx", "tensorflow", "pytorch", "session")),
         *(f"graphir.{room}" for room in ("graph", "node", "ops", "passes", "inference", "runtime"))),
        id="two computations of a model prove something where they share no code",
    ),
    pytest.param("graphir.inputs", ("graphir.verification",), id="inputs are drawn for others too"),
    pytest.param(f"{CONVERTERS}.kernel", FORMATS, id="the kernel knows no format"),
    pytest.param(f"{CONVERTERS}.formats", FORMATS, id="what a format is knows none of them"),
    pytest.param(f"{CONVERTERS}.mxnet.exporting", OTHERS, id="definitions of operators are handed to MXNet's exporter"),
    pytest.param(f"{CONVERTERS}.onnx.files", WAYS, id="ONNX's files know neither import nor export"),
    *(pytest.param(f"{CONVERTERS}.{name}.schema", WAYS, id=f"{name}'s schema knows neither import nor export")
      for name in ("mxnet", "tensorflow")),
]  # fmt: skip


@pytest.mark.parametrize(("room", "others"), APART)
def test_rooms_that_must_not_know_each_other(room: str, others: tuple[str, ...]) -> None:
    known = [
        f"{module} imports {name}"
        for module in modules() if module == room or module.startswith(f"{room}.")
        for name in sorted(needed(module)) if any(name == other or name.startswith(f"{other}.") for other in others)
    ]  # fmt: skip
    assert known == []


SOURCE = """
from __future__ import annotations
import graphir.ops.base
if TYPE_CHECKING:
    from .graph import Graph
def lazy():
    from graphir.converters import load, onnx
    from .. import report
"""
FOUND = [
    ("__future__", 2), ("graphir.ops.base", 3), ("graphir.passes.graph", 5), ("graphir.converters", 7),
    ("graphir.converters.onnx", 7), ("graphir.report", 8),
]  # fmt: skip


def test_every_kind_of_import_is_seen() -> None:
    known = {"graphir.converters.onnx", "graphir.report", "graphir.passes.graph"}
    found = imports(ast.parse(SOURCE), "graphir.passes.simplify", False, known)
    assert sorted(found, key=lambda pair: pair[1]) == FOUND


@pytest.mark.parametrize(
    "edges, found",
    [
        ({"a": "b", "b": "c", "c": ""}, []),
        ({"a": "b", "b": "a"}, [["a", "b"]]),
        ({"a": "b", "b": "c", "c": "bd", "d": "e", "e": "d"}, [["b", "c"], ["d", "e"]]),
        ({"a": "bc", "b": "d", "c": "d", "d": ""}, []),
    ],
)
def test_circles_are_found(edges: dict[str, str], found: list[list[str]]) -> None:
    assert circles(edges) == found


def test_the_house_is_read() -> None:
    assert len(modules()) > 300
    assert {floor(module) for module in modules()} == {0, 1, 2}
