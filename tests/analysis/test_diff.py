"""What differs between two models: nothing between copies, and of changes exactly those that were made."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from graphir.analysis.attributes import attributes_of
from graphir.analysis.diff import Status, compare
from graphir.converters.onnx import from_model
from graphir.graph import Graph, Value
from graphir.ops.activation import Relu, Sigmoid, Softmax
from graphir.ops.base import Operator
from graphir.ops.control import If
from graphir.ops.convolution import Conv
from graphir.ops.elementwise import Add, Mul, Sub
from graphir.ops.linear import Gemm
from graphir.ops.normalization import BatchNormalization
from graphir.ops.pooling import GlobalAveragePool, MaxPool
from graphir.ops.random import RandomNormal
from graphir.ops.reduction import ReduceSum
from graphir.ops.shape import Flatten, Transpose
from graphir.ops.shape_parts import Concat
from graphir.padding import Explicit, Same, symmetric
from graphir.tensor import Tensor
from graphir.types import DType, TensorType, symbol
from tests.building import parse_model

Changes = dict[str, Any]
CONV = Conv((3, 3), strides=(1, 1), padding=symmetric((1, 1)))


def weight(graph: Graph, name: str, *shape: int, seed: int = 0, change: Callable[[Any], Any] | None = None) -> Value:
    array = np.random.default_rng([seed, *map(ord, name.rpartition("/")[2])]).standard_normal(shape).astype(np.float32)
    return graph.add_parameter(name, Tensor.of(array if change is None else change(array)))


def network(prefix: str = "", *, batch: int | str = "N", **changes: Any) -> Graph:
    """Two blocks with a shortcut, a head and a second output; `changes` replaces an operator or a weight by name."""
    graph = Graph("net")
    dims = tuple(symbol(dim) if isinstance(dim, str) else dim for dim in (batch, 4, 9, 9))
    value = graph.add_input(f"{prefix}x", TensorType(DType.FLOAT32, dims))

    def add(name: str, op: Operator, *operands: Value) -> Value:
        return graph.add_node(changes.get(name, op), operands, name=prefix + name).outputs[0]

    def held(name: str, *shape: int) -> Value:
        return weight(graph, f"{prefix}/{name}", *shape, change=changes.get(name))

    for block in range(2):
        made = add(f"conv{block}", CONV, value, held(f"w{block}", 4, 4, 3, 3), held(f"b{block}", 4))
        if changes.get("norm"):
            made = add(f"norm{block}", BatchNormalization(), made, *(held(f"n{n}{block}", 4) for n in "sbmv"))
        made = add(f"relu{block}", Relu(), made)
        if changes.get("transposes"):
            made = add(f"t{block}", Transpose((0, 2, 3, 1)), made)
            made = add(f"u{block}", Transpose((0, 3, 1, 2)), made)
        value = add(f"add{block}", Add(), *((made, value) if changes.get("swapped") else (value, made)))
    pooled = add("pool", GlobalAveragePool(), value)
    dense = add("fc", Gemm(transB=True), add("flat", Flatten(), pooled), held("fw", 5, 4), held("fb", 5))
    graph.set_outputs([add("prob", Softmax(), dense), value][:: -1 if changes.get("reversed") else 1])
    return graph


def reordered(graph: Graph) -> Graph:
    """A copy of `network` whose nodes stand in another order and have other names."""
    copy = Graph("copy")
    values = {value: copy.add_input(f"i{index}", value.type) for index, value in enumerate(graph.inputs)}
    parameters = list(graph.parameters)
    random.Random(3).shuffle(parameters)
    for index, value in enumerate(parameters):
        values[value] = copy.add_parameter(f"p{index}", value.tensor)
    waiting = list(graph.nodes)
    generator = random.Random(5)
    while waiting:
        ready = [node for node in waiting if all(value is None or value in values for value in node.inputs)]
        node = generator.choice(ready)
        waiting.remove(node)
        made = copy.add_node(node.op, [None if value is None else values[value] for value in node.inputs])
        values.update(zip(node.outputs, made.outputs, strict=True))
    copy.set_outputs([values[value] for value in graph.outputs])
    return copy


def one_element(array: Any) -> Any:
    array[1, 2, 0, 1] += 0.5
    return array


def found(left: Graph, right: Graph) -> list[str]:
    """What differs, a line each."""
    difference = compare(left, right)
    lines = [f"{change.kind}: {change.text}" for change in difference.ends]
    for row in difference.rows:
        names = " / ".join(node.name for node in (row.left, row.right) if node is not None)
        if row.status is not Status.SAME:
            lines += [f"{row.place}{names} {row.status.value}: {' | '.join(change.text for change in row.changes)}"]
    assert difference.is_equal == (not lines)
    return lines


def summed(noop: bool, *axes: int) -> Graph:
    """A sum over axes, of all without any."""
    graph = Graph()
    x = graph.add_input("x", TensorType(DType.FLOAT32, (2, 3)))
    held = [graph.constant(list(axes), DType.INT64)] if axes else []
    graph.set_outputs([graph.add_node(ReduceSum(noop_with_empty_axes=noop), (x, *held), name="sum").outputs[0]])
    return graph


EQUAL = [
    pytest.param(summed(True, 1), summed(False, 1), id="what a sum over no axes would be"),
    pytest.param(network(), network(), id="copy"),
    pytest.param(network(), network("other_"), id="renamed"),
    pytest.param(network(), reordered(network()), id="reordered"),
    pytest.param(reordered(network()), network(norm=False), id="reordered back"),
    pytest.param(network(), network(batch="batch"), id="symbolic size renamed"),
    pytest.param(network(), network(swapped=True), id="operands of Add swapped"),
    pytest.param(network(), network(conv0=replace(CONV, strides=(), kernel_shape=())), id="defaults left open"),
    pytest.param(network(), network(conv0=replace(CONV, padding=Same())), id="SAME that pads the same"),
    pytest.param(network(), network(prob=Softmax(axis=1)), id="axis from the back"),
    pytest.param(
        network(), network(fc=Gemm(), fw=lambda array: np.ascontiguousarray(array.T)), id="Gemm with its weight turned"
    ),
    pytest.param(network(add0=Add(same_shape=True)), network(), id="a promise about shapes"),
    pytest.param(network(norm=True), reordered(network(norm=True)), id="with normalizations"),
    pytest.param(
        network(norm=True, norm0=BatchNormalization(epsilon=1e-3)),
        network(norm=True, norm0=BatchNormalization(epsilon=float(np.float32(1e-3)))),
        id="float in single precision",
    ),
]


@pytest.mark.parametrize(("left", "right"), EQUAL)
def test_no_difference(left: Graph, right: Graph) -> None:
    assert found(left, right) == []


CHANGED: list[Any] = [
    pytest.param(
        summed(True), summed(False),
        ["sum / sum changed: noop_with_empty_axes is True in the first, False in the second"], id="a sum over no axes",
    ),
    pytest.param(
        network(),
        network("p_", conv1=replace(CONV, padding=symmetric((2, 2)), dilations=(2, 2))),
        ["conv1 / p_conv1 changed: dilations is (1, 1) in the first, (2, 2) in the second | "
         "padding is (1, 1), (1, 1) in the first, (2, 2), (2, 2) in the second"],
        id="attributes",
    ),
    pytest.param(
        network(), network(w1=one_element),
        ["conv1 / conv1 changed: /w1: 1 of 144 elements differ, at [1, 2, 0, 1] they are VALUES"],
        id="one weight element",
    ),
    pytest.param(
        network(), network(fb=lambda array: array + 1),
        ["fc / fc changed: /fb: 5 of 5 elements differ, at [0] they are VALUES; by 1 at most"],
        id="a bias",
    ),
    pytest.param(
        network(), network(relu0=Sigmoid()), ["relu0 / relu0 changed: Relu in the first, Sigmoid in the second"],
        id="another operator",
    ),
    pytest.param(
        network(), network(add1=Mul()), ["add1 / add1 changed: Add in the first, Mul in the second"],
        id="another operator of two operands",
    ),
    pytest.param(
        network(), network("p_", transposes=True),
        [f"p_{name}{block} only in the second: " for block in (0, 1) for name in "tu"], id="extra nodes",
    ),
    pytest.param(
        network(norm=True), network(w0=lambda array: array * 2, b0=lambda array: array * 2),
        ["conv0 / conv0 changed: /w0: 144 of 144 elements differ, at [0, 0, 0, 0] they are VALUES; by 3.37 at most | "
         "/b0: 4 of 4 elements differ, at [0] they are VALUES; by 1.2 at most",
         "norm0 only in the first: its scale is most likely part of the weights of conv0 there",
         "norm1 only in the first: "],
        id="folded normalizations",
    ),
    pytest.param(
        network(), network(reversed=True),
        ["outputs: order is prob, add1 in the first, add1, prob in the second"],
        id="outputs in another order",
    ),
    pytest.param(
        network(batch=2), network(batch=3), ["input: x is float32[2, 4, 9, 9] in the first, float32[3, 4, 9, 9] in the "
        "second"], id="input size",
    ),
    pytest.param(
        network(), network(w0=lambda array: array.transpose(1, 0, 2, 3)[:, :, ::-1]),
        ["conv0 / conv0 changed: /w0: 132 of 144 elements differ, at [0, 0, 0, 0] they are VALUES; by 4.28 at most"],
        id="the same elements in another order",
    ),
]  # fmt: skip


def shape_of(lines: Sequence[str]) -> list[list[str]]:
    """Each sentence of each line, numbers of elements left out."""
    return [[sentence.partition(" they are ")[0] for sentence in line.split(" | ")] for line in lines]


@pytest.mark.parametrize(("left", "right", "expected"), CHANGED)
def test_difference_is_exactly_the_change(left: Graph, right: Graph, expected: list[str]) -> None:
    assert shape_of(found(left, right)) == shape_of(expected)


@pytest.mark.parametrize(("left", "right", "expected"), CHANGED)
def test_difference_is_seen_from_both_sides(left: Graph, right: Graph, expected: list[str]) -> None:
    forward, backward = compare(left, right), compare(right, left)
    counts = [forward.count(status) for status in (Status.CHANGED, Status.FIRST, Status.SECOND)]
    assert counts == [backward.count(status) for status in (Status.CHANGED, Status.SECOND, Status.FIRST)]
    assert len(forward.ends) == len(backward.ends)


def chain(*ops: Operator, size: int = 8) -> Graph:
    graph = Graph()
    value = graph.add_input("x", TensorType(DType.FLOAT32, (1, 2, size, size)))
    for place, op in enumerate(ops):
        value = graph.add_node(op, (value,), name=f"n{place}").outputs[0]
    graph.set_outputs([value])
    return graph


def test_what_a_change_entails_is_no_change() -> None:
    pools = MaxPool((2, 2), strides=(2, 2)), MaxPool((2, 2), strides=(1, 1))
    left, right = (chain(Relu(), pool, Relu(), Sigmoid()) for pool in pools)
    assert found(left, right) == ["n1 / n1 changed: strides is (2, 2) in the first, (1, 1) in the second"]


def test_same_that_depends_on_an_open_size_differs_from_numbers() -> None:
    left, right = (chain(MaxPool((2, 2), strides=(2, 2), padding=padding)) for padding in (Same(), Explicit()))
    assert found(left, right) == []
    odd = [chain(MaxPool((2, 2), strides=(2, 2), padding=padding), size=7) for padding in (Same(), Explicit())]
    assert found(*odd) == ["n0 / n0 changed: padding is (0, 1), (0, 1) in the first, (0, 0), (0, 0) in the second"]


def wired(first: int, second: int) -> Graph:
    """Two inputs and a difference of them."""
    graph = Graph()
    inputs = [graph.add_input(name, TensorType(DType.FLOAT32, (2,))) for name in "ab"]
    graph.set_outputs([graph.add(Sub(), inputs[first], inputs[second], name="sub")])
    return graph


def test_wiring_counts() -> None:
    assert found(wired(0, 1), wired(1, 0)) == [
        "sub / sub changed: operand A is the input a in the first, the input b in the second | "
        "operand B is the input b in the first, the input a in the second"
    ]


def joined(*order: int) -> Graph:
    graph = Graph()
    x = graph.add_input("x", TensorType(DType.FLOAT32, (1, 2, 5, 5)))
    parts = [graph.add(Relu(), x, name="r"), graph.add(Sigmoid(), x, name="s")]
    graph.set_outputs([graph.add(Concat(1), *(parts[place] for place in order), name="c")])
    return graph


def test_order_of_joined_parts_counts() -> None:
    lines = found(joined(0, 1), joined(1, 0))
    assert len(lines) == 1
    assert lines[0].startswith("c / c changed: operand 0 is r (Relu) in the first, s (Sigmoid) in the second")


def branching(op: Operator) -> Graph:
    """An If whose second branch applies an operator."""
    graph = Graph()
    test = graph.add_input("test", TensorType(DType.BOOL, ()))
    x = graph.add_input("x", TensorType(DType.FLOAT32, (2, 3)))
    branches = [Graph("then", parent=graph), Graph("else", parent=graph)]
    for branch, applied in zip(branches, (Relu(), op), strict=True):
        branch.set_outputs([branch.add(applied, x, name=f"{branch.name}_node")])
    graph.set_outputs(graph.add_node(If(1), (test,), name="choice", subgraphs=branches).outputs)
    return graph


def test_subgraphs_are_compared() -> None:
    assert found(branching(Relu()), branching(Relu())) == []
    assert found(branching(Relu()), branching(Sigmoid())) == [
        "choice[1]/else_node / else_node changed: Relu in the first, Sigmoid in the second"
    ]


def test_nodes_without_operands_are_paired() -> None:
    graphs = []
    for sizes in ((2, 2), (2, 2), (2, 3)):
        graph = Graph()
        graph.set_outputs([graph.add(RandomNormal(shape=sizes, dtype=DType.FLOAT32), name="noise")])
        graphs.append(graph)
    assert found(graphs[0], graphs[1]) == []
    assert found(graphs[0], graphs[2]) == ["noise / noise changed: shape is (2, 2) in the first, (2, 3) in the second"]


def test_missing_output_is_told() -> None:
    less = network()
    less.set_outputs(less.outputs[:1])
    lines = found(network(), less)
    assert lines[0] == "outputs: 2 (prob, add1) in the first, 1 (prob) in the second"


def unfilled(channels: int, *, elements: bool = False) -> Graph:
    """A convolution whose weight has a type only, or its elements too."""
    graph = Graph()
    x = graph.add_input("x", TensorType(DType.FLOAT32, (1, 3, 5, 5)))
    held = TensorType(DType.FLOAT32, (channels, 3, 1, 1))
    tensor = Tensor.of(np.ones((channels, 3, 1, 1), np.float32)) if elements else None
    graph.set_outputs([graph.add(Conv(), x, graph.add_parameter("w", tensor, held), name="conv")])
    return graph


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (unfilled(4), unfilled(4), []),
        (unfilled(4), unfilled(5), ["w is float32[4, 3, 1, 1] in the first, float32[5, 3, 1, 1] in the second"]),
        (unfilled(4, elements=True), unfilled(4), ["w has elements in the first only"]),
        (unfilled(4), unfilled(4, elements=True), ["w has elements in the second only"]),
    ],
)
def test_parameters_without_elements(left: Graph, right: Graph, expected: list[str]) -> None:
    assert found(left, right) == [f"conv / conv changed: {text}" for text in expected]


def test_empty_graphs_are_equal() -> None:
    assert found(Graph(), Graph()) == []


def test_attributes_are_filled_in() -> None:
    graph = Graph()
    x = graph.add_input("x", TensorType(DType.FLOAT32, (1, 4, 9, 9)))
    made = graph.add(Conv(), x, weight(graph, "w", 4, 4, 3, 3))
    assert made.producer is not None
    assert attributes_of(made.producer) == {
        "kernel_shape": (3, 3), "strides": (1, 1), "dilations": (1, 1), "padding": symmetric((0, 0)), "group": 1,
    }  # fmt: skip


@pytest.mark.parametrize(("size", "counts"), [(9, False), (10, True), ("H", True)])
def test_ceil_mode_counts_where_it_gives_a_window(size: Any, counts: bool) -> None:
    graph = Graph()
    size = symbol(size) if isinstance(size, str) else size
    x = graph.add_input("x", TensorType(DType.FLOAT32, (1, 4, size, 9)))
    node = graph.add_node(MaxPool(kernel_shape=(3, 3), strides=(2, 2), ceil_mode=True), (x,))
    assert attributes_of(node)["ceil_mode"] is counts


@pytest.mark.parametrize(
    ("nodes", "axis"),
    [
        ("s = SequenceConstruct(x, x) y = ConcatFromSequence<axis = -1, new_axis = 1>(s)", 2),
        ("s = SequenceConstruct(x, x) y = ConcatFromSequence<axis = -1>(s)", 1),
        ("n = Constant<value_int = 3>() v = Constant<value_floats = [0.0, 1.0]>() y = OneHot(x, n, v)", 2),
        ("y = Softmax(x)", 1),
    ],
)
def test_an_axis_from_the_end_is_counted_where_the_operator_counts_it(nodes: str, axis: int) -> None:
    graph = from_model(parse_model(f"g (float[2, 3] x) => (float y) {{ {nodes} }}"))
    node = graph.outputs[0].producer
    assert node is not None
    assert attributes_of(node)["axis"] == axis
