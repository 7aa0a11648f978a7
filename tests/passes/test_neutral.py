"""Operands that change nothing: left out where that is certain, kept where it widens a shape or shows in a number."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from graphir.converters.onnx import from_model, to_model
from graphir.passes.no_ops import NEUTRAL
from graphir.passes.rewrite import apply_rules
from tests.building import list_operators
from tests.contract import held
from tests.passes.written import graph_of, model_of, run, unchanged

drop_neutral = partial(apply_rules, rules=NEUTRAL)
GRU = "y, h = GRU<hidden_size=2>(x, w, r, , , z)"
WEIGHTS = "float[1,6,4] w, float[1,6,2] r"
ZERO, NEGATIVE_ZERO = "float[3] z = {0, 0, 0}", "float[3] z = {-0.0, -0.0, -0.0}"

DROPPED = [
    ("g (float[2,3] x) => (float[2,3] y) <float[3] k = {1, 1, 1}> { m = Mul(x, k) y = Neg(m) }", "Neg"),
    ("g (float[2,3] x) => (float[2,3] y) <float[3] k = {1, 1, 1}> { m = Div(x, k) y = Neg(m) }", "Neg"),
    (f"g (float[2,3] x) => (float[2,3] y) <{ZERO}> {{ m = Add(z, x) y = Neg(m) }}", "Neg"),
    (f"g (float[2,3] x) => (float[2,3] y) <{ZERO}> {{ m = Sub(x, z) y = Neg(m) }}", "Neg"),
    ("g (int64[2,3] x) => (int64[2,3] y) <int64 z = {0}> { n = Neg(x) y = Add(n, z) }", "Neg"),
    ("g (bool[2,3] x) => (bool[2,3] y) <bool t = {1}> { m = And(t, x) y = Not(m) }", "Not"),
    ("g (bool[2,3] x) => (bool[2,3] y) <bool f = {0}> { a = Or(f, x) b = Xor(a, f) y = Not(b) }", "Not"),
    ("g (float[2,3] x) => (float[2,3] y) <float p = {1}> { m = Pow(x, p) y = Neg(m) }", "Neg"),
    (f"g (float[2,3] x) => (float[2,3] y) <{ZERO}, float p = {{3}}> {{ m = Add(x, z) y = Pow(m, p) }}", "Pow"),
    (f"g (float[5,2,4] x, {WEIGHTS}) => (float[5,1,2,2] y) <float[1,2,2] z = {{0,0,0,0}}> {{ {GRU} }}", "GRU"),
]  # fmt: skip
KEPT = [
    "g (float[2,3] x) => (float[2,3] y) <float[3] k = {1, 1, 2}> { m = Mul(x, k) y = Neg(m) }",
    "g (float[1,3] x) => (float[2,3] y) <float[2,1] k = {1, 1}> { m = Mul(x, k) y = Neg(m) }",
    "g (float[3] x) => (float[1,3] y) <float[1,1] k = {1}> { m = Mul(x, k) y = Neg(m) }",
    "g (float[2,3] x) => (float[2,3] y) <float[3] k = {1, 1, 1}> { m = Div(k, x) y = Neg(m) }",
    f"g (float[2,3] x) => (float[2,3] y) <{ZERO}> {{ m = Sub(z, x) y = Neg(m) }}",
    f"g (float[2,3] x) => (float[2,3] y) <{ZERO}> {{ n = Neg(x) y = Add(n, z) }}",
    f"g (float[2,3] x) => (float[2,3] y) <{ZERO}> {{ n = Add(x, z) y = Reciprocal(n) }}",
    f"g (float[2,3] x) => (float[2,3] y) <{ZERO}> {{ n = Add(x, z) y = Div(x, n) }}",
    f"g (float[2,3] x) => (float[2,3] y) <{ZERO}, float p = {{-1}}> {{ n = Add(x, z) y = Pow(n, p) }}",
    f"g (float[2,3] x) => (float[2,3] y) <{NEGATIVE_ZERO}> {{ m = Sub(x, z) y = Neg(m) }}",
    "g (float[2,3] x) => (float[2,3] y) <float p = {1}> { m = Pow(p, x) y = Neg(m) }",
    "g (bool[2,3] x) => (bool[2,3] y) <bool f = {0}> { m = And(f, x) y = Not(m) }",
    "g (float[A,3] x, float[3] k) => (float[A,3] y) { m = Mul(x, k) y = Neg(m) }",
    f"g (float[5,2,4] x, {WEIGHTS}) => (float[5,1,2,2] y) <float[1,2,2] z = {{0,1,0,0}}> {{ {GRU} }}",
    f"g (float[5,2,4] x, {WEIGHTS}, float[1,2,2] z) => (float[5,1,2,2] y) {{ {GRU} }}",
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), DROPPED)
def test_dropped(text: str, expected: str) -> None:
    model = model_of(text)
    graph = from_model(model)
    assert held("the pass", drop_neutral, graph)
    assert list_operators(graph) == expected
    assert not held("the pass again", drop_neutral, graph)
    np.testing.assert_equal(run(to_model(graph, opset=21)), run(model))


@pytest.mark.parametrize("text", KEPT)
def test_kept(text: str) -> None:
    unchanged(text, drop_neutral)


def test_a_layer_that_starts_at_zeros_of_a_named_batch() -> None:
    text = f"""g (float[5,N,4] x, {WEIGHTS}) => (float[5,1,N,2] y) <int64 one = {{1}}, int64[1] front = {{0}}> {{
        s = Shape(x) n = Gather(s, one) nv = Unsqueeze(n, front) c = Concat<axis=0>(one1, nv, two)
        b = ConstantOfShape(c) z = Slice(b, front, one1, front) {GRU} }}"""
    text = text.replace("> {\n", ", int64[1] one1 = {1}, int64[1] two = {2}> {\n", 1)
    graph = graph_of(text)
    assert held("the pass", drop_neutral, graph)
    assert list_operators(graph) == "GRU"
    np.testing.assert_equal(run(to_model(graph, opset=21), {"N": 3}), run(model_of(text), {"N": 3}))
