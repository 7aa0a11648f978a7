"""`graphir convert --dtype`."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from .broken import DIGITS
from .conftest import Command

TEST_SET = DIGITS / "digits-test.npz"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_trained_model_keeps_its_accuracy(graphir: Command, digits: Path, tmp_path: Path, dtype: str) -> None:
    target = tmp_path / "m.onnx"
    outcome = graphir(
        "convert", digits, target, "-i", "data:N,1,8,8", "--dtype", dtype, "--verify", "--against", "reference",
        "--accuracy", TEST_SET, "--json",
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    found = outcome.data["accuracy"]
    assert abs(found["reference_correct"] - found["candidate_correct"]) <= 1
    assert outcome.data["verification"]["verdict"] == "noise"
    kinds = {made["kind"] for made in outcome.data["decisions"]}
    assert {"half precision", "kept float32"} <= kinds
    model = onnx.load(target)
    onnx.checker.check_model(model, full_check=True)
    codes = {"float16": onnx.TensorProto.FLOAT16, "bfloat16": onnx.TensorProto.BFLOAT16}
    assert codes[dtype] in {tensor.data_type for tensor in model.graph.initializer}
    assert model.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT


def test_inputs_and_outputs_too(graphir: Command, digits: Path, tmp_path: Path) -> None:
    outcome = graphir(
        "convert", digits, tmp_path / "m.onnx", "-i", "data:N,1,8,8", "--dtype", "float16", "--io-dtype", "float16",
        "--verify", "--json",
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    assert outcome.data["inputs"] == [{"name": "data", "type": "float16[N, 1, 8, 8]"}]
    assert [made["type"].split("[")[0] for made in outcome.data["outputs"]] == ["float16"]


def test_a_layer_stays_by_name(graphir: Command, digits: Path, tmp_path: Path) -> None:
    target = tmp_path / "m.graphir.json"
    words = ["convert", digits, target, "--dtype", "float16", "--keep-float32", "fc*"]
    outcome = graphir(*words, "--json")
    assert outcome.code == 0, outcome.err
    said = [made["text"] for made in outcome.data["decisions"] if made["kind"] == "kept float32"]
    assert any("asked for by 'fc*'" in text for text in said)
    held = json.loads(target.read_text())
    assert held


@pytest.mark.parametrize(
    "words, said",
    [
        (["--dtype", "int8"], "invalid choice: 'int8'"),
        (["--io-dtype", "float16"], "give dtype"),
        (["--keep-float32", "fc1"], "give dtype"),
        (["--dtype", "float16", "--io-dtype", "bfloat16"], "inputs and outputs are float32 or float16"),
    ],
)
def test_wrong_usage(graphir: Command, digits: Path, tmp_path: Path, words: list[str], said: str) -> None:
    outcome = graphir("convert", digits, tmp_path / "m.onnx", *words)
    assert outcome.code == 2
    assert said in outcome.err
    assert not (tmp_path / "m.onnx").exists()


def test_a_name_without_a_layer(graphir: Command, digits: Path, tmp_path: Path) -> None:
    outcome = graphir("convert", digits, tmp_path / "m.onnx", "--dtype", "float16", "--keep-float32", "nothing")
    assert outcome.code == 1
    assert "no layer that takes float32 is called nothing" in outcome.err
    assert not (tmp_path / "m.onnx").exists()
