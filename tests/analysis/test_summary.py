"""Layers, parameters and MACs."""

from __future__ import annotations

import numpy as np

from graphir.analysis.contents import weights
from graphir.analysis.summary import summarize
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
    held = {"w": (8, 8), "b": (8,), "old": (5,)}
    summary = summarize(graph, {name: Tensor.of(np.zeros(shape, np.float32)) for name, shape in held.items()})
    counted = [(layer.name, layer.parameters, layer.shared) for layer in summary.layers]
    assert counted == [("first", 72, 0), ("second", 0, 64)]
    assert (summary.parameters, summary.parameter_bytes) == (72, 288)
    assert summary.macs == 2 * 2 * 8 * 8
    assert (summary.unused, summary.unused_parameters) == (("old",), 5)


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


def test_parameters_of_a_graph_that_was_built_count() -> None:
    graph = Graph()
    x = graph.add_input("x", TensorType(DType.FLOAT32, (2, 8)))
    parameter = graph.add_parameter("w", Tensor.of(np.ones((8, 4), np.float32)))
    graph.set_outputs([graph.add(Gemm(), x, parameter)])
    assert weights(graph) == {"w": parameter.tensor}
    summary = summarize(graph, weights(graph))
    assert (summary.parameters, summary.parameter_bytes, summary.unused) == (32, 128, ())


def test_parameters_without_a_shape_are_named() -> None:
    graph = Graph()
    x = graph.add_input("x", TensorType(DType.FLOAT32))
    unknown = graph.add_parameter("w")
    unknown.sources = ("w",)
    graph.set_outputs([graph.add(Gemm(), x, unknown)])
    summary = summarize(graph)
    assert summary.unsized == ("w",)
    assert summary.macs is None


def test_two_parameters_that_are_one_weight_of_the_source_count_once() -> None:
    graph = Graph()
    x = graph.add_input("x", TensorType(DType.FLOAT32, (2, 8)))
    first, second = weight(graph, "w", 8, 8), weight(graph, "w_1", 8, 8)
    second.sources = ("w",)
    graph.set_outputs([graph.add(Gemm(), graph.add(Gemm(), x, first, name="a"), second, name="b")])
    summary = summarize(graph, {"w": Tensor.of(np.zeros((8, 8), np.float32))})
    assert [(layer.parameters, layer.shared) for layer in summary.layers] == [(64, 0), (0, 64)]
    assert summary.parameters == 64


def test_what_the_source_computes_from_nothing_is_no_parameter() -> None:
    graph = Graph()
    x, zeros = graph.add_input("x", TensorType(DType.FLOAT32, (2, 8))), weight(graph, "zeros0_output", 8)
    real = graph.add_parameter("w", None, TensorType(DType.FLOAT32, (8, 8)))
    real.sources = ("w",)
    graph.set_outputs([graph.add(Gemm(), x, real, zeros, name="a")])
    assert summarize(graph).parameters == 64
    graph.set_tensor(real, Tensor.of(np.zeros((8, 8), np.float32)))
    assert summarize(graph, {"w": Tensor.of(np.zeros((8, 8), np.float32))}).parameters == 64
