"""Operators that change nothing: dropped where that is certain, kept where it is not."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphir.converters.onnx import to_model
from graphir.graph import Graph
from graphir.passes.no_ops import NO_OPS
from graphir.passes.outcome import Outcome
from graphir.passes.simplify import simplify
from tests.building import list_operators
from tests.passes.written import graph_of, lowered, model_of, run, unchanged

DROPPED = [
    ("g (float[2,3] x) => (float[2,3] y) { d = Dropout(x) y = Neg(d) }", "Neg"),
    ("g (float[2,3] x) => (float[2,3] y) <float r = {0.3}, bool t = {0}> { d, m = Dropout(x, r, t) y = Neg(d) }",
     "Neg"),
    ("g (float[2,3] x) => (float[2,3] y, bool[2,3] m) { y, m = Dropout(x) }", "ConstantOfShape Identity"),
    ("g (float[2,3] x) => (float[2,3] y) <int64[1] s = {0}, int64[1] e = {9}> { d = Slice(x, s, e) y = Neg(d) }",
     "Neg"),
    ("g (float[2,3] x) => (float[2,3] y) <int64[1] s = {0}, int64[1] e = {9223372036854775807}, int64[1] a = {1}> "
     "{ d = Slice(x, s, e, a) y = Neg(d) }", "Neg"),
    ("g (float[2,3] x) => (float[2,3] y) <int64[4] p = {0,0,0,0}> { d = Pad(x, p) y = Neg(d) }", "Neg"),
    ("g (float[2,3] x) => (float[2,3] y) <int64[2] n = {1,3}> { d = Expand(x, n) y = Neg(d) }", "Neg"),
    ("g (float[2,3] x) => (float[2,3] y) <int64[2] n = {1,1}> { d = Tile(x, n) y = Neg(d) }", "Neg"),
    ("g (float[2,3] x) => (float[2,3] y) { d = Concat<axis = 0>(x) y = Neg(d) }", "Neg"),
    ("g (float[2,3] x) => (float[2,3] y) { d = Split<num_outputs = 1>(x) y = Neg(d) }", "Neg"),
    ("g (float[2,4] x) => (float[2,4] y) { a, b = Split<axis = -1, num_outputs = 2>(x) c = Concat<axis = 1>(a, b) "
     "y = Neg(c) }", "Neg"),
    ("g (float[2,3] x) => (float[2,3] y) { a = Sum(x) b = Mean(a) c = Max(b) d = Min(c) y = Neg(d) }", "Neg"),
    ("g (float[2,3] x) => (float[2,3] y) { d = Clip(x) y = Neg(d) }", "Neg"),
    ("g (float[2,3] x) => (float[2,3] y) { d = Cast<to = 1>(x) y = Neg(d) }", "Neg"),
    ("g (float[2,3] x) => (float16[2,3] y) { d = Cast<to = 11>(x) y = Cast<to = 10>(d) }", "Cast"),
    ("g (int32[2,3] x) => (int8[2,3] y) { d = Cast<to = 7>(x) y = Cast<to = 3>(d) }", "Cast"),
    ("g (uint8[2,3] x) => (uint8[2,3] y) { d = Cast<to = 7>(x) e = Cast<to = 2>(d) y = Add(e, x) }", "Add"),
    ("g (float[2,3] x, float[1] k) => (float[2,3] y) { d = CastLike(x, k) y = Neg(d) }", "Neg"),
    ("g (float[2,3] x, double[1] k) => (double[2,3] y) { y = CastLike(x, k) }", "Cast"),
    ("g (float[2,3] x, float[1] k) => (float[2,3] y) { y = CastLike(x, k) }", "Cast"),
    ("g (float[2,3] x, float[3] z) => (float[2,3] y) <bool[3] c = {1, 1, 1}> { d = Where(c, x, z) y = Neg(d) }", "Neg"),
    ("g (float[2,3] x, float[3] z) => (float[2,3] y) <bool[1] c = {0}> { d = Where(c, z, x) y = Neg(d) }", "Neg"),
]  # fmt: skip
KEPT = [
    "g (float[2,3] x) => (float[2,3] y) { y = Dropout(x) }",
    "g (float[2,3] x) => (float[2,3] y) <float r = {0.3}, bool t = {1}> { d = Dropout(x, r, t) y = Neg(d) }",
    "g (float[2,3] x, bool t) => (float[2,3] y) <float r = {0.3}> { d = Dropout(x, r, t) y = Neg(d) }",
    "g (float[2,3] x) => (float[2,3] y) <int64[1] s = {-1}, int64[1] e = {-9}, int64[1] a = {0}, int64[1] k = {-1}> "
    "{ d = Slice(x, s, e, a, k) y = Neg(d) }",
    "g (float[2,3] x) => (float[1,3] y) <int64[1] s = {1}, int64[1] e = {9}> { d = Slice(x, s, e) y = Neg(d) }",
    "g (float[2,3] x) => (float[2,3] y) <int64[4] p = {1,0,-1,0}> { d = Pad(x, p) y = Neg(d) }",
    "g (float[1,3] x) => (float[2,3] y) <int64[2] n = {2,1}> { d = Expand(x, n) y = Neg(d) }",
    "g (float[N,3] x, int64[2] n) => (float[N,3] y) { d = Expand(x, n) y = Neg(d) }",
    "g (float[2,3] x) => (float[4,3] y) { d = Concat<axis = 0>(x, x) y = Neg(d) }",
    "g (float[N,4] x) => (float[N,4] y) { a, b = Split<axis = 1, num_outputs = 2>(x) c = Concat<axis = 1>(b, a) "
    "y = Neg(c) }",
    "g (float[2,3] x) => (float[2,3] y) <float k = {0.0}> { d = Clip(x, k) y = Neg(d) }",
    "g (float[2,3] x) => (double[2,3] y) { d = Cast<to = 11>(x) y = Neg(d) }",
    "g (double[2,3] x) => (double[2,3] y) { d = Cast<to = 1>(x) y = Cast<to = 11>(d) }",
    "g (int32[2,3] x) => (float16[2,3] y) { d = Cast<to = 1>(x) y = Cast<to = 10>(d) }",
    "g (int64[2,3] x) => (int64[2,3] y) { d = Cast<to = 3>(x) y = Cast<to = 7>(d) }",
    "g (float[2,3] x, float[3] z) => (float[2,3] y) <bool[3] c = {1, 0, 1}> { d = Where(c, x, z) y = Neg(d) }",
    "g (float[2,3] x, float[3] z) => (float[2,3] y) <bool[1] c = {0}> { d = Where(c, x, z) y = Neg(d) }",
    "g (float[2,3] x, float[2,3] z, bool c) => (float[2,3] y) { d = Where(c, x, z) y = Neg(d) }",
]  # fmt: skip


def drop_no_ops(graph: Graph) -> Outcome:
    return simplify(graph, further=NO_OPS)


@pytest.mark.parametrize(("text", "expected"), DROPPED)
def test_dropped(text: str, expected: str) -> None:
    assert list_operators(lowered(text, drop_no_ops)) == expected


@pytest.mark.parametrize("text", KEPT)
def test_kept(text: str) -> None:
    unchanged(text, drop_no_ops)


BOUND = st.integers(-9, 9)
CUT = st.tuples(BOUND, BOUND, st.sampled_from((0, 1, -1, -2)), st.sampled_from((1, 1, 2, 3, -1)))


@given(st.lists(st.lists(CUT, min_size=1, max_size=2, unique_by=lambda cut: cut[2] % 2), min_size=2, max_size=3))
@settings(max_examples=100, deadline=None)
def test_chains_of_slices(chain: list[list[tuple[int, int, int, int]]]) -> None:
    constants, nodes = [], []
    for at, cuts in enumerate(chain):
        for name, row in zip("seak", zip(*cuts, strict=True), strict=True):
            constants.append(f"int64[{len(row)}] {name}{at} = {{{','.join(map(str, row))}}}")
        nodes.append(f"v{at + 1} = Slice(v{at}, s{at}, e{at}, a{at}, k{at})")
    nodes.append(f"y = Neg(v{len(chain)})")
    text = f"g (float[5,7] v0) => (float[A,B] y) <{', '.join(constants)}> {{ {' '.join(nodes)} }}"
    graph = graph_of(text)
    drop_no_ops(graph)
    if all(cut[3] > 0 for cuts in chain for cut in cuts):
        assert list_operators(graph) in ("Slice Neg", "Neg")
    np.testing.assert_equal(run(to_model(graph)), run(model_of(text)))


@given(st.lists(st.integers(0, 5), min_size=3, max_size=4), st.booleans())
@settings(max_examples=100, deadline=None)
def test_parts_joined_again(bounds: list[int], ordered: bool) -> None:
    bounds = sorted({0, *bounds, 3, 5}) if ordered else bounds
    pairs = list(pairwise(bounds))
    constants = ", ".join(f"int64[1] s{i} = {{{a}}}, int64[1] e{i} = {{{b}}}" for i, (a, b) in enumerate(pairs))
    nodes = " ".join(f"p{i} = Slice(x, s{i}, e{i})" for i in range(len(pairs)))
    parts = ", ".join(f"p{i}" for i in range(len(pairs)))
    text = f"g (float[5,2] x) => (float[A,2] y) <{constants}> {{ {nodes} c = Concat<axis = 0>({parts}) y = Neg(c) }}"
    graph = graph_of(text)
    drop_no_ops(graph)
    if ordered:
        assert list_operators(graph) == "Neg"
    np.testing.assert_equal(run(to_model(graph)), run(model_of(text)))
