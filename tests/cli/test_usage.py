"""Wrong usage: exit code 2, the message on stderr says which part is wrong."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from graphir.cli import main
from graphir.cli.input_spec import InputSpec, input_spec
from graphir.types import UNKNOWN, symbol

from .conftest import Command


@pytest.mark.parametrize(
    "arguments, said",
    [
        pytest.param(["convert"], "required: SOURCE, TARGET", id="nothing"),
        pytest.param(["convrt", "a", "b"], "); there is convert", id="command"),
        pytest.param(["convert", "a", "b.onnx", "--verfy"], "--verfy; there is --verify", id="option"),
        pytest.param(["summary", "a", "--fromat=mxnet"], "; there is --format", id="option with a value"),
        pytest.param(["convert", "a", "b.onnx", "--opset", "new"], "argument --opset: invalid int", id="opset"),
        pytest.param(["convert", "a", "b.onnx", "--opset", "7"], "opset 7 is out of range: 13 to", id="old-opset"),
        pytest.param(["check", "a", "--opset", "999"], "opset 999 is out of range: 13 to", id="new-opset"),
        pytest.param(["convert", "a", "b.onnx", "--seed", "-1", "--verify"], "argument --seed: invalid", id="seed"),
        pytest.param(["verify", "a", "b", "--rtol", "nan"], "argument --rtol: invalid value: 'nan'", id="rtol"),
        pytest.param(["verify", "a", "b", "--atol", "-1e-3"], "argument --atol", id="atol"),
        pytest.param(["verify", "a", "b", "--match", "x"], "argument --match: 'x': write A=B", id="match"),
        pytest.param(["convert", "a", "b.onnx", "--format", "caffe"], "argument --format: invalid choice", id="format"),
        pytest.param(
            ["convert", "a", "b-symbol.json", "--opset", "17"], "opset is for ONNX targets", id="opset-of-another"
        ),
        pytest.param(["convert", "a", "b.onnx", "-i", "data"], "'data' is a name without a shape", id="no-shape"),
        pytest.param(["convert", "a", "b.onnx", "-i", "1,3,8,8"], "'1,3,8,8' is a shape without a name", id="no-name"),
        pytest.param(["convert", "a", "b.onnx", "-i", ":1,3"], "has no name before the colon", id="empty-name"),
        pytest.param(["convert", "a", "b.onnx", "-i", "d:1,,3"], "an empty size in the shape '1,,3'", id="empty-size"),
        pytest.param(["convert", "a", "b.onnx", "-i", "d:-1,3"], "-1 in 'd:-1,3' is no size", id="negative"),
        pytest.param(["convert", "a", "b.onnx", "-i", "d:0,3"], "0 in 'd:0,3' is no size", id="zero"),
        pytest.param(["convert", "a", "b.onnx", "-i", "d:1,3$"], "cannot read the shape '1,3$'", id="garbage"),
        pytest.param(["convert", "a", "b.onnx", "-i", "d:1,3:flot"], "'flot' in 'd:1,3:flot' is not a", id="dtype"),
        pytest.param(["convert", "a", "b.onnx", "-i", f"d:{2**63},3"], "needs over 64 bits", id="huge"),
        pytest.param(["convert", "a", "b.onnx", "-i", "d:1", "-i", "d:2"], "'d' is given 2 times", id="twice"),
        pytest.param(["convert", "a", "b.onnx", "--feeds", "x.npz"], "--feeds needs --verify", id="feeds-alone"),
        pytest.param(["convert", "a", "b.onnx", "--report", "x.pdf"], "must end in .html or .json", id="report"),
        pytest.param(["convert", "a", "b.onnx", "--report", "no/x.html"], "the folder no does not exist", id="folder"),
        pytest.param(["convert", "a", "b.onnx", "--weights", "zip"], "invalid choice: 'zip'", id="weights"),
        pytest.param(["verify", "a"], "two models are needed", id="one-model"),
        pytest.param(["verify", "a", "b", "-i", "d:1:int8"], "-i takes only a shape here", id="verify-dtype"),
        pytest.param(["params", "a", "--to", "x.zip"], "must end in .safetensors or .npz", id="params-target"),
        pytest.param(["params", "a", "--strip-prefix"], "needs --to", id="strip-alone"),
        pytest.param(["check", "a", "--target", "caffe"], "invalid choice: 'caffe'", id="target"),
    ],
)
def test_wrong_usage(graphir: Command, arguments: list[str], said: str) -> None:
    outcome = graphir(*arguments)
    assert outcome.code == 2
    assert outcome.err.startswith("graphir: error: ")
    assert said in outcome.err
    assert "try: graphir" in outcome.err
    assert outcome.out == ""


@pytest.mark.parametrize(
    "arguments, said",
    [
        pytest.param(["convert", "gone", "x.onnx"], "gone: no such file, folder or checkpoint prefix", id="source"),
        pytest.param(
            ["convert", "MODEL", "x.foo"],
            "something-symbol.json, something.onnx, something.graphir.json, something.py or something.safetensors",
            id="suffix",
        ),
        pytest.param(["convert", "MODEL", "x.onnx", "-p", "gone.params"], "gone.params: no such file", id="params"),
        pytest.param(["convert", "MODEL", "x.onnx", "-i", "dta:1,1,8,8"], "inputs are: data", id="input-name"),
        pytest.param(["convert", "MODEL", "x.onnx", "-i", "data:1,3,8,8"], "3 channels", id="input-shape"),
        pytest.param(["convert", "MODEL", "x.onnx", "-i", "data:"], "expected 4 axes", id="scalar"),
        pytest.param(["convert", "MODEL", "x.onnx", "--verify", "--feeds", "no.npz"], "no.npz: no such", id="feeds"),
        pytest.param(["convert", "MODEL", "x.onnx", "--accuracy", "gone.npz"], "gone.npz: no such file", id="accuracy"),
        pytest.param(["verify", "MODEL", "gone.onnx"], "gone.onnx: no such file", id="candidate"),
        pytest.param(["verify", "gone", "MODEL"], "gone: no such file", id="reference"),
        pytest.param(["params", "gone"], "gone: no such file", id="params-file"),
        pytest.param(["shapes", "gone.json"], "gone.json: no such file", id="shapes"),
    ],
)
def test_impossible_request(
    graphir: Command, digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = graphir(*[str(digits) if word == "MODEL" else word for word in arguments])
    assert outcome.code == 1
    assert outcome.err.startswith("graphir: error: ")
    assert said in outcome.err
    assert "Traceback" not in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize(
    "text, spec",
    [
        ("data:1,3,224,224", InputSpec("data", (1, 3, 224, 224), None)),
        ("data:[1, 3]", InputSpec("data", (1, 3), None)),
        ("data:N,3", InputSpec("data", (symbol("N"), 3), None)),
        ("data:?,3:float16", InputSpec("data", (UNKNOWN, 3), "float16")),
        ("data:5:int32", InputSpec("data", (5,), "int32")),
        ("scope/input:0:1,3", InputSpec("scope/input:0", (1, 3), None)),
        ("data:", InputSpec("data", (), None)),
        ("data:3,", InputSpec("data", (3,), None)),
        ("data:1x3x8x8", InputSpec("data", (1, 3, 8, 8), None)),
        ("data:Nx3x?:int8", InputSpec("data", (symbol("N"), 3, UNKNOWN), "int8")),
        ("data=1,3", InputSpec("data", (1, 3), None)),
        ("data:float16[N, 3]", InputSpec("data", (symbol("N"), 3), "float16")),
        ("scope/input:0:bool[3]", InputSpec("scope/input:0", (3,), "bool")),
        ("data:max", InputSpec("data", (symbol("max"),), None)),
        ("data=1x3x8x8", InputSpec("data", (1, 3, 8, 8), None)),
        ("data:?,?", InputSpec("data", (UNKNOWN, UNKNOWN), None)),
        ("data:batchx3x8x8", InputSpec("data", (symbol("batch"), 3, 8, 8), None)),
        ("data:boxes,4", InputSpec("data", (symbol("boxes"), 4), None)),
        ("data:None,3", InputSpec("data", (UNKNOWN, 3), None)),
        ("data:(1, 3)", InputSpec("data", (1, 3), None)),
        ("data:scalar", InputSpec("data", (), None)),
        ("data  float32[N, 3]", InputSpec("data", (symbol("N"), 3), "float32")),
        ("data:float32 (1, 3)", InputSpec("data", (1, 3), "float32")),
    ],
)
def test_input_syntax(text: str, spec: InputSpec) -> None:
    assert input_spec(text) == spec


def test_version_and_nothing(graphir: Command) -> None:
    assert graphir("--version").out.startswith("graphir ")
    assert graphir().code == 2


def test_traceback_only_when_asked(graphir: Command) -> None:
    assert "Traceback" not in graphir("shapes", "gone").err
    assert "Traceback" in graphir("shapes", "gone", "-vv").err


def test_closed_stdout(digits: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As under `>&-`, where Python has no sys.stdout."""
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["summary", str(digits)]) == 0
    assert main(["summary", "gone"]) == 1


def test_source_is_never_overwritten(graphir: Command, tmp_path: Path, digits: Path) -> None:
    place = tmp_path / "m.onnx"
    assert graphir("convert", str(digits), str(place), "-q").code == 0
    before = place.read_bytes()
    outcome = graphir("convert", str(place), str(place))
    assert outcome.code == 1
    assert "is a file of the source" in outcome.err
    assert place.read_bytes() == before
