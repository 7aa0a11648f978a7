"""Loops of known length: what they become, the same numbers, and why others stay."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graphir.converters.onnx import from_model, to_model
from graphir.node import Node, Value
from graphir.passes.fold_constants import _Evaluation
from tests.building import list_operators
from tests.passes.written import graph_of, lowered, model_of, run, unchanged, unroll
from tests.typed import present

SUM = """body (int64 i, bool c, float[2] a) => (bool d, float[2] b, float[2] r)
  { d = Identity(c) b = Add(a, x) r = Mul(b, b) }"""
COUNT_DOWN = """body (int64 i, bool c, float[2] a) => (bool d, float[2] b)
  { b = Add(a, x) f = Cast<to = 1>(i) d = Less(f, limit) }"""
UNROLLED = [
    (f"""g (float[2] x) => (float[2] s, float[3,2] rows) <int64 n = {{3}}>
      {{ s, rows = Loop (n, , x) <body = {SUM}> }}""",
     "Identity Add Mul Identity Add Mul Identity Add Mul Unsqueeze Unsqueeze Unsqueeze Concat"),
    (f"""g (float[2] x) => (float[1,2] rows) <int64 n = {{1}}> {{ s, rows = Loop (n, , x) <body = {SUM}> }}""",
     "Identity Add Mul Unsqueeze"),
    (f"""g (float[2] x) => (float[2] s, float[0,2] rows) <int64 n = {{0}}>
      {{ s, rows = Loop (n, , x) <body = {SUM}> }}""",
     "Identity Identity"),
    (f"""g (float[2] x) => (float[2] s) <int64 n = {{4}}, bool k = {{0}}>
      {{ s, rows = Loop (n, k, x) <body = {SUM}> }}""", "Identity"),
    # trip counts and conditions that are vectors of one element, and a body that takes its number as such
    ("""g (float[2] x) => (float[2] s) <int64[1] n = {2}, bool[1] k = {1}> { s = Loop (n, k, x) <body =
        body (int64[1] i, bool[1] c, float[2] a) => (bool[1] d, float[2] b)
        { d = Identity(c) f = Cast<to = 1>(i) b = Add(a, f) }> }""", "Identity Cast Add Identity Cast Add"),
    # ended by its condition: computed from constants, or known to inference
    (f"""g (float[2] x) => (float[2] s) <int64 n = {{9}}, bool k = {{1}}, float limit = {{1.5}}>
      {{ s = Loop (n, k, x) <body = {COUNT_DOWN}> }}""", "Add Cast Less Add Cast Less Add Cast Less"),
    (f"""g (float[2] x) => (float[2] s) <bool k = {{1}}, float limit = {{0.5}}>
      {{ s = Loop (, k, x) <body = {COUNT_DOWN}> }}""", "Add Cast Less Add Cast Less"),
    # the carried value grows, so that each iteration has shapes of its own
    ("""g (float[1,2] x) => (float[N,2] s) <int64 n = {3}> { s = Loop (n, , x) <body =
        body (int64 i, bool c, float[M,2] a) => (bool d, float[K,2] b)
        { d = Identity(c) b = Concat<axis = 0>(a, a) }> }""",
     "Identity Concat Identity Concat Identity Concat"),
    # a loop in a loop, with as many iterations as the outer one has done; parameters of bodies come once
    ("""g (float[2] x) => (float[2] s) <int64 n = {3}> { s = Loop (n, , x) <body =
        outer (int64 i, bool c, float[2] a) => (bool d, float[2] b) { d = Identity(c) b = Loop (i, , a) <body =
            inner (int64 j, bool e, float[2] u) => (bool f, float[2] v) <float[2] w = {2.0, 3.0}>
            { f = Identity(e) v = Mul(u, w) }> }> }""",
     "Identity Identity Identity Mul Identity Identity Mul Identity Mul"),
    # a branch inside a body, which each copy has for itself
    ("""g (float[2] x, bool q) => (float[2] s) <int64 n = {2}> { s = Loop (n, , x) <body =
        body (int64 i, bool c, float[2] a) => (bool d, float[2] b) { d = Identity(c) b = If (q)
           <then_branch = one () => (float[2] t) { h = Neg(a) t = Exp(h) },
            else_branch = two () => (float[2] e) { e = Add(a, x) }> }> }""", "Identity If Identity If"),
    # Scan: carried and scanned values, axes and directions
    ("""g (float[2] s, float[3,2] xs) => (float[2] last, float[3,2] all) { last, all = Scan <num_scan_inputs = 1, body =
        body (float[2] a, float[2] x) => (float[2] b, float[2] r) { b = Add(a, x) r = Neg(b) }> (s, xs) }""",
     "Split Squeeze Squeeze Squeeze Add Neg Add Neg Add Neg Unsqueeze Unsqueeze Unsqueeze Concat"),
    ("""g (float[2,3] xs) => (float[2,3] all) { all = Scan <num_scan_inputs = 1, scan_input_axes = [1],
        scan_input_directions = [1], scan_output_axes = [-1], scan_output_directions = [1], body =
        body (float[2] x) => (float[2] r) { r = Exp(x) }> (xs) }""",
     "Split Squeeze Squeeze Squeeze Exp Exp Exp Unsqueeze Unsqueeze Unsqueeze Concat"),
    ("""g (float[2] s, float[3,2] xs, float[2,3] ys) => (float[2] last) { last = Scan <num_scan_inputs = 2,
        scan_input_axes = [0, -1], scan_input_directions = [0, 1], body =
        body (float[2] a, float[2] x, float[2] y) => (float[2] b) { h = Mul(a, x) b = Add(h, y) }> (s, xs, ys) }""",
     "Split Squeeze Squeeze Squeeze Split Squeeze Squeeze Squeeze Mul Add Mul Add Mul Add"),
    ("""g (float[1,2] xs) => (float[1,2] all) { all = Scan <num_scan_inputs = 1, body =
        body (float[2] x) => (float[2] r) { r = Exp(x) }> (xs) }""", "Squeeze Exp Unsqueeze"),
]  # fmt: skip
STAYS = [
    # text, what the reason says
    (f"g (float[2] x, int64 n) => (float[2] s) {{ s, rows = Loop (n, , x) <body = {SUM}> }}",
     r"number of iterations \(n\) is computed at run time"),
    (f"g (float[2] x, bool k) => (float[2] s) <int64 n = {{2}}> {{ s, rows = Loop (n, k, x) <body = {SUM}> }}",
     r"whether it runs at all \(k\)"),
    (f"g (float[2] x, float limit) => (float[2] s) <int64 n = {{9}}, bool k = {{1}}> "
     f"{{ s = Loop (n, k, x) <body = {COUNT_DOWN}> }}", "whether it goes on behind iteration 1"),
    (f"g (float[2] x) => (float[2] s) <int64 n = {{20000}}> {{ s, rows = Loop (n, , x) <body = {SUM}> }}",
     "20000 iterations of 3 nodes are 60000 nodes unrolled, more than the limit of 20000"),
    ("g (float[N,2] xs) => (float[N,2] all) { all = Scan <num_scan_inputs = 1, body = "
     "body (float[2] x) => (float[2] r) { r = Exp(x) }> (xs) }", r"its length, axis 0 of xs float32\[N, 2\]"),
    ("g (float[0,2] xs) => (float[0,2] all) { all = Scan <num_scan_inputs = 1, body = "
     "body (float[2] x) => (float[2] r) { r = Exp(x) }> (xs) }", "its length is 0"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), UNROLLED)
def test_iterations_take_the_place(text: str, expected: str) -> None:
    graph = lowered(text, unroll)
    assert list_operators(graph) == expected
    assert len({node.name for node in graph.nodes}) == len(graph)


@pytest.mark.parametrize(("text", "reason"), STAYS)
def test_what_stays_says_why(text: str, reason: str) -> None:
    graph = unchanged(text, unroll)
    assert graph.decisions == []
    (found,) = unroll(graph).reasons.values()
    assert re.search(reason, found)


def test_the_limit_counts_all_loops_together() -> None:
    text = f"""g (float[2] x) => (float[2] s, float[2] t) <int64 n = {{2}}>
        {{ s, p = Loop (n, , x) <body = {SUM}> t, q = Loop (n, , s) <body = {SUM}> }}"""
    graph = graph_of(text)
    outcome = unroll(graph, limit=8)
    assert outcome.changed
    assert list_operators(graph).count("Loop") == 1
    assert "more than the limit of 8, of which other loops used 6" in next(iter(outcome.reasons.values()))
    graph.check()


def test_a_loop_without_end_stops_at_the_limit() -> None:
    text = f"""g (float[2] x) => (float[2] s) <bool k = {{1}}, float limit = {{1e9}}>
        {{ s = Loop (, k, x) <body = {COUNT_DOWN}> }}"""
    outcome = unroll(graph_of(text), limit=30)
    assert not outcome.changed
    assert "11 iterations of 3 nodes are 33 nodes unrolled" in next(iter(outcome.reasons.values()))


def test_a_condition_that_only_the_body_states_is_a_decision() -> None:
    text = """g (float[2] x) => (float[2] s) <int64 n = {3}> { s = Loop (n, , x) <body =
        body (int64 i, bool c, float[2] a) => (bool d, float[2] b) { b = Add(a, x) one = Constant<value_int = 1>()
        d = Less(i, one) }> }"""
    graph = graph_of(text)
    before = run(model_of(text))
    assert unroll(graph)
    assert [decision.kind for decision in graph.decisions] == ["loop condition"]
    np.testing.assert_equal(run(to_model(graph, opset=21)), before)


def test_a_loop_over_constants_is_computed_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    computed = []

    def counted(evaluation: _Evaluation, nodes: list[Node], *others: Any) -> dict[Value, NDArray[Any]] | None:
        computed.append(len(nodes))
        return original(evaluation, nodes, *others)

    original = _Evaluation._run
    monkeypatch.setattr(_Evaluation, "_run", counted)
    text = """g (float[1] x) => (float[1] s) <int64 n = {1000}, float[1] a0 = {0.0}, bool k = {1}> { r = Loop (n, k, a0)
        <body = body (int64 i, bool c, float[1] a) => (bool d, float[1] b) { h = Constant<value_float = 0.25>()
        b = Add(a, h) e = Exp(b) t = Squeeze(e) m = Constant<value_float = 20000.0>() d = Less(t, m) }>
        s = Add(r, x) }"""
    graph = lowered(text, unroll)
    assert max(computed) <= 4
    assert len(computed) >= 40
    np.testing.assert_array_equal(
        present(present(present(graph["s"].producer).inputs[0]).tensor).numpy(), np.array([10], np.float32)
    )


def test_a_long_loop_is_linear() -> None:
    text = f"""g (float[2] x) => (float[2] s) <int64 n = {{3000}}> {{ s, rows = Loop (n, , x) <body = {SUM}> }}"""
    graph = from_model(model_of(text))
    assert unroll(graph)
    graph.check()
    assert len(graph) == 9000
