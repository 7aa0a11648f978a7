"""`bench`: rows, ratios and errors; no time is asserted."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from graphir.report.text import WIDTH

from .conftest import Command, bare

QUICK = ("--seconds", "0.05")


def test_json(graphir: Command, digits: Path) -> None:
    outcome = graphir("bench", digits, "--batch", "1", "8", "--threads", "1", *QUICK, "--json")
    assert outcome.code == 0, outcome.err
    data = outcome.data
    assert [(row["model"], row["batch"], row["inputs"]) for row in data["rows"]] == [
        ("A", 1, {"data": "float32[1, 1, 8, 8]"}),
        ("A", 8, {"data": "float32[8, 1, 8, 8]"}),
    ]
    assert data["ratios"] == []
    assert data["models"][0]["made_by"] == "MXNet 1.9.1"
    assert data["models"][0]["read_seconds"] > 0
    assert data["options"]["threads"] == 1
    assert {"cpu", "usable_cores", "load", "load_after", "onnxruntime", "numpy", "python"} <= set(data["machine"])
    for row in data["rows"]:
        assert row["session_providers"] == ["CPUExecutionProvider"]
        assert row["nodes"]["CPUExecutionProvider"] > 0
        assert 0 < row["min"] <= row["p50"] <= row["p90"] <= row["p99"] <= row["max"]
        assert row["items_per_second"] == pytest.approx(row["batch"] / row["mean"])


def test_two_models(graphir: Command, digits: Path, tmp_path: Path) -> None:
    model = tmp_path / "digits.onnx"
    assert graphir("convert", digits, model, "-q").code == 0
    outcome = graphir("bench", digits, model, *QUICK)
    assert outcome.code == 0, outcome.err
    assert outcome.err == ""
    times = outcome.out[: outcome.out.index("not in the times above")]
    assert re.findall(r"^  ([AB])  +cpu +1 +\d+", times, re.MULTILINE) == ["A", "B"]
    assert re.search(
        r"B takes \d\.\d+ times as long as A on cpu, batch 1 \((\d+%\s+interval|no\s+interval)", outcome.out
    )
    assert "inputs  B, batch 1: data float32[1, 1, 8, 8]" in outcome.out


def test_other_shapes(graphir: Command, digits: Path) -> None:
    given = ("-i", "data:2,1,8,8", "--other-input", "data:4,1,8,8")
    data = graphir("bench", digits, digits, *given, *QUICK, "--json").data
    assert [row["inputs"]["data"] for row in data["rows"]] == ["float32[2, 1, 8, 8]", "float32[4, 1, 8, 8]"]
    assert data["notes"] == ["the models' inputs differ in their sizes: the ratio compares different work"]


@pytest.mark.parametrize("columns", [60, 80, WIDTH, 200])
def test_fits_the_terminal(
    terminal: Command, digits: Path, columns: int
) -> None:
    lines = bare(terminal(columns, "bench", digits, digits, "--batch", "1", "8", *QUICK).out).splitlines()
    assert max(map(len, lines)) <= columns
    assert any("p50" in line and "per s" in line for line in lines)


def test_feeds(graphir: Command, digits: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "feeds.npz", data=np.zeros((3, 1, 8, 8), np.float32))
    (row,) = graphir("bench", digits, "--feeds", tmp_path / "feeds.npz", *QUICK, "--json").data["rows"]
    assert (row["inputs"], row["batch"]) == ({"data": "float32[3, 1, 8, 8]"}, None)


@pytest.mark.parametrize(
    "arguments, code, text",
    [
        (("--batch", "0"), 2, "'0' is not a batch size; write numbers, 1 or more, after the models"),
        (("--batch", "x"), 2, "'x' is not a batch size"),
        (("--seconds", "0"), 2, "'0' is not a time; write a number above 0"),
        (("--seconds", "nan"), 2, "is not a time"),
        (("--warm-up", "-1"), 2, "whole number"),
        (("--feeds", "f.npz", "--batch", "1"), 2, "--feeds determine the batch"),
        (("--feeds", "missing.npz"), 1, "missing.npz: no such file"),
        (("--provider", "nothing"), 2, "'nothing' is no provider; write one of cpu, cuda"),
        (("-i", "data:5,1,8,8", "--batch", "2"), 1, "batch 2: no input of"),
        (("-i", "wrong:5,1,8,8"), 1, "wrong"),
        (("--other-params", "missing.params"), 1, "missing.params: no such file"),
    ],
)
def test_errors(graphir: Command, digits: Path, arguments: tuple[str, ...], code: int, text: str) -> None:
    outcome = graphir("bench", digits, *arguments)
    assert outcome.code == code
    assert text in outcome.err
    assert outcome.out == ""
