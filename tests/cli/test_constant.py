"""`graphir convert --constant`: inputs that a target wants as attributes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.building import parse_model, save_model

from .conftest import Command


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A sum over the axes that an input states."""
    text = "g (float[2, 3, 4] x, int64[2] axes) => (float[N] y) { y = ReduceSum <keepdims = 0> (x, axes) }"
    return save_model(tmp_path / "model.onnx", parse_model(text, opset=18))


@pytest.mark.parametrize("target", ["out-symbol.json", "out.onnx"])
def test_bound_input_is_gone_and_the_result_proved(graphir: Command, model: Path, tmp_path: Path, target: str) -> None:
    outcome = graphir(
        "convert", model, tmp_path / target, "--constant", "axes=[0,2]", "--verify", "--against", "reference", "--json"
    )
    assert outcome.code == 0, outcome.err
    assert [found["name"] for found in outcome.data["inputs"]] == ["x"]
    assert [found["type"] for found in outcome.data["outputs"]] == ["float32[3]"]
    assert [found["kind"] for found in outcome.data["decisions"]] == ["constant input"]


@pytest.mark.parametrize(
    "options, code, said",
    [
        pytest.param([], 1, "axes is an input, which can be bound to a constant", id="not bound"),
        pytest.param(["--constant", "axes=[0,9]"], 1, "axis 9 does not exist", id="contradiction"),
        pytest.param(["--constant", "axes=[0.5,1]"], 1, "cannot hold [0.5, 1.0]", id="fractions"),
        pytest.param(["--constant", "axis=[0,1]"], 1, "'axis' is no input", id="no such input"),
        pytest.param(["--constant", "axes"], 2, "write name=value", id="no value"),
        pytest.param(["--constant", "axes=one"], 2, "write name=value", id="no number"),
        pytest.param(["--constant", "axes=[0,1]", "--constant", "axes=[0,2]"], 2, "given 2 times", id="twice"),
    ],
)
def test_wrong_constants(
    graphir: Command, model: Path, tmp_path: Path, options: list[str], code: int, said: str
) -> None:
    outcome = graphir("convert", model, tmp_path / "out-symbol.json", *options)
    assert (outcome.code, said in outcome.err) == (code, True), outcome.err
    assert not (tmp_path / "out-symbol.json").exists()
