"""What the public names say to values of a kind that they do not take: an error of graphir's own, or nothing wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphir
from graphir.errors import GraphirError
from graphir.ops.activation import Relu
from graphir.ops.elementwise import Add
from graphir.types import DType, TensorType

STRANGE: dict[str, Any] = {
    "None": None,
    "number": 3,
    "huge": 10**30,
    "negative": -1,
    "float": 1.5,
    "nan": float("nan"),
    "text": "x",
    "empty": "",
    "bytes": b"x",
    "list": [],
    "list-of-None": [None],
    "list-of-text": ["y"],
    "mapping": {},
    "unhashable-key": {"x": [object()]},
    "object": object(),
    "class": Relu,
    "operator": Relu(),
    "array": np.zeros((2, 2)),
    "objects": np.array([object()], dtype=object),
    "dtype": DType.FLOAT32,
    "type": TensorType(DType.FLOAT32, (2,)),
    "generator-function": lambda: None,
}


def _graph() -> graphir.Graph:
    graph = graphir.Graph("g")
    x = graph.add_input("x", TensorType(DType.FLOAT32, (2,)))
    w = graph.add_parameter("w", graphir.Tensor.of(np.ones(2, np.float32)))
    graph.set_outputs([graph.add(Add(), x, w, name="y", output="y")])
    return graph


Call = Callable[[graphir.Graph, Any, Path], object]

VERIFY: Any = graphir.verify
CALLS: dict[str, Call] = {
    "add_input-name": lambda graph, strange, place: graph.add_input(strange),
    "add_input-type": lambda graph, strange, place: graph.add_input("n", strange),
    "add_parameter-name": lambda graph, strange, place: graph.add_parameter(strange),
    "add_parameter-tensor": lambda graph, strange, place: graph.add_parameter("n", strange),
    "add_parameter-type": lambda graph, strange, place: graph.add_parameter("n", None, strange),
    "constant": lambda graph, strange, place: graph.constant(strange),
    "constant-dtype": lambda graph, strange, place: graph.constant([1.0], strange),
    "constant-name": lambda graph, strange, place: graph.constant([1.0], name=strange),
    "add_node-op": lambda graph, strange, place: graph.add_node(strange, [graph["x"]]),
    "add_node-inputs": lambda graph, strange, place: graph.add_node(Relu(), strange),
    "add_node-input": lambda graph, strange, place: graph.add_node(Relu(), [strange]),
    "add_node-name": lambda graph, strange, place: graph.add_node(Relu(), [graph["x"]], name=strange),
    "add_node-outputs": lambda graph, strange, place: graph.add_node(Relu(), [graph["x"]], output_names=strange),
    "add_node-output": lambda graph, strange, place: graph.add_node(Relu(), [graph["x"]], output_names=[strange]),
    "add_node-before": lambda graph, strange, place: graph.add_node(Relu(), [graph["x"]], before=strange),
    "add_node-subgraphs": lambda graph, strange, place: graph.add_node(Relu(), [graph["x"]], subgraphs=strange),
    "add_node-subgraph": lambda graph, strange, place: graph.add_node(Relu(), [graph["x"]], subgraphs=[strange]),
    "add-op": lambda graph, strange, place: graph.add(strange, graph["x"]),
    "add-input": lambda graph, strange, place: graph.add(Relu(), strange),
    "add-output": lambda graph, strange, place: graph.add(Relu(), graph["x"], output=strange),
    "set_outputs": lambda graph, strange, place: graph.set_outputs(strange),
    "set_outputs-one": lambda graph, strange, place: graph.set_outputs([strange]),
    "is_input": lambda graph, strange, place: graph.is_input(strange),
    "is_output": lambda graph, strange, place: graph.is_output(strange),
    "rename-value": lambda graph, strange, place: graph.rename(strange, "z"),
    "rename-name": lambda graph, strange, place: graph.rename(graph["x"], strange),
    "replace_uses-old": lambda graph, strange, place: graph.replace_uses(strange, graph["x"]),
    "replace_uses-new": lambda graph, strange, place: graph.replace_uses(graph["x"], strange),
    "replace_input-node": lambda graph, strange, place: graph.replace_input(strange, 0, graph["x"]),
    "replace_input-slot": lambda graph, strange, place: graph.replace_input(graph.nodes[0], strange, graph["x"]),
    "replace_input-new": lambda graph, strange, place: graph.replace_input(graph.nodes[0], 0, strange),
    "erase": lambda graph, strange, place: graph.erase(strange),
    "erase_value": lambda graph, strange, place: graph.erase_value(strange),
    "can_use": lambda graph, strange, place: graph.can_use(strange),
    "set_tensor-value": lambda graph, strange, place: graph.set_tensor(strange, None),
    "set_tensor-tensor": lambda graph, strange, place: graph.set_tensor(graph["w"], strange),
    "refine-value": lambda graph, strange, place: graph.refine(strange, TensorType(DType.FLOAT32, (2,))),
    "refine-type": lambda graph, strange, place: graph.refine(graph["x"], strange),
    "getitem": lambda graph, strange, place: graph[strange],
    "Graph-name": lambda graph, strange, place: graphir.Graph(strange),
    "Graph-parent": lambda graph, strange, place: graphir.Graph("g", parent=strange),
    "fresh_name": lambda graph, strange, place: graph.fresh_name(strange),
    "Tensor.of": lambda graph, strange, place: graphir.Tensor.of(strange),
    "Tensor.of-dtype": lambda graph, strange, place: graphir.Tensor.of([1], strange),
    "Tensor-dtype": lambda graph, strange, place: graphir.Tensor(strange, (1,), array=np.ones(1)),
    "Tensor-shape": lambda graph, strange, place: graphir.Tensor(DType.FLOAT64, strange, array=np.ones(1)),
    "Tensor-array": lambda graph, strange, place: graphir.Tensor(DType.FLOAT64, (1,), array=strange),
    "reshaped": lambda graph, strange, place: graphir.Tensor.of([1.0]).reshaped(strange),
    "transposed": lambda graph, strange, place: graphir.Tensor.of([1.0]).transposed(strange),
    "rows": lambda graph, strange, place: graphir.Tensor.of([1.0]).rows(strange, 1),
    "Session": lambda graph, strange, place: graphir.Session(strange, providers="cpu"),
    "Session-providers": lambda graph, strange, place: graphir.Session(graph, providers=strange),
    "run-feeds": lambda graph, strange, place: graphir.Session(graph, providers="cpu").run(strange),
    "run-feed": lambda graph, strange, place: graphir.Session(graph, providers="cpu").run({"x": strange}),
    "run-outputs": lambda graph, strange, place: graphir.Session(graph, providers="cpu").run(
        {"x": np.ones(2, np.float32)}, strange
    ),
    "load": lambda graph, strange, place: graphir.load(strange),
    "load-params": lambda graph, strange, place: graphir.load(place / "m.graphir.json", params=strange),
    "load-shapes": lambda graph, strange, place: graphir.load(place / "m.graphir.json", shapes=strange),
    "load-shape": lambda graph, strange, place: graphir.load(place / "m.graphir.json", shapes={"x": strange}),
    "load-dtype": lambda graph, strange, place: graphir.load(place / "m.graphir.json", dtypes={"x": strange}),
    "load-format": lambda graph, strange, place: graphir.load(place / "m.graphir.json", format=strange),
    "load-outputs": lambda graph, strange, place: graphir.load(place / "m.graphir.json", outputs=strange),
    "save-graph": lambda graph, strange, place: graphir.save(strange, place / "n.onnx"),
    "save-path": lambda graph, strange, place: graphir.save(graph, strange),
    "save-format": lambda graph, strange, place: graphir.save(graph, place / "n", format=strange),
    "save-opset": lambda graph, strange, place: graphir.save(graph, place / "n.onnx", opset=strange),
    "save-weights": lambda graph, strange, place: graphir.save(graph, place / "n.onnx", weights=strange),
    "save-option": lambda graph, strange, place: graphir.save(graph, place / "n.onnx", colour=strange),
    "convert-source": lambda graph, strange, place: graphir.convert(strange, place / "n.onnx"),
    "convert-target": lambda graph, strange, place: graphir.convert(place / "m.graphir.json", strange),
    "convert-opset": lambda graph, strange, place: graphir.convert(
        place / "m.graphir.json", place / "n.onnx", opset=strange
    ),
    "convert-constants": lambda graph, strange, place: graphir.convert(
        place / "m.graphir.json", place / "n.onnx", constants=strange
    ),
    "convert-constant": lambda graph, strange, place: graphir.convert(
        place / "m.graphir.json", place / "n.onnx", constants={"x": strange}
    ),
    "convert-feeds": lambda graph, strange, place: graphir.convert(
        place / "m.graphir.json", place / "n.onnx", verify=True, feeds=strange
    ),
    "verify-reference": lambda graph, strange, place: graphir.verify(strange, graph),
    "verify-candidate": lambda graph, strange, place: graphir.verify(graph, strange),
    "verify-feeds": lambda graph, strange, place: graphir.verify(graph, graph, feeds=strange),
    "verify-seed": lambda graph, strange, place: graphir.verify(graph, graph, seed=strange),
    "verify-rtol": lambda graph, strange, place: graphir.verify(graph, graph, rtol=strange),
    "verify-match": lambda graph, strange, place: graphir.verify(
        graph, graph, comparison=graphir.ComparisonOptions(match=strange)
    ),
    "verify-short-match": lambda graph, strange, place: VERIFY(graph, graph, match=strange),
    "infer_types-graph": lambda graph, strange, place: graphir.infer_types(strange),
    "infer_types-shapes": lambda graph, strange, place: graphir.infer_types(graph, strange),
    "infer_types-shape": lambda graph, strange, place: graphir.infer_types(graph, {"x": strange}),
    "infer_types-dtype": lambda graph, strange, place: graphir.infer_types(graph, None, {"x": strange}),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_no_foreign_error(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    graphir.save(_graph(), tmp_path / "m.graphir.json")
    assert [found for found in (_leaked(call, name, tmp_path) for name in STRANGE) if found] == []


def _leaked(call: Call, name: str, place: Path) -> str:
    """What a call with this value raised that is none of graphir's errors; after it the graph must be valid."""
    graph = _graph()
    try:
        call(graph, STRANGE[name], place)
    except GraphirError:
        pass
    except Exception as error:
        return f"{name}: {type(error).__name__}: {error}"
    try:
        graph.check()
        str(graph)
    except Exception as error:
        return f"{name}: left a graph that is not valid: {type(error).__name__}: {error}"
    return ""


SHORT_FORMS: dict[str, tuple[Any, dict[str, Any], str]] = {
    "convert-seed": (graphir.convert, {"verify": True, "seed": -1}, "seed: expected"),
    "convert-format": (graphir.convert, {"format": 5}, "format: expected"),
    "verify-match": (graphir.verify, {"match": 5}, "match: expected"),
    "verify-outputs": (graphir.verify, {"outputs": 5}, "outputs: expected"),
    "verify-candidate_shapes": (graphir.verify, {"candidate_shapes": 5}, "shapes: expected"),
    "bench-threads": (graphir.bench, {"threads": -1}, "threads: expected"),
    "bench-other_shapes": (graphir.bench, {"other_shapes": 5}, "shapes: expected"),
}


@pytest.mark.parametrize("name", SHORT_FORMS)
def test_a_field_of_the_options_may_be_a_keyword(name: str) -> None:
    function, stated, message = SHORT_FORMS[name]
    with pytest.raises(graphir.errors.ArgumentError, match=message):
        function("a.onnx", "b.onnx", **stated)


TWICE: list[tuple[Any, dict[str, Any]]] = [
    (graphir.convert, {"params": "a", "model_options": graphir.ModelOptions("b")}),
    (graphir.verify, {"rtol": 0.1, "comparison": graphir.ComparisonOptions(rtol=0.2)}),
    (graphir.verify, {"match": ["a=b"], "comparison": graphir.ComparisonOptions(match=["c=d"])}),
    (graphir.convert, {"seed": 1, "comparison": graphir.ComparisonOptions(seed=2)}),
    (graphir.bench, {"seconds": 1, "timing": graphir.BenchOptions(seconds=2)}),
]


@pytest.mark.parametrize(("function", "stated"), TWICE)
def test_an_option_that_is_stated_twice_is_refused(function: Any, stated: dict[str, Any]) -> None:
    with pytest.raises(graphir.errors.ArgumentError, match=r"is stated twice: as .*; leave one out"):
        function("a.onnx", "b.onnx", **stated)
