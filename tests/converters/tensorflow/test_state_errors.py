"""Graphs that write variables in ways that no TensorFlow writes: clear errors, not crashes."""

from __future__ import annotations

from typing import Any

import pytest

from graphir.converters.tensorflow import load
from graphir.errors import GraphirError
from tests.tensorflow.graphdef import const, function, graph_def, node, placeholder

X = placeholder("x", "float32", [3])
W = node("VarHandleOp", "w", dtype="float32", shape=(3,))
ASSIGN = node("AssignVariableOp", "assign", ["h", "v"], dtype="float32")
TYPES = {"Tin": ["resource", "float32"], "Tout": ["float32"]}


def call(name: str, called: str, *inputs: str) -> dict[str, Any]:
    return node("StatefulPartitionedCall", name, inputs, f=called, **TYPES)


def writing(name: str, *nodes: dict[str, Any], result: str = "v") -> dict[str, Any]:
    return function(name, {"h": "resource", "v": "float32"}, {"r": ("float32", result)}, *nodes)


def loop(name: str, body: str, *inputs: str) -> dict[str, Any]:
    return node("While", name, inputs, T=["resource", "float32"], cond="test", body=body)


WHILE_ITSELF = function(
    "body",
    {"h": "resource", "v": "float32"},
    {"a": ("resource", "h"), "b": ("float32", "inner:output:1")},
    ASSIGN,
    loop("inner", "body", "h", "v", "^assign"),
)
TEST = function("test", {"h": "resource", "v": "float32"}, {"r": ("bool", "yes:output:0")}, const("yes", True))
WRITING_TEST = function(
    "test", {"h": "resource", "v": "float32"}, {"r": ("bool", "yes:output:0")}, ASSIGN, const("yes", True)
)
BODY = function("body", {"h": "resource", "v": "float32"}, {"a": ("resource", "h"), "b": ("float32", "v")}, ASSIGN)


@pytest.mark.parametrize(
    ("nodes", "functions", "reason"),
    [
        ([call("y", "f", "w", "x")], [writing("f", ASSIGN, call("i", "f", "h", "v"))], "33 levels"),
        ([call("y", "f", "w", "x")], [writing("f", {**ASSIGN, "input": ["h"]})], "1 inputs, expected 2"),
        ([call("y", "f", "w", "x")], [writing("f", {**ASSIGN, "attr": {}})], "dtype is missing"),
        ([call("y", "f", "w", "x")], [writing("f", {**ASSIGN, "input": ["lost", "v"]})], "cannot be told"),
        ([loop("y", "body", "w", "x")], [WHILE_ITSELF, TEST], "deep|itself"),
        ([loop("y", "body", "w", "x")], [BODY, WRITING_TEST], "the condition of the loop y"),
        ([loop("y", "lost", "w", "x")], [WRITING_TEST], "lost|condition"),
        ([node("AssignVariableOp", "a", ["x", "x"], dtype="float32"), node("Relu", "y", ["x", "^a"], T="float32")],
         [], "cannot be told"),
    ],
)  # fmt: skip
def test_a_write_that_cannot_be_followed_is_an_error(nodes: list[Any], functions: list[Any], reason: str) -> None:
    with pytest.raises(GraphirError, match=reason):
        load(graph_def(X, W, *nodes, functions=functions))
