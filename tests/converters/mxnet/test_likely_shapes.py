"""Shapes of inputs that nobody gave, from the weights that the file holds."""

from __future__ import annotations

import glob
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphir.converters.mxnet import from_symbol
from graphir.converters.mxnet.source import open_source
from graphir.converters.onnx import to_model
from graphir.graph import Graph
from graphir.types import format_shape
from tests.converters.mxnet.composed import Part, node, symbol_json, variable
from tests.typed import present

DATA, WEIGHT, BIAS = variable("data"), variable("w"), variable("b")


def opened(head: Part, **shapes: tuple[int, ...]) -> Graph:
    """The graph of a symbol with parameters of these shapes."""
    params = {name: np.ones(shape, np.float32) for name, shape in shapes.items()}
    return from_symbol(symbol_json(head), params)


def shown(graph: Graph) -> list[str]:
    return [f"{value.name} {format_shape(value.shape)}" for value in graph.inputs]


def dense(data: Part, **attrs: object) -> Part:
    return node("FullyConnected", data, WEIGHT, num_hidden=4, no_bias=True, name="fc", **attrs)


def recurrent(mode: str, layers: int, **attrs: object) -> Part:
    states = layers * (2 if attrs.get("bidirectional") else 1)
    zeros = [node("_zeros", shape=(states, 0, 4))] * (2 if mode == "lstm" else 1)
    return node("RNN", DATA, WEIGHT, *zeros, mode=mode, state_size=4, num_layers=layers, name="rnn", **attrs)


ROWS = [
    pytest.param(dense(DATA), {"w": (4, 784)}, ["data [N, 784]"], id="fully connected"),
    pytest.param(dense(node("_div_scalar", DATA, scalar=255)), {"w": (4, 3)}, ["data [N, 3]"], id="behind a division"),
    pytest.param(dense(node("Dropout", DATA)), {"w": (4, 3)}, ["data [N, 3]"], id="behind a dropout"),
    pytest.param(
        node("Convolution", DATA, WEIGHT, kernel=(3, 3), num_filter=4, num_group=2, no_bias=True),
        {"w": (4, 3, 3, 3)}, ["data [N, 6, H, W]"], id="grouped convolution",
    ),
    pytest.param(
        node("Convolution", node("_minus_scalar", DATA, scalar=1), WEIGHT, kernel=(3,), num_filter=4, no_bias=True),
        {"w": (4, 5, 3)}, ["data [N, 5, W]"], id="convolution of one axis behind a subtraction",
    ),
    pytest.param(
        node("Deconvolution", DATA, WEIGHT, kernel=(3, 3), num_filter=4, no_bias=True),
        {"w": (6, 4, 3, 3)}, ["data [N, 6, H, W]"], id="deconvolution",
    ),
    pytest.param(
        node("Embedding", DATA, WEIGHT, input_dim=9, output_dim=4), {"w": (9, 4)}, ["data [N, C]"], id="words"
    ),
    pytest.param(node("dot", DATA, WEIGHT), {"w": (7, 4)}, ["data [N, 7]"], id="dot"),
    pytest.param(node("dot", DATA, WEIGHT, transpose_b=True), {"w": (4, 7)}, ["data [N, 7]"], id="dot transposed"),
    pytest.param(recurrent("lstm", 1), {"w": (4 * 4 * (3 + 4 + 2),)}, ["data [N, C, 3]"], id="lstm"),
    pytest.param(
        recurrent("gru", 2, bidirectional=True), {"w": (2 * 12 * (3 + 4 + 2) + 2 * 12 * (8 + 4 + 2),)},
        ["data [N, C, 3]"], id="gru of two layers and ways",
    ),
    pytest.param(
        dense(node("Concat", variable("x"), variable("y"), dim=1, num_args=2)),
        {"w": (4, 9)}, ["x [N, x_1]", "y [N, y_1]"], id="two joined",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("head", "shapes", "expected"), ROWS)
def test_first_weight_says_the_rank(head: Part, shapes: dict[str, tuple[int, ...]], expected: list[str]) -> None:
    graph = opened(head, **shapes)
    assert shown(graph) == expected
    assert "input shape" in {made.kind for made in graph.decisions}


def test_a_doubtful_rank_is_told() -> None:
    graph = opened(dense(DATA), w=(4, 784))
    (text,) = [made.text for made in graph.decisions if made.kind == "input shape"]
    assert text.endswith("that it has 2 axes is taken from the weight of fc")


def test_a_layer_that_keeps_axes_says_no_rank() -> None:
    assert opened(dense(DATA, flatten=False), w=(4, 784)).inputs[0].shape is None


def test_a_rank_that_fails_is_given_up() -> None:
    """A pooling of the same data wants four axes, which the weight of a flattening layer cannot know."""
    pooled = node("Pooling", DATA, kernel=(2, 2), pool_type="max", name="pool")
    text = symbol_json(dense(DATA), pooled)
    graph = from_symbol(text, {"w": np.ones((4, 12), np.float32)})
    assert graph.inputs[0].rank == 4


def flattened(*spatial: int) -> Graph:
    """A convolution of stride 4 and a fully connected layer behind it, for pictures of some size."""
    found = node("Convolution", DATA, variable("k"), kernel=(4, 4), stride=(4, 4), num_filter=2, no_bias=True)
    return opened(dense(node("Flatten", found)), k=(2, 3, 4, 4), w=(4, 2 * spatial[0] * spatial[1]))


@pytest.mark.parametrize(
    ("windows", "size", "said"),
    [(3, 12, "12 to 15 do"), (7, 28, "28 to 31 do"), (8, 32, "32 to 35 do"), (56, 224, "224 to 227 do")],
)
def test_of_a_range_the_roundest_size_is_taken(windows: int, size: int, said: str) -> None:
    graph = flattened(windows, windows)
    assert shown(graph) == [f"data [N, 3, {size}, {size}]"]
    assert any(said in made.text for made in graph.decisions if made.kind == "input shape")


def test_a_size_that_two_inputs_share_is_not_divided_between_them() -> None:
    head = dense(node("Concat", variable("x"), variable("y"), dim=1, num_args=2))
    graph = opened(head, w=(4, 9))
    texts = [made.text for made in graph.decisions if made.kind == "size bound by weights"]
    assert texts == ["x_1+y_1 must be 9, which no size alone says: give the shapes with -i"]


FOLDERS = (
    "mxnet/mtcnn-det2-rnet", "mxnet/mtcnn-det3-onet", "mxnet/toy-lenet-miraclewkf", "mxnet/xdl-blaze-dnn",
    "mxnet_symbol_only/lightened-cnn", "mxnet_symbol_only/lstm-ptb-mms", "mxnet_symbol_only/mxnet-clojure-imclass",
    "mxnet_symbol_only/mxnet-save-000800", "mxnet_symbol_only/resnet-18-miracle",
)  # fmt: skip


def real_parameters(folder: Path, symbol: str, golden: dict[str, Any]) -> Any:
    """The file's, or zeros of the shapes that the golden inputs lead to."""
    files = glob.glob(str(folder / "*.params"))
    if files:
        return files[0]
    inputs = {name: tuple(shape) for name, shape in golden["inputs"].items()}
    graph = open_source(symbol).to_graph(inputs, simplified=False)
    return {
        value.name: np.zeros(present(value.shape), np.float32) for value in graph.parameters if value.tensor is None
    }


@pytest.mark.parametrize("name", FOLDERS)
def test_real_folders_convert_without_options(name: str, shared: Path) -> None:
    folder = shared / "models" / name
    golden = json.loads((folder / "golden.json").read_text())
    symbol = glob.glob(str(folder / "*symbol.json"))[0]
    graph = from_symbol(symbol, real_parameters(folder, symbol, golden))
    to_model(graph)
    wanted = [golden["inputs"][value.name] for value in graph.inputs]
    sizes = [
        zip(present(value.shape)[1:], shape[1:], strict=True) for value, shape in zip(graph.inputs, wanted, strict=True)
    ]
    assert all(not isinstance(size, int) or size == true for pairs in sizes for size, true in pairs)
