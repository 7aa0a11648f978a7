"""Rewrites that may refuse are asked whether they did: their answer is `Accepted`, and no caller throws it away."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from graphir.graph import Graph
from graphir.ops.activation import Relu
from graphir.ops.elementwise import Identity
from graphir.passes.rewrite import bypass, put_in_place
from graphir.types import DType, TensorType
from tests.typed import present

ROOT = Path(__file__).resolve().parents[2]
LINKED = ROOT / "graphir" / "converters"  # a link to the folder beside it
FILES = [
    path for folder in ("graphir", "converters") for path in sorted((ROOT / folder).rglob("*.py"))
    if LINKED not in path.parents
]  # fmt: skip


def refusing(tree: ast.Module) -> set[str]:
    """The names of the functions that answer with Accepted."""
    return {
        node.name for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and isinstance(node.returns, ast.Name) and node.returns.id == "Accepted"
    }  # fmt: skip


def unasked(tree: ast.Module, names: set[str]) -> list[str]:
    """The calls of those functions whose answer is thrown away."""
    calls = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
    return [
        f"line {call.lineno}: {ast.unparse(call)}" for call in calls
        if isinstance(call.func, ast.Name | ast.Attribute)
        and (call.func.id if isinstance(call.func, ast.Name) else call.func.attr) in names
    ]  # fmt: skip


@pytest.fixture(scope="module")
def trees() -> dict[Path, ast.Module]:
    """The whole house, parsed."""
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}


def test_no_answer_is_thrown_away(trees: dict[Path, ast.Module]) -> None:
    names = set[str]().union(*map(refusing, trees.values()))
    assert "bypass" in names
    assert {path: found for path, tree in trees.items() if (found := unasked(tree, names))} == {}


def test_the_check_finds_what_it_looks_for() -> None:
    text = "def drop(x) -> Accepted: ...\ndrop(x)\nself.drop(1)\nif drop(x):\n    y = drop(x)"
    tree = ast.parse(text)
    assert unasked(tree, refusing(tree)) == ["line 2: drop(x)", "line 3: self.drop(1)"]


def _graph() -> Graph:
    graph = Graph()
    x = graph.add_input("x", TensorType(DType.FLOAT32, (2, 3)))
    y = graph.add(Relu(), x, name="y")
    graph.set_outputs([y, graph.add(Identity(), y, name="copy")])
    return graph


def test_put_in_place_copies_where_bypass_refuses() -> None:
    graph = _graph()
    x, copy = graph.inputs[0], graph["copy"].producer
    assert not bypass(graph, present(copy), x)
    put_in_place(graph, present(copy), x)
    graph.check()
    assert [value.name for value in graph.outputs] == ["y", "copy"]
    assert present(graph["copy"].producer).inputs == (x,)
