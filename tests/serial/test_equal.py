"""What `first_difference` finds, and what it does not mind."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from graphir.decisions import DecisionKind
from graphir.graph import Graph
from graphir.ops.activation import LeakyRelu
from graphir.ops.elementwise import Add, Identity
from graphir.ops.foreign import Foreign
from graphir.serial.equal import first_difference, same_attribute
from graphir.tensor import Tensor
from graphir.types import DType, TensorType


def model() -> Graph:
    graph = Graph("model")
    x = graph.add_input("x", TensorType(DType.FLOAT32, (2,)))
    w = graph.add_parameter("w", Tensor.of(np.array([0.0, 1.0], np.float32)))
    inner = Graph("inner", parent=graph)
    inner.set_outputs([inner.add(Identity(), x, name="copy")])
    graph.add_node(Foreign("d", "If"), [x], name="if", subgraphs=[inner])
    y = graph.add(Add(), x, w, name="y")
    graph.set_outputs([graph.add(LeakyRelu(), y, name="z")])
    return graph


def test_equal_graphs_do_not_differ() -> None:
    assert first_difference(model(), model()) is None


def rename_graph(graph: Graph) -> None:
    graph.name = "other"


def add_metadata(graph: Graph) -> None:
    graph.metadata["a"] = "b"


def add_decision(graph: Graph) -> None:
    graph.decide(DecisionKind.OTHER, "b", "c")


def rename_input(graph: Graph) -> None:
    graph.rename(graph["x"], "v")


def add_input(graph: Graph) -> None:
    graph.add_input("v")


def change_declared(graph: Graph) -> None:
    graph["x"].declared = TensorType()


def change_sources(graph: Graph) -> None:
    graph["y"].sources = ("a",)


def negate_zero(graph: Graph) -> None:
    graph.set_tensor(graph["w"], Tensor.of(np.array([-0.0, 1.0], np.float32)))


def drop_elements(graph: Graph) -> None:
    graph.set_tensor(graph["w"], None)


def swap_operands(graph: Graph) -> None:
    node = graph["y"].producer
    assert node is not None
    graph.replace_input(node, 0, graph["w"])
    graph.replace_input(node, 1, graph["x"])


def change_attribute(graph: Graph) -> None:
    node = graph["z"].producer
    assert node is not None
    graph.replace(node, LeakyRelu(0.02))


def add_node(graph: Graph) -> None:
    graph.add(Identity(), graph["z"], name="more")


def change_outputs(graph: Graph) -> None:
    graph.set_outputs([graph["y"]])


def change_subgraph(graph: Graph) -> None:
    (inner,) = graph.nodes[0].subgraphs
    inner.set_outputs([graph["x"]])


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (rename_graph, "name: 'model' and 'other'"),
        (add_metadata, "metadata: "),
        (add_decision, "decisions: "),
        (rename_input, "name of x: 'x' and 'v'"),
        (add_input, "number of inputs: 1 and 2"),
        (change_declared, "declared of x: "),
        (change_sources, "sources of y: "),
        (negate_zero, "the elements of w differ"),
        (drop_elements, "w has elements in one graph only"),
        (swap_operands, "operands of y: "),
        (change_attribute, "attributes of z: "),
        (add_node, "the node more is in one graph only"),
        (change_outputs, "outputs: "),
        (change_subgraph, "in if: outputs: "),
    ],
)
def test_a_difference_is_found(change: Callable[[Graph], None], text: str) -> None:
    other = model()
    change(other)
    assert (first_difference(model(), other) or "").startswith(text)


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (0.0, -0.0, False),
        (float("nan"), float("nan"), True),
        (float("nan"), -float("nan"), False),
        (1, True, False),
        (1, 1.0, False),
        ((1.0, (2.0,)), (1.0, (2.0,)), True),
        ((1.0,), (1.0, 1.0), False),
        (Tensor.of(np.ones(2)), Tensor.of(np.ones(2)), True),
        (Tensor.of(np.ones(2)), Tensor.of(np.ones((2, 1))), False),
        ("a", b"a", False),
    ],
)
def test_attributes_are_compared_to_the_bit(left: object, right: object, same: bool) -> None:
    assert same_attribute(left, right) is same
