"""Blocks that read more than what the one before them gives: a mask, what a U-Net hands across, what is read later."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from graphir import Graph, Tensor, TensorType, Value
from graphir.converters.pytorch import to_module
from graphir.ops.activation import Relu, Sigmoid, Tanh
from graphir.ops.convolution import Conv
from graphir.ops.elementwise import Abs, Add, Mul
from graphir.ops.indexing import Gather
from graphir.ops.linear import MatMul
from graphir.ops.normalization import BatchNormalization
from graphir.ops.shape_parts import Concat
from graphir.ops.slicing import Slice
from graphir.padding import Explicit
from graphir.types import DType, symbol
from tests.converters.pytorch.running import need_torch, run_module, run_session

DRAW = np.random.default_rng(0)
TYPE = TensorType(DType.FLOAT32, (symbol("N"), 4, 6, 6))


class Net:
    """A graph of convolutions with four channels."""

    def __init__(self, *inputs: str) -> None:
        self.graph = Graph("net")
        self.inputs = [self.graph.add_input(name, TYPE) for name in inputs]
        self._count = 0

    def add(self, op: Any, *values: Value, name: str = "") -> Value:
        self._count += 1
        return self.graph.add(op, *values, name=name or f"{op.name}_{self._count}")

    def conv(self, value: Value, name: str) -> Value:
        elements = DRAW.normal(size=(4, value.shape[1] if value.shape else 4, 3, 3)).astype(np.float32) / 4
        weight = self.graph.add_parameter(f"{name}.weight", Tensor.of(elements))
        return self.add(Conv((3, 3), (1, 1), padding=Explicit(((1, 1), (1, 1)))), value, weight, name=f"{name}/Conv")

    def gated(self, value: Value, gate: Value, name: str) -> Value:
        """Two convolutions around a product with a gate, and a shortcut."""
        inner = self.add(Mul(), self.add(Relu(), self.conv(value, f"{name}.first")), gate)
        return self.add(Add(), value, self.conv(inner, f"{name}.second"))

    def check(self, *outputs: Value, limit: float = 2e-5) -> str:
        """Return the module's text, which gives what onnxruntime gives within a part of the largest number."""
        self.graph.set_outputs(outputs)
        feeds = {value.name: DRAW.normal(size=(2, 4, 6, 6)).astype(np.float32) for value in self.inputs}
        results, text = run_module(self.graph, list(feeds.values()))
        for found, expected in zip(results, run_session(self.graph, feeds), strict=True):
            np.testing.assert_allclose(found, expected, rtol=0, atol=limit * float(np.abs(expected).max()))
        return text


pytestmark = pytest.mark.live


@pytest.fixture(autouse=True)
def torch() -> None:
    need_torch()


@pytest.mark.parametrize("is_computed", [True, False])
def test_blocks_in_a_row_that_read_the_same_value_are_a_loop(is_computed: bool) -> None:
    net = Net("data", "mask")
    value, gate = net.inputs
    value = net.conv(value, "stem")
    gate = net.add(Sigmoid(), net.conv(gate, "gate")) if is_computed else gate
    for layer in range(3):
        value = net.gated(value, gate, f"layers.{layer}")
    text = net.check(net.conv(value, "head"))
    assert text.count("\nclass ") == 2
    assert "self.layers = nn.ModuleList([Block() for _ in range(3)])" in text
    assert "        for block in self.layers:\n            x = block(x, " in text


def test_a_block_that_reads_another_value_each_time_is_called_with_it() -> None:
    net = Net("data")
    (value,) = net.inputs
    skips = []
    for level in range(3):
        value = net.gated(value, value, f"down.{level}")
        skips.append(value)
    value = net.add(Relu(), net.conv(value, "bottom"))
    for level, skip in enumerate(reversed(skips)):
        value = net.add(Concat(1), skip, net.add(Abs(), net.conv(value, f"up.{level}.first")))
        value = net.add(Relu(), net.conv(value, f"up.{level}.second"))
    text = net.check(value)
    assert text.count("\nclass ") == 3
    assert [text.count(f"self.up_{level}(") for level in range(3)] == [1, 1, 1]


def test_what_is_read_behind_a_block_is_not_inside_a_row() -> None:
    net = Net("data")
    (value,) = net.inputs
    values = []
    for layer in range(4):
        value = net.gated(value, value, f"layers.{layer}")
        values.append(value)
    text = net.check(value, values[1])
    assert text.count("\nclass ") == 2
    assert text.count("nn.Sequential(*[Block() for _ in range(2)])") == 2


def test_blocks_that_read_a_value_of_another_one_are_not_one_class() -> None:
    """Each has the same statements; the gate is another value once, and what the block changes the other time."""
    net = Net("data")
    start = net.conv(net.inputs[0], "stem")
    first = net.gated(start, net.inputs[0], "layers.0")
    second = net.gated(first, first, "layers.1")
    text = net.check(second)
    assert "nn.ModuleList" not in text
    assert "nn.Sequential" not in text


def test_a_long_network_of_stretches_inside_each_other_is_written() -> None:
    """A U-Net of 60 levels: only so many stretches are cut, the rest is written as it is."""
    net = Net("data")
    value, skips = net.inputs[0], []
    for _ in range(60):
        value = net.add(Relu(), net.add(Abs(), value))
        skips.append(value)
    for skip in reversed(skips):
        value = net.add(Add(), skip, net.add(Sigmoid(), value))
    net.graph.set_outputs([net.conv(value, "head")])
    to_module(net.graph).text("a test")


def test_a_layer_that_is_used_again_is_one_layer() -> None:
    """A cell of an unrolled network: its steps are taken where they are read."""
    graph = Graph("net")
    data = graph.add_input("data", TensorType(DType.FLOAT32, (symbol("N"), 20, 4)))
    weight = graph.add_parameter("cell.weight", Tensor.of(DRAW.normal(size=(6, 2)).astype(np.float32)))
    bias = graph.add_parameter("cell.bias", Tensor.of(DRAW.normal(size=2).astype(np.float32)))
    steps = [graph.add(Gather(1), data, graph.constant(step, DType.INT64)) for step in range(20)]
    state = graph.add(Slice(), steps[0], *(graph.constant([bound], DType.INT64) for bound in (0, 2, 1)))
    for step in steps:
        product = graph.add(MatMul(), graph.add(Concat(1), step, state), weight)
        state = graph.add(Tanh(), graph.add(Add(), product, bias))
    graph.set_outputs([state])
    feed = DRAW.normal(size=(3, 20, 4)).astype(np.float32)
    (found,), text = run_module(graph, [feed])
    np.testing.assert_allclose(found, run_session(graph, {"data": feed})[0], rtol=0, atol=1e-5)
    assert text.count("nn.Linear(6, 2)") == 1
    # The first step is read twice.
    assert text.count("torch.cat((x[:, ") == len(steps) - 1


def test_layers_that_share_a_part_of_their_weights_are_tied() -> None:
    net = Net("data")
    value = net.inputs[0]
    weight = net.graph.add_parameter("first.weight", Tensor.of(DRAW.normal(size=(4, 4, 1, 1)).astype(np.float32)))
    for name in ("first", "second"):
        bias = net.graph.add_parameter(f"{name}.bias", Tensor.of(DRAW.normal(size=4).astype(np.float32)))
        value = net.add(Relu(), net.add(Conv((1, 1), (1, 1)), value, weight, bias, name=f"{name}/Conv"))
    assert "        self.second.weight = self.first.weight\n" in net.check(value)


def drawn(seed: int) -> tuple[Net, Value]:
    """Return a network of blocks of a few kinds, some with layers on a second path, and what it gives."""
    draw, net = random.Random(seed), Net("data")
    (value,), number = net.inputs, 0

    def layer(kind: str, value: Value, scope: str) -> Value:
        nonlocal number
        number += 1
        name = f"{scope}{draw.choice(('conv_in', 'n', 'proj'))}_{number}"
        if kind == "conv":
            return net.conv(value, name)
        if kind == "norm":
            parameters = [Tensor.of(np.abs(DRAW.normal(size=4)).astype(np.float32) + 0.5) for _ in range(4)]
            added = [net.graph.add_parameter(f"{name}.{place}", tensor) for place, tensor in enumerate(parameters)]
            return net.add(BatchNormalization(), value, *added, name=name)
        return net.add(Tanh(), value, name=name)

    kinds = [draw.choices(("conv", "norm", "act"), k=draw.randint(2, 6)) for _ in range(draw.randint(1, 3))]
    for block in range(draw.randint(2, 14)):
        scope = draw.choice((f"stage{block // 4}_block{block}_", f"stage{block // 4}/block{block}/"))
        start = side = value
        for kind in draw.choice(kinds):
            value = layer(kind, value, scope)
        for kind in draw.choice(((), (), ("conv",), ("norm",), ("conv", "norm"))):
            side = layer(kind, side, scope)
        value = net.add(Tanh(), net.add(Add(), value, side) if draw.random() < 0.7 or side is not start else value)
    return net, value


@pytest.mark.parametrize("seed", range(24))
def test_drawn_networks_of_blocks_with_second_paths(seed: int) -> None:
    """The weights fit the classes whatever second paths their uses have, and every name is an identifier."""
    need_torch()
    net, value = drawn(seed)
    net.check(value, limit=1e-2)  # so many layers magnify rounding, and any layer in a wrong place gives other numbers
