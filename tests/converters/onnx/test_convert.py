"""ONNX files as sources of graphir's commands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import graphir
from graphir.cli import main
from tests.building import add_weights, parse_model, save_model


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A small model with a convolution."""
    made = parse_model("g (float[N,3,8,8] x) => (float[N,4,8,8] y) { c = Conv<pads = [1,1,1,1]>(x, w) y = Abs(c) }")
    add_weights(made, w=np.random.default_rng(0).standard_normal((4, 3, 3, 3)).astype(np.float32))
    return save_model(tmp_path / "a.onnx", made)


def test_convert_verifies_against_the_file_itself(source: Path) -> None:
    report = graphir.convert(source, source.with_name("b.onnx"), verify=True, per_layer=True)
    assert report.ok
    assert report.verification is not None
    assert "onnxruntime" in report.verification.reference
    assert (report.source_format, report.framework) == ("onnx", "ONNX opset 17")
    assert onnx.load(source.with_name("b.onnx")).opset_import[0].version == 17


def test_through_json_and_back(source: Path) -> None:
    graphir.convert(source, source.with_name("a.graphir.json"))
    graphir.convert(source.with_name("a.graphir.json"), source.with_name("c.onnx"), opset=17)
    found, expected = onnx.load(source.with_name("c.onnx")), onnx.load(source)
    assert [node.op_type for node in found.graph.node] == [node.op_type for node in expected.graph.node]
    assert found.graph.initializer == expected.graph.initializer


COMMANDS = (
    (["shapes", "a.onnx", "-i", "x:2,3,8,8"], "float32[2, 4, 8, 8]"),
    (["summary", "a.onnx"], "6912*N"),
    (["check", "a.onnx"], "everything converts"),
    (["convert", "a.onnx", "b.onnx", "--verify"], "verified"),
)


@pytest.mark.parametrize(("arguments", "text"), COMMANDS, ids=[row[0][0] for row in COMMANDS])
def test_commands(
    source: Path, arguments: list[str], text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(source.parent)
    assert main(arguments) == 0
    assert text in capsys.readouterr().out


def test_a_gap_is_named_and_nothing_is_written(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = onnx.load(source)
    made.graph.node[1].op_type = "Nonsense"
    bad = save_model(source.with_name("bad.onnx"), made)
    assert main(["check", str(bad)]) == 1
    assert "Nonsense: 1 node" in capsys.readouterr().out
    assert main(["convert", str(bad), str(source.with_name("b.onnx"))]) == 1
    assert "Nonsense" in capsys.readouterr().err
    assert not source.with_name("b.onnx").exists()
