"""Arithmetic on parameters: done ahead with the same numbers, without reading what is large."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graphir.graph import Graph
from graphir.ops.elementwise import Add, Mul, Neg
from graphir.passes import simplify
from graphir.passes.fold_arithmetic import fold_arithmetic
from graphir.tensor import Tensor
from graphir.types import DType
from tests.building import list_operators
from tests.ops.rule import tensor
from tests.passes.written import lowered, unchanged
from tests.typed import present

W = "float[2] w = {1.5, -2.0}, float[2] u = {4.0, 0.5}"
FOLDED = [
    "a = Add(w, u)", "a = Sub(w, u)", "a = Mul(w, u)", "a = Div(w, u)", "a = Sqrt(u)", "a = Reciprocal(w)",
    "a = Neg(w)", "a = Abs(w)", "a = Max(w, u)", "a = Min(w, u, w)", "b = Sqrt(u) c = Mul(b, w) a = Add(c, u)",
    "b = Cast<to = 7>(w) a = Cast<to = 1>(b)", "b = Cast<to = 9>(w) a = Cast<to = 1>(b)",
    "b = Concat<axis = 0>(w, u) k = Constant<value = int64[2] {2, 2}>() c = Reshape(b, k) "
    "d = Transpose<perm = [1,0]>(c) a = Neg(d)",
    "b = Cast<to = 6>(w) c = Constant<value = int32[2] {-2, 3}>() d = Div(c, b) a = Cast<to = 1>(d)",
]  # fmt: skip
STAYS = [
    "g (float[2] x) => (float[2] y) { y = Sqrt(x) }",
    "g (float[2] x) => (float[2] y) <float[2] w = {1.0, 2.0}> { y = Sqrt(w) }",
    "g (float[2] x) => (float[2] y) <float[2] w = {1.0, 2.0}> { a = Sin(w) y = Add(x, a) }",
    "g (float[2] x) => (float[2] y) <float[2] w = {1.0, 2.0}> { a = Cast<to = 17>(w) b = Cast<to = 1>(a) "
    "y = Add(x, b) }",
]


@pytest.mark.parametrize("body", FOLDED)
def test_folded(body: str) -> None:
    text = f"g (float[2] x) => (float[a] y) <{W}> {{ {body} y = Add(x, a) }}"
    text = text.replace("float[a] y", "float[2,2] y") if "Transpose" in body else text
    assert list_operators(lowered(text, fold_arithmetic)) == "Add"


@pytest.mark.parametrize("text", STAYS)
def test_the_rest_stays(text: str) -> None:
    unchanged(text, fold_arithmetic)


def test_names_and_sources_are_kept() -> None:
    text = f"g (float[2] x) => (float[2] y) <{W}> {{ b = Mul(w, u) y = Add(x, b) }}"
    graph = lowered(text, fold_arithmetic)
    simplify(graph)
    assert [(value.name, value.sources) for value in graph.parameters] == [("b", ("b",))]


def large(reads: list[str], uses: int) -> Graph:
    """A graph that scales a large weight, which `uses` nodes use."""

    def elements() -> NDArray[Any]:
        reads.append("read")
        return np.full((300, 300), 2, np.float32)

    graph = Graph("large")
    x = graph.add_input("x", tensor("float32[300, 300]"))
    weight = graph.add_parameter("w", Tensor.computed(DType.FLOAT32, (300, 300), elements))
    scaled = graph.add(Mul(), weight, graph.constant(np.float32(3)), output="scaled")
    outputs = [graph.add(Add(), x, scaled)] + [graph.add(Neg(), weight) for _ in range(uses - 1)]
    graph.set_outputs(outputs)
    return graph


def test_a_large_weight_is_computed_when_it_is_needed() -> None:
    reads: list[str] = []
    graph = large(reads, 1)
    assert fold_arithmetic(graph)
    assert reads == []
    assert list_operators(graph) == "Add"
    np.testing.assert_array_equal(present(graph["scaled"].tensor).numpy(), np.full((300, 300), 6, np.float32))


def test_a_large_weight_is_not_stored_twice() -> None:
    reads: list[str] = []
    graph = large(reads, 2)
    assert not fold_arithmetic(graph)
    assert reads == []
