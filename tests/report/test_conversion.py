"""Conversion reports: text, JSON, HTML."""

from __future__ import annotations

import json

import pytest

from graphir.accuracy import AccuracyReport
from graphir.decisions import DecisionKind
from graphir.graph import Decision
from graphir.report import ConversionReport, WrittenFile

from .pages import check_page
from .samples import comparison, verification


def report() -> ConversionReport:
    """A small report with names that HTML and tables could trip over."""
    return ConversionReport(
        source="net-symbol.json",
        target="net.onnx",
        source_format="mxnet",
        target_format="onnx",
        framework="MXNet 1.9.1",
        source_files=["net-symbol.json", "net-0000.params"],
        container="V2",
        files=[WrittenFile("net.onnx", 123_456)],
        opset=22,
        inputs=[("data", "float32[N, 3]")],
        outputs=[("a<b>&c", "float32[N, 10]")],
        source_operators={"FullyConnected": 2, "Activation": 1},
        target_operators={"Gemm": 2, "Relu": 1},
        parameter_count=1_000,
        parameter_bytes=4_000,
        decisions=[
            Decision(DecisionKind.DEFAULT, "bn1", "eps is 0.001"),
            Decision(DecisionKind.DEFAULT, "bn2", "eps is 0.001 too"),
            Decision(DecisionKind.UNUSED_PARAMETERS, "-", "1 of <the> file"),
        ],
        versions={"graphir": "0.1.0"},
        seconds=0.5,
    )


def test_short_text_shows_one_of_each_kind() -> None:
    text = report().to_text()
    first = "net-symbol.json + net-0000.params (MXNet 1.9.1, parameters V2) -> net.onnx (ONNX opset 22)"
    assert text.splitlines()[0] == first
    assert "3 decisions, one of each kind shown (-v shows all):" in text
    assert "default (2): bn1: eps is 0.001" in text
    assert "bn2" not in text
    assert "unused parameters: 1 of <the> file" in text
    assert "wrote       net.onnx  123.5 KB" in text


def test_verbose_text_shows_everything() -> None:
    text = report().to_text(verbose=True)
    assert "bn2: eps is 0.001 too" in text
    assert "FullyConnected" in text
    assert "Gemm" in text


def test_json_is_plain_and_stable() -> None:
    data = report().to_json()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert list(data)[:3] == ["source", "target", "source_format"]
    assert data["source_operators"] == {"FullyConnected": 2, "Activation": 1}
    assert data["verification"] is None


@pytest.mark.parametrize("passes", [True, False])
def test_html_stands_alone(passes: bool) -> None:
    made = report()
    made.verification = verification(passes=passes)
    made.verification.layers = [comparison("x<1>", relative=float("inf"), passes=False)]
    made.accuracy = AccuracyReport("set.npz", "out", 100, "reference", "onnxruntime", 98, 97, 3)
    text = made.to_html()
    check_page(text)
    assert "a&lt;b&gt;&amp;c" in text
    assert "x&lt;1&gt;" in text
    assert "1 of &lt;the&gt; file" in text
    assert ("Verified: equal within rounding" in text) is passes
    assert ("Different: broken" in text) is not passes
    assert "97.00 %" in text


def test_html_without_proof_says_so() -> None:
    assert "Converted, not verified" in report().to_html()
