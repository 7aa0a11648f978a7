"""`graphir convert-all` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.registry import zoo

from .conftest import Command


def test_a_registry(graphir: Command, tmp_path: Path) -> None:
    hazards = tmp_path / "hazards.py"
    hazards.write_text(zoo.HAZARDS)
    zoo.dense(tmp_path / "zoo", "a")
    command = ["convert-all", tmp_path / "zoo", "--out", tmp_path / "out", "--jobs", "1", "--verify"]
    command += ["--against", "reference", "--timeout", "120", "--memory", "1", "--plugin", hazards]
    told = graphir(*command, "-v")
    assert told.code == 0, told.err
    assert "1 model to ONNX: 1 verified" in told.out
    assert "a      done" in told.out
    zoo.custom(tmp_path / "zoo", "b", "wrong")
    told = graphir(*command, "--json")
    assert told.code == 4
    assert told.data["buckets"] == {"done": 1, "different": 1}
    assert json.loads((tmp_path / "out" / "index.json").read_text()) == told.data
    zoo.dense(tmp_path / "zoo", "c", "NobodyKnows")
    told = graphir(*command)
    assert told.code == 1
    assert "2 of them were done before" in told.out
    report = json.loads((tmp_path / "out" / "models" / "a" / "report.json").read_text())
    assert report["target"] == report["files"][0]["path"] == "a.onnx"


WRONG = [
    (["--seed", "1"], "--seed needs --verify"),
    (["--retry", "done"], "'done' is not an outcome; write one of failed, all, different"),
    (["--jobs", "0"], "write a whole number, 1 or more"),
    (["--timeout", "0"], "write a number above 0"),
    (["--memory", "-1"], "write a number that is 0 or more"),
    (["--to", "mxnet", "--opset", "13"], "opset is for ONNX targets"),
]


@pytest.mark.parametrize(("options", "said"), WRONG)
def test_wrong_usage(options: list[str], said: str, graphir: Command, tmp_path: Path) -> None:
    told = graphir("convert-all", tmp_path, "--out", tmp_path / "out", *options)
    assert told.code == 2
    assert said in told.err
    assert not (tmp_path / "out").exists()


def test_a_place_that_cannot_be_written(graphir: Command, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    told = graphir("convert-all", tmp_path, "--out", tmp_path / "out")
    assert told.code == 1
    assert "is not a folder" in told.err
