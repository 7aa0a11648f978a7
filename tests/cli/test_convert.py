"""`graphir convert` and `graphir verify` on a trained model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from graphir.errors import VerificationError

from .broken import DIGITS
from .conftest import Command

TEST_SET = DIGITS / "digits-test.npz"


def test_convert_verify_accuracy(graphir: Command, digits: Path, tmp_path: Path) -> None:
    target = tmp_path / "m.onnx"
    outcome = graphir(
        "convert", digits, target, "-i", "data:N,1,8,8", "--verify", "--against", "reference", "--accuracy", TEST_SET
    )
    assert outcome.code == 0, outcome.err
    assert outcome.err == ""
    assert "m-symbol.json + m-0000.params (MXNet 1.9.1, parameters V2) -> m.onnx" in outcome.out
    assert "fixed gamma: bn1: gamma is 1" in outcome.out
    assert "verified: " in outcome.out
    assert "reference  graphir's numpy reference of MXNet" in outcome.out
    assert outcome.out.count("98.44 %  (443 correct)") == 2
    assert "the predicted class differs for 0 of 450" in outcome.out
    onnx.checker.check_model(onnx.load(target), full_check=True)


def test_fixed_batch_is_filled_up(graphir: Command, digits: Path, tmp_path: Path) -> None:
    outcome = graphir(
        "convert", digits, tmp_path / "m.onnx", "-i", "data:64,1,8,8", "--accuracy", TEST_SET, "--json"
    )
    assert outcome.code == 0, outcome.err
    assert outcome.data["inputs"] == [{"name": "data", "type": "float32[64, 1, 8, 8]"}]
    found = outcome.data["accuracy"]
    assert (found["samples"], found["reference_correct"], found["candidate_correct"]) == (450, 443, 443)


@pytest.mark.parametrize(
    "arrays, said",
    [
        pytest.param({"data": (4, 1, 8, 8)}, "lacks label; it holds data", id="no-labels"),
        pytest.param({"label": (4,)}, "lacks data; it holds label", id="no-data"),
        pytest.param({"data": (4, 1, 8, 8), "label": (5,)}, "one row a sample, found data 4, label 5", id="lengths"),
        pytest.param({"data": (4, 64), "label": (4,)}, "data is [4, 64], but the model's input is", id="rank"),
    ],
)
def test_unfitting_labelled_data(
    graphir: Command, digits: Path, tmp_path: Path, arrays: dict[str, tuple[int, ...]], said: str
) -> None:
    data = tmp_path / "set.npz"
    np.savez(data, **{name: np.zeros(shape, np.float32) for name, shape in arrays.items()})
    outcome = graphir("convert", digits, tmp_path / "m.onnx", "--accuracy", data)
    assert outcome.code == 1
    assert said in outcome.err
    assert "m.onnx was written; only the check of it could not be made" in outcome.err


def test_json_is_all_that_stdout_holds(graphir: Command, digits: Path, tmp_path: Path) -> None:
    outcome = graphir("convert", digits, tmp_path / "m.onnx", "--opset", "17", "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.data["opset"] == 17
    assert outcome.data["source_operators"]["Convolution"] == 2
    assert outcome.data["target_operators"]["Conv"] == 2
    assert outcome.data["parameters"] == 11_642
    assert [made["node"] for made in outcome.data["decisions"] if made["kind"] == "fixed gamma"] == ["bn1"]
    assert outcome.data["files"][0]["bytes"] == (tmp_path / "m.onnx").stat().st_size


def test_quiet(graphir: Command, digits: Path, tmp_path: Path) -> None:
    outcome = graphir("convert", digits, tmp_path / "m.onnx", "-q")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")


def test_reports_as_files(graphir: Command, digits: Path, tmp_path: Path) -> None:
    target = tmp_path / "m.onnx"
    assert graphir("convert", digits, target, "--report", tmp_path / "r.json").code == 0
    assert json.loads((tmp_path / "r.json").read_text())["verification"] is None
    assert graphir("convert", digits, target, "--report", tmp_path / "r.html").code == 0
    page = (tmp_path / "r.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "Converted, not verified" in page


def test_own_format_and_back(graphir: Command, digits: Path, tmp_path: Path) -> None:
    own, target = tmp_path / "m.graphir.json", tmp_path / "m.onnx"
    assert graphir("convert", digits, own, "-i", "data:N,1,8,8").code == 0
    assert graphir("convert", own, target, "--verify").code == 0
    assert graphir("verify", own, target).code == 0


def test_failed_check_names_made_up_sizes(
    graphir: Command, digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise VerificationError("it did not run")

    monkeypatch.setattr("graphir.verification.models.verify_conversion", fail)
    symbol = Path(f"{digits}-symbol.json")
    document = json.loads(symbol.read_text())
    document["heads"] = [[[node["name"] for node in document["nodes"]].index("bn2"), 0, 0]]
    symbol.write_text(json.dumps(document))
    outcome = graphir("convert", digits, tmp_path / "m.onnx", "--verify")
    assert outcome.code == 1
    assert outcome.err.splitlines() == [
        "graphir: error: it did not run",
        f"{tmp_path / 'm.onnx'} was written; only the check of it could not be made",
        "the sizes that stay open were made up for the check (data is float32[N, 1, H, W]): "
        "give them with -i or --feeds",
    ]


def test_different_models(graphir: Command, digits: Path, tmp_path: Path) -> None:
    target = tmp_path / "m.onnx"
    assert graphir("convert", digits, target, "-i", "data:N,1,8,8").code == 0
    model = onnx.load(target)
    weight = next(entry for entry in model.graph.initializer if entry.name == "fc1_bias")
    weight.raw_data = (np.frombuffer(weight.raw_data, np.float32) + 1).tobytes()
    onnx.save(model, target)
    common = ("-i", "data:2,1,8,8", "--against", "reference")
    outcome = graphir("verify", digits, target, *common, "--report", tmp_path / "v.html")
    assert outcome.code == 4, outcome.err
    assert "DIFFERENT: broken" in outcome.out
    assert "BROKEN" in outcome.out
    assert "Different: broken" in (tmp_path / "v.html").read_text()
    layers = graphir("verify", digits, target, *common, "--per-layer")
    assert layers.code == 4
    assert "the first is fc1_output" in layers.out
    assert graphir("verify", digits, target, *common, "--json").data["ok"] is False
    assert graphir("verify", digits, target, *common, "--rtol", "100").code == 0


def test_same_seed_same_numbers(graphir: Command, digits: Path, tmp_path: Path) -> None:
    target = tmp_path / "m.onnx"
    assert graphir("convert", digits, target, "-i", "data:N,1,8,8").code == 0

    def scale(seed: int) -> float:
        outcome = graphir("verify", target, target, "-i", "data:2,1,8,8", "--seed", seed, "--json")
        assert outcome.code == 0, outcome.err
        return float(outcome.data["outputs"][0]["scale"])

    assert scale(1) == scale(1)
    assert scale(1) != scale(2)
