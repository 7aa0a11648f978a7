"""Writing a module takes time in proportion to the number of nodes, whether or not the network repeats itself."""

from __future__ import annotations

import random

import numpy as np
import pytest

from graphir import Graph, Tensor, TensorType
from graphir.converters.pytorch import to_module
from graphir.ops.activation import Relu, Sigmoid
from graphir.ops.convolution import Conv
from graphir.ops.elementwise import Add
from graphir.padding import Explicit
from graphir.types import DType
from tests.growth import is_near_linear

KERNEL = np.ones((2, 2, 3, 3), np.float32)


def network(nodes: int, *, repeats: bool) -> Graph:
    """Convolutions, activations and sums with an earlier value: blocks of four, or in random order."""
    graph, draw = Graph("net"), random.Random(0)
    values = [graph.add_input("data", TensorType(DType.FLOAT32, (1, 2, 4, 4)))]
    for index in range(nodes):
        kind = index % 4 if repeats else draw.randrange(4)
        if kind == 0:
            weight = graph.add_parameter(f"weight{index}", Tensor.of(KERNEL))
            conv = Conv((3, 3), (1, 1), padding=Explicit(((1, 1), (1, 1))))
            values.append(graph.add(conv, values[-1], weight, name=f"conv{index}"))
        elif kind == 3:
            back = min(4 if repeats else draw.randint(1, 20), len(values))
            values.append(graph.add(Add(), values[-1], values[-back], name=f"sum{index}"))
        else:
            values.append(graph.add(Relu() if kind == 1 else Sigmoid(), values[-1], name=f"curve{index}"))
    graph.set_outputs([values[-1]])
    return graph


@pytest.mark.parametrize("repeats", [True, False])
def test_writing_is_linear(repeats: bool) -> None:
    graphs = {size: network(size, repeats=repeats) for size in (200, 10_000)}

    assert is_near_linear(lambda size: to_module(graphs[size]).text("net"), 200, 10_000)
