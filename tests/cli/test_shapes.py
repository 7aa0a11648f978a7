"""`shapes`: every format, subgraphs, partial and full answers, explanations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import graphir as package
from graphir.graph import Graph
from tests.inference.test_control_flow import chosen, loop, steady
from tests.inference.test_engine import convolution
from tests.ops.rule import tensor

from .conftest import Command


def written(graph: Graph, path: Path) -> Path:
    """The graph as a file; ONNX wants to know how many axes an input has."""
    for value in graph.inputs:
        known = tensor("float32[?, ?]") if value.rank is None else value.type
        value.graph.retype(value, known, known)
    package.save(graph, path)
    return path


def rows(data: Any) -> dict[str, Any]:
    return {row["name"]: row for row in data["values"]}


@pytest.mark.parametrize("suffix", [".onnx", ".graphir.json"])
def test_other_formats(graphir: Command, tmp_path: Path, suffix: str) -> None:
    model = written(chosen(), tmp_path / f"model{suffix}")
    outcome = graphir("shapes", model, "-i", "x:N,5", "--json")
    assert outcome.code == 0, outcome.err
    found = rows(outcome.data)
    assert found["y"]["shape"] == ["N", None]
    assert found["y"]["role"] == "output"
    assert found["if.then/twice"]["type"] == "float32[N, 10]"
    assert found["if.else/same"]["type"] == "float32[N, 5]"
    assert outcome.data["summary"] == {"values": 5, "known": 1, "symbolic": 3, "unknown": 1}
    text = graphir("shapes", model, "-i", "x:N,5").out
    assert "if.then/twice  float32[N, 10]  Concat     x, x" in text
    assert text.endswith("5 values: 1 known in numbers, 3 with symbolic sizes, 1 not fully known\n")


def test_bodies_show_what_every_iteration_has(graphir: Command, tmp_path: Path) -> None:
    model = written(loop(steady, 7), tmp_path / "loop.onnx")
    found = rows(graphir("shapes", model, "--json").data)
    assert [found[name]["type"] for name in ("loop.body/i", "loop.body/v", "stacked0")] == [
        "int64[]", "float32[2, 3]", "float32[7, 2, 3]"
    ]  # fmt: skip


def test_partial(graphir: Command, digits: Path) -> None:
    """What follows and no more: open sizes are not named, and the weights choose none."""
    settled = rows(graphir("shapes", digits, "--json").data)
    partial = graphir("shapes", digits, "--partial", "--json").data
    assert settled["data"]["shape"] == ["N", 1, 8, 8]
    assert rows(partial)["data"]["shape"] == [None, 1, None, None]
    assert rows(partial)["fc1_output"]["shape"] == [None, 48]
    assert partial["summary"]["unknown"] > 0


def test_full(graphir: Command, digits: Path) -> None:
    assert graphir("shapes", digits, "--full", "-i", "data:1,1,8,8").code == 0
    assert graphir("shapes", digits, "--full", "-i", "data:N,1,8,8").code == 0
    outcome = graphir("shapes", digits, "--partial", "--full")
    assert outcome.code == 1
    assert "values are not fully known; give what is missing of data:" in outcome.err
    assert "data: float32[?, 1, ?, ?] (input)" in outcome.err
    assert "by node fc1 (Gemm)" in outcome.err


def test_explain(graphir: Command, digits: Path) -> None:
    outcome = graphir("shapes", digits, "--explain", "pool2_output", "-i", "data:N,1,H,8")
    assert outcome.code == 0, outcome.err
    lines = outcome.out.splitlines()
    assert lines[0] == "pool2_output: float32[N, 32, H//4, 2]"
    assert "  pool2_output[0] = N   MaxPool pool2" in lines
    assert any(line.strip() == "data[2] = H   given" for line in lines)
    data = graphir("shapes", digits, "--explain", "pool2_output", "-i", "data:N,1,8,8", "--json").data
    assert data["type"] == "float32[N, 32, 2, 2]"
    assert {data["steps"][number]["source"] for number in data["answers"]} == {"rule"}


@pytest.mark.parametrize("name", ["if.then/twice", "twice"])
def test_explain_inside(graphir: Command, tmp_path: Path, name: str) -> None:
    model = written(chosen(), tmp_path / "chosen.onnx")
    outcome = graphir("shapes", model, "--explain", name, "-i", "x:4,5")
    assert outcome.code == 0, outcome.err
    assert "twice[1] = 10   Concat twice" in outcome.out


def test_explain_a_node(graphir: Command, digits: Path) -> None:
    outcome = graphir("shapes", digits, "--explain", "pool2", "-i", "data:N,1,H,8")
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("pool2: MaxPool(")
    assert "  reads relu2_output: float32[N, 32, H//2, 4]\n" in outcome.out
    assert "\n\npool2_output: float32[N, 32, H//4, 2]\n  pool2_output[0] = N   MaxPool pool2\n" in outcome.out
    data = graphir("shapes", digits, "--explain", "pool2", "-i", "data:N,1,8,8", "--json").data
    assert (data["node"], data["operator"]) == ("pool2", "MaxPool")
    assert [result["type"] for result in data["results"]] == ["float32[N, 32, 2, 2]"]


def test_a_node_or_value_that_is_misspelt(graphir: Command, digits: Path) -> None:
    outcome = graphir("shapes", digits, "--explain", "pol2")
    assert outcome.code == 1
    assert "no value 'pol2'; there is pool2" in outcome.err


def test_backwards(graphir: Command, tmp_path: Path) -> None:
    model = tmp_path / "conv.graphir.json"
    package.save(convolution(), model)
    out = graphir("shapes", model, "--explain", "weight", "-i", "data:N,3,H,32").out
    assert "weight[1] = 3   backwards from Conv conv\n    data[1] = 3   given" in out


def test_no_such_value(graphir: Command, digits: Path) -> None:
    outcome = graphir("shapes", digits, "--explain", "nothing")
    assert outcome.code == 1
    assert "no value 'nothing'" in outcome.err
