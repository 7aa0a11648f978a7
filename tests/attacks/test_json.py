"""JSON that nests without end: one reader bounds it, whoever reads the file."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

import graphir
from graphir.cli import main
from graphir.graph import Graph
from graphir.ops.activation import Relu
from graphir.safety.json_text import NoJson, levels_allowed, read_json
from graphir.safety.limits import limited
from graphir.structure.state import STATE, state_of
from graphir.types import DType, TensorType

ROOT = Path(__file__).resolve().parents[2]
# Who parses JSON by another reader, and why.
OTHERS = {
    "graphir/safety/json_text.py": "the reader itself",
    "graphir/files/rows.py": "a table that comes with graphir",
    "converters/mxnet/mx/registry.py": "what a user's own script states, as mxnet.registry takes it",
    "converters/mxnet/mx/python_operator.py": "parameters that a user's own script gave to its operator",
    "graphir/serial/schema.py": "a table that comes with graphir",
    "graphir/registry/fork_workers.py": "what workers are forked from; reads what its parent wrote",
    "converters/kernel/child_limits.py": "runs in a child and reads what its parent wrote",
    "converters/tensorflow/live/child.py": "runs in a child without graphir, whose parent has read the file",
    "converters/tensorflow/keras/hdf5_child.py": "runs in a child without graphir and reads what its parent wrote",
    "converters/pytorch/live/child.py": "runs in torch's interpreter and reads what its parent wrote",
    "converters/mxnet/live/child.py": "runs in an old MXNet's interpreter and reads what its parent wrote",
    "converters/mxnet/live/capture_script.py": "runs alone in an old MXNet, on the user's own symbol",
}


def parses_json(path: Path) -> bool:
    """Whether a module calls one of the parsers of `json`. Only one that has their names is parsed: it takes long."""
    text = path.read_text(encoding="utf-8")
    return re.search(r"json\w*\s*\.\s*(load|JSONDecoder)", text) is not None and any(
        isinstance(node, ast.Attribute) and node.attr in ("load", "loads", "JSONDecoder")
        and isinstance(node.value, ast.Name) and "json" in node.value.id
        for node in ast.walk(ast.parse(text))
    )  # fmt: skip


def test_all_json_has_one_reader() -> None:
    files = [file for folder in ("graphir", "converters") for file in (ROOT / folder).rglob("*.py")]
    found = {file.relative_to(ROOT).as_posix() for file in files if "graphir/converters" not in file.as_posix()}
    assert len(found) > 500
    assert {name for name in found if parses_json(ROOT / name)} == set(OTHERS)


DEEP = ["[" * 100_000, "[" * 100_000 + "]" * 100_000, '{"a":' * 50_000 + "1" + "}" * 50_000, '[1,{"b":' * 50_000,
        '["[]",' * 50_000, '{"\\"]":[' * 50_000]  # fmt: skip


@pytest.mark.parametrize("text", DEEP, ids=range(len(DEEP)))
def test_the_reader_refuses_what_nests_too_deep(text: str) -> None:
    for given in (text, text.encode(), b"\xef\xbb\xbf" + text.encode()):
        with pytest.raises(NoJson, match="nest deeper than 232 levels"):
            read_json(given)


@pytest.mark.parametrize("depth", [0, 8, 60])
def test_the_limit_goes_with_depth(depth: int) -> None:
    with limited(f"depth={depth}"):
        levels = levels_allowed()
        read_json("[" * levels + "]" * levels)
        with pytest.raises(NoJson):
            read_json("[" * (levels + 1) + "]" * (levels + 1))


STRINGS = ['"[[[["', '["\\"[[[", "[", "{"]', '{"[": "]", "\\\\": ["\\\\\\"["]}', "[" + "[]," * 999 + "1]"]
WRONG = ["", "[", "{]", "]" * 500, "[" * 100 + "]" * 400, "9" * 5000, b"\xff", b"\xfe\xff\0[\0]"]


@pytest.mark.parametrize("text", STRINGS)
def test_brackets_in_strings_do_not_count(text: str) -> None:
    with limited("depth=0"):
        assert read_json(text + " " * 10 + "\n") == json.loads(text)
    brackets = json.dumps({"a": ["[" * 10_000, {"]": "\\" * 999 + '"' + "{" * 10_000}]})
    assert read_json(brackets) == json.loads(brackets)


@pytest.mark.parametrize("text", WRONG, ids=range(len(WRONG)))
def test_what_is_no_json(text: str | bytes) -> None:
    with pytest.raises(NoJson, match="invalid JSON"):
        read_json(text)


def test_a_report_that_nests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = Graph("g")
    graph.set_outputs([graph.add(Relu(), graph.add_input("x", TensorType(DType.FLOAT32, (2, 3))))])
    graphir.save(graph, tmp_path / "m.onnx")
    for number, content in enumerate(DEEP):
        (tmp_path / "deep.json").write_text(content)
        files = [str(tmp_path / name) for name in ("m.onnx", "m.dot", "deep.json")]
        assert main(["plot", *files[:2], "--report", files[2]]) == 1
        assert "expected a report" in capsys.readouterr().err, number


def test_metadata_that_nests(tmp_path: Path) -> None:
    graph = Graph("g")
    graph.set_outputs([graph.add(Relu(), graph.add_input("x", TensorType(DType.FLOAT32, (2, 3))), output="y")])
    keys = ("node.metadata:y", "graph.metadata:", "value.metadata:x")
    graph.metadata |= {f"onnx.{key}": "[" * 100_000 for key in keys}
    graphir.save(graph, tmp_path / "deep.graphir.json")
    graphir.convert(tmp_path / "deep.graphir.json", tmp_path / "out.onnx")


@pytest.mark.parametrize("shape", [5, "x", {}, [-1], [None], [[2]], True])
def test_a_state_of_no_shape(shape: object) -> None:
    graph = Graph("g")
    graph.set_outputs([graph.add(Relu(), graph.add_input("x", TensorType(DType.FLOAT32, (2, 3))), output="y")])
    graph.metadata[STATE] = json.dumps({"x": {"output": "y", "shape": shape}})
    assert state_of(graph)["x"].shape is None
    graph.metadata[STATE] = "[" * 100_000
    assert state_of(graph) == {}


def test_a_constant_that_nests(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", "m.onnx", "out.onnx", "--constant", "k=" + "[" * 100_000]) == 2
    assert "write name=value" in capsys.readouterr().err
