"""Layers, parameters and MACs."""

from __future__ import annotations

import numpy as np

from graphir.analysis.summary import summarize, weights
from graphir.graph import Graph, Value
from graphir.ops.linear import Gemm
from graphir.tensor import Tensor
from graphir.types import DType, TensorType, symbol


def weight(graph: Graph, name: str, *shape: int) -> Value:
    """A parameter that came with the model."""
    value = graph.add_parameter(name, Tensor.of(np.zeros(shape, np.float32)))
    value.sources = (name,)
    return value


def test_a_shared_weight_counts_once() -> None:
    graph = Graph()
    x = graph.add_input("x", TensorType(DType.FLOAT32, (2, 8)))
    shared, bias = weight(graph, "w", 8, 8), weight(graph, "b", 8)
    y = graph.add(Gemm(), x, shared, bias, name="first")
    graph.set_outputs([graph.add(Gemm(), y, shared, name="second")])
    found = summarize(graph, {"w": Tensor.of(np.zeros((8, 8))), "old": Tensor.of(np.zeros(5))})
    counted = [(layer.name, layer.parameters, layer.shared) for layer in found.layers]
    assert counted == [("first", 72, 0), ("second", 0, 64)]
    assert (found.parameters, found.parameter_bytes) == (72, 288)
    assert found.macs == 2 * 2 * 8 * 8
    assert (found.unused, found.unused_parameters) == (("old",), 5)


def test_symbolic_sizes_stay_in_the_macs() -> None:
    graph = Graph()
    x = graph.add_input("x", TensorType(DType.FLOAT32, (symbol("N"), 8)))
    graph.set_outputs([graph.add(Gemm(), x, weight(graph, "w", 8, 4))])
    assert summarize(graph).macs == 32 * symbol("N")


def test_constants_of_the_conversion_are_no_parameters() -> None:
    graph = Graph()
    x = graph.add_input("x", TensorType(DType.FLOAT32, (2, 8)))
    graph.set_outputs([graph.add(Gemm(), x, graph.constant(np.ones((8, 4), np.float32)))])
    weight(graph, "unused", 3)
    assert summarize(graph).parameters == 0
    assert weights(graph) == {}


def test_parameters_without_a_shape_are_named() -> None:
    graph = Graph()
    x = graph.add_input("x", TensorType(DType.FLOAT32))
    unknown = graph.add_parameter("w")
    unknown.sources = ("w",)
    graph.set_outputs([graph.add(Gemm(), x, unknown)])
    found = summarize(graph)
    assert found.unsized == ("w",)
    assert found.macs is None
