"""Names of open sizes: one batch for all inputs, unless the graph contradicts it."""

from __future__ import annotations

from typing import Any

import pytest

from graphir.converters.tensorflow import load
from tests.tensorflow.graphdef import const, graph_def, node, placeholder

FLOAT = "float32"
BOTH = "the first sizes of a, b are taken to be one batch, N"


def inputs(*shapes: tuple[int | None, ...] | None) -> list[dict[str, Any]]:
    """Placeholders a, b and so on."""
    return [placeholder(name, FLOAT, shape) for name, shape in zip("abc", shapes, strict=False)]


def joined(op: str, **attrs: Any) -> dict[str, Any]:
    """An operator of a and b, the output y."""
    return node(op, "y", ["a", "b"], T=FLOAT, **attrs)


def alone(name: str) -> dict[str, Any]:
    """An output that depends on one input."""
    return node("Relu", f"{name}y", [name], T=FLOAT)


CONCAT = [const("axis", 0, "int32"), node("ConcatV2", "y", ["a", "b", "axis"], T=FLOAT, N=2)]
# The nodes, the shapes that are given, the types of inputs and outputs, and what is decided about batches.
ROWS: dict[str, tuple[list[Any], dict[str, str], list[str], list[str]]] = {
    "sum": ([*inputs((None, 4), (None, 4)), joined("AddV2")], {}, ["[N, 4]", "[N, 4]", "[N, 4]"], [BOTH]),
    "independent": (
        [*inputs((None, 4), (None, 3)), alone("a"), alone("b")], {}, ["[N, 4]", "[N, 3]", "[N, 4]", "[N, 3]"], [BOTH],
    ),
    "product": (
        [*inputs((None, 4), (None, 4)), joined("MatMul", transpose_b=True)], {}, ["[N, 4]", "[N2, 4]", "[N, N2]"], [],
    ),
    "joined": ([*inputs((None, 4), (None, 4)), *CONCAT], {}, ["[N, 4]", "[N2, 4]", "[N+N2, 4]"], []),
    "both-open": (
        [*inputs((None, None), (None, None)), joined("AddV2")], {}, ["[N, T]", "[N, T2]", "[N, max(T,T2)]"], [BOTH],
    ),
    "steps-first": (
        [*inputs((None, None, 3), (None,)), alone("a"), alone("b")], {}, ["[N, T, 3]", "[N2]", "[N, T, 3]", "[N2]"], [],
    ),
    "given": (
        [*inputs((None, 4), (None, 4)), joined("AddV2")], {"b": "B,4"}, ["[B, 4]", "[B, 4]", "[B, 4]"],
        ["the first sizes of a, b are taken to be one batch, B"],
    ),
    "given-two": ([*inputs((None, 4), (None, 1)), joined("AddV2")], {"a": "A,4", "b": "B,1"},
                  ["[A, 4]", "[B, 1]", "[max(A,B), 4]"], ["the first sizes of a, b are taken to be one batch, A"]),
    "three": (
        [*inputs((None, 4), (None, 4), (None, 2)), joined("MatMul", transpose_b=True), alone("c")], {},
        ["[N, 4]", "[N2, 4]", "[N, 2]", "[N, N2]", "[N, 2]"],
        ["the first sizes of a, c are taken to be one batch, N"],
    ),
    "image": ([*inputs((None, None, None, 3)), alone("a")], {}, ["[N, H, W, 3]"] * 2, []),
    "channels-first": ([*inputs((None, 3, None, None)), alone("a")], {}, ["[N, 3, H, W]"] * 2, []),
    "two-images": (
        [*inputs((1, None, None, 3), (1, None, None, 3)), alone("a"), alone("b")], {},
        ["[1, H, W, 3]", "[1, H2, W2, 3]"] * 2, [],
    ),
    "many-axes": ([*inputs((2, 2, 2, 2, 2, None)), alone("a")], {}, ["[2, 2, 2, 2, 2, D5]"] * 2, []),
    "fixed": ([*inputs((2, 4), (None, 4)), joined("AddV2")], {}, ["[2, 4]", "[N, 4]"], []),
}  # fmt: skip


@pytest.mark.parametrize("title", [title for title in ROWS if title != "given-two"])
def test_sizes_and_decisions(title: str) -> None:
    nodes, given, shapes, decided = ROWS[title]
    graph = load(graph_def(*nodes), shapes=given)
    graph.check()
    found = [str(value.type).removeprefix(FLOAT) for value in (*graph.inputs, *graph.outputs)]
    assert found[: len(shapes)] == shapes
    assert [held.text for held in graph.decisions if held.kind == "batch"] == decided


def test_two_names_that_were_given_stay() -> None:
    nodes, given, _, _ = ROWS["given-two"]
    graph = load(graph_def(*nodes), shapes=given)
    assert [str(value.type) for value in graph.inputs] == ["float32[A, 4]", "float32[B, 1]"]
    assert not [held for held in graph.decisions if held.kind == "batch"]


def test_texts_of_decisions_have_the_names_too() -> None:
    x = placeholder("x", FLOAT, (None, None, 5, 2))
    conv = node("Conv2D", "y", ["x", "w"], T=FLOAT, strides=(1, 2, 2, 1), padding="SAME")
    import numpy as np

    graph = load(graph_def(x, const("w", np.ones((3, 3, 2, 1), np.float32)), conv))
    assert [held.text for held in graph.decisions if held.kind == "padding"] == [
        "SAME stays a policy: the sizes ['H', '5'] are not known"
    ]
