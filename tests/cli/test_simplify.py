"""`graphir simplify` and `convert --simplify`: text, JSON, exit codes, and what is kept."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from graphir import simplify
from graphir.errors import ArgumentError
from tests.cli.conftest import Command
from tests.passes.written import model_of

TEXT = """heads (float[batch,time,32] x) => (float[batch,4,time,8] y)
<int64 first = {0}, int64 second = {1}, int64[1] axis = {0}, int64[2] heads = {4, 8}>
{ s = Shape(x) b = Gather(s, first) t = Gather(s, second) bv = Unsqueeze(b, axis) tv = Unsqueeze(t, axis)
  c = Concat<axis = 0>(bv, tv, heads) r = Reshape(x, c) y = Transpose<perm = [0,2,1,3]>(r) }"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    onnx.save(model_of(TEXT), path)
    return path


def test_the_report_says_what_was_saved_and_proven(model: Path, tmp_path: Path, graphir: Command) -> None:
    outcome = graphir("simplify", model, tmp_path / "small.onnx", "--seconds", "0.05")
    assert outcome.code == 0, outcome.err
    assert "nodes       8 -> 2" in outcome.out
    assert "verified: identical" in outcome.out
    written = onnx.load(tmp_path / "small.onnx")
    assert [node.op_type for node in written.graph.node] == ["Reshape", "Transpose"]
    assert [dim.dim_param for dim in written.graph.input[0].type.tensor_type.shape.dim][:2] == ["batch", "time"]
    assert written.opset_import[0].version == 21


def test_json(model: Path, tmp_path: Path, graphir: Command) -> None:
    call = ("simplify", model, tmp_path / "small.onnx", "--seconds", "0.05", "--no-verify", "--json")
    data = graphir(*call).data
    assert data["measured"]["nodes"] == {"before": 8, "after": 2}
    assert data["verification"] is None
    assert data["timing"]["ratios"]
    assert sum(data["simplified"].values()) > 0


def test_convert_takes_the_same_pipeline(model: Path, tmp_path: Path, graphir: Command) -> None:
    outcome = graphir("convert", model, tmp_path / "small.onnx", "--simplify", "--verify")
    assert outcome.code == 0, outcome.err
    assert len(onnx.load(tmp_path / "small.onnx").graph.node) == 2


def test_a_model_that_cannot_be_run_is_an_error(tmp_path: Path, graphir: Command) -> None:
    text = "g (float[2,3] x) => (float[2,2] y) <int64[1] i = {7}> { a = Identity(x) y = Gather<axis = 1>(a, i) }"
    onnx.save(model_of(text), tmp_path / "bad.onnx")
    outcome = graphir("simplify", tmp_path / "bad.onnx", tmp_path / "out.onnx", "--seconds", "0.05")
    assert outcome.code == 1
    assert "identical" not in outcome.out


GELU = """<ir_version: 10, opset_import: ["": 17]> g (float[N,4] x) => (float[N,4] y)
<float root = {1.4142135}, float one = {1}, float half = {0.5}>
{ d = Div(x, root) e = Erf(d) s = Add(e, one) p = Mul(x, s) y = Mul(p, half) }"""
FUSED = [
    # options, operators that are left
    ((), ["Div", "Erf", "Add", "Mul", "Mul"]),
    (("--fuse",), ["Div", "Erf", "Add", "Mul", "Mul"]),  # the file's opset has no Gelu
    (("--opset", "20"), ["Div", "Erf", "Add", "Mul", "Mul"]),
    (("--fuse", "--opset", "20"), ["Gelu"]),
]


@pytest.mark.parametrize(("options", "expected"), FUSED)
def test_operators_are_recognised_where_fuse_and_the_opset_allow_it(
    options: tuple[str, ...], expected: list[str], tmp_path: Path, graphir: Command
) -> None:
    onnx.save(onnx.parser.parse_model(GELU), tmp_path / "model.onnx")
    outcome = graphir("simplify", tmp_path / "model.onnx", tmp_path / "small.onnx", "--seconds", "0.05", *options)
    assert outcome.code == 0, outcome.err
    assert "verified: " in outcome.out
    assert [node.op_type for node in onnx.load(tmp_path / "small.onnx").graph.node] == expected


def test_growth_is_limited(tmp_path: Path, graphir: Command) -> None:
    text = """g (float[300,300] x) => (float[300,300] y) <int64[2] n = {300, 300}>
        { f = ConstantOfShape(n) y = Max(x, f) }"""
    onnx.save(model_of(text), tmp_path / "model.onnx")
    for options, expected in ((("--max-growth", "100KB"), ["ConstantOfShape", "Max"]), ((), ["Max"])):
        graphir("simplify", tmp_path / "model.onnx", tmp_path / "small.onnx", "--seconds", "0.05", *options)
        assert [node.op_type for node in onnx.load(tmp_path / "small.onnx").graph.node] == expected


def test_why_there_are_no_latencies(model: Path, tmp_path: Path, graphir: Command) -> None:
    report = simplify(model, tmp_path / "small.onnx", verify=False, seconds=0)
    assert "latency: not measured: not requested: 0 seconds" in report.to_text()
    text = "g (float[2,3] x) => (float[2,1] y) <int64[1] i = {7}> { a = Identity(x) y = Gather<axis = 1>(a, i) }"
    onnx.save(model_of(text), tmp_path / "bad.onnx")
    call = ("simplify", tmp_path / "bad.onnx", tmp_path / "out.onnx", "--no-verify", "--seconds", "0.05")
    outcome = graphir(*call)
    assert outcome.code == 0, outcome.err
    assert "latency: not measured: " in outcome.out
    assert "idx=7" in graphir(*call, "--json").data["untimed"]


def test_another_format_is_refused(model: Path, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"simplify writes \.onnx files"):
        simplify(model, tmp_path / "out.graphir.json")
