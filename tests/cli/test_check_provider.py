"""`graphir check --provider`, and the picture of what it prints."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from onnx import helper

from graphir import checking
from graphir.runtime.fallbacks import Fallback, Fallbacks
from graphir.runtime.placement import PlacedNode
from tests.verification import models

from .conftest import Command

FIRST, CPU = "CUDAExecutionProvider", "CPUExecutionProvider"
REASON = f"{FIRST} has no kernel for its operands"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Exp, Det and Neg: a cut before and behind the node in the middle."""
    nodes = [
        helper.make_node(operator, [before], [name], name=name)
        for operator, before, name in (("Exp", "x", "exp"), ("Det", "exp", "det"), ("Neg", "det", "y"))
    ]
    onnx.save(models.onnx_model(nodes, {"x": (1, [2, 2])}, {"y": (1, [])}, {}), tmp_path / "model.onnx")
    return tmp_path / "model.onnx"


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """A provider that has no kernel for Det; the models that it is given."""
    given: list[tuple[str, str]] = []

    def find(model: str | Path, provider: str) -> Fallbacks:
        given.append((Path(model).name, provider))
        return Fallbacks(FIRST, {FIRST: 2, CPU: 1}, [Fallback(PlacedNode("det", "Det", CPU), REASON)])

    monkeypatch.setattr(checking, "find_fallbacks", find)
    monkeypatch.setattr(checking, "run_isolated", lambda function, caps: function())
    return given


def test_nodes_that_run_elsewhere_and_why(
    graphir: Command, model: Path, device: list[tuple[str, str]], tmp_path: Path
) -> None:
    told = graphir("check", model, "--provider", "cuda:1")
    assert told.code == 0, told.err
    assert f"2 of 3 nodes run on {FIRST}" in told.out
    assert " ".join(("Det", "1", CPU, REASON)) in " ".join(told.out.split())
    assert device == [("model.onnx", "cuda:1")]
    data = graphir("check", model, "--provider", "cuda:1", "--json").data["placement"]
    assert data == {
        "provider": FIRST, "providers": {FIRST: 2, CPU: 1},
        "elsewhere": [{"name": "det", "operator": "Det", "provider": CPU, "reason": REASON}],
    }  # fmt: skip


def test_several_models(graphir: Command, model: Path, device: list[tuple[str, str]]) -> None:
    other = model.with_name("other.onnx")
    other.write_bytes(model.read_bytes())
    told = graphir("check", model, other, "--provider", "cuda")
    assert told.out.count(f"everything converts; 2 of 3 nodes run on {FIRST}") == 2
    rows = graphir("check", model, other, "--provider", "cuda", "--json").data["models"]
    assert [len(row["placement"]["elsewhere"]) for row in rows] == [1, 1]


def test_what_would_be_written_is_started(graphir: Command, digits: Path, device: list[tuple[str, str]]) -> None:
    assert graphir("check", digits, "--provider", "cuda").code == 0
    assert device == [("something.onnx", "cuda")]


def test_the_cut_is_drawn(graphir: Command, model: Path, device: list[tuple[str, str]], tmp_path: Path) -> None:
    report = tmp_path / "placed.json"
    report.write_text(graphir("check", model, "--provider", "cuda", "--json").out)
    told = graphir("plot", model, tmp_path / "model.html", "--report", report)
    assert "1 elsewhere" in told.out
    page = (tmp_path / "model.html").read_text()
    for text in (f"{CPU}: {REASON}", "takes over exp", "hands back det", "runs on another provider"):
        assert text in page


@pytest.mark.parametrize("name", ["", "a_cast_of_onnxruntime"])
def test_nodes_that_are_none_of_the_models_are_not_drawn(
    graphir: Command, model: Path, name: str, tmp_path: Path
) -> None:
    unnamed = onnx.load(model)
    unnamed.graph.node[0].ClearField("name")
    onnx.save(unnamed, model)
    report = tmp_path / "placed.json"
    report.write_text(json.dumps({"placement": {"elsewhere": [{"name": name, "provider": CPU, "reason": ""}]}}))
    told = graphir("plot", model, tmp_path / "model.svg", "--report", report)
    assert (told.code, "elsewhere" in told.out) == (0, False)


def test_live_on_the_cpu(graphir: Command, digits: Path) -> None:
    told = graphir("check", digits, "--provider", "cpu")
    assert (told.code, told.err) == (0, "")
    assert f"11 of 11 nodes run on {CPU}" in told.out
    assert json.loads(graphir("check", digits, "--json").out).get("placement") is None


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--provider", "cuda"), "CUDAExecutionProvider was asked for"),
        (("--provider", "cpu", "--target", "mxnet"), "--provider starts onnxruntime, which runs no MXNet"),
    ],
)
def test_what_cannot_be_started(graphir: Command, digits: Path, words: tuple[str, ...], text: str) -> None:
    told = graphir("check", digits, *words)
    assert told.code != 0
    assert text in told.err
