"""Doc strings, metadata and declared types: what a model says beside what it computes comes back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from graphir.converters.onnx import from_model, to_model
from graphir.serial.reader import load_graph
from graphir.serial.writer import save_graph
from tests.building import add_weights, parse_model

TEXT = """g (float[N, 2] x, bool c) => (float[N, 2] y) {
    [first] t = Neg(x)
    [sum] u = Add(t, w)
    v = com.microsoft.Thing(u)
    [branch] y = If (c) <then_branch = a () => (r) { [inner] r = Abs(v) }, else_branch = b () => (r) { r = Neg(v) }>
    }"""
Find = Callable[[Any], Any]


def made() -> Any:
    """A model with a weight, a foreign operator and graphs inside it."""
    found = parse_model(TEXT, domains={"com.microsoft": 1})
    add_weights(found, w=np.ones(2, np.float32))
    return found


def branch(graph: Any) -> Any:
    """The first graph inside a graph's last node."""
    return graph.node[-1].attribute[0].g


PLACES: list[tuple[str, Find]] = [
    ("model", lambda found: found),
    ("graph", lambda found: found.graph),
    ("node", lambda found: found.graph.node[1]),
    ("foreign node", lambda found: found.graph.node[2]),
    ("node with graphs", lambda found: found.graph.node[3]),
    ("input", lambda found: found.graph.input[0]),
    ("output", lambda found: found.graph.output[0]),
    ("weight", lambda found: found.graph.initializer[0]),
    ("inner graph", lambda found: branch(found.graph)),
    ("inner node", lambda found: branch(found.graph).node[0]),
    ("inner output", lambda found: branch(found.graph).output[0]),
]
each_place = pytest.mark.parametrize("find", [find for _, find in PLACES], ids=[name for name, _ in PLACES])


def through_json(graph: Any, folder: Path) -> Any:
    """The graph after it was saved and loaded."""
    save_graph(graph, folder / "g.graphir.json")
    return load_graph(folder / "g.graphir.json")


@each_place
def test_doc_strings_come_back(find: Find, tmp_path: Path) -> None:
    source = made()
    find(source).doc_string = 'what it is: "\u00e9"\nand more'
    graph = from_model(source)
    assert find(to_model(graph, opset=17)).doc_string == find(source).doc_string
    assert find(to_model(through_json(graph, tmp_path), opset=17)).doc_string == find(source).doc_string


@each_place
@pytest.mark.parametrize("key", ["namespace", "onnx.infer", ""])
def test_metadata_comes_back(find: Find, key: str, tmp_path: Path) -> None:
    source = made()
    find(source).metadata_props.add(key=key, value="a/b: \u00e9")
    find(source).metadata_props.add(key="second", value="")
    graph = from_model(source)
    written = to_model(graph, opset=17)
    assert find(written).metadata_props == find(source).metadata_props
    assert find(to_model(through_json(graph, tmp_path), opset=17)).metadata_props == find(source).metadata_props
    onnx.checker.check_model(written)


def test_metadata_of_nodes_takes_a_version_that_has_it() -> None:
    source = made()
    assert to_model(from_model(source), opset=17).ir_version == 8
    source.graph.node[0].metadata_props.add(key="namespace", value="a")
    assert to_model(from_model(source), opset=17).ir_version == 10


def test_notes_of_another_node_are_not_taken_over() -> None:
    source = made()
    source.graph.node[0].doc_string = "of t"
    graph = from_model(source)
    graph.rename(graph["t"], "other")
    assert [node.doc_string for node in to_model(graph, opset=17).graph.node] == [""] * 4


STATED = [
    ("t", onnx.helper.make_tensor_type_proto(1, ["N", 2])),
    ("v", onnx.helper.make_tensor_type_proto(1, ["N", 2])),
    ("v", onnx.helper.make_tensor_type_proto(10, ["batch size", None])),
    ("v", onnx.helper.make_sequence_type_proto(onnx.helper.make_tensor_type_proto(1, None))),
]


@pytest.mark.parametrize("name, stated", STATED, ids=["known anyway", "foreign", "odd names", "sequence"])
def test_declared_types_of_inner_values_come_back(name: str, stated: Any, tmp_path: Path) -> None:
    source = made() if stated.HasField("tensor_type") and stated.tensor_type.elem_type == 1 else foreign()
    source.graph.value_info.add(name=name, type=stated, doc_string="why")
    graph = from_model(source)
    assert to_model(graph, opset=17).graph.value_info == source.graph.value_info
    assert to_model(through_json(graph, tmp_path), opset=17).graph.value_info == source.graph.value_info


def foreign() -> Any:
    """Two operators of which nothing is known."""
    return parse_model(
        "g (float[N, 2] x) => (float[N, 2] y) { v = com.microsoft.Thing(x) y = com.microsoft.Thing(v) }",
        domains={"com.microsoft": 1},
    )


def test_declared_types_inside_a_body_come_back() -> None:
    source = parse_model(
        """g (float[2] x, int64 n) => (float[2] y) { y = Loop (n, , x) <body = b (int64 i, bool go, float[2] v)
        => (bool going, float[2] w) { going = Identity(go) u = Neg(v) w = Add(u, x) }> }"""
    )
    stated = onnx.helper.make_tensor_value_info("u", 1, [2])
    branch(source.graph).value_info.append(stated)
    written = to_model(from_model(source), opset=17)
    assert list(branch(written.graph).value_info) == [stated]
    session = onnxruntime.InferenceSession(written.SerializeToString(), providers=["CPUExecutionProvider"])
    feeds = {"x": np.array([1, 2], np.float32), "n": np.array(3, np.int64)}
    assert session.run(None, feeds)[0].tolist() == [0, 0]


def test_what_is_not_text_is_replaced() -> None:
    data = made().SerializeToString() + onnx.ModelProto(doc_string="q1q").SerializeToString().replace(b"1", b"\xff")
    assert to_model(from_model(data), opset=17).doc_string == "q\ufffdq"


def test_placement_is_dropped_aloud() -> None:
    source = made()
    source.configuration.add(name="two", num_devices=2)
    assert [decision.kind for decision in from_model(source).decisions] == ["placement dropped"]
