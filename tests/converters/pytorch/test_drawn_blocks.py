"""Networks of many forms, drawn: attention, U-Nets, dense blocks, branches, streams, cells, shared weights, groups.

Names are those of ONNX's exporters, Gluon and Keras, numbers, keywords, clashes and what is no name at all.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphir import Tensor, Value
from graphir.ops.activation import Relu, Sigmoid, Softmax, Tanh
from graphir.ops.convolution import Conv, ConvTranspose
from graphir.ops.elementwise import Add, Mul
from graphir.ops.linear import MatMul
from graphir.ops.normalization import LayerNormalization
from graphir.ops.pooling import AveragePool
from graphir.ops.shape import Transpose
from graphir.ops.shape_parts import Concat, Split
from graphir.padding import Explicit
from tests.converters.pytorch.running import need_torch
from tests.converters.pytorch.test_blocks import DRAW, Net
from tests.converters.pytorch.test_networks import readable

pytestmark = pytest.mark.live
SEEDS = 5
KEYWORDS = ("for", "class", "self", "forward", "x", "nn", "unique", "block", "number", "shortcut", "match", "0", "")
HOSTILE = ('"', "'", "\n", "\\", "{x}", "#", ")", " ", "\xe9", "a" * 70)
SCHEMES: tuple[Callable[[random.Random, str, str, int], str], ...] = (
    lambda draw, scope, leaf, count: f"/{scope.replace('.', '/')}/{leaf}/Conv",
    lambda draw, scope, leaf, count: f"net0_{scope.replace('.', '_')}_{leaf}_fwd",
    lambda draw, scope, leaf, count: f"model/conv2d_{count}/Conv2D",
    lambda draw, scope, leaf, count: str(3 * count),
    lambda draw, scope, leaf, count: draw.choice(KEYWORDS),
    lambda draw, scope, leaf, count: draw.choice("._/:-").join(draw.choices(("a", "b", "a_b", "1"), k=2)),
    lambda draw, scope, leaf, count: draw.choice(HOSTILE).join(("conv", draw.choice(("a", "", "1")))),
)


class NamedNet(Net):
    """A network whose nodes and weights have names of one scheme."""

    def __init__(self, seed: int, *inputs: str) -> None:
        super().__init__(*inputs)
        self.draw, self.weights = random.Random(seed), 0
        self._scheme = SCHEMES[seed % len(SCHEMES)]

    def weight(self, scope: str, leaf: str, *shape: int) -> Value:
        self.weights += 1
        name = self._scheme(self.draw, scope, leaf, self.weights) or "w"
        elements = DRAW.normal(size=shape).astype(np.float32) / np.sqrt(np.prod(shape[1:], dtype=int))
        return self.graph.add_parameter(self.graph.fresh_name(f"{name}.weight"), Tensor.of(elements))

    def layer(self, value: Value, scope: str, leaf: str = "conv", size: int = 3, weight: Value | None = None) -> Value:
        """A convolution to four channels and what follows it."""
        assert value.shape is not None
        channels = value.shape[1]
        assert isinstance(channels, int)
        weight = weight or self.weight(scope, leaf, 4, channels, size, size)
        pads = Explicit(((size // 2, size // 2),) * 2)
        name = self._scheme(self.draw, scope, leaf, self.weights)
        return self.add(Tanh(), self.add(Conv((size, size), (1, 1), padding=pads), value, weight, name=name))

    def product(self, value: Value, scope: str, leaf: str) -> Value:
        return self.add(MatMul(), value, self.weight(scope, leaf, 6, 6), name=f"{scope}/{leaf}")


def attention(net: NamedNet) -> list[Value]:
    value, mask = net.inputs
    shared = net.weight("net", "bias", 6, 6)
    has_norm, is_masked = net.draw.random() < 0.5, net.draw.random() < 0.7
    for index in range(net.draw.randint(2, 5)):
        scope = f"layers.{index}"
        query, key, part = (net.product(value, scope, leaf) for leaf in ("query", "key", "value"))
        scores = net.add(Add(), net.add(MatMul(), query, net.add(Transpose((0, 1, 3, 2)), key)), shared)
        scores = net.add(Add(), scores, mask) if is_masked else scores
        inner = net.add(MatMul(), net.add(Softmax(), scores), part)
        value = net.add(Add(), value, net.product(inner, scope, "out"))
        if has_norm:
            norm = LayerNormalization()
            value = net.graph.add_node(norm, [value, net.weight(scope, "norm", 6)], name=f"{scope}/norm").outputs[0]
    return [value]


def u_net(net: NamedNet) -> list[Value]:
    value, skips = net.inputs[0], []
    depth, layers, joins = net.draw.randint(1, 3), net.draw.randint(1, 3), net.draw.choice((Add(), Concat(1)))
    for level in range(depth):
        for index in range(layers):
            value = net.layer(value, f"down.{level}", f"conv{index}")
        skips.append(value)
        value = net.layer(net.add(AveragePool((2, 2)), value), f"down.{level}", "reduce", 1)
    for level, skip in enumerate(reversed(skips)):
        value = net.add(ConvTranspose((2, 2)), value, net.weight(f"up.{level}", "up", 4, 4, 2, 2))
        value = net.add(joins, skip, value)
        for index in range(layers):
            value = net.layer(value, f"up.{level}", f"conv{index}")
    return [value]


def dense(net: NamedNet) -> list[Value]:
    value, is_long = net.inputs[0], net.draw.random() < 0.5
    for stage in range(net.draw.randint(1, 3)):
        parts = [value]
        for index in range(net.draw.randint(2, 5)):
            given = net.add(Concat(1), *parts) if len(parts) > 1 else value
            inner = net.layer(given, f"dense{stage}.{index}", "conv1", 1) if is_long else given
            parts.append(net.layer(inner, f"dense{stage}.{index}", "conv2"))
        value = net.layer(net.add(Concat(1), *parts), f"transition{stage}", size=1)
    return [value]


def branches(net: NamedNet) -> list[Value]:
    value, forms = net.inputs[0], [net.draw.choices((0, 1, 2, 3), k=net.draw.randint(2, 4)) for _ in range(2)]
    for index in range(net.draw.randint(2, 6)):
        results = []
        for branch, length in enumerate(net.draw.choice(forms)):
            inner = value
            for place in range(length):
                inner = net.layer(inner, f"mixed_{index}.branch{branch}", f"conv{place}")
            results.append(inner)
        value = net.layer(net.add(Concat(1), *results), f"mixed_{index}", "reduce", 1)
    return [value]


def streams(net: NamedNet) -> list[Value]:
    """Two values lead on from each stage, one of them in two parts."""
    first, second = net.inputs
    for index in range(net.draw.randint(2, 5)):
        one, other = net.layer(first, f"stage{index}", "a"), net.layer(second, f"stage{index}", "b")
        low, high = net.graph.add_node(Split(2, axis=1), [one], name=f"split{index}").outputs
        first, second = net.add(Add(), one, other), net.add(Mul(), other, net.add(Concat(1), high, low))
    return [second, first]


def cells(net: NamedNet) -> list[Value]:
    """Each reads the two before it."""
    before, last = net.inputs[0], net.layer(net.inputs[0], "stem")
    for index in range(net.draw.randint(2, 6)):
        left, right = net.layer(before, f"cell_{index}", "left", 1), net.layer(last, f"cell_{index}", "right", 1)
        total = net.add(Add(), net.layer(left, f"cell_{index}", "inner"), right)
        before, last = last, net.add(Relu(), net.add(Concat(1), total, left))
    return [last]


def shared(net: NamedNet) -> list[Value]:
    """Some layers have the weights of others, everywhere or in every second block."""
    value, period = net.inputs[0], net.draw.randint(1, 2)
    first, second = ([net.weight("net", f"{leaf}{place}", 4, 4, 3, 3) for place in range(2)] for leaf in "ab")
    for index in range(net.draw.randint(2, 6)):
        inner = net.layer(value, f"blocks.{index}", "a", weight=first[index % period])
        inner = net.layer(inner, f"blocks.{index}", "own")
        value = net.add(Add(), value, net.layer(inner, f"blocks.{index}", "b", weight=second[0]))
    return [value]


def nested(net: NamedNet) -> list[Value]:
    value, gate = net.inputs[0], net.add(Sigmoid(), net.inputs[1]) if net.draw.random() < 0.5 else None
    repeats = net.draw.randint(2, 3)
    for stage in range(net.draw.randint(2, 3)):
        begin = value
        for group in range(2):
            start = value
            for index in range(repeats):
                scope = f"stage{stage}.group{group}.{index}"
                inner = net.layer(net.layer(value, scope, "conv1"), scope, "conv2")
                value = net.add(Add(), value, inner if gate is None else net.add(Mul(), inner, gate))
            value = net.add(Add(), start, net.layer(value, f"stage{stage}.group{group}", "end"))
        value = net.add(Add(), begin, net.layer(value, f"stage{stage}", "end"))
    return [value]


FORMS: dict[str, Callable[[NamedNet], list[Value]]] = {
    form.__name__: form for form in (attention, u_net, dense, branches, streams, cells, shared, nested)
}


@pytest.mark.one_of(8)
@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("form", FORMS)
def test_a_drawn_network_is_written_as_it_computes(form: str, seed: int, tmp_path: Path) -> None:
    need_torch()
    number = seed * len(FORMS) + list(FORMS).index(form)
    net: Any = NamedNet(number, "data", "other")
    readable(net.check(*FORMS[form](net), limit=1e-3), tmp_path)
