"""The commands with a format that has nothing but its row in the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphir import load, save
from graphir.ops.activation import Sigmoid
from tests.converters import tiny

from .conftest import Command


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model of a format that is registered for the test."""
    return tiny.registered(tmp_path / "model.tiny", monkeypatch)


def test_commands(model: Path, tmp_path: Path, graphir: Command) -> None:
    target = tmp_path / "m.onnx"
    assert graphir("convert", model, target, "--verify").code == 0
    assert "tiny (Tiny 1)" in graphir("summary", model).out
    assert "model.tiny (Tiny 1)" in graphir("diff", model, target).out
    assert graphir("params", model, "--format", "tiny").code == 0
    outcome = graphir("check", target, "--target", "tiny")
    assert outcome.code == 0, outcome.err
    assert "everything converts to Tiny 1" in outcome.out
    assert graphir("check", target, "--target", "tiny", "--json").data["target_operators"] == {"minus": 1, "relu": 1}
    assert "opset is for ONNX targets" in graphir("check", target, "--target", "tiny", "--opset", "17").err


def test_gaps_of_a_target(model: Path, tmp_path: Path, graphir: Command) -> None:
    graph = load(model)
    graph.set_outputs([graph.add(Sigmoid(), graph.outputs[0], name="s")])
    save(graph, tmp_path / "m.onnx")
    outcome = graphir("check", tmp_path / "m.onnx", "--target", "tiny", "--json")
    assert (outcome.code, outcome.data["target"]) == (1, "tiny")
    (gap,) = outcome.data["gaps"]
    assert (gap["operator"], gap["step"], gap["reason"]) == ("Sigmoid", "writing", "no word for it")
    assert "cannot be written as Tiny" in graphir("check", tmp_path / "m.onnx", "--target", "tiny").out
