"""Models that cannot be imported are drawn as their files state them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphir as package
from graphir.cli import main
from graphir.converters.kernel.outline import StatedNode, outline
from graphir.converters.mxnet import mx
from graphir.drawing.blocks import tree_of
from graphir.drawing.looks import Looks, fit_words, text_width
from graphir.graph import Graph
from graphir.ops.activation import Relu
from graphir.ops.linear import Gemm
from graphir.tensor import Tensor
from graphir.types import DType, TensorType


def unknown(path: Path) -> Path:
    """A network that ends in an operator of somebody's own build."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=8, name="fc1")
    symbol: dict[str, Any] = json.loads(mx.sym.Activation(net, act_type="relu", name="relu1").tojson())
    nodes = symbol["nodes"]
    nodes.append({"op": "null", "name": "label", "inputs": []})
    inputs = [[len(nodes) - 2, 0, 0], [len(nodes) - 1, 0, 0]]
    nodes.append({"op": "WarpCTC", "name": "ctc", "attrs": {"label_length": "4"}, "inputs": inputs})
    symbol |= {"heads": [[len(nodes) - 1, 0, 0]], "node_row_ptr": list(range(len(nodes) + 1))}
    symbol["arg_nodes"] = [place for place, node in enumerate(nodes) if node["op"] == "null"]
    path.write_text(json.dumps(symbol))
    return path


@pytest.mark.parametrize(
    ("make", "shown", "why"),
    [(unknown, ["FullyConnected", "Activation", "WarpCTC", "fc1", "label"], "cannot be imported: WarpCTC")],
)
def test_what_cannot_be_imported_is_drawn(
    make: Any, shown: list[str], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, picture = make(tmp_path / "net-symbol.json"), tmp_path / "net.svg"
    assert main(["summary", str(model)]) == 1
    assert main(["plot", str(model), str(picture)]) == 0
    assert why in capsys.readouterr().out
    text = picture.read_text()
    assert all(f">{word}<" in text for word in shown)
    assert ">fc1_weight<" not in text
    assert ">?<" not in text


def test_what_is_no_model_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "net-symbol.json"
    broken.write_text("{")
    assert main(["plot", str(broken), str(tmp_path / "net.svg")]) == 1
    assert main(["plot", str(tmp_path / "gone.onnx"), str(tmp_path / "net.svg")]) == 1
    assert not (tmp_path / "net.svg").exists()


def test_nodes_in_any_order_circles_and_operands_that_nothing_gives() -> None:
    nodes = [
        StatedNode("b", "b", "B", [("a", 1), ("c", 0), ("gone", 0)]),
        StatedNode("a", "a", "A", [("x", 0)]),
        StatedNode("c", "a", "C", [("b", 0)]),
        StatedNode("zeros", "zeros", "Zeros"),
    ]
    graph = outline("net", nodes, {"x": "x"}, {}, [("b", 2)])
    graph.check()
    assert {node.op.shown_name: len(node.inputs) for node in graph.nodes} == {"A": 1, "B": 1, "C": 1, "Zeros": 1}
    assert [value.producer.op.shown_name for value in graph.outputs if value.producer is not None] == ["B"]


def layered(prefix: str, count: int) -> Graph:
    graph = Graph("net")
    value = graph.add_input("x", TensorType(DType.FLOAT32, ("N", 8)))
    for number in range(count):
        arrays = [np.ones((8, 8), np.float32), np.ones(8, np.float32)]
        weights = [graph.add_parameter(f"w{number}_{slot}", Tensor.of(array)) for slot, array in enumerate(arrays)]
        for weight in weights:
            weight.sources = (weight.name,)
        value = graph.add(Gemm(), value, *weights, name=f"{prefix}encoder/layer_{number}/dense")
        value = graph.add(Relu(), value, name=f"{prefix}encoder/layer_{number}/relu")
        value = graph.add(Relu(), value, name=f"{prefix}encoder/layer_{number}/again")
    graph.set_outputs([graph.add(Relu(), value, name=f"{prefix}pooler")])
    return graph


@pytest.mark.parametrize("prefix", ["", "model/bert/"])
def test_titles_are_whole(prefix: str) -> None:
    graph = layered(prefix, 12)
    looks = Looks(graph, tree_of(graph))
    titles = {look.title for look in looks.of.values()}
    assert "12 x encoder/layer" in titles
    assert not [title for title in titles if "ncoder" in title and "encoder" not in title]
    lines = {line for look in looks.of.values() for line in look.lines}
    assert "8x8 + 1 = 72 params" in lines


def test_names_in_folders_are_cut_at_a_folder() -> None:
    graph = Graph("net")
    value = graph.add_input("x", TensorType(DType.FLOAT32, ("N", 8)))
    for name in ("dense_1/MatMul", "dense_1_2/MatMul"):
        value = graph.add(Relu(), value, name=f"StatefulPartitionedCall/sequential_1/{name}")
    graph.set_outputs([value])
    lines = {line for look in Looks(graph, tree_of(graph)).of.values() for line in look.lines}
    assert {"dense_1/MatMul", "dense_1_2/MatMul"} <= lines


@pytest.mark.parametrize("text", ["BatchNormalization Relu Conv Conv", "BatchNormalization", "A" * 80, ""])
def test_operators_are_not_cut_in_the_middle_of_a_list(text: str) -> None:
    made = fit_words(text)
    assert text_width(made, small=True) <= 166
    assert made == text or made.endswith(" ..") or " " not in text
    assert all(word in text for word in made.split() if ".." not in word)


def test_a_graph_of_a_library_is_drawn_by_its_own_names() -> None:
    graph = outline("net", [StatedNode("a", "a", "Mystery", [("x", 0)])], {"x": "x"}, {}, [])
    assert ">Mystery<" in package.plot(graph).svg()
