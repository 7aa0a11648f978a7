"""Sizes in named terms: what becomes a constant, what is joined, and what must stay computed."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from graphir.converters.onnx import from_model, to_model
from graphir.passes.known_sizes import SIZES, shape_constant, share_known_sizes
from graphir.passes.rewrite import apply_rules
from graphir.types import UNKNOWN, Dim, symbol
from tests.building import list_operators
from tests.contract import held
from tests.passes.written import graph_of, model_of, run, unchanged

N, T = symbol("N"), symbol("T")
LOST = symbol("run:size")  # which only a run can tell, and may be 0
HEAD = (
    "<int64 zero = {0}, int64 one = {1}, int64[1] front = {0}, int64[1] four = {4}, int64[1] two = {2}, "
    "int64[1] rest = {-1}>"
)
SIZES_OF_X = "s = Shape(x) n = Gather(s, zero) t = Gather(s, one) nv = Unsqueeze(n, front) tv = Unsqueeze(t, front)"
rules = partial(apply_rules, rules=SIZES)

CONSTANTS: list[tuple[tuple[Dim, ...], tuple[Dim, ...], list[int] | None]] = [
    ((N, T, 32), (N, T, 4, 8), [0, 0, 4, 8]),
    ((N, T, 4, 8), (N, T, 32), [0, 0, 32]),
    ((N, T, 32), (N * T, 32), [-1, 32]),
    ((N, T, 32), (N, T * 32), [0, -1]),
    ((2, 3), (3, 2), [3, 2]),
    ((N, T), (T, N), None),
    ((N, T), (1, N, T), None),
    ((N, 0), (N, 0), None),
    ((N, T), (N, UNKNOWN), None),
    ((LOST, 4), (LOST, 2, 2), [0, 2, 2]),
    ((LOST, T, 4), (LOST, T * 4), None),
]
# A graph, sizes to run it with, and the operators that are left.
REWRITTEN = [
    (f"g (float[N,T,8] x) => (float[N,T,4,2] y) {HEAD} {{ {SIZES_OF_X} c = Concat<axis=0>(nv, tv, four, two) "
     "y = Reshape(x, c) }", "Reshape"),
    (f"g (float[N,T,8] x) => (float[N,M] y) {HEAD} {{ {SIZES_OF_X} c = Concat<axis=0>(nv, rest) y = Reshape(x, c) }}",
     "Reshape"),
    (f"g (float[N,T] x) => (float[1,N,T] y) <int64 zero = {{0}}, int64 one = {{1}}, int64[1] front = {{0}}, "
     f"int64[1] unit = {{1}}> {{ {SIZES_OF_X} c = Concat<axis=0>(unit, nv, tv) y = Reshape(x, c) }}", "Unsqueeze"),
    (f"g (float[N,T] x) => (float[N,T] y) {HEAD} {{ a = Unsqueeze(x, front) b = Unsqueeze(a, front) "
     "c = Squeeze(b, front) d = Squeeze(c, front) y = Neg(d) }", "Neg"),
    (f"g (float[N,1,T,4] x) => (float[N,M] y) {HEAD} {{ a = Transpose<perm=[0,2,1,3]>(x) y = Flatten(a) }}", "Reshape"),
    (f"g (float[N,T] x) => (float[N,T] y) {HEAD} {{ {SIZES_OF_X} c = Concat<axis=0>(nv, tv) e = Expand(x, c) "
     "y = Neg(e) }", "Expand Neg"),
    (f"g (float[N,T] x) => (float[2,N,T] y) {HEAD} {{ {SIZES_OF_X} c = Concat<axis=0>(two, nv, tv) e = Expand(x, c) "
     "y = Neg(e) }", "Expand Neg"),
]  # fmt: skip
KEPT = [
    f"g (float[N,T] x) => (float[T,N] y) {HEAD} {{ {SIZES_OF_X} c = Concat<axis=0>(tv, nv) y = Reshape(x, c) }}",
    f"g (float[N,T,4] x) => (float[N,T,4] y) {HEAD} {{ a = Transpose<perm=[1,0,2]>(x) b = Neg(a) y = Flatten(b) }}",
    f"g (float[1,T] x, float[N,T] z) => (float[N,T] y) {HEAD} {{ s = Shape(z) y = Expand(x, s) }}",
    "g (float[N,T] x, int64[2] s) => (float[A,B] y) { y = Reshape(x, s) }",
    "g (float[N,4] x) => (float[1,4] y) <int64[1] front = {0}> "
    "{ a = Squeeze(x, front) b = Unsqueeze(a, front) y = Neg(b) }",
]  # fmt: skip


@pytest.mark.parametrize(("source", "wanted", "numbers"), CONSTANTS)
def test_a_shape_as_a_constant(source: tuple[Dim, ...], wanted: tuple[Dim, ...], numbers: list[int] | None) -> None:
    assert shape_constant(source, wanted) == numbers


@pytest.mark.parametrize(("text", "expected"), REWRITTEN)
@pytest.mark.parametrize("sizes", [{"N": 3, "T": 5}, {"N": 1, "T": 1}, {"N": 4, "T": 2}])
def test_rewritten(text: str, expected: str, sizes: dict[str, int]) -> None:
    model = model_of(text)
    graph = from_model(model)
    assert held("the pass", rules, graph)
    held("the pass again", rules, graph)
    assert list_operators(graph) == expected
    np.testing.assert_equal(run(to_model(graph, opset=21), sizes), run(model, sizes))


@pytest.mark.parametrize("text", KEPT)
def test_kept(text: str) -> None:
    before = list_operators(graph_of(text))
    graph = graph_of(text)
    rules(graph)
    assert list_operators(graph) == before


def test_equal_sizes_are_computed_once() -> None:
    text = f"""g (float[N,T] x) => (float[N,T] y, int64[1] o) {HEAD} {{
        {SIZES_OF_X} x2 = Neg(x) s2 = Shape(x2) n2 = Gather(s2, zero) nv2 = Unsqueeze(n2, front)
        c = Concat<axis=0>(nv2, tv) z = ConstantOfShape(c) y = Add(x2, z) o = Identity(nv2) }}"""
    model = model_of(text)
    graph = from_model(model)
    assert held("sharing", share_known_sizes, graph)
    assert list_operators(graph).split().count("Gather") == 1
    assert not held("sharing again", share_known_sizes, graph)
    np.testing.assert_equal(run(to_model(graph, opset=21), {"N": 3, "T": 5}), run(model, {"N": 3, "T": 5}))


def test_integers_of_another_dtype_or_shape_are_not_shared() -> None:
    unchanged(
        f"""g (float[N,T] x) => (int64 a, int64[1] b, int32 c) {HEAD} {{ s = Shape(x) a = Gather(s, zero)
        b = Unsqueeze(a, front) c = Cast<to=6>(a) }}""",
        share_known_sizes,
    )
