"""Parts of models of every format: what is cut computes what the whole computes there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

import graphir
from graphir.errors import ImportFailure, UnsupportedOpError
from graphir.inputs.draws import make_feeds
from graphir.verification.verdict import Verdict
from tests.cli.broken import intact
from tests.converters import tiny
from tests.verification import models


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return intact(tmp_path_factory.mktemp("digits") / "model")


@pytest.fixture(scope="module", params=["mxnet", "onnx", "graphir"])
def model(request: pytest.FixtureRequest, digits: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same network as a checkpoint of MXNet, an ONNX model and a graph of graphir's own."""
    if request.param == "mxnet":
        return digits
    target = tmp_path_factory.mktemp("parts") / {"onnx": "net.onnx", "graphir": "net.graphir.json"}[request.param]
    graphir.save(graphir.load(digits, shapes={"data": ("N", 1, 8, 8)}), target)
    return target


SHAPES = {"data": ("N", 1, 8, 8)}


def inner(model: Path) -> list[str]:
    """The values that the source knows, without the outputs."""
    graph = graphir.load(model, shapes=SHAPES)
    made = [value for node in graph.nodes for value in node.outputs if value.sources and value.index == 0]
    return [value.name for value in made if not graph.is_output(value)]


def whole(model: Path, names: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    graph = graphir.load(model, shapes=SHAPES)
    feeds = make_feeds(graph)
    graph.set_outputs([*graph.outputs, *names])
    return feeds, graphir.Session(graph, optimize=False).run(feeds)


def test_every_value_as_output_and_as_input(model: Path) -> None:
    names = inner(model)
    feeds, values = whole(model, names)
    output = graphir.load(model).outputs[0].name
    assert len(names) > 5
    wrong = []
    for name in names:
        front = graphir.load(model, outputs=[name], shapes=SHAPES)
        front.check()
        found = graphir.Session(front, optimize=False).run(feeds)
        wrong += [name] if not np.array_equal(found[name], values[name]) else []
        back = graphir.load(model, inputs=[name], shapes=SHAPES)
        back.check()
        given = {value.name: ({**feeds, **values})[value.name] for value in back.inputs}
        assert str(back[name].type) == str(front[name].type)
        found = graphir.Session(back, optimize=False).run(given)
        wrong += [name] if not np.array_equal(found[output], values[output]) else []
    assert not wrong


def test_a_layer_means_its_result(model: Path) -> None:
    graph = graphir.load(model)
    node = next(node for node in graph.nodes if node.op.name == "Relu")
    part = graphir.load(model, outputs=[node.name])
    assert part.outputs[0].name == node.output.name


def test_a_near_miss_is_named(model: Path) -> None:
    name = inner(model)[0]
    with pytest.raises(ImportFailure, match=rf"has no value or layer '{name}x'; there is .*{name}"):
        graphir.load(model, outputs=[f"{name}x"])


def test_shapes_of_what_became_an_input(model: Path) -> None:
    name = inner(model)[1]
    given = [3, *graphir.load(model, outputs=[name], shapes=SHAPES).outputs[0].shape[1:]]  # type: ignore[index]
    part = graphir.load(model, inputs=[name], shapes={name: given})
    assert [value.shape for value in part.inputs] == [tuple(given)]
    with pytest.raises(ImportFailure):
        graphir.load(model, inputs=[name], shapes={name: [3]})


@pytest.mark.parametrize("against", ["auto", "reference"])
def test_a_converted_part_is_held_against_the_same_part(model: Path, tmp_path: Path, against: str) -> None:
    _, first, *_, last = inner(model)
    report = graphir.convert(
        model, tmp_path / "part.onnx", inputs=[first], outputs=[last], shapes=SHAPES, verify=True, per_layer=True,
        against=against,
    )  # fmt: skip
    assert report.verification is not None
    assert report.verification.verdict in (Verdict.IDENTICAL, Verdict.NOISE)
    part = graphir.ModelOptions(inputs=[first], outputs=[last])
    again = graphir.verify(model, tmp_path / "part.onnx", shapes=SHAPES, reference_options=part)
    assert again.verdict in (Verdict.IDENTICAL, Verdict.NOISE)
    both = graphir.verify(model, model, shapes=SHAPES, reference_options=part, candidate_options=part)
    assert both.verdict in (Verdict.IDENTICAL, Verdict.NOISE)


def test_another_part_is_found_to_be_another(model: Path, tmp_path: Path) -> None:
    names = inner(model)
    graphir.convert(model, tmp_path / "part.onnx", outputs=names[:1], shapes=SHAPES)
    part = graphir.ModelOptions(outputs=names[-1:])
    assert not graphir.verify(model, tmp_path / "part.onnx", shapes=SHAPES, reference_options=part).ok


def test_what_is_cut_away_need_not_be_known(tmp_path: Path) -> None:
    text = """{"nodes": [
        {"op": "null", "name": "data", "inputs": []},
        {"op": "NobodyKnows", "name": "before", "inputs": [[0, 0, 0]]},
        {"op": "Activation", "name": "act", "attrs": {"act_type": "relu"}, "inputs": [[1, 0, 0]]},
        {"op": "tanh", "name": "th", "inputs": [[2, 0, 0]]},
        {"op": "NobodyKnows", "name": "behind", "inputs": [[3, 0, 0]]}],
        "arg_nodes": [0], "heads": [[4, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}}"""
    (tmp_path / "m-symbol.json").write_text(text)
    source = tmp_path / "m-symbol.json"
    with pytest.raises(UnsupportedOpError, match="2 node"):
        graphir.load(source)
    with pytest.raises(UnsupportedOpError, match="1 node"):
        graphir.load(source, outputs=["th"])
    part = graphir.load(source, outputs=["th"], inputs=["act"], shapes={"act": (2, 3)})
    assert [str(value.type) for value in (*part.inputs, *part.outputs)] == ["float32[2, 3]"] * 2


def test_a_format_that_knows_nothing_of_parts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source = tiny.registered(tmp_path / "m.tiny", monkeypatch)
    report = graphir.convert(source, tmp_path / "m.onnx", inputs=["y"], verify=True)
    assert report.verification is not None
    assert list(report.verification.feeds) == ["y"]
    assert report.verification.reference.startswith("onnxruntime")


def test_a_part_of_a_file_with_several_results_of_one_node(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Split", ["x"], ["a", "b"], axis=1, num_outputs=2, name="halves"),
        helper.make_node("Add", ["a", "b"], ["y"], name="sum"),
    ]
    made = models.onnx_model(nodes, {"x": (1, ["N", 4])}, {"y": (1, ["N", 2])}, opset=18)
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    report = graphir.convert(tmp_path / "m.onnx", tmp_path / "p.onnx", inputs=["a"], verify=True)
    assert report.verification is not None
    assert report.verification.verdict is Verdict.IDENTICAL
    assert [value.name for value in graphir.load(tmp_path / "p.onnx").inputs] == ["a", "x"]


def test_a_golden_capture_cannot_be_cut(digits: Path, tmp_path: Path) -> None:
    arrays: dict[str, Any] = {"input:data": np.zeros((1, 1, 8, 8), np.float32), "output:0:y": np.zeros(1)}
    np.savez(tmp_path / "golden.npz", **arrays)
    with pytest.raises(ImportFailure, match="cannot be cut"):
        graphir.verify(tmp_path / "golden.npz", digits, reference_options=graphir.ModelOptions(outputs=["y"]))
