"""What a reader meets: names of layers, axes that a mean keeps, and blocks that are worth their name."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

from graphir import Graph, Tensor, TensorType, Value
from graphir.converters.pytorch import to_module
from graphir.decisions import Decision, DecisionKind
from graphir.ops.activation import Relu
from graphir.ops.base import Operator
from graphir.ops.convolution import Conv
from graphir.ops.elementwise import Abs, Add, Div, Erf, Mul
from graphir.ops.linear import MatMul
from graphir.ops.pooling import AveragePool
from graphir.ops.reduction import ReduceMean
from graphir.ops.resize import Resize
from graphir.ops.shape import Reshape, Transpose
from graphir.padding import Explicit
from graphir.types import DType, symbol

DRAW = np.random.default_rng(0)


class Net:
    """A graph with one value that each layer takes and gives."""

    def __init__(self) -> None:
        self.graph = Graph("net")
        self.value: Value = self.graph.add_input("data", TensorType(DType.FLOAT32, (symbol("N"), 4, 8, 8)))

    def conv(self, name: str, weight_name: str = "") -> None:
        elements = DRAW.normal(size=(4, 4, 3, 3)).astype(np.float32)
        weight = self.graph.add_parameter(weight_name or f"{name}_weight", Tensor.of(elements))
        conv = Conv((3, 3), (1, 1), padding=Explicit(((1, 1), (1, 1))))
        self.value = self.graph.add(conv, self.value, weight, name=name)

    def relu(self, name: str) -> None:
        self.value = self.graph.add(Relu(), self.value, name=name)

    def text(self) -> str:
        self.graph.set_outputs([self.value])
        return to_module(self.graph).text("a test")


@pytest.mark.parametrize(
    ("names", "layers"),
    [
        (("stem/convolution", "top/convolution"), ("stem", "top")),
        (("net/stem/Conv", "net/top/Conv"), ("stem", "top")),
        (("stem/first", "stem/second", "top/Conv"), ("stem_first", "stem_second", "top")),
        (("stem/Conv", "stem/inner/Conv"), ("Conv", "inner")),
        (("a/stem/Conv", "b/stem/Conv", "a/stem_"), ("a_stem", "b_stem", "a_stem_2")),
        (("stem_convolution", "top"), ("stem_convolution", "top")),
    ],
)
def test_a_layer_that_is_alone_has_the_name_of_its_scope(names: tuple[str, ...], layers: tuple[str, ...]) -> None:
    net = Net()
    for name in names:
        net.conv(name)
    text = net.text()
    assert [line.split()[0].removeprefix("self.") for line in text.splitlines() if "nn.Conv2d" in line] == list(layers)


WEIGHTS = [
    (("/l/0/MatMul", "features.0.conv.weight"), ("/l/1/MatMul", "features.1.conv.weight"), ("n0_conv", "n1_conv")),
    (("net_1/stem_1/convolution", "stem/kernel_1"), ("net_1/top_1/convolution", "top/kernel_1"), ("stem", "top")),
    (("245", "base.first.weight"), ("246", "base.second.weight"), ("first", "second")),
    (("stem/Conv", "onnx::Conv_12"), ("top/Conv", "onnx::Conv_13"), ("stem", "top")),
    (("stem", "a.weight_norm"), ("top", "a.other"), ("stem", "top")),
    (("stem", "a/stem_weight"), ("top", "a/top_weight"), ("stem", "top")),
]


@pytest.mark.parametrize(("first", "second", "layers"), WEIGHTS)
def test_a_layer_has_the_name_that_its_weights_state(
    first: tuple[str, str], second: tuple[str, str], layers: tuple[str, str]
) -> None:
    net = Net()
    net.conv(*first)
    net.conv(*second)
    lines = [line.split()[0] for line in net.text().splitlines() if "nn.Conv2d" in line]
    assert lines == [f"self.{name}" for name in layers]


@pytest.mark.parametrize(
    ("op", "line"),
    [
        (Relu(), "        return F.relu(self.conv(x))"),
        (Abs(), "        return torch.abs(self.conv(x))"),
        (None, "        x = self.conv(x)\n        return x"),
    ],
)
def test_what_type_checkers_know_is_returned_as_it_is(op: Operator | None, line: str) -> None:
    net = Net()
    net.conv("conv")
    if op is not None:
        net.value = net.graph.add(op, net.value, name="last")
    assert f"{line}\n" in net.text().replace("  # (N, 4, 8, 8)", "")


@pytest.mark.parametrize(("shape", "keeps"), [((-1, 4, 1, 1), True), ((-1, 2, 2, 1), False), ((-1, 1, 1, 4), False)])
def test_a_mean_keeps_axes_that_come_back(shape: tuple[int, ...], keeps: bool) -> None:
    net = Net()
    axes = net.graph.constant([2, 3], DType.INT64)
    mean = net.graph.add(ReduceMean(keepdims=False), net.value, axes, name="mean")
    net.value = net.graph.add(Reshape(), mean, net.graph.constant(list(shape), DType.INT64), name="shaped")
    net.relu("relu")
    assert ("mean((2, 3), keepdim=True)" in net.text()) == keeps


@pytest.mark.parametrize(("layers", "blocks"), [(1, 0), (2, 1)])
def test_a_block_has_two_layers(layers: int, blocks: int) -> None:
    net = Net()
    net.conv("stem")
    for block in range(2):
        start = net.value
        for layer in range(layers):
            net.conv(f"block{block}_conv{layer}")
            net.relu(f"block{block}_relu{layer}")
        if layers > 1:
            net.value = net.graph.add(Add(), net.value, start, name=f"block{block}_sum")
        else:
            net.relu(f"block{block}_relu_again")
    assert net.text().count("class Block") == blocks


def test_blocks_in_several_places_keep_their_numbers() -> None:
    """A name that stands for two runs of a block says nothing, and a number behind it something wrong."""
    net = Net()
    net.conv("stem")
    for block in (1, 2, 4, 5):
        if block == 4:
            net.conv("block_3_conv")
            net.relu("block_3_relu")
            net.relu("block_3_relu_again")
        start = net.value
        net.conv(f"block_{block}_conv0")
        net.relu(f"block_{block}_relu")
        net.conv(f"block_{block}_conv1")
        net.value = net.graph.add(Add(), net.value, start, name=f"block_{block}_sum")
    text = net.text()
    assert "self.block_1 = nn.Sequential" in text
    assert "self.block_4 = nn.Sequential" in text


def linear(net: Net, value: Value, scope: str) -> Value:
    """A product and a shift under the names that torch's exporters give."""
    weight = net.graph.add_parameter(f"onnx::MatMul_{scope}", Tensor.of(DRAW.normal(size=(8, 8)).astype(np.float32)))
    bias = net.graph.add_parameter(f"{scope}.bias", Tensor.of(DRAW.normal(size=8).astype(np.float32)))
    path = f"/{scope.replace('.', '/')}"
    product = net.graph.add(MatMul(), value, weight, name=f"{path}/MatMul")
    return net.graph.add(Add(), bias, product, name=f"{path}/Add")


def test_what_the_source_only_numbers_is_called_after_its_layer_and_what_it_is_computed_from() -> None:
    net = Net()
    query, key = (linear(net, net.value, f"layer.self.{name}") for name in ("query", "key"))
    turned = net.graph.add(Transpose((0, 1, 3, 2)), key, name="/layer/self/Transpose_3")
    scores = net.graph.add(MatMul(), query, turned, name="/layer/self/MatMul_4")
    net.value = linear(net, net.graph.add(Add(), scores, net.value, name="/layer/Add_5"), "layer.dense")
    text = net.text()
    assert "query = self.self_query(x)" in text
    assert "key = self.self_key(x).transpose(2, 3)" in text
    assert "scores = query @ key" in text
    assert not re.search(r"Transpose|MatMul|Add", text.split("def forward")[1])


def test_gelu_that_is_spelled_out_is_one_call() -> None:
    net = Net()
    root, one, half = (net.graph.constant(np.float32(number)) for number in (np.sqrt(2), 1, 0.5))
    erf = net.graph.add(Erf(), net.graph.add(Div(), net.value, root, name="/act/Div"), name="/act/Erf")
    product = net.graph.add(Mul(), net.value, net.graph.add(Add(), erf, one, name="/act/Add"), name="/act/Mul")
    net.value = net.graph.add(Mul(), product, half, name="/act/Mul_1")
    assert "return F.gelu(x)" in net.text()


@pytest.mark.parametrize(
    ("shape", "call"), [((0, 0, 2, 4, 8), "x.unflatten(2, (2, 4))"), ((0, 4, 8, 2, 4), "x.unflatten(3, (2, 4))")]
)
def test_an_axis_that_becomes_two_is_unflattened(shape: tuple[int, ...], call: str) -> None:
    net = Net()
    net.value = net.graph.add(Reshape(), net.value, net.graph.constant(list(shape), DType.INT64), name="shaped")
    assert f"return {call}" in net.text()


def test_sizes_that_are_long_are_left_out_of_comments() -> None:
    """A decoder that adds what it doubled: each level's size is an expression of that of the one before."""
    net = Net()
    height, width = symbol("H"), symbol("W")
    net.graph = Graph("net")
    value = net.graph.add_input("data" * 40, TensorType(DType.FLOAT32, (symbol("N"), 4, height, width)))
    levels = [value]
    for _ in range(3):
        levels.append(net.graph.add(AveragePool((2, 2), (2, 2)), levels[-1]))
    value = levels.pop()
    while levels:
        value = net.graph.add(Add(), net.graph.add(Resize(factors=(1.0, 1.0, 2.0, 2.0)), value), levels.pop())
    net.value = value
    text = net.text()
    assert "# (N, 4, ?, ?)" in text
    assert max(map(len, text.splitlines())) <= 120
    assert not any(line.endswith(" ") for line in text.splitlines())


def test_what_training_would_miss_is_told_once_and_whole() -> None:
    net = Net()
    net.relu("top")
    for place in range(40):
        name = "\\" * 150 if place == 0 else f"{'a_long_scope_' * 9}dropout{place}"
        text = "without effect at inference" if place % 3 else f"p 0.{place // 3 % 2 + 1}, without effect at inference"
        net.graph.decisions.append(Decision(DecisionKind.DROPOUT_REMOVED, name, text))
    text = net.text()
    lines = [line for line in text.splitlines() if line.startswith("- ")]
    assert [line.split()[1] for line in lines] == ["7", "26", "7"]
    assert all(line.endswith("...: p 0.1, without effect at inference") for line in lines[:1]), lines
    assert all(len(line) <= 116 and line.endswith("without effect at inference") for line in lines), lines
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile(text, "net.py", "exec")
