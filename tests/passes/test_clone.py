"""Copies of graphs: the same in everything, and apart from the original."""

from __future__ import annotations

import numpy as np
import pytest

from graphir.decisions import DecisionKind
from graphir.graph import Graph
from graphir.ops.activation import Relu
from graphir.ops.elementwise import Add
from graphir.passes.clone import clone
from graphir.serial.equal import first_difference
from tests.ops.rule import tensor
from tests.passes.written import graph_of

NESTED = """g (float[N,2] x, int64 n, bool q) => (float[N,2] s, float[N,2] a) <float[2] w = {1.0, 2.0}> {
  a = Mul(x, w)
  s = Loop (n, , x) <body = body (int64 i, bool c, float[N,2] u) => (bool d, float[N,2] v) <float[2] k = {3.0, 4.0}> {
    d = Identity(c)
    v = If (q) <then_branch = one () => (float[N,2] t) { h = Add(u, a) t = Mul(h, k) },
                else_branch = two () => (float[N,2] e) { e = Neg(a) }> }>
}"""
TEXTS = [
    NESTED,
    "g (float[2] x) => (float[2] x) { }",
    "g (float[2] x) => (float[2] y, float[2] y2) <float[2] w = {1.0, 2.0}> { y = Add(x, w) y2 = Add(y, w) }",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_copy_is_the_same(text: str) -> None:
    graph = graph_of(text)
    graph.metadata["author"] = "someone"
    graph.decide(DecisionKind.OTHER, "node", "text")
    copy = clone(graph)
    copy.check()
    graph.check()
    assert first_difference(graph, copy) is None
    assert str(copy) == str(graph)
    assert [value.name for value in copy.values] == [value.name for value in graph.values]
    assert [value.known for value in copy.values] == [value.known for value in graph.values]
    assert not set(copy.values) & set(graph.values)
    assert all(mine.tensor is theirs.tensor for mine, theirs in zip(copy.values, graph.values, strict=True))


def test_changes_of_the_copy_do_not_reach_the_original() -> None:
    graph = graph_of(NESTED)
    kept = clone(graph)
    copy = clone(graph)
    copy.set_outputs([copy.add(Relu(), copy["a"])])
    copy.rename(copy["x"], "renamed")
    copy.decide(DecisionKind.OTHER, "node", "text")
    copy.metadata["author"] = "someone"
    (loop,) = [node for node in copy.nodes if node.subgraphs]
    loop.subgraphs[0].rename(loop.subgraphs[0]["v"], "other")
    copy.erase(loop)
    copy.check()
    assert first_difference(graph, kept) is None
    graph.check()


def test_constants_go_on_being_shared() -> None:
    graph = Graph("shared")
    x = graph.add_input("x", tensor("float32[2]"))
    graph.set_outputs([graph.add(Add(), x, graph.constant(np.array([1.0, 2.0], np.float32)))])
    copy = clone(graph)
    assert copy.constant(np.array([1.0, 2.0], np.float32)) is copy.parameters[0]
    assert copy.fresh_name("x") == "x_1"


def test_a_subgraph_alone_still_uses_the_graph_around_it() -> None:
    graph = graph_of(NESTED)
    body = next(node for node in graph.nodes if node.subgraphs).subgraphs[0]
    assert [user.op.name for user in graph["a"].users()] == ["Add", "Neg"]
    copy = clone(body)
    assert copy.parent is graph
    assert [user.op.name for user in graph["a"].users()] == ["Add", "Neg", "Add", "Neg"]
