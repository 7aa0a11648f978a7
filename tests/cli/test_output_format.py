"""`--output-format`: what CI systems read, and that it fails exactly where the exit code does."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.report.judged import annotated, junit, results

from .conftest import Command, with_changed_weight

REFERENCE = ("--against", "reference")


def test_a_verification_that_passes(graphir: Command, digits: Path, converted: Path) -> None:
    told = graphir("verify", digits, converted, *REFERENCE, "--per-layer", "--output-format", "junit")
    assert (told.code, told.err) == (0, "")
    found = results(junit(told.out))
    assert {"outputs: softmax_output", "proof: what agrees is proven", "layers: conv2_output"} <= set(found)
    assert set(found.values()) == {"passed"}
    told = graphir("verify", digits, converted, *REFERENCE, "--output-format", "github")
    ((kind, given, text),) = annotated(told.out)
    assert (kind, given) == ("notice", {"title": "graphir verify", "file": str(converted)})
    assert text.startswith("verified: equal within rounding")
    assert "softmax_output" in told.out


def test_a_verification_that_fails(graphir: Command, digits: Path, converted: Path, wrong: Path) -> None:
    told = graphir("verify", converted, wrong, "--per-layer", "--output-format", "junit")
    assert told.code == 4
    found = results(junit(told.out))
    assert (found["outputs: softmax_output"], found["layers: conv1_output"]) == ("failure", "passed")
    told = graphir("verify", converted, wrong, "--output-format", "github", "-q")
    first, second, *_ = annotated(told.out)
    assert first[2].startswith("DIFFERENT: broken")
    assert "conv2_weight" in first[2]
    assert second[1]["title"] == "graphir verify: outputs: softmax_output"
    assert "stop-commands" not in told.out


def test_what_proves_nothing_fails_in_the_case_of_the_proof(graphir: Command, converted: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "zero.npz", data=np.zeros((2, 1, 8, 8), np.float32))
    other = with_changed_weight(converted, "conv1_weight")
    told = graphir("verify", converted, other, "--feeds", tmp_path / "zero.npz", "--output-format", "junit")
    assert told.code == 5
    assert [name for name, result in results(junit(told.out)).items() if result != "passed"] == [
        "proof: what agrees is proven"
    ]


def test_a_conversion(graphir: Command, digits: Path, tmp_path: Path) -> None:
    target = tmp_path / "m.onnx"
    told = graphir("convert", digits, target, "--verify", *REFERENCE, "--output-format", "junit")
    suite = junit(told.out)
    assert told.code == 0
    assert results(suite)["conversion: written"] == "passed"
    written = suite.find("testcase/system-out")
    assert written is not None
    assert "fixed gamma: bn1" in (written.text or "")
    ((_, _, text),) = annotated(graphir("convert", digits, target, "--output-format", "github").out)
    assert text == "written with 7 decisions"


def test_a_difference(graphir: Command, converted: Path, wrong: Path) -> None:
    told = graphir("diff", converted, wrong, "--output-format", "junit")
    assert told.code == 4
    found = results(junit(told.out))
    assert [name for name, result in found.items() if result == "failure"] == ["nodes: conv2 (Conv)"]
    assert graphir("diff", converted, converted, "--output-format", "github").out.count("::error") == 0


def test_gaps_of_one_and_of_several(graphir: Command, digits: Path, tmp_path: Path) -> None:
    symbol = Path(f"{digits}-symbol.json")
    document = json.loads(symbol.read_text())
    (node,) = (one for one in document["nodes"] if one["name"] == "tanh1")
    node["op"] = "Unheard::error::"
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / "bad-symbol.json").write_text(json.dumps(document))
    told = graphir("check", bad, "--output-format", "junit")
    assert (told.code, results(junit(told.out))) == (1, {"operators: Unheard::error::": "failure"})
    told = graphir("check", symbol, bad, "--output-format", "junit")
    assert told.code == 1
    assert sorted(results(junit(told.out)).values()) == ["failure", "passed"]
    told = graphir("check", symbol, bad, "--output-format", "github")
    assert [given["title"] for _, given, _ in annotated(told.out)] == ["graphir check", "graphir check: models: bad"]


def test_a_registry(graphir: Command, digits: Path, tmp_path: Path) -> None:
    zoo = tmp_path / "zoo"
    shutil.copytree(digits.parent, zoo / "good")
    (zoo / "bad").mkdir()
    (zoo / "bad" / "bad.onnx").write_bytes(b"no model")
    told = graphir("convert-all", zoo, "--out", tmp_path / "out", "--jobs", 1, "--output-format", "junit")
    assert told.code == 1
    assert results(junit(told.out)) == {"models: bad/bad": "error", "models: good/m": "passed"}


def test_paddings(graphir: Command, converted: Path) -> None:
    told = graphir("padding", converted, converted, "--output-format", "junit")
    assert told.code == 0
    assert set(results(junit(told.out)).values()) == {"passed"}
    assert graphir("padding", converted, "--output-format", "junit").code == 2


@pytest.mark.parametrize("command", ["verify", "diff", "padding"])
def test_a_file_that_is_no_model(command: str, graphir: Command, converted: Path, tmp_path: Path) -> None:
    (tmp_path / "x.onnx").write_text("<html>\n")
    told = graphir(command, converted, tmp_path / "x.onnx", "--output-format", "junit")
    assert told.code == 1
    assert results(junit(told.out)) == {f"command: {command}": "error"}
    told = graphir(command, converted, tmp_path / "x.onnx", "--output-format", "github")
    assert told.out == ""
    ((kind, given, text),) = annotated(told.err)
    assert (kind, given["title"]) == ("error", f"graphir {command}")
    assert "x.onnx" in text


def test_json_in_both_spellings(graphir: Command, converted: Path) -> None:
    both = [graphir("diff", converted, converted, *option) for option in (["--json"], ["--output-format", "json"])]
    assert both[0] == both[1]
    assert both[0].data["equal"] is True
    told = graphir("diff", converted, converted, "--json", "--output-format", "junit")
    assert told.code == 2
    assert "not allowed with argument" in told.err
