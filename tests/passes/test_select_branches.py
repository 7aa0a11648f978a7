"""Branches and loops that are taken at run time, computed in full, with a Where for what counts."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graphir.converters.onnx import from_model, to_model
from graphir.graph import Graph
from graphir.passes.branches import select_branches
from graphir.passes.outcome import Outcome
from tests.building import list_operators, run_model
from tests.passes.written import graph_of, model_of, unroll

Arrays = dict[str, NDArray[Any]]
TWO_LOOPS = """body (int64 i, bool c, float[2] a) => (bool d, float[2] b)
  { b = Add(a, x) s = ReduceSum<keepdims = 0>(b) d = Less(s, limit) }"""


def select(graph: Graph) -> Outcome:
    """The whole of it: branches, and loops with masks."""
    outcome = select_branches(graph)
    outcome |= unroll(graph, masked=True)
    return outcome


X = np.array([1, -2], np.float32)
IF = """g (float[2] x, bool{shape} c) => (float[2] y, int64[2] z) {{ h = Abs(x) y, z = If (c)
    <then_branch = one () => (float[2] t, int64[2] u) {{ a = Exp(h) t = Add(a, x) u = Cast<to = 7>(t) }},
     else_branch = two () => (float[2] e, int64[2] f)
       {{ e = Identity(x) k = Constant<value_float = 3.0>() m = Mul(x, k) f = Cast<to = 7>(m) }}> }}"""
WHILE = f"""g (float[2] x, float limit) => (float[2] s) <int64 n = {{4}}, bool k = {{1}}>
    {{ s = Loop (n, k, x) <body = {TWO_LOOPS}> }}"""
START = f"""g (float[2] x, bool k) => (float[2] s) <int64 n = {{2}}, float limit = {{99.0}}>
    {{ s = Loop (n, k, x) <body = {TWO_LOOPS}> }}"""
ROWS = [
    # text, feeds, a part of the operators left
    *((IF.format(shape=shape), {"x": X, "c": np.full(size, value)}, "Where")
      for shape, size in (("", ()), ("[1]", (1,))) for value in (True, False)),
    *((WHILE, {"x": np.array([1, 2], np.float32), "limit": np.float32(limit)}, "Add ReduceSum Less Where And Add")
      for limit in (-5, 0, 7, 10, 1000)),
    *((START, {"x": np.array([1, 2], np.float32), "k": bool(value)}, "Where") for value in (True, False)),
    # a branch inside a branch, and a branch inside a loop
    *(("""g (float[2] x, bool c, bool d) => (float[2] y) { y = If (c)
      <then_branch = one () => (float[2] t) { t = If (d)
         <then_branch = p () => (float[2] v) { v = Exp(x) }, else_branch = q () => (float[2] w) { w = Neg(x) }> },
       else_branch = two () => (float[2] e) { e = Abs(x) }> }""",
       {"x": X, "c": bool(c), "d": bool(d)}, "Exp Neg Where Abs Where") for c in (0, 1) for d in (0, 1)),
    # the branch not taken gives what is no number
    *(("""g (float[2] x, bool c) => (float[2] y) { y = If (c)
      <then_branch = one () => (float[2] t) { t = Log(x) },
       else_branch = two () => (float[2] e) { e = Abs(x) }> }""", {"x": X, "c": bool(c)}, "Log Abs Where")
      for c in (0, 1)),
]  # fmt: skip
STAYS = [
    ("g (float[2] x, bool c) => (float[N] y) { y = If (c) <then_branch = a () => (float[2] t) { t = Exp(x) }, "
     "else_branch = b () => (float[4] e) { e = Concat<axis = 0>(x, x) }> }", r"float32\[2\] and float32\[4\] for y"),
    ("g (float[N] x, bool c, float[M] z) => (float[K] y) { y = If (c) "
     "<then_branch = a () => (float[N] t) { t = Exp(x) }, else_branch = b () => (float[M] e) { e = Neg(z) }> }",
     "which no Where selects"),
]  # fmt: skip
LOOPS_STAY = [
    ("g (float[2] x, float limit, int64 n) => (float[2] s) <bool k = {1}> "
     f"{{ s = Loop (n, k, x) <body = {TWO_LOOPS}> }}", "the number of iterations"),
    ("g (float[2] x, float limit) => (float[2] s) <bool k = {1}> "
     f"{{ s = Loop (, k, x) <body = {TWO_LOOPS}> }}", "whether it goes on behind iteration 1"),
    ("g (float[2] x, bool k) => (float[2] s, float[N,2] r) <int64 n = {3}> { s, r = Loop (n, k, x) <body = "
     "body (int64 i, bool c, float[2] a) => (bool d, float[2] b, float[2] q) "
     "{ d = Identity(c) b = Add(a, x) q = Neg(a) }> }", "and with it the length of r"),
    ("g (float[1,2] x, bool k) => (float[N,2] s) <int64 n = {3}> { s = Loop (n, k, x) <body = "
     "body (int64 i, bool c, float[M,2] a) => (bool d, float[K,2] b) "
     "{ d = Identity(c) b = Concat<axis = 0>(a, a) }> }", r"float32\[1, 2\] becomes float32\[2, 2\] meanwhile"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "feeds", "expected"), ROWS)
def test_all_is_computed_and_the_same_comes_out(text: str, feeds: dict[str, Any], expected: str) -> None:
    model = model_of(text)
    graph = from_model(model)
    assert select(graph)
    graph.check()
    assert expected in list_operators(graph)
    assert not any(node.subgraphs for node in graph.nodes)
    assert {decision.kind for decision in graph.decisions} & {"both branches computed", "all iterations computed"}
    assert not select(graph)
    before, after = (run_model(kept, feeds, optimize=False) for kept in (model, to_model(graph, opset=21)))
    np.testing.assert_equal(after, before)


@pytest.mark.parametrize(("text", "reason"), STAYS)
def test_a_branch_that_stays_says_why(text: str, reason: str) -> None:
    graph = graph_of(text)
    shown = str(graph)
    outcome = select_branches(graph)
    assert not outcome.changed
    assert str(graph) == shown
    assert re.search(reason, next(iter(outcome.reasons.values())))


@pytest.mark.parametrize(("text", "reason"), LOOPS_STAY)
def test_a_loop_that_stays_says_why(text: str, reason: str) -> None:
    graph = graph_of(text)
    shown = str(graph)
    outcome = unroll(graph, masked=True)
    assert not outcome.changed
    graph.check()
    assert (str(graph), graph.decisions) == (shown, [])
    assert re.search(reason, next(iter(outcome.reasons.values())))
