"""The references of an MXNet model: what they are fed with where the other side has dtypes that MXNet lacks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

import graphir
from tests.converters.mxnet.test_export_semantics import model

NARROW = ("int16", "uint16", "uint32")


@pytest.mark.parametrize("against", ["reference", pytest.param("live", marks=pytest.mark.live)])
@pytest.mark.parametrize("dtype", NARROW)
def test_inputs_of_dtypes_that_mxnet_lacks(dtype: str, against: str, tmp_path: Path) -> None:
    """MXNet holds them in wider integers, which both sides are fed with: 65535 - x is no remainder by 0."""
    source = model("y = BitwiseNot(x)", {"x": np.arange(12, dtype=dtype).reshape(3, 4)})
    (tmp_path / "m.onnx").write_bytes(source.SerializeToString())
    report = graphir.convert(tmp_path / "m.onnx", tmp_path / "m-symbol.json", verify=True, against=against).verification
    assert report is not None
    assert report.verdict.value == "identical", str(report)


@pytest.mark.parametrize("against", ["reference", pytest.param("live", marks=pytest.mark.live)])
def test_what_comes_before_a_head_is_compared(against: str, tmp_path: Path) -> None:
    """Though MXNet calls each value by another name."""
    text = (
        '<ir_version: 8, opset_import: ["" : 18]> g (float[4, 6] x) => (float[4, 6] y) '
        "<float[6] s = {1, 2, 3, 4, 5, 6}> { scores = Mul (x, s) y = Softmax (scores) }"
    )
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    report = graphir.convert(tmp_path / "m.onnx", tmp_path / "m-symbol.json", verify=True, against=against).verification
    assert report is not None
    assert [comparison.name for comparison in report.outputs] == ["y_output", "scores_output (before the head)"]
    assert report.exit_code == 0


@pytest.mark.parametrize("window", [400, 512])
def test_spectra_are_as_good_as_their_angles(window: int, tmp_path: Path) -> None:
    """Of 400 places onnxruntime computes them to some 4e-5, of 512 to 5e-7; a logarithm behind them shows that."""
    text = (
        '<ir_version: 8, opset_import: ["" : 18]> g (float[1, 4000, 1] x) => (float[1, T, F] y) '
        f"<int64 step = {{100}}, int64 n = {{{window}}}, int64[1] last = {{-1}}> {{ p = STFT (x, step, , n) "
        "q = Mul (p, p) s = ReduceSum <keepdims = 0> (q, last) y = Log (s) }"
    )
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    target = tmp_path / "m-symbol.json"
    report = graphir.convert(tmp_path / "m.onnx", target, verify=True, against="reference").verification
    assert report is not None
    assert report.exit_code == 0, str(report)
