"""Graphs as a whole: names, inputs, outputs, functions, what is dropped, and everything that is wrong at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from graphir.converters.tensorflow import load
from graphir.errors import ImportFailure, UnsupportedOpError
from graphir.graph import Graph
from graphir.node import Value
from graphir.types import Dim, DType, symbol
from tests.tensorflow.graphdef import attr_value, const, graph_def, node, placeholder
from tests.typed import tensor_type

X = placeholder("x", "float32", (None, 3))


def relu(name: str, *inputs: str) -> dict[str, Any]:
    return node("Relu", name, inputs, T="float32")


def names(values: Iterable[Value]) -> list[str]:
    return [value.name for value in values]


def kinds(graph: Graph) -> list[str]:
    return [decision.kind for decision in graph.decisions]


def test_names_and_sources() -> None:
    graph = load(graph_def(X, node("Identity", "i", ["x"], T="float32"), relu("scope/r", "i:0"), relu("y", "scope/r")))
    assert names(graph.values) == ["x", "scope/r", "y"]
    assert [value.sources for value in graph.values] == [("x:0", "i:0"), ("scope/r:0",), ("y:0",)]
    assert graph["x"].shape == (symbol("N"), 3)


def test_order_in_the_file_does_not_matter() -> None:
    graph = load(graph_def(relu("y", "r"), relu("r", "x"), X))
    assert names(graph.values) == ["x", "r", "y"]


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([X, relu("a", "x"), relu("b", "x")], ["a", "b"]),
        ([X, relu("a", "x"), node("NoOp", "init", ["^a"])], ["a"]),
        ([X, relu("a", "x"), const("unused", 1.0)], ["a"]),
        ([X, node("Identity", "out", ["x"], T="float32")], ["out"]),
        (
            [X, const("w", np.ones(3, np.float32)), node("Identity", "out", ["w"], T="float32"), relu("y", "x")],
            ["out", "y"],
        ),
    ],
)
def test_outputs_are_what_nothing_uses(nodes: list[dict[str, Any]], expected: list[str]) -> None:
    assert names(load(graph_def(*nodes)).outputs) == expected


@pytest.mark.parametrize(
    ("outputs", "expected"), [(["a"], ["a"]), (["b:0", "a"], ["b", "a"]), (["x"], ["x_1"]), (["a", "a:0"], ["a"])]
)
def test_outputs_can_be_chosen(outputs: list[str], expected: list[str]) -> None:
    graph = load(graph_def(X, relu("a", "x"), relu("b", "a")), outputs=outputs)
    graph.check()
    assert names(graph.outputs) == expected


def test_inputs_stand_in_the_order_of_the_file() -> None:
    other = placeholder("z", "float32", (None, 3))
    graph = load(graph_def(X, other, node("Sub", "y", ["z", "x"], T="float32")))
    assert names(graph.inputs) == ["x", "z"]


def test_what_no_output_needs_is_left_out() -> None:
    broken = node("NoSuchOp", "bad", ["x"])
    graph = load(graph_def(X, placeholder("label", "int64", (None,)), relu("a", "x"), broken), outputs=["a"])
    assert names(graph.inputs) == ["x"]
    assert kinds(graph) == ["unused inputs removed"]


@pytest.mark.parametrize(
    ("producer", "shape", "given", "expected"),
    [
        (1882, (), None, ()),
        (21, (), None, None),
        (21, (), (2, "N"), (2, symbol("N"))),
        (1882, (None, 3), (5, 3), (5, 3)),
        (1882, (2, 3), ("N", 3), (2, 3)),
        (1882, None, None, None),
        (1882, None, "1,4", (1, 4)),
    ],
)
def test_shapes_of_inputs(
    producer: int,
    shape: tuple[int | None, ...] | None,
    given: str | tuple[int | str, ...] | None,
    expected: tuple[Dim, ...] | None,
) -> None:
    data = graph_def(placeholder("x", "float32", shape), relu("y", "x"), producer=producer)
    graph = load(data, shapes={} if given is None else {"x:0": given})
    assert graph.inputs[0].shape == expected


@pytest.mark.parametrize(
    ("stated", "given", "text"),
    [
        ((2, 3), (4, 3), r"input x: the model declares \[2, 3\], given was \[4, 3\]; give a shape that fits"),
        ((None, 8, 9, 3), (1, 3, 8, 9), r"declares \[\?, 8, 9, 3\].*in another order; give 1,8,9,3"),
        ((2, 3), (2, 3, 1), r"declares \[2, 3\], given was \[2, 3, 1\]; give a shape"),
    ],
)
def test_a_given_shape_that_contradicts_the_file_is_refused(
    stated: tuple[int | None, ...], given: tuple[int, ...], text: str
) -> None:
    with pytest.raises(ImportFailure, match=text):
        load(graph_def(placeholder("x", "float32", stated), relu("y", "x")), shapes={"x": given})


def test_a_given_dtype_is_taken() -> None:
    graph = load(graph_def(placeholder("x", "float32", (2, 3)), relu("y", "x")), dtypes={"x": "float64"})
    assert tensor_type(graph.outputs[0].type).dtype is DType.FLOAT64


def test_an_input_with_a_default_becomes_one_if_its_shape_is_given() -> None:
    nodes = [
        const("d", np.ones((1, 3), np.float32)),
        node("PlaceholderWithDefault", "p", ["d"], dtype="float32", shape=(None, 3)),
    ]
    data = graph_def(*nodes, relu("y", "p"))
    assert names(load(data).inputs) == []
    assert kinds(load(data)) == ["default taken"]
    assert names(load(data, shapes={"p": (2, 3)}).inputs) == ["p"]


@pytest.mark.parametrize(
    ("stated", "given", "expected"),
    [(None, (), "float32[]"), ((None, 3), None, "float32[N, 3]"), (None, ("N",), "float32[N]")],
)
def test_an_input_with_a_default_has_the_shape_that_is_given_or_stated(
    stated: tuple[None, int] | None, given: tuple[str, ...] | None, expected: str
) -> None:
    nodes = [
        const("d", np.array(1, np.float32)),
        node("PlaceholderWithDefault", "p", ["d"], dtype="float32", shape=stated),
    ]
    data = graph_def(*nodes, relu("y", "p"))
    shapes = None if given is None else {"p": given}
    graph = load(data, shapes=shapes, dtypes={"p": "float32"})
    assert [str(value.type) for value in graph.inputs] == [expected]


def function(
    name: str, inputs: list[str], outputs: list[str], nodes: list[dict[str, Any]], ret: dict[str, str]
) -> dict[str, Any]:
    """A FunctionDef of float tensors."""
    signature = {
        "name": name,
        "input_arg": [{"name": held, "type": 1} for held in inputs],
        "output_arg": [{"name": held, "type": 1} for held in outputs],
    }
    return {"signature": signature, "node_def": nodes, "ret": ret}


INNER = function("inner", ["a"], ["b"], [relu("r", "a")], {"b": "r:activations:0"})
OUTER = function(
    "outer", ["a", "c"], ["p", "q"],
    [
        node("PartitionedCall", "call", ["a"], Tin=["float32"], Tout=["float32"], f="inner"),
        node("Add", "sum", ["call:output:0", "c"], T="float32"),
    ],
    {"p": "sum:z:0", "q": "c"},
)  # fmt: skip


def call(name: str, function_name: str, *inputs: str, results: int = 1) -> dict[str, Any]:
    types = {"Tin": ["float32"] * len(inputs), "Tout": ["float32"] * results}
    return node("StatefulPartitionedCall", name, inputs, f=function_name, **types)


ENDLESS = function("self", ["a"], ["b"], [call("again", "self", "a")], {"b": "again:output:0"})
ODD = function("odd", ["a"], ["b"], [], {"b": "none:y:0"})


def test_functions_are_inlined() -> None:
    nodes = [
        X,
        const("two", np.array([2], np.float32)),
        call("f", "outer", "x", "two", results=2),
        node("Mul", "y", ["f:0", "f:1"], T="float32"),
    ]
    graph = load(graph_def(*nodes, functions=[INNER, OUTER]))
    assert names(graph.values) == ["x", "f/call/r", "two", "f/sum", "y"]
    assert kinds(graph) == ["functions inlined"]


def test_a_call_is_an_output_under_its_own_name() -> None:
    graph = load(graph_def(X, call("f", "inner", "x"), functions=[INNER]))
    assert names(graph.outputs) == ["f"]


def test_a_legacy_call_names_its_function() -> None:
    legacy = {"name": "f", "op": "inner", "input": ["x"], "attr": {}}
    assert names(load(graph_def(X, legacy, functions=[INNER])).outputs) == ["f"]


def test_attributes_of_a_call_are_bound() -> None:
    bound = {"name": "r", "op": "Relu", "input": ["a"], "attr": {"T": {"placeholder": "U"}}}
    generic = function("g", ["a"], ["b"], [bound], {"b": "r:activations:0"})
    legacy = {"name": "f", "op": "g", "input": ["x"], "attr": {"U": attr_value("type", "float32")}}
    assert names(load(graph_def(X, legacy, functions=[generic])).outputs) == ["f"]


@pytest.mark.parametrize(
    ("nodes", "functions", "reason"),
    [
        ([X, call("f", "nowhere", "x")], [INNER], "'nowhere', which is not in the library"),
        ([X, call("f", "inner", "x", "x")], [INNER], "with 2 arguments, expected 1"),
        ([X, call("f", "self", "x")], [ENDLESS], "calls itself"),
        ([X, call("f", "odd", "x")], [ODD], "neither argument nor node"),
        ([X, relu("y", "nobody")], [], "'nobody', which is not in the graph"),
        ([relu("a", "b"), relu("b", "c"), relu("c", "a"), relu("y", "a")], [], "cycle of 3 nodes: a -> b -> c -> a"),
        ([X], [], "nothing in it computes an output"),
    ],
)  # fmt: skip
def test_broken_graphs(nodes: list[dict[str, Any]], functions: list[dict[str, Any]], reason: str) -> None:
    with pytest.raises(ImportFailure, match=reason):
        load(graph_def(*nodes, functions=functions))


def test_all_unknown_operators_are_listed() -> None:
    nodes = [
        X,
        node("MyOp", "a", ["x"]),
        node("MyOp", "b", ["a"]),
        node("Betainc", "c", ["b", "b", "b"], T="float32"),
        relu("y", "c"),
    ]
    with pytest.raises(UnsupportedOpError) as raised:
        load(graph_def(*nodes))
    assert [(gap.operator, gap.nodes) for gap in raised.value.gaps] == [("MyOp", ("a", "b")), ("Betainc", ("c",))]
    assert "plugin" in raised.value.gaps[0].reason
    assert "yet" in raised.value.gaps[1].reason


def test_all_unfrozen_variables_are_listed() -> None:
    nodes = [
        X,
        node("VarHandleOp", "w", dtype="float32", shape=(3,)), node("ReadVariableOp", "read", ["w"], dtype="float32"),
        node("VariableV2", "v", dtype="float32", shape=(3,)), node("Add", "s", ["read", "v"], T="float32"),
        node("Mul", "y", ["x", "s"], T="float32"),
    ]  # fmt: skip
    with pytest.raises(ImportFailure, match="2 variable") as raised:
        load(graph_def(*nodes))
    assert "\n  w\n  v" in str(raised.value)
    assert "freeze" in str(raised.value)


def test_shapes_for_what_is_no_input_are_an_error() -> None:
    with pytest.raises(ImportFailure, match="'q', which is no input; the inputs are: x"):
        load(graph_def(X, relu("y", "x")), shapes={"q": (1,)})


def test_a_result_that_the_import_does_not_give_is_refused_by_name() -> None:
    norm = node("FusedBatchNormV3", "n", ["i", *"smvw"], T="float32", U="float32", is_training=False)
    vectors = [const(name, np.ones(3, np.float32)) for name in "smvw"]
    image = placeholder("i", "float32", (1, 2, 2, 3))
    with pytest.raises(UnsupportedOpError, match="result 3 of n"):
        load(graph_def(image, *vectors, norm, relu("y", "n:3")))


def test_assignments_that_nodes_wait_for_are_state() -> None:
    assign = node("AssignVariableOp", "assign", ["w", "x"], dtype="float32")
    nodes = [X, node("VarHandleOp", "w", dtype="float32", shape=(3,)), assign, relu("y", "x", "^assign")]
    graph = load(graph_def(*nodes))
    assert kinds(graph) == ["state"]
    assert "assign" in graph.decisions[0].text
    assert [value.name for value in graph.outputs] == ["y", "w_next"]
