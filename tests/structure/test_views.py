"""A graph as its users read and change it: nodes as a view, weights as arrays, a copy, another operator in place."""

from __future__ import annotations

import numpy as np
import pytest

import graphir
from graphir.errors import ArgumentError, GraphError, ShapeError
from graphir.graph import Graph
from graphir.ops import operator_table
from graphir.ops.activation import LeakyRelu, Relu
from graphir.ops.elementwise import Add, Neg
from graphir.ops.foreign import Foreign
from graphir.tensor import Tensor
from tests.ops.rule import tensor
from tests.typed import present

SMALL = tensor("float32[2, 3]")
W = np.arange(6, dtype=np.float32).reshape(2, 3)


def sample() -> Graph:
    """y = -relu(x + w)."""
    graph = Graph("sample")
    x, w = graph.add_input("x", SMALL), graph.add_parameter("w", Tensor.of(W))
    graph.add_parameter("later", type_=SMALL)
    total = graph.add(Add(), x, w, name="sum", output="s")
    hidden = graph.add(Relu(), total, name="relu", output="h")
    hidden.sources = ("relu_output",)
    graph.set_outputs([graph.add(Neg(), hidden, name="neg", output="y")])
    return graph


def test_nodes_are_counted_indexed_sliced_and_named() -> None:
    graph = sample()
    assert len(graph.nodes) == 3
    assert [node.name for node in graph.nodes] == ["sum", "relu", "neg"]
    assert [node.name for node in reversed(graph.nodes)] == ["neg", "relu", "sum"]
    assert graph.nodes[0].name == "sum"
    assert graph.nodes[-1].name == "neg"
    assert graph.nodes[np.int64(1)].name == "relu"  # type: ignore[call-overload]
    assert [node.name for node in graph.nodes[1:]] == ["relu", "neg"]
    assert graph.node("relu") is graph.nodes["relu"] is graph.nodes[1]
    assert "relu" in graph.nodes
    assert graph.nodes[1] in graph.nodes
    assert "tanh" not in graph.nodes
    assert sample().nodes[1] not in graph.nodes
    assert repr(graph.nodes) == "Nodes(sum: Add, relu: Relu, neg: Neg)"


def test_nodes_that_are_not_there_are_told_with_those_that_may_be_meant() -> None:
    graph = sample()
    with pytest.raises(GraphError, match=r"no node 'relu1'; there is relu"):
        graph.node("relu1")
    with pytest.raises(IndexError, match="3 nodes, none at 3"):
        graph.nodes[3]
    with pytest.raises(IndexError, match="3 nodes, none at -4"):
        graph.nodes[-4]
    with pytest.raises(GraphError, match="by its place or its name, not by float"):
        graph.nodes[1.0]  # type: ignore[call-overload]
    with pytest.raises(GraphError, match=r"no value 'relu_outpt'"):
        graph["relu_outpt"]
    graph.add(Relu(), graph["x"], name="relu")
    with pytest.raises(GraphError, match=r"2 nodes 'relu' \(Relu, Relu\)"):
        graph.node("relu")


def test_the_node_last_given_may_be_erased_while_iterating() -> None:
    graph = sample()
    graph.set_outputs([])
    for node in reversed(graph.nodes):
        graph.erase(node)
    assert len(graph.nodes) == 0
    assert list(graph.nodes) == []


def test_weights_are_arrays_by_name() -> None:
    weights = sample().weights()
    assert dict(weights).keys() == {"w"}
    assert len(weights) == 1
    np.testing.assert_array_equal(weights["w"], W)
    np.testing.assert_array_equal(np.asarray(present(sample()["w"].tensor)), W)
    assert "later" not in weights
    with pytest.raises(KeyError, match="no weights 'ww'"):
        weights["ww"]
    assert repr(weights) == "Weights(w: float32[2, 3])"


def test_a_copy_changes_alone() -> None:
    graph = sample()
    other = graph.copy()
    other.replace(other.node("relu"), LeakyRelu(0.1))
    assert str(graph) == str(sample())
    assert [node.op.name for node in other.nodes] == ["Add", "LeakyRelu", "Neg"]


def test_another_operator_takes_a_nodes_place() -> None:
    graph = sample()
    made = graph.replace(graph.node("relu"), LeakyRelu(0.1))
    assert graph.nodes[1] is made
    assert (made.name, made.output.name, made.output.sources) == ("relu", "h", ("relu_output",))
    graph.replace(made, Add(), [graph["s"], graph["x"]], name="again")
    assert [node.name for node in graph.nodes] == ["sum", "again", "neg"]
    graph.check()


def test_what_cannot_take_a_nodes_place_leaves_the_graph_as_it_was() -> None:
    graph = sample()
    before = str(graph)
    relu = graph.node("relu")
    with pytest.raises(GraphError, match="2 results and cannot replace relu"):
        graph.replace(relu, Foreign("test", "Two", (), 2))
    with pytest.raises(ShapeError, match="cannot replace relu"):
        graph.replace(relu, graphir.ops.Transpose((1, 0)))
    with pytest.raises(GraphError, match="cannot take h, a result of relu"):
        graph.replace(relu, Neg(), [graph["h"]])
    with pytest.raises(ArgumentError, match="expected an Operator"):
        graph.replace(relu, "Neg")  # type: ignore[arg-type]
    assert str(graph) == before
    graph.check()


def test_every_operator_is_at_hand_by_its_name() -> None:
    assert set(operator_table()) <= set(dir(graphir.ops))
    assert all(getattr(graphir.ops, name) is kind for name, kind in operator_table().items())
    with pytest.raises(AttributeError, match="no operator 'Convv'"):
        graphir.ops.Convv  # noqa: B018


def test_the_package_lists_what_it_offers_and_nothing_else() -> None:
    assert {name for name in dir(graphir) if not name.startswith("__")} == {*graphir.__all__, "ops"} - {"__version__"}
