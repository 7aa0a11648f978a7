"""What reports, `summary` and `params` count: what the files hold, in every format, subgraphs included."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import graphir
from graphir.ops.activation import Relu
from graphir.ops.elementwise import Mul
from graphir.types import DType, TensorType
from tests.building import add_weights, parse_model, save_model
from tests.tensorflow.graphdef import encode, node

from .conftest import Command


def onnx_if(path: Path) -> Path:
    """Convolutions of 108 weights (6,912 MACs) and of 300 (19,200) in the two branches of an If."""
    make = onnx.helper

    def branch(name: str, kernel: int) -> Any:
        weight = onnx.numpy_helper.from_array(np.ones((4, 3, kernel, kernel), np.float32), f"w_{name}")
        conv = make.make_node("Conv", ["x", f"w_{name}"], [name], pads=[kernel // 2] * 4)
        return make.make_graph([conv], name, [], [make.make_tensor_value_info(name, 1, [1, 4, 8, 8])], [weight])

    choice = make.make_node(
        "If", ["c"], ["y"], name="choice", then_branch=branch("a", 3), else_branch=branch("b", 5)
    )
    inputs = [make.make_tensor_value_info("x", 1, [1, 3, 8, 8]), make.make_tensor_value_info("c", 9, [])]
    graph = make.make_graph([choice], "g", inputs, [make.make_tensor_value_info("y", 1, [1, 4, 8, 8])])
    return save_model(path, make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8))


def onnx_loop(path: Path, *, trips: str) -> Path:
    """A product of 2x3 and 3x3 in a loop of `trips` runs."""
    target = parse_model(
        "g (float[2, 3] x, int64 n) => (float[2, 3] y) {"
        f" m = Constant<value = int64 {{{trips}}}>() "
        " y = Loop<body = b (int64 i, bool c, float[2, 3] s) => (bool d, float[2, 3] t)"
        " { d = Identity(c)  t = MatMul(s, w) }>(" + ("m" if trips != "0" else "n") + ", , x) }"
    )
    add_weights(target, w=np.eye(3, dtype=np.float32))
    return save_model(path, target)


def tensorflow_with_norm(path: Path) -> Path:
    """A convolution of 2 * 3 weights and a batch normalization of 4 * 3, in 7 nodes."""
    constants = {
        "w": np.ones((1, 1, 2, 3), np.float32),
        **{name: np.full(3, 2, np.float32) for name in ("scale", "offset", "mean", "variance")},
    }
    nodes = [
        node("Placeholder", "x", dtype="float32", shape=[1, 4, 4, 2]),
        *(node("Const", name, dtype="float32", value=array) for name, array in constants.items()),
        node("Conv2D", "conv", ["x", "w"], T="float32", strides=[1, 1, 1, 1], padding="SAME", data_format="NHWC"),
        node(
            "FusedBatchNormV3", "norm", ["conv", "scale", "offset", "mean", "variance"], T="float32", U="float32",
            is_training=False,
        ),
    ]  # fmt: skip
    path.write_bytes(encode("GraphDef", {"node": nodes, "versions": {"producer": 1882}}))
    return path


def own_with_text(path: Path) -> Path:
    graph = graphir.Graph("g")
    data = graph.add_input("x", TensorType(DType.FLOAT32, (2,)))
    weight = graph.add_parameter("w", graphir.Tensor.of(np.ones(2, np.float32)))
    text = graph.add_parameter("t", graphir.Tensor.of(np.array(["a", "\u00e9"], object)))
    weight.sources, text.sources = ("w",), ("t",)
    graph.set_outputs([graph.add(Mul(), data, weight, output="y"), text])
    graphir.save(graph, path)
    return path


@pytest.mark.parametrize(
    "name, build, elements, nbytes",
    [
        pytest.param("m.onnx", onnx_if, 408, 1632, id="onnx"),
        pytest.param("m.pb", tensorflow_with_norm, 18, 72, id="tensorflow"),
        pytest.param("m.graphir.json", own_with_text, 4, 11, id="graphir"),
    ],
)
def test_params_of_every_format(
    graphir: Command, tmp_path: Path, name: str, build: Callable[[Path], Path], elements: int, nbytes: int
) -> None:
    source = build(tmp_path / name)
    data = graphir("params", source, "--json").data
    assert (data["elements"], data["bytes"]) == (elements, nbytes)
    assert f"{elements:,} elements" in graphir("params", source).out


def test_params_of_a_model_are_written(graphir: Command, tmp_path: Path) -> None:
    source = onnx_if(tmp_path / "m.onnx")
    assert graphir("params", source, "--to", tmp_path / "w.npz").code == 0
    with np.load(tmp_path / "w.npz") as arrays:
        assert {name: arrays[name].shape for name in arrays} == {"w_a": (4, 3, 3, 3), "w_b": (4, 3, 5, 5)}


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_texts_are_not_written(graphir: Command, tmp_path: Path, suffix: str) -> None:
    outcome = graphir("params", own_with_text(tmp_path / "m.graphir.json"), "--to", tmp_path / f"w{suffix}")
    assert outcome.code == 1
    assert "t" in outcome.err
    assert not (tmp_path / f"w{suffix}").exists()


def test_archive_without_arrays(graphir: Command, tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "m.params", "w") as archive:
        archive.writestr("config.json", "{}")
    outcome = graphir("params", tmp_path / "m.params")
    assert (outcome.code, "without arrays (.npy)" in outcome.err) == (1, True)


def test_branches_are_counted(graphir: Command, tmp_path: Path) -> None:
    data = graphir("summary", onnx_if(tmp_path / "m.onnx"), "--json").data
    assert [(layer["name"], layer["parameters"], layer["macs"]) for layer in data["layers"]] == [
        ("choice", 0, 19200),
        ("choice.then/a", 108, 6912),
        ("choice.else/b", 300, 19200),
    ]
    assert (data["parameters"], data["macs"]) == (408, 19200)


@pytest.mark.parametrize("trips, parameters, macs, open_loops", [("5", 10, 90, 0), ("0", 9, 18, 1)])
def test_loops_are_counted(
    graphir: Command, tmp_path: Path, trips: str, parameters: int, macs: int, open_loops: int
) -> None:
    """The constant that states the number of runs is an element of the file too."""
    data = graphir("summary", onnx_loop(tmp_path / "m.onnx", trips=trips), "--json").data
    assert (data["parameters"], data["macs"], len(data["open_loops"])) == (parameters, macs, open_loops)


def test_folded_weights_are_told(graphir: Command, tmp_path: Path) -> None:
    source = tensorflow_with_norm(tmp_path / "m.pb")
    data = graphir("summary", source, "--json").data
    assert (data["parameters"], data["parameter_bytes"], data["unused"]) == (18, 72, [])
    assert (sorted(data["folded"]), data["folded_parameters"]) == (["mean", "offset", "scale", "variance"], 12)
    assert "folded      12 of the parameters" in graphir("summary", source).out
    report = graphir("convert", source, tmp_path / "m.onnx", "--json").data
    assert (report["parameters"], report["folded_parameters"]) == (18, 12)
    assert report["source_operators"] == {"Const": 5, "Conv2D": 1, "FusedBatchNormV3": 1, "Placeholder": 1}
    text = graphir("convert", source, tmp_path / "m.onnx", "--report", tmp_path / "m.html").out
    assert "parameters  18 (72 B), 12 of them folded into others" in text
    assert "12 of them folded into others" in (tmp_path / "m.html").read_text()


@pytest.mark.parametrize(
    "target, operators",
    [
        ("m.onnx", {"Conv": 2, "If": 1}),
        ("m.graphir.json", {"Conv": 2, "If": 1}),
        ("m-symbol.json", {"Convolution": 2, "where": 1}),
    ],
)
def test_nodes_in_branches_are_nodes(
    graphir: Command, tmp_path: Path, target: str, operators: dict[str, int]
) -> None:
    data = graphir("convert", onnx_if(tmp_path / "s.onnx"), tmp_path / target, "--json").data
    assert data["source_operators"] == {"Conv": 2, "If": 1}
    assert {name: data["target_operators"][name] for name in operators} == operators


def test_source_counts_its_own_nodes(graphir: Command, tmp_path: Path) -> None:
    """Two of three nodes are merged or gone in the graph; the file holds three."""
    nodes = "c = Constant<value_float = 1.0>() a = Identity(x) y = Add(a, c)"
    source = save_model(tmp_path / "m.onnx", parse_model(f"g (float[2] x) => (float[2] y) {{ {nodes} }}"))
    report = graphir("convert", source, tmp_path / "n.onnx", "--json").data
    assert report["source_operators"] == {"Add": 1, "Constant": 1, "Identity": 1}


def test_report_names_the_target_operators(graphir: Command, digits: Path, tmp_path: Path) -> None:
    assert graphir("convert", digits, tmp_path / "m.onnx").code == 0
    page = tmp_path / "m.html"
    outcome = graphir("convert", tmp_path / "m.onnx", tmp_path / "n-symbol.json", "-v", "--report", page)
    assert "MXNet 1.9.1" in outcome.out
    assert "Convolution" in outcome.out
    assert "FullyConnected" in outcome.out
    assert '<th scope="col">MXNet</th>' in page.read_text()
    counted = graphir("convert", tmp_path / "m.onnx", tmp_path / "n-symbol.json", "--json").data["target_operators"]
    back = graphir("convert", tmp_path / "n-symbol.json", tmp_path / "o.onnx", "--json").data["source_operators"]
    assert counted == back


def _chain(extra: int) -> Any:
    graph = graphir.Graph("g")
    value = graph.add_input("x", TensorType(DType.FLOAT32, (2,)))
    kept = graph.add(Relu(), value, name="kept", output="kept")
    weight = graph.add_parameter("w", graphir.Tensor.of(np.ones(2, np.float32)))
    for number in range(extra):
        value = graph.add(Mul(), value, weight, output=f"dead_{number}")
    graph.set_outputs([value])
    graph.set_outputs([kept])
    return graph


@pytest.mark.parametrize("name", ["m.onnx", "m-symbol.json", "m.graphir.json"])
def test_nothing_dead_is_written(tmp_path: Path, name: str) -> None:
    graph = _chain(3)
    graphir.save(graph, tmp_path / name)
    assert len(graph) == 4
    assert "w" in graph
    found = graphir.load(tmp_path / name)
    assert ([node.op.name for node in found.nodes], len(found.parameters)) == (["Relu"], 0)
    written = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"dead_0" not in written


def test_outputs_by_name() -> None:
    graph = _chain(1)
    graph.set_outputs(["dead_0", graph["kept"]])
    assert [value.name for value in graph.outputs] == ["dead_0", "kept"]


def test_elements_for_numpy() -> None:
    tensor = graphir.Tensor.of(np.array([[1.5, 2.5]], np.float32))
    assert np.asarray(tensor).tolist() == [[1.5, 2.5]]
    assert np.asarray(tensor, np.float64).dtype == np.float64
    assert np.add(tensor, 1).tolist() == [[2.5, 3.5]]
    assert np.array(tensor).flags.writeable


@pytest.mark.parametrize(
    "name",
    ["gluoncv-cifar-resnet20-v1", "gluoncv-cifar-resnet20-v2", "go-test-linear", "mtcnn-det1-pnet", "mtcnn-det2-rnet",
     "mtcnn-det3-onet", "toy-lenet-miraclewkf", "xdl-blaze-dnn"],
)  # fmt: skip
def test_parameters_are_those_of_the_file(graphir: Command, shared: Path, name: str) -> None:
    model = shared / "models" / "mxnet" / name
    data = graphir("summary", model, "--json").data
    stored = graphir("params", model, "--json").data["elements"]
    assert data["parameters"] + data["unused_parameters"] == stored
    assert sum(layer["parameters"] for layer in data["layers"]) == data["parameters"]
    cost = graphir("cost", model, "--json").data
    assert cost["parameters"] == cost["trainable_parameters"] + cost["auxiliary_parameters"] == data["parameters"]


def test_a_recurrent_layer_with_states_of_zeros(graphir: Command, shared: Path) -> None:
    source = shared / "models" / "mxnet_symbol_only" / "lstm-ptb-mms"
    data = graphir("summary", source, "--json").data
    words, width = 10_000, 200
    assert data["parameters"] == words * width + 2 * 4 * width * (2 * width + 2) + words * (width + 1)
