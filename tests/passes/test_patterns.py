"""Patterns of nodes: names that come twice are one value, operands are those that are written."""

from __future__ import annotations

import pytest

from graphir.graph import Graph
from graphir.ops.activation import Sigmoid
from graphir.ops.elementwise import Add, Mul
from graphir.ops.shape_parts import Slice
from graphir.passes.patterns import Pattern
from graphir.types import DType, TensorType


@pytest.fixture
def graph() -> Graph:
    """Return x * sigmoid(x), x * sigmoid(y) and sigmoid(x) * x as `same`, `other` and `turned`."""
    graph = Graph("g")
    x, y = (graph.add_input(name, TensorType(DType.FLOAT32, ("N",))) for name in ("x", "y"))
    graph.add(Mul(), x, graph.add(Sigmoid(), x), name="same")
    graph.add(Mul(), x, graph.add(Sigmoid(), y), name="other")
    graph.add(Mul(), graph.add(Sigmoid(), x), x, name="turned")
    starts, ends = graph.constant([0]), graph.constant([1])
    graph.add(Slice(), x, starts, ends, None, None, name="part")
    return graph


ONE, TWO = Pattern(Mul, "a", Pattern(Sigmoid, "a")), Pattern(Mul, "a", Pattern(Sigmoid, "b"))


@pytest.mark.parametrize(
    "pattern, name, bound",
    [
        (ONE, "same", {"a": "x"}),
        (ONE, "other", None),
        (ONE, "turned", {"a": "x"}),
        (TWO, "same", {"a": "x", "b": "x"}),
        (TWO, "other", {"a": "x", "b": "y"}),
        (Pattern(Mul, "a"), "same", None),
        (Pattern(Add, "a", "b"), "same", None),
        (Pattern(Mul, "a", None), "same", None),
        (ONE, "x", None),
        (Pattern(Slice, "a", "s", "e", None, None), "part", {"a": "x", "s": "const", "e": "const_1"}),
        (Pattern(Slice, "a", "s", "e", "axes", None), "part", None),
    ],
)
def test_match(graph: Graph, pattern: Pattern, name: str, bound: dict[str, str] | None) -> None:
    values = pattern.match(graph[name])
    assert (None if values is None else {key: value.name for key, value in values.items()}) == bound
