"""Names of values inside branches that the graph around them has too."""

from __future__ import annotations

import numpy as np
import pytest

import graphir
from graphir import Graph, TensorType
from graphir.ops.activation import Relu, Tanh
from graphir.ops.control import If
from graphir.ops.elementwise import Greater
from graphir.ops.reduction import ReduceSum
from graphir.passes.inner_names import rename_shadowed
from graphir.structure.names import value_names
from graphir.types import DType


def branches(depth: int) -> Graph:
    """tanh(x), and relu of it where its sum is above 0; every node has its operator's name, inside and outside."""
    graph = outer = Graph("net")
    value = graph.add_input("x", TensorType(DType.FLOAT32, (3,)))
    levels = []
    for _ in range(depth):
        value = graph.add(Tanh(), graph.add(Relu(), value))
        is_positive = graph.add(Greater(), graph.add(ReduceSum(keepdims=False), value), graph.constant(np.float32(0)))
        then, other = Graph("then", parent=graph), Graph("other", parent=graph)
        other.set_outputs([other.add(Tanh(), value)])
        levels.append((graph, is_positive, then, other))
        graph = then
    graph.set_outputs([graph.add(Relu(), value)])
    for around, is_positive, then, other in reversed(levels):
        node = around.add_node(If(), [is_positive], subgraphs=[then, other])
        around.set_outputs(node.outputs)
    return outer


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("sign", [1, -1])
def test_values_inside_have_names_of_their_own(depth: int, sign: int) -> None:
    graph = branches(depth)
    feed = sign * np.array([0.5, 1, 2], np.float32)
    result = graphir.Session(graph, optimize=False).run({"x": feed})
    expected = np.maximum(feed, 0)
    for _ in range(depth):
        expected = np.tanh(np.maximum(expected, 0))
    np.testing.assert_allclose(next(iter(result.values())), expected if sign > 0 else np.tanh(expected), rtol=1e-6)
    assert rename_shadowed(graph).changed
    assert not rename_shadowed(graph)
    graph.check()
    assert "Relu" in set(value_names(graph))
