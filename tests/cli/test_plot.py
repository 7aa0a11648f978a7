"""`graphir plot`: the files, what is said of them, marks from the reports of other commands, and wrong usage."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import graphir as package

from ..drawing.nets import residuals
from .conftest import Command

DIGITS = Path(__file__).parents[2] / "models" / "digits" / "digits-symbol.json"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Stages of blocks that repeat, as our own JSON."""
    package.save(residuals(3, 8), tmp_path / "net.graphir.json")
    return tmp_path / "net.graphir.json"


@pytest.mark.parametrize("suffix", ["html", "svg", "png", "dot"])
def test_every_kind_of_picture(suffix: str, graphir: Command, tmp_path: Path) -> None:
    target = tmp_path / f"digits.{suffix}"
    told = graphir("plot", DIGITS, target)
    assert (told.code, told.err) == (0, "")
    assert told.out.splitlines()[1:] == ["  13 nodes", f"written: {target}"]
    begins = {"html": b"<!DOCTYPE html>", "svg": b"<svg ", "png": b"\x89PNG", "dot": b"digraph "}
    assert target.read_bytes().startswith(begins[suffix])


def test_as_data(model: Path, graphir: Command, tmp_path: Path) -> None:
    data = graphir("plot", model, tmp_path / "net.svg", "--json").data
    assert data["picture"] == str(tmp_path / "net.svg")
    assert [{key: held[key] for key in ("nodes", "runs", "marks")} for held in data["models"]] == [
        {"nodes": 48, "runs": 2, "marks": {}}
    ]


def test_fewer_boxes_are_open_if_fewer_are_wanted(model: Path, graphir: Command, tmp_path: Path) -> None:
    sizes = []
    for most in (1, 40, 2000):
        assert graphir("plot", model, tmp_path / "net.svg", "--most", most).code == 0
        sizes.append((tmp_path / "net.svg").stat().st_size)
    assert sizes == sorted(set(sizes))


def test_two_models(model: Path, graphir: Command, tmp_path: Path) -> None:
    told = graphir("plot", model, DIGITS, tmp_path / "two.html")
    assert told.code == 0
    assert "13 nodes\n  " in told.out
    assert " first" in told.out
    assert " second" in told.out


def test_marks_of_a_verification(graphir: Command, tmp_path: Path) -> None:
    report, onnx = tmp_path / "verdict.json", tmp_path / "digits.onnx"
    assert graphir("convert", DIGITS, onnx).code == 0
    assert graphir("verify", DIGITS, onnx, "--per-layer", "--report", report, "--against", "reference").code == 0
    told = graphir("plot", onnx, tmp_path / "digits.svg", "--report", report)
    assert told.code == 0
    assert " agree" in told.out
    assert 'class="v-' in (tmp_path / "digits.svg").read_text()


def test_marks_of_an_audit(graphir: Command, tmp_path: Path) -> None:
    report = tmp_path / "padding.json"
    assert graphir("padding", DIGITS, DIGITS, "--report", report).code == 0
    told = graphir("plot", DIGITS, tmp_path / "digits.svg", "--report", report, "--json")
    assert told.data["models"][0]["marks"] == {"agreed": 4}


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("out.pdf",), 2, "must end in .html or .svg or .png or .dot"),
        ((), 2, "required: OUT"),
        (("nowhere/out.svg",), 2, "the folder nowhere does not exist"),
        (("out.svg", "--most", "0"), 2, "'0' is not a number of boxes"),
        (("out.svg", "--report", "digits.txt"), 1, "invalid JSON"),
        (("out.svg", "--report", "nowhere.json"), 1, "nowhere.json: No such file"),
        (("out.svg", "--report", "empty.json"), 1, "the report has no layers"),
    ],
)
def test_wrong_usage(
    arguments: tuple[str, ...],
    code: int,
    text: str,
    graphir: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("digits.txt").write_text("digits")
    Path("empty.json").write_text(json.dumps({}))
    told = graphir("plot", DIGITS, *arguments)
    assert told.code == code
    assert text in told.err
    assert not Path("out.svg").exists()


def test_without_the_library(graphir: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fast_sugiyama", None)
    told = graphir("plot", DIGITS, tmp_path / "digits.html")
    assert told.code == 1
    assert "a picture needs fast-sugiyama, which is not installed: pip install 'fast-sugiyama" in told.err
    assert list(tmp_path.iterdir()) == []
    assert graphir("plot", DIGITS, tmp_path / "digits.dot").code == 0


@pytest.mark.parametrize("place", ["onnx/*/model.onnx", "mxnet*/*/model-symbol.json", "tf/*/*.pb"])
def test_real_models(place: str, shared: Path, graphir: Command, tmp_path: Path) -> None:
    """Every model is drawn, as its file states it where it cannot be imported."""
    drawn = 0
    for model in sorted((shared / "models").glob(place)):
        told = graphir("plot", model, tmp_path / "model.svg")
        if "not a valid ONNX model" in told.err:
            continue
        assert told.code == 0, (model, told.err)
        ET.fromstring((tmp_path / "model.svg").read_bytes())
        drawn += 1
    assert drawn >= 1
