"""`graphir quantize`: the text, the JSON, the page, and wrong usage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Command

LABELLED = Path("models/digits/digits-test.npz")
OPEN = ("-i", "data:N,1,8,8")
QUICK = ("--seconds", "0.01")


def test_text_json_and_page(graphir: Command, digits: Path, tmp_path: Path) -> None:
    target, page = tmp_path / "out.onnx", tmp_path / "report.html"
    call = ("quantize", digits, target, "--feeds", LABELLED, "--accuracy", LABELLED, *OPEN, *QUICK)
    outcome = graphir(*call, "--max-drop", "0.5%", "--report", page)
    assert outcome.code == 0, outcome.err
    assert "7 layers static, 0 kept float for an accuracy at most 0.5 points lower" in outcome.out
    assert "identical" not in outcome.out
    assert "128 of the 450 labelled samples calibrated too" in outcome.out
    assert "<h2>Layers</h2>" in page.read_text()
    data = graphir(*call, "--json").data
    assert data["accuracy"]["samples"] == 450
    assert {"conv1", "fc2"} <= {layer["nodes"][0] for layer in data["layers"]}
    assert data["bytes_after"] == target.stat().st_size
    assert data["latency"]["verdict"] in ("slower", "faster", "no difference shown", "too few rounds")
    report = tmp_path / "report.json"
    assert graphir(*call, "--report", report, "-q").code == 0
    assert json.loads(report.read_text())["reached"] is True


def test_limit_that_is_not_kept(graphir: Command, digits: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.onnx"
    call = ("quantize", digits, target, "--feeds", LABELLED, "--max-error", "1e-9", *OPEN, *QUICK)
    outcome = graphir(*call)
    assert (outcome.code, target.exists()) == (4, False)
    assert outcome.out.startswith("NOT REACHED")
    assert graphir(*call, "--keep-best").code == 4
    assert target.exists()


@pytest.mark.parametrize(
    "arguments, code, text",
    [
        ((), 2, "choose --kind dynamic, which needs none"),
        (("--feeds", "absent"), 1, "absent: no such file or folder"),
        (("--kind", "dynamic", "--activations", "int8"), 2, "only kind static"),
        (("--kind", "int4", "--block-size", "7"), 2, "invalid choice: 7"),
        (("--feeds", LABELLED, "--max-drop", "1%"), 2, "needs labelled data"),
        (("--feeds", LABELLED, "--max-drop", "200%", "--accuracy", LABELLED), 2, "more than everything"),
        (("--feeds", LABELLED, "--exclude", "fc9"), 1, "no node is called fc9; there is fc2"),
        (("--feeds", LABELLED, "--exclude", "*"), 1, "what matches exclude was left out"),
    ],
)
def test_wrong_usage(
    graphir: Command, digits: Path, tmp_path: Path, arguments: tuple[object, ...], code: int, text: str
) -> None:
    outcome = graphir("quantize", digits, tmp_path / "out.onnx", *OPEN, *arguments)
    assert outcome.code == code
    assert text in outcome.err
    assert not (tmp_path / "out.onnx").exists()


@pytest.mark.parametrize("names, text", [((), "found nothing"), (("notes.txt",), "found notes.txt")])
def test_folders_without_inputs(
    graphir: Command, digits: Path, tmp_path: Path, names: tuple[str, ...], text: str
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    for name in names:
        (folder / name).write_text("no picture")
    outcome = graphir("quantize", digits, tmp_path / "out.onnx", "--feeds", folder, *OPEN)
    assert outcome.code == 1
    assert text in outcome.err
