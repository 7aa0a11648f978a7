"""`Graph.extract`: a part of a graph as a graph of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphir.errors import ArgumentError, GraphError
from graphir.graph import Graph, Value
from graphir.ops.activation import Relu
from graphir.ops.control import If
from graphir.ops.elementwise import Add, Identity, Neg
from graphir.ops.linear import MatMul
from graphir.ops.shape import Reshape, Shape
from graphir.ops.shape_parts import Split
from graphir.tensor import Tensor
from graphir.types import DType, TensorType, symbol
from tests.growth import is_near_linear


def typed(*shape: Any, dtype: DType = DType.FLOAT32) -> TensorType:
    return TensorType(dtype, shape)


def network() -> Graph:
    """x [N, 4] -> scores [N, 3] -> two halves of the sum with y [N, 3], known to their source by other names."""
    graph = Graph("net")
    x, y = graph.add_input("x", typed(symbol("N"), 4)), graph.add_input("y", typed(symbol("N"), 3))
    weight = graph.add_parameter("w", Tensor.of(np.ones((4, 3), np.float32)))
    hidden = graph.add(Relu(), graph.add(MatMul(), x, weight, name="fc", output="fc_output"), name="act")
    hidden.sources = ("relu:0", "dropped:0")
    both = graph.add(Add(), hidden, y, name="sum")
    halves = graph.add_node(Split(2, 1), [both], name="split", output_names=["left", "right"])
    graph.add(Neg(), hidden, name="idle")
    graph.set_outputs(halves.outputs)
    return graph


def names(values: tuple[Value, ...]) -> list[str]:
    return [value.name for value in values]


@pytest.mark.parametrize(
    ("outputs", "inputs", "expected_inputs", "expected_outputs", "nodes"),
    [
        (["sum"], [], ["x", "y"], ["sum"], ["fc", "act", "sum"]),
        (["act"], [], ["x"], ["act"], ["fc", "act"]),
        (["fc"], [], ["x"], ["fc_output"], ["fc"]),
        (["fc:0"], [], ["x"], ["fc_output"], ["fc"]),
        (["relu:0"], ["fc_output"], ["fc_output"], ["act"], ["act"]),
        (["dropped"], ["w"], ["w", "x"], ["act"], ["fc", "act"]),
        (["split:1", "split:0"], ["relu"], ["act", "y"], ["right", "left"], ["sum", "split"]),
        (["right", "act"], ["y"], ["y", "x"], ["right", "act"], ["fc", "act", "sum", "split"]),
        (["idle"], ["act"], ["act"], ["idle"], ["idle"]),
    ],
)  # fmt: skip
def test_what_is_left(
    outputs: list[str], inputs: list[str], expected_inputs: list[str], expected_outputs: list[str], nodes: list[str]
) -> None:
    graph = network()
    text = str(graph)
    part = graph.extract(outputs, inputs)
    part.check()
    assert (names(part.inputs), names(part.outputs)) == (expected_inputs, expected_outputs)
    assert [node.name for node in part.nodes] == nodes
    assert [value.type for value in part.inputs] == [graph[value.name].type for value in part.inputs]
    assert all(value.producer is None for value in part.inputs)
    assert str(graph) == text
    graph.check()


@pytest.mark.parametrize(
    ("outputs", "inputs", "error", "says"),
    [
        (["scores"], [], GraphError, "net has no value or layer 'scores'"),
        (["rihgt"], [], GraphError, "net has no value or layer 'rihgt'; there is right"),
        (["fc_"], [], GraphError, "no value or layer 'fc_'; there is .*fc"),
        (["split"], [], GraphError, "the layer 'split' of net has several results: name one of left, right"),
        (["split:2"], [], GraphError, "has no result 2; it has left, right"),
        ([], [], GraphError, "name at least one output"),
        (["sum", "sum"], [], GraphError, "the output 'sum' is named twice"),
        (["act", "relu:0"], [], GraphError, "the output 'act' and 'relu:0', which are one value, is named twice"),
        (["sum"], ["act", "relu"], GraphError, "the input 'act' and 'relu'"),
        (["act"], ["act"], GraphError, "act is to be an output and an input: nothing would compute it"),
        (["x"], [], GraphError, "x is an input of net: no node computes it"),
        (["w"], [], GraphError, "w is a parameter of net: no node computes it"),
        (["fc"], ["act"], GraphError, r"cannot cut net at act: no output \(fc_output\) depends on it"),
        (["sum"], ["idle"], GraphError, "cannot cut net at idle"),
        ("sum", [], ArgumentError, "expected several in a list, found str 'sum'"),
        ([1], [], ArgumentError, "expected a Value or the name of one, found int 1"),
    ],
)  # fmt: skip
def test_refused(outputs: Any, inputs: Any, error: type[Exception], says: str) -> None:
    graph = network()
    with pytest.raises(error, match=says):
        graph.extract(outputs, inputs)
    graph.check()


def test_values_stand_for_their_names() -> None:
    graph = network()
    assert names(graph.extract([graph["sum"]], [graph["act"]]).outputs) == ["sum"]
    with pytest.raises(GraphError, match="is not a value of net"):
        graph.extract([network()["sum"]])


def test_a_result_that_stays_beside_one_that_is_cut() -> None:
    graph = network()
    graph.set_outputs([graph.add(Add(), *[graph[name] for name in ("left", "left")], name="last"), graph["right"]])
    part = graph.extract(["last", "right"], ["left"])
    part.check()
    assert names(part.inputs) == ["left", "x", "y"]
    split = next(node for node in part.nodes if node.name == "split")
    assert [value.name for value in split.outputs] == ["left__uncut", "right"]
    assert part["left"].users() == [part["last"].producer]


def test_captures_of_subgraphs_come_with_them() -> None:
    graph = Graph("g")
    condition, x = graph.add_input("c", typed(dtype=DType.BOOL)), graph.add_input("x", typed(2))
    doubled, unused = graph.add(Add(), x, x, name="doubled"), graph.add(Neg(), x, name="unused")
    branches = []
    for name, op in (("then", Relu()), ("else", Neg())):
        branch = Graph(name, parent=graph)
        branch.set_outputs([branch.add(op, doubled, name=f"{name}_y")])
        branches.append(branch)
    chosen = graph.add_node(If(1), [condition], name="choice", subgraphs=branches)
    graph.set_outputs([*chosen.outputs, unused])
    part = graph.extract(["choice"])
    part.check()
    assert [node.name for node in part.nodes] == ["doubled", "choice"]
    inner = next(node for node in part.nodes if node.subgraphs).subgraphs[0]
    assert next(iter(inner.nodes)).inputs == (part["doubled"],)
    cut = graph.extract(["choice"], ["doubled"])
    cut.check()
    assert names(cut.inputs) == ["doubled", "c"]
    with pytest.raises(GraphError, match=r"'then_y' stands inside choice \(If\), where nothing can be cut"):
        graph.extract(["then_y"])
    with pytest.raises(GraphError, match="it is the body of a node of g"):
        branches[0].extract(["then_y"])


def test_what_followed_from_known_elements_is_open_behind_the_cut() -> None:
    graph = Graph("g")
    x = graph.add_input("x", typed(2, 3))
    sizes = graph.add(Identity(), graph.add(Shape(), x, name="sizes"), name="copy")
    graph.set_outputs([graph.add(Reshape(), x, sizes, name="y")])
    assert str(graph["y"].type) == "float32[2, 3]"
    part = graph.extract(["y"], ["copy"])
    part.check()
    assert part["copy"].known is None
    assert str(part["y"].type) == "float32[?, ?]"


def test_decisions_say_what_was_cut() -> None:
    part = network().extract(["idle"], ["act"])
    assert [str(made.text) for made in part.decisions] == [
        "the graph is cut at this Relu: what comes before it is left out", "no output depends on x, y",
    ]  # fmt: skip


def test_a_long_graph_takes_linear_time() -> None:
    def long(count: int) -> Graph:
        graph = Graph("long")
        value = graph.add_input("x", typed(2))
        for number in range(count):
            value = graph.add(Relu(), value, name=f"n{number}")
        graph.set_outputs([value])
        return graph

    graphs = {count: long(count) for count in (5_000, 50_000)}
    assert len(graphs[50_000].extract(["n49999"], ["n25000"])) == 24_999
    assert is_near_linear(lambda count: graphs[count].extract([f"n{count - 1}"], [f"n{count // 2}"]), *graphs)
