"""Inputs that are bound become parameters, and what follows from their elements is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphir.errors import GraphError, GraphirError, ShapeError
from graphir.graph import Graph
from graphir.ops.elementwise import Add
from graphir.ops.shape import Reshape
from graphir.passes.bind import bind_inputs
from graphir.types import DType, TensorType


def reshaping() -> Graph:
    """Data with the shape that an input states, plus an offset."""
    graph = Graph("g")
    data = graph.add_input("data", TensorType(DType.FLOAT32, (2, 6)))
    sizes = graph.add_input("sizes", TensorType(DType.INT64, (2,)))
    offset = graph.add_input("offset", TensorType(DType.FLOAT32, ()))
    moved = graph.add(Reshape(), data, sizes, name="moved")
    graph.set_outputs([graph.add(Add(), moved, offset, name="sum"), sizes])
    return graph


def state(graph: Graph) -> tuple[Any, ...]:
    """What a refused change must leave alone."""
    return str(graph), [value.name for value in graph.inputs], tuple(graph.decisions)


@pytest.mark.parametrize(
    "elements", [[3, 4], (3, 4), np.array([3, 4]), np.array([3, -1])], ids=["list", "tuple", "array", "left open"]
)
def test_what_follows_is_known(elements: object) -> None:
    graph = reshaping()
    assert bind_inputs(graph, {"sizes": elements})
    graph.check()
    assert [value.name for value in graph.inputs] == ["data", "offset"]
    assert graph["sum"].shape == (3, 4)
    tensor = graph["sizes"].tensor
    assert tensor is not None
    assert tensor.dtype is DType.INT64
    assert [value.name for value in graph.outputs] == ["sum", "sizes"]


def test_each_is_a_decision() -> None:
    graph = reshaping()
    bind_inputs(graph, {"sizes": [3, 4], "offset": 0.5})
    assert [(decision.kind, decision.node) for decision in graph.decisions] == [
        ("constant input", "sizes"),
        ("constant input", "offset"),
    ]
    assert "[3, 4]" in graph.decisions[0].text


def test_nothing_to_bind() -> None:
    graph = reshaping()
    before = state(graph)
    assert not bind_inputs(graph, {})
    assert state(graph) == before


BAD: tuple[tuple[str, dict[str, object], type[GraphirError], str], ...] = (
    ("no input", {"moved": 1}, GraphError, "'moved' is no input .* its inputs are: data, sizes, offset"),
    ("fraction for an integer", {"sizes": [3, 4.5]}, GraphError, r"cannot hold \[3.0, 4.5\]"),
    ("too large", {"sizes": [3, 2.0**70]}, GraphError, "the input sizes is .*too large"),
    ("other dtype", {"sizes": np.array([3, 4], np.int32)}, GraphError, r"int64\[2\]: it cannot be bound to int32"),
    ("other shape", {"sizes": [2, 3, 2]}, ShapeError, r"int64\[2\] and cannot be bound to int64\[3\]"),
    ("contradiction", {"sizes": [5, 5]}, ShapeError, "moved"),
    ("second one bad", {"offset": 1.0, "sizes": [5, 5]}, ShapeError, "moved"),
    ("no numbers", {"offset": "one"}, GraphError, "offset"),
    ("ragged", {"sizes": [[1], [1, 2]]}, GraphError, "no tensor"),
)


@pytest.mark.parametrize(("values", "error", "text"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_refused_and_left_as_it_was(values: dict[str, object], error: type[GraphirError], text: str) -> None:
    graph = reshaping()
    before = state(graph)
    with pytest.raises(error, match=text):
        bind_inputs(graph, values)
    assert state(graph) == before
