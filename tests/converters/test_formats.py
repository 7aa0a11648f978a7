"""The table of formats: a new format is one folder and one row."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import graphir
from graphir.converters.table import table
from graphir.errors import ArgumentError, ExportFailure, ImportFailure, UnsupportedOpError
from graphir.ops.activation import Relu, Sigmoid
from graphir.ops.elementwise import Neg
from graphir.verification.verdict import Verdict
from tests.converters import tiny

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model of a format that is registered for the test."""
    return tiny.registered(tmp_path / "model.tiny", monkeypatch)


def test_load_and_save(model: Path, tmp_path: Path) -> None:
    graph = graphir.load(model)
    assert [type(node.op) for node in graph.nodes] == [Relu, Neg]
    (written,) = graphir.save(graph, tmp_path / "again.tiny")
    assert written.read_text() == tiny.TEXT
    graphir.save(graph, written, shout=True)
    assert written.read_text() == tiny.TEXT.upper()


def test_content_decides(model: Path) -> None:
    assert graphir.load(model.rename(model.with_suffix(".onnx"))).name == "tiny"


def test_what_it_has_not(model: Path, tmp_path: Path) -> None:
    graph = graphir.load(model)
    with pytest.raises(ExportFailure, match=r"shout is for Tiny targets; .* is none \(something.tiny is one\)"):
        graphir.save(graph, tmp_path / "m.onnx", shout=True)
    with pytest.raises(ImportFailure, match="Tiny models hold their own parameters"):
        graphir.load(model, params=tmp_path / "x.params")
    with pytest.raises(ImportFailure, match="a signature can be chosen of TensorFlow models only"):
        graphir.load(model, signature="s")
    graph.set_outputs([graph.add(Sigmoid(), graph.outputs[0], name="s")])
    with pytest.raises(UnsupportedOpError, match="no word for it"):
        graphir.save(graph, tmp_path / "m.tiny")
    assert not (tmp_path / "m.tiny").exists()


@pytest.mark.parametrize("target", ["m.onnx", "m-symbol.json", "m.graphir.json", "m.tiny"])
def test_convert_to_each_target(model: Path, tmp_path: Path, target: str) -> None:
    report = graphir.convert(model, tmp_path / target, verify=True, per_layer=True, against="reference")
    assert report.verification is not None
    assert report.verification.verdict is Verdict.IDENTICAL
    assert (report.source_format, report.framework, report.producer) == ("tiny", "Tiny 1", "hand")
    assert report.source_operators == {"relu": 1, "minus": 1}
    judged = "graphir's numpy reference of MXNet" if target.endswith("-symbol.json") else "what tiny means"
    assert report.verification.reference == judged


@pytest.mark.parametrize("source", ["m.onnx", "m-symbol.json", "m.graphir.json"])
def test_convert_from_each_source(model: Path, tmp_path: Path, source: str) -> None:
    graphir.save(graphir.load(model), tmp_path / source)
    report = graphir.convert(tmp_path / source, tmp_path / "back.tiny", verify=True)
    assert report.verification is not None
    assert (report.ok, report.verification.reference) == (True, "what tiny means")
    assert (report.target_name(), report.target_operators) == ("Tiny 1", {"relu": 1, "minus": 1})
    assert [step[0] for step in tiny.lines(tmp_path / "back.tiny")] == ["input", "relu", "minus"]


def test_a_format_that_nothing_else_computes_is_not_proven(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(tiny.TinySource, "judges")
    written = graphir.convert(model, tmp_path / "m.onnx", verify=True).verification
    assert written is not None
    for report in (written, graphir.verify(model, tmp_path / "m.onnx")):
        assert report.verdict is Verdict.NOT_PROVEN
        assert "nothing else computes tiny models" in report.to_text()


def test_wrong_result_is_noticed(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tiny.MEANINGS, "minus", np.abs)
    report = graphir.convert(model, tmp_path / "m.onnx", verify=True, per_layer=True)
    assert report.verification is not None
    assert report.verification.first_divergence is not None
    assert report.verification.first_divergence.name == "z"


def test_verify(model: Path, tmp_path: Path) -> None:
    graphir.save(graphir.load(model), tmp_path / "m.onnx")
    assert graphir.verify(model, tmp_path / "m.onnx").reference == "what tiny means"
    assert graphir.verify(tmp_path / "m.onnx", model).ok


def compared(tree: ast.AST) -> set[object]:
    """The texts that a module's code is compared with or chosen by."""
    found: set[object] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            found |= {part.value for side in sides for part in ast.walk(side) if isinstance(part, ast.Constant)}
        elif isinstance(node, ast.Dict):
            found |= {key.value for key in node.keys if isinstance(key, ast.Constant)}
    return found


OUTSIDE = sorted(
    path
    for path in [*(ROOT / "graphir").rglob("*.py"), *(ROOT / "converters").glob("*.py")]
    if "converters" not in path.relative_to(ROOT).parts[1:] and path.name not in ("own.py", "extras.py")
)


def test_nobody_else_compares_names_of_formats() -> None:
    names = {"mxnet", "onnx", "tensorflow", "keras"}
    branches = {str(path.relative_to(ROOT)): names & compared(ast.parse(path.read_text())) for path in OUTSIDE}
    assert not {path: strange for path, strange in branches.items() if strange}, (
        "branches on a format's name: that is a field or a method of its row"
    )


def test_a_name_comes_once() -> None:
    with pytest.raises(ArgumentError, match="two formats are called 'tiny'"):
        table(tiny.FORMAT, tiny.FORMAT)
