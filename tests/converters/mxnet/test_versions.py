"""Symbols and parameters for older MXNet: the form of each version, what it lacks, and the way back."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import graphir
from graphir.cli import main
from graphir.converters.mxnet import from_symbol, open_params, save, to_symbol
from graphir.converters.mxnet.files.params import write_params
from graphir.converters.mxnet.files.records import NNVMGraph, NNVMNode
from graphir.converters.mxnet.schema.history import Absent, operator_at, releases
from graphir.converters.mxnet.schema.versions import array_layout, for_version, parse_version
from graphir.errors import ExportFailure, UnsupportedOpError
from graphir.graph import Graph
from graphir.ops import activation, convolution, elementwise, linear, normalization, pooling, shape, shape_parts
from graphir.padding import Explicit
from graphir.types import DType, TensorType

VERSIONS = ["0.7", "0.8", "0.9.5", "0.10", "0.11", "0.12", "1.0", "1.2", "1.4.1", "1.8", "1.9.1"]
MODELS = ["gluoncv-cifar-resnet20-v1", "gluoncv-cifar-resnet20-v2", "mtcnn-det1-pnet", "toy-lenet-miraclewkf"]


@pytest.mark.parametrize(
    ("text", "number"),
    [("0.7", 700), ("0.8.0", 800), ("0.9", 905), ("0.10", 1000), ("0.12", 1201), ("1.0.0", 10000), ("v1.4.1", 10401),
     ("1.9", 10901), (10500, 10500)],
)  # fmt: skip
def test_version(text: str | int, number: int) -> None:
    assert parse_version(text) == number


@pytest.mark.parametrize("text", ["", "1", "one", "0.6", "2.0", "1.9.2", "1.123.4", 20000, 11])
def test_no_version(text: str | int) -> None:
    with pytest.raises(ExportFailure, match="version"):
        parse_version(text)


def opened(shared: Path, model: str) -> Graph:
    return graphir.load(shared / "models" / "mxnet" / model / "model-symbol.json")


def essence(graph: Graph) -> list[Any]:
    """Operators with attributes, and the elements that they read, in order."""
    return [
        (
            str(node.op),
            [None if value is None or value.tensor is None else value.tensor.sha256() for value in node.inputs],
        )
        for node in graph.nodes
    ]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("model", MODELS)
def test_what_is_written_is_read_back(model: str, version: str, shared: Path, tmp_path: Path) -> None:
    graph = opened(shared, model)
    symbol, params = save(graph, tmp_path / "old-symbol.json", mxnet_version=version)
    again = graphir.load(symbol)
    assert essence(again) == essence(graph)
    assert [str(value.type) for value in again.outputs] == [str(value.type) for value in graph.outputs]
    assert open_params(params).container == array_layout(parse_version(version))


@pytest.mark.live
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("model", MODELS)
def test_live_mxnet_reads_every_version(
    model: str, version: str, shared: Path, tmp_path: Path, mxnet: ModuleType
) -> None:
    save(opened(shared, model), tmp_path / "old-symbol.json", mxnet_version=version)
    symbol, arguments, states = mxnet.model.load_checkpoint(str(tmp_path / "old"), 0)
    with np.load(shared / "models" / "mxnet" / model / "golden.npz") as archive:
        golden = {name: archive[name] for name in archive.files}
    feeds = {name.partition(":")[2]: mxnet.nd.array(array) for name, array in golden.items() if "input:" in name}
    arguments.update({name: array for name, array in feeds.items() if name in symbol.list_arguments()})
    executor = symbol.bind(mxnet.cpu(), arguments, aux_states=states, grad_req="null")
    results = [result.asnumpy() for result in executor.forward(is_train=False)]
    expected = [array for name, array in golden.items() if name.startswith("output:")]
    errors = [np.abs(one - other).max() / np.abs(other).max() for one, other in zip(results, expected, strict=True)]
    assert max(errors) < 1e-4


def small(last: Any = None, dtype: DType = DType.FLOAT32) -> Graph:
    """A convolution and a batch normalization, and one more operator."""
    graph = Graph()
    x = graph.add_input("x", TensorType(dtype, (2, 3, 8, 8)))
    elements = {name: np.ones(4, dtype.numpy()) for name in ("gamma", "beta", "mean", "var")}
    held = {name: graph.constant(array * index, name=name) for index, (name, array) in enumerate(elements.items(), 2)}
    weight = graph.constant(np.ones((4, 3, 3, 3), dtype.numpy()), name="w")
    pads = Explicit(((1, 1), (1, 1)))
    found = graph.add(convolution.Conv(padding=pads), x, weight, name="conv", output="conv_output")
    found = graph.add(normalization.BatchNormalization(), found, *held.values(), name="bn", output="bn_output")
    graph.set_outputs([found if last is None else graph.add_node(last, (found,), name="y").outputs[0]])
    return graph


@pytest.mark.parametrize(
    ("version", "keys", "entry", "attributes"),
    [
        ("0.8", {"op", "name", "param", "inputs", "backward_source_id"}, 2, None),
        ("0.9.5", {"op", "name", "attr", "inputs"}, 3, 905),
        ("0.12", {"op", "name", "attr", "inputs"}, 3, 1201),
        ("1.0", {"op", "name", "attrs", "inputs"}, 3, 10000),
        ("1.9.1", {"op", "name", "attrs", "inputs"}, 3, 10901),
    ],
)
def test_form(version: str, keys: set[str], entry: int, attributes: int | None) -> None:
    document = json.loads(to_symbol(small(), version=version)[0])
    node = next(node for node in document["nodes"] if node["op"] == "Convolution")
    assert set(node) == keys
    assert {len(found) for found in (*node["inputs"], *document["heads"])} == {entry}
    assert document.get("attrs", {}).get("mxnet_version", [None, None])[1] == attributes


def test_states_are_no_variables_before_0_9() -> None:
    graph = small()
    text, params = to_symbol(graph, version="0.8")
    nodes = json.loads(text)["nodes"]
    assert [node["name"] for node in nodes if node["op"] == "null"] == ["x", "w", "gamma", "beta"]
    assert len(next(node for node in nodes if node["op"] == "BatchNorm")["inputs"]) == 3
    assert {"aux:bn_moving_mean", "aux:bn_moving_var"} <= set(params)
    assert [found.text for found in graph.decisions if found.kind == "state renamed"] == [
        "mean is bn_moving_mean before MXNet 0.9", "var is bn_moving_var before MXNet 0.9",
    ]  # fmt: skip
    again = from_symbol(text, params)
    assert [tensor for _, tensor in essence(again)] == [tensor for _, tensor in essence(graph)]


def test_defaults_of_then_are_stated() -> None:
    pool = pooling.GlobalAveragePool()
    now, then = (json.loads(to_symbol(small(pool), version=version)[0])["nodes"][-1] for version in ("1.9.1", "1.1"))
    assert then["attrs"] == {"global_pool": "True", "kernel": "(1, 1)", "pool_type": "avg"}
    assert now["attrs"].items() >= {"global_pool": "True", "pool_type": "avg"}.items()


REFUSED = [
    ("0.8", activation.Softmax(axis=2), DType.FLOAT32, "softmax: 1 node .y.*since 0.9.5"),
    ("1.2", activation.Gelu(), DType.FLOAT32, "act_type=gelu"),
    ("0.12", shape_parts.Concat(axis=-1), DType.FLOAT32, "Concat.*counts from the front"),
    ("0.10", normalization.LRN(size=3), DType.FLOAT32, "LRN.*channels"),
    ("0.8", normalization.LRN(size=3), DType.FLOAT32, "LRN.*channels"),
]


@pytest.mark.parametrize(("version", "op", "dtype", "text"), REFUSED)
def test_what_a_version_lacks_is_refused(version: str, op: Any, dtype: DType, text: str) -> None:
    graph = small(op, dtype)
    if isinstance(op, shape_parts.Concat):
        graph = small()
        value = graph.outputs[0]
        graph.set_outputs([graph.add_node(op, (value, value), name="y").outputs[0]])
    with pytest.raises(UnsupportedOpError, match=rf"(?s)MXNet \d+\.\d+\.\d+:.*{text}"):
        to_symbol(graph, version=version)


@pytest.mark.parametrize(
    ("version", "op", "attrs", "text"),
    [
        (800, "Reshape", {"shape": "(-3, -2)"}, "codes below -1"),
        (800, "argmax", {"axis": "-1"}, "since 0.9.5"),
        (902, "Reshape", {"shape": "(0, -4, 1, -1)"}, "codes below -1"),
        (10000, "Concat", {"dim": "-1", "num_args": "1"}, "counts from the front"),
        (10201, "take", {"mode": "wrap"}, "only mode=clip"),
        (1000, "Convolution", {"kernel": "(3, 2)", "dilate": "(2, 1)", "num_filter": "1"}, "not square"),
        (10401, "Cast", {"dtype": "bool"}, "dtype=bool: this MXNet takes"),
        (1000, "sum", {"axis": "-1"}, "axes count from the front"),
        (10600, "Convolution", {"kernel": "(2, 2, 2)", "dilate": "(1, 2, 1)", "num_filter": "1"}, "over three axes"),
        (1000, "transpose", {"axes": "(0, 1, 4, 2, 5, 3)"}, "up to 5 axes"),
        (1000, "max", {"axis": "(0, -2)"}, "axes count from the front"),
        (1000, "pick", {"keepdims": "True"}, "keepdims goes wrong"),
        (10000, "Deconvolution", {"kernel": "(3,)", "num_filter": "1"}, "only two spatial axes"),
    ],
)
def test_what_a_release_computed_otherwise_is_refused(version: int, op: str, attrs: dict[str, str], text: str) -> None:
    nodes = [NNVMNode("null", "x"), NNVMNode(op, "y", attrs, inputs=[(0, 0)])]
    with pytest.raises(UnsupportedOpError, match=text):
        for_version(NNVMGraph(nodes, [(1, 0)], 10901), {}, version)


@pytest.mark.parametrize(
    ("version", "op", "rank", "text"),
    [
        (905, "BatchNorm", 3, "only data of 2 or 4 axes"), (905, "BatchNorm", 4, None), (1000, "BatchNorm", 3, None),
        (1100, "SequenceReverse", 2, "3 or more axes"), (1100, "SequenceReverse", 3, None),
        (1201, "SequenceReverse", 2, None), (10501, "batch_dot", 4, "operands of 3 axes"),
        (10501, "batch_dot", 3, None), (10600, "batch_dot", 4, None),
    ],
)  # fmt: skip
def test_numbers_of_axes(version: int, op: str, rank: int, text: str | None) -> None:
    nodes = [NNVMNode("null", "x"), NNVMNode("relu", "r", inputs=[(0, 0)]), NNVMNode(op, "y", inputs=[(1, 0), (1, 0)])]
    symbol = NNVMGraph(nodes, [(2, 0)], 10901)
    if text is None:
        assert for_version(symbol, {}, version, {"x": rank})[2] == []
        return
    with pytest.raises(UnsupportedOpError, match=text):
        for_version(symbol, {}, version, {"x": rank})
    open_ones = for_version(symbol, {}, version)[2]
    assert [made.kind for made in open_ones] == ["older release"]


@pytest.mark.parametrize(("version", "kinds"), [(10800, ["older release"]), (10901, [])])
def test_deconvolution_over_three_axes_is_noted(version: int, kinds: list[str]) -> None:
    node = NNVMNode("Deconvolution", "y", {"kernel": "(2, 2, 2)", "num_filter": "1"}, inputs=[(0, 0), (1, 0)])
    symbol = NNVMGraph([NNVMNode("null", "x"), NNVMNode("null", "w"), node], [(2, 0)], 10901)
    assert [made.kind for made in for_version(symbol, {}, version)[2]] == kinds


def test_axes_of_inner_values_are_known() -> None:
    graph = Graph()
    x = graph.add_input("x", TensorType(DType.FLOAT32, (2, 3, 4, 5)))
    turned = graph.add(shape.Transpose((0, 1, 3, 2)), graph.add(elementwise.Exp(), x, name="e"), name="t")
    graph.set_outputs([graph.add(linear.MatMul(), x, turned, name="y")])
    with pytest.raises(UnsupportedOpError, match="operands of 3 axes"):
        to_symbol(graph, version="1.5")


@pytest.mark.parametrize(("version", "kinds"), [("1.6", []), ("1.7", ["older release"]), ("1.8", [])])
def test_gelu_of_one_release_is_noted(version: str, kinds: list[str]) -> None:
    graph = small(activation.Gelu())
    to_symbol(graph, version=version)
    assert [made.kind for made in graph.decisions if made.kind == "older release"] == kinds


def slopes(*shape: int) -> Graph:
    """A PRelu of data of this shape, behind an operator that keeps it."""
    graph = Graph()
    x = graph.add_input("x", TensorType(DType.FLOAT32, shape))
    slope = graph.constant(np.full((shape[1], *[1] * (len(shape) - 2)), 0.25, np.float32), name="slope")
    graph.set_outputs([graph.add(elementwise.PRelu(), graph.add(activation.Relu(), x), slope, name="y")])
    return graph


@pytest.mark.parametrize(
    ("shape", "version"), [((2, 3, 4, 5), "1.3.1"), ((2, 3, 2, 2, 3), "1.2.1"), ((2, 3, 2, 2, 3), "1.4.1")]
)
def test_slopes_are_written(shape: tuple[int, ...], version: str) -> None:
    assert '"prelu"' in to_symbol(slopes(*shape), version=version)[0]


def test_slopes_that_a_release_takes_wrongly_are_refused() -> None:
    with pytest.raises(UnsupportedOpError, match="prelu of data with 5 axes"):
        to_symbol(slopes(2, 3, 2, 2, 3), version="1.3.1")


def test_slopes_of_data_of_an_unknown_number_of_axes_are_noted() -> None:
    node = NNVMNode("LeakyReLU", "y", {"act_type": "prelu"}, inputs=[(0, 0), (1, 0)])
    symbol = NNVMGraph([NNVMNode("null", "x"), NNVMNode("null", "gamma"), node], [(2, 0)], 10901)
    _, _, decisions = for_version(symbol, {}, 10301)
    assert [made.text for made in decisions] == ["MXNet 1.3.1: prelu of data with 5 axes goes wrong there"]


def test_all_gaps_come_at_once() -> None:
    graph = small(activation.Softmax(axis=2))
    graph.set_outputs([*graph.outputs, graph.add(activation.Gelu(), graph["bn_output"], name="z")])
    with pytest.raises(UnsupportedOpError) as caught:
        to_symbol(graph, version="0.8")
    assert {node for gap in caught.value.gaps for node in gap.nodes} >= {"y", "z"}


def test_an_array_of_a_later_type_is_refused() -> None:
    graph = Graph()
    x = graph.add_input("x", TensorType(DType.INT64, (2, 3)))
    graph.set_outputs([graph.add(linear.MatMul(), x, graph.constant(np.ones((3, 3), np.int64), name="w"), name="y")])
    with pytest.raises(UnsupportedOpError, match=r"array: 1 node .*w.*int64 since MXNet 0.11.0"):
        to_symbol(graph, version="0.10")


@pytest.mark.parametrize(
    ("operator", "version", "name"),
    [("elemwise_sub", 905, "_Minus"), ("elemwise_sub", 10000, "elemwise_sub"), ("elemwise_add", 800, "_Plus"),
     ("_linalg_gemm2", 1100, "linalg_gemm2"), ("Convolution", 700, "Convolution")],
)  # fmt: skip
def test_name_of_then(operator: str, version: int, name: str) -> None:
    found = operator_at(operator, version)
    assert not isinstance(found, Absent)
    assert found.name == name


@pytest.mark.parametrize(
    ("operator", "parameter", "since"),
    [("BatchNorm", "axis", 1100), ("FullyConnected", "flatten", 1201), ("Pooling", "count_include_pad", 10301),
     ("softmax", "temperature", 10301), ("RNN", "use_sequence_length", 10501)],
)  # fmt: skip
def test_parameter_is_there_since(operator: str, parameter: str, since: int) -> None:
    before = operator_at(operator, releases()[releases().index(since) - 1])
    now = operator_at(operator, since)
    assert not isinstance(before, Absent)
    assert not isinstance(now, Absent)
    assert before.parameters[parameter] == Absent(since)
    assert not isinstance(now.parameters[parameter], Absent)


@pytest.mark.parametrize("layout", ["V0", "V1", "V2"])
def test_arrays_of_every_layout_are_read_back(layout: str, tmp_path: Path) -> None:
    given: dict[str, NDArray[Any]] = {
        "arg:w": np.arange(6, dtype=np.float64).reshape(2, 3),
        "aux:m": np.array([1, 2], np.uint8),
    }
    write_params(tmp_path / "m.params", given, layout=layout)
    opened_file = open_params(tmp_path / "m.params")
    assert opened_file.container == layout
    assert opened_file.trailing == 0
    assert {name: tensor.numpy().tolist() for name, tensor in opened_file.tensors().items()} == {
        name: array.tolist() for name, array in given.items()
    }


def test_command(shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = str(shared / "models" / "mxnet" / "gluoncv-cifar-resnet20-v1" / "model-symbol.json")
    target = str(tmp_path / "old-symbol.json")
    assert main(["convert", source, target, "--mxnet-version", "0.8"]) == 0
    assert "-> old-symbol.json (MXNet 0.8.0)" in capsys.readouterr().out
    assert '"backward_source_id": -1' in Path(target).read_text()
    assert main(["convert", source, target, "--mxnet-version", "3"]) == 2
    assert main(["convert", source, str(tmp_path / "x.onnx"), "--mxnet-version", "1.0"]) == 2
    assert "mxnet_version is for MXNet targets" in capsys.readouterr().err
    assert not (tmp_path / "x.onnx").exists()


@pytest.mark.parametrize(("words", "text"), [(["--opset", "13"], "opset"), (["--weights", "inline"], "weights")])
@pytest.mark.parametrize("target", ["x-symbol.json", "x.graphir.json"])
def test_options_of_onnx_are_refused(
    target: str, words: list[str], text: str, shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = str(shared / "models" / "mxnet" / "mtcnn-det1-pnet" / "model-symbol.json")
    assert main(["convert", source, str(tmp_path / target), *words]) == 2
    assert f"{text} is for ONNX targets" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_parameters_of_the_source_are_not_written_over(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shared / "models" / "mxnet" / "mtcnn-det1-pnet"
    mine = tmp_path / "mine-0000.params"
    mine.write_bytes((folder / "model-0000.params").read_bytes())
    words = ["convert", str(folder / "model-symbol.json"), str(tmp_path / "mine-symbol.json"), "-p", str(mine)]
    assert main(words) == 1
    assert "mine-0000.params is a file of the source" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine-0000.params"]
