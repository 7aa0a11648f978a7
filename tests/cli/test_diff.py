"""`graphir diff`: exit codes, text, JSON and HTML, on real models across formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphir
from graphir.cli import main
from graphir.converters.mxnet import read_params, write_params
from tests.report.pages import check_page

MODELS = (
    "gluoncv-cifar-resnet20-v1",
    "gluoncv-cifar-resnet20-v2",
    "mtcnn-det1-pnet",
    "mtcnn-det2-rnet",
    "mtcnn-det3-onet",
    "toy-lenet-miraclewkf",
)


@pytest.fixture
def source(shared: Path) -> str:
    return str(shared / "models" / "mxnet" / "gluoncv-cifar-resnet20-v1" / "model-symbol.json")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("target", ["model.onnx", "model.graphir.json", "model-symbol.json"])
def test_conversion_is_no_difference(
    model: str, target: str, shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    origin = str(shared / "models" / "mxnet" / model / "model-symbol.json")
    assert main(["convert", origin, str(tmp_path / target), "-q"]) == 0
    assert main(["diff", origin, str(tmp_path / target)]) == 0
    assert capsys.readouterr().out.startswith("equal: ")


@pytest.fixture
def changed(source: str, tmp_path: Path) -> str:
    """The model with one stride and one weight element changed."""
    document = json.loads(Path(source).read_text())
    convolutions = [node for node in document["nodes"] if node["op"] == "Convolution"]
    convolutions[8]["attrs"]["dilate"] = "(2, 2)"
    convolutions[8]["attrs"]["pad"] = "(2, 2)"
    (tmp_path / "changed-symbol.json").write_text(json.dumps(document))
    held = read_params(source.replace("symbol.json", "0000.params"))
    arrays = {name: tensor.numpy() for name, tensor in held.items()}
    name = next(name for name in arrays if name.endswith("stage1_conv1_weight"))
    arrays[name] = np.array(arrays[name])
    arrays[name][3, 1, 2, 0] += 0.25
    write_params(tmp_path / "changed-0000.params", arrays)
    return str(tmp_path / "changed-symbol.json")


def different_rows(document: dict[str, Any]) -> list[tuple[str, list[str]]]:
    return [
        (row["first"]["name"], [change["kind"] for change in row["changes"]])
        for row in document["nodes"]
        if row["status"] != "same"
    ]


def test_changes_are_found_as_exactly_those(
    source: str, changed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["convert", source, str(tmp_path / "m.onnx"), "-q"]) == 0
    assert main(["diff", str(tmp_path / "m.onnx"), changed, "--json"]) == 4
    document = json.loads(capsys.readouterr().out)
    assert document["equal"] is False
    assert document["counts"] == {"same": 70, "changed": 2, "first": 0, "second": 0}
    rows = different_rows(document)
    assert [kinds for _, kinds in rows] == [["weight"], ["attribute", "attribute"]]
    texts = [change["text"] for row in document["nodes"] for change in row["changes"]]
    assert "1 of 2,304 elements differ, at [3, 1, 2, 0]" in texts[0]
    assert texts[1:] == [
        "dilations is (1, 1) in the first, (2, 2) in the second",
        "padding is (1, 1), (1, 1) in the first, (2, 2), (2, 2) in the second",
    ]


def test_text_names_the_layer(source: str, changed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", source, changed]) == 4
    text = capsys.readouterr().out
    assert text.startswith("DIFFERENT: 70 same, 2 changed (2 attribute, 1 weight)\n")
    assert "stage1_conv1_fwd (Conv): changed" in text
    assert len(text.splitlines()) < 14
    assert main(["diff", source, changed, "-v"]) == 4
    assert len(capsys.readouterr().out.splitlines()) > 75


def test_reports(source: str, changed: str, tmp_path: Path) -> None:
    page, data = tmp_path / "d.html", tmp_path / "d.json"
    assert main(["diff", source, changed, "-q", "--report", str(page)]) == 4
    assert main(["diff", source, changed, "-q", "--report", str(data)]) == 4
    text = page.read_text()
    assert "1 of 2,304 elements differ" in text
    check_page(text)
    document = json.loads(data.read_text())
    weights = [value for row in document["nodes"] for value in row["first"]["weights"].values()]
    assert {len(value) for value in weights} == {64}


def test_names_are_escaped(tmp_path: Path) -> None:
    from graphir.graph import Graph
    from graphir.ops.activation import Relu
    from graphir.types import DType, TensorType

    graph = Graph("net")
    x = graph.add_input("<x>", TensorType(DType.FLOAT32, (1,)))
    graph.set_outputs([graph.add(Relu(), x, name="<script>")])
    for name in ("a", "b"):
        graphir.save(graph, tmp_path / f"{name}.graphir.json")
    files = [str(tmp_path / f"{name}.graphir.json") for name in "ab"]
    assert main(["diff", *files, "-q", "--report", str(tmp_path / "d.html")]) == 0
    check_page((tmp_path / "d.html").read_text())


def test_published_port_differs_from_keras_in_what_is_wrong(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """40 pads, the 129 channels of 20 blocks and the divisor of an average pooling: see the padding audit."""
    files = [str(shared / "golden" / f"irv2_{name}_symbol.json") for name in ("keras_port", "apache_example")]
    assert main(["diff", *files, "-i", "data:1,3,299,299", "--json"]) == 4
    document = json.loads(capsys.readouterr().out)
    texts = [change["text"] for row in document["nodes"] for change in row["changes"]]
    assert sum(text.startswith("padding is") for text in texts) == 40
    assert sum(text.startswith("count_include_pad is") for text in texts) == 1
    convolutions = [row for row in document["nodes"] if row["first"] and row["first"]["operator"].startswith("Conv")]
    wide = [row for row in convolutions if any("[129, " in change["text"] for change in row["changes"])]
    assert len(wide) == 20


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        pytest.param(["diff"], 2, "required", id="nothing given"),
        pytest.param(["diff", "a.onnx"], 2, "required", id="one model"),
        pytest.param(["diff", "a.onnx", "b.onnx"], 1, "a.onnx", id="no file"),
        pytest.param(["diff", "a.onnx", "b.onnx", "--report", "x.txt"], 2, ".html or .json", id="report's suffix"),
    ],
)
def test_wrong_usage(arguments: list[str], code: int, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == code
    assert text in capsys.readouterr().err
