"""Classifiers as scikit-learn's converters write them, which give maps: every command takes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

import graphir
from graphir.converters.onnx import from_model, to_model
from graphir.serial.notation import type_from_json, type_to_json
from graphir.types import DType, MapType, SequenceType, TensorType, unify
from tests.cli.conftest import Command

COEFFICIENTS = (0.5, -1.0, 0.25, 2.0, -0.5, 1.5)


def classifier(
    path: Path, coefficients: tuple[float, ...] = COEFFICIENTS, labels: tuple[Any, ...] = ("a", "b")
) -> Path:
    """A linear classifier of three features: a label, and a sequence of maps from labels to probabilities."""
    kind = "strings" if isinstance(labels[0], str) else "ints"
    key = TensorProto.STRING if kind == "strings" else TensorProto.INT64
    by_classifier: dict[str, Any] = {f"classlabels_{kind}": labels}
    by_map: dict[str, Any] = {f"classlabels_{'strings' if kind == 'strings' else 'int64s'}": labels}
    nodes = [
        helper.make_node("LinearClassifier", ["x"], ["raw", "scores"], domain="ai.onnx.ml", coefficients=coefficients,
                         intercepts=[0.1, -0.1], post_transform="SOFTMAX", **by_classifier),
        helper.make_node("Identity", ["raw"], ["label"]),
        helper.make_node("ZipMap", ["scores"], ["probabilities"], domain="ai.onnx.ml", **by_map),
    ]  # fmt: skip
    of_map = helper.make_map_type_proto(key, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    outputs = [
        helper.make_tensor_value_info("label", key, ["N"]),
        helper.make_value_info("probabilities", helper.make_sequence_type_proto(of_map)),
    ]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3])], outputs)
    versions = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    onnx.save(helper.make_model(graph, opset_imports=versions, ir_version=8), path)
    return path


LABELS = [("a", "b"), (3, 7)]


@pytest.mark.parametrize("labels", LABELS, ids=["texts", "integers"])
def test_maps_pass_through(tmp_path: Path, labels: tuple[Any, ...]) -> None:
    source = classifier(tmp_path / "m.onnx", labels=labels)
    graph = graphir.load(source)
    key = DType.STRING if labels == ("a", "b") else DType.INT64
    assert graph.outputs[1].type == SequenceType(MapType(key, TensorType(DType.FLOAT32, ())))
    assert str(graph.outputs[1].type) == f"sequence(map({key}, float32[]))"
    made = to_model(from_model(onnx.load(source)))
    assert made.graph.output[1].type == onnx.load(source).graph.output[1].type
    graphir.save(graph, tmp_path / "m.graphir.json")
    assert graphir.load(tmp_path / "m.graphir.json").outputs[1].type == graph.outputs[1].type


@pytest.mark.parametrize("command", ["summary", "shapes", "layers", "check", "cost", "plot", "diff"])
def test_commands_take_maps(graphir: Command, tmp_path: Path, command: str) -> None:
    source = classifier(tmp_path / "m.onnx")
    more = [source] if command == "diff" else [tmp_path / "m.svg"] if command == "plot" else []
    assert graphir(command, source, *more).code == 0


@pytest.mark.parametrize("labels", LABELS, ids=["texts", "integers"])
def test_maps_are_compared_key_by_key(graphir: Command, tmp_path: Path, labels: tuple[Any, ...]) -> None:
    source = classifier(tmp_path / "m.onnx", labels=labels)
    assert graphir("convert", source, tmp_path / "same.onnx").code == 0
    compared = graphir("verify", source, tmp_path / "same.onnx", "--json").data["outputs"]
    assert [(one["name"], one["verdict"]) for one in compared] == [
        ("label", "identical"), ("probabilities", "identical"),
    ]  # fmt: skip
    other = classifier(tmp_path / "other.onnx", (*COEFFICIENTS[:-1], 1.4), labels)
    assert graphir("verify", source, other).code == 4


def test_other_keys_differ(graphir: Command, tmp_path: Path) -> None:
    first = classifier(tmp_path / "m.onnx", labels=(3, 7))
    second = classifier(tmp_path / "n.onnx", labels=(3, 8))
    result = graphir("verify", first, second)
    assert result.code != 0
    assert "keys (3, 7), the candidate's (3, 8)" in result.out + result.err


def test_types_of_maps() -> None:
    of_map = MapType(DType.INT64, TensorType(DType.FLOAT32, ()))
    assert unify(of_map, MapType(DType.INT64, TensorType())) == of_map
    assert type_from_json(type_to_json(of_map), "$") == of_map
    with pytest.raises(graphir.errors.ShapeError, match="other keys"):
        unify(of_map, MapType(DType.STRING, TensorType()))
