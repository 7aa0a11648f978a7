"""Products of one operand are merged, scales go into matrices, transposes and sums into Gemm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from graphir.graph import Graph
from graphir.ops import elementwise as ew
from graphir.ops.activation import Relu
from graphir.ops.linear import Gemm, MatMul
from graphir.ops.shape import Expand, Reshape, Transpose
from graphir.passes.fusions import MERGES
from graphir.passes.rewrite import apply_rules
from graphir.types import DType, TensorType
from tests.contract import held
from tests.passes.spelled import Spelling, Term, assert_equal, fuse, numbers, operators_of, run, spelled

RANDOM = np.random.default_rng(5)


def floats(*shape: int) -> NDArray[Any]:
    return RANDOM.uniform(-1, 1, shape)


def times(x: Term, matrix: Any) -> Term:
    return x.apply(MatMul(), matrix)


def several(outputs: Callable[[Term], list[Term]], shape: tuple[int | str, ...] = (2, 5, 3)) -> Graph:
    graph = spelled(lambda x: x, shape)
    graph.set_outputs([term.value for term in outputs(Term(graph.inputs[0]))])
    return graph


def merge(graph: Graph) -> bool:
    return bool(held("merges", lambda changed: apply_rules(changed, rules=MERGES), graph))


W = [floats(3, 4), floats(3, 2), floats(3, 1)]
B = [floats(4), floats(2), floats(1)]
MERGED: list[tuple[str, Callable[[Term], list[Term]], list[str]]] = [
    ("three", lambda x: [times(x, w) for w in W], ["MatMul", "Split"]),
    ("three shifted", lambda x: [b + times(x, w) for w, b in zip(W, B, strict=True)], ["MatMul", "Add", "Split"]),
    ("two shifted", lambda x: [times(x, W[0]) + B[0], times(x, W[1]) + B[1]], ["MatMul", "Add", "Split"]),
    (
        "three, and one that is shifted",
        lambda x: [*(times(x, w) for w in W), times(x, floats(3, 2)) + B[1]],
        ["MatMul", "Split", "MatMul", "Add"],
    ),
]


@pytest.mark.parametrize(("outputs", "kinds"), [row[1:] for row in MERGED], ids=[row[0] for row in MERGED])
@given(shape=st.lists(st.integers(0, 3), min_size=1, max_size=3), seed=st.integers(0, 99))
@settings(max_examples=5)
def test_products_of_one_operand_are_one(
    outputs: Callable[[Term], list[Term]], kinds: list[str], shape: list[int], seed: int
) -> None:
    graph = several(outputs, (*shape, 3))
    feeds = {"x": numbers((*shape, 3), DType.FLOAT32, seed, special=False)}
    before = run(graph, feeds)
    assert merge(graph)
    assert operators_of(graph) == kinds
    assert graph.decisions
    assert_equal(before, run(graph, feeds), 1e-5)
    assert not merge(graph)


@pytest.mark.parametrize("trans", [False, True])
def test_gemms_of_one_operand_are_one(trans: bool) -> None:
    def products(x: Term) -> list[Term]:
        return [x.apply(Gemm(transB=trans), w.T if trans else w, b) for w, b in zip(W, B, strict=True)]

    graph = several(products, (5, 3))
    feeds = {"x": numbers((5, 3), DType.FLOAT32, special=False)}
    before = run(graph, feeds)
    assert merge(graph)
    assert operators_of(graph) == ["Gemm", "Split"]
    assert_equal(before, run(graph, feeds), 1e-5)


def test_open_sizes_stay_open() -> None:
    graph = several(lambda x: [times(x, w) for w in W], ("N", "M", 3))
    assert merge(graph)
    rows = (graph.inputs[0].shape or ())[:2]
    assert [value.shape for value in graph.outputs] == [(*rows, size) for size in (4, 2, 1)]


UNMERGED: list[tuple[str, Callable[[Term], list[Term]]]] = [
    ("two", lambda x: [times(x, w) for w in W[:2]]),
    ("one with a shift", lambda x: [times(x, W[0]) + B[0], times(x, W[1])]),
    ("a matrix with two users", lambda x: [*(times(x, w) for w in W), times(x.apply(Relu()), W[0])]),
    ("a product that is an output", lambda x: [(y := times(x, W[0])), y + B[0], times(x, W[1]) + B[1]]),
    ("a shift of rows", lambda x: [times(x, W[0]) + floats(5, 1), times(x, W[1]) + B[1]]),
    ("other operands", lambda x: [times(x, W[0]), times(x.apply(Relu()), W[1]), times(-x, W[2])]),
    ("factors of a Gemm", lambda x: [x.apply(Reshape(), np.array([10, 3])).apply(Gemm(alpha=2.0), w) for w in W]),
]


@pytest.mark.parametrize("outputs", [row[1] for row in UNMERGED], ids=[row[0] for row in UNMERGED])
def test_other_products_stay(outputs: Callable[[Term], list[Term]]) -> None:
    assert not merge(several(outputs))


def heads(x: Term) -> Term:
    return x.apply(Reshape(), np.array([0, 0, 2, -1])).apply(Transpose((0, 2, 1, 3)))



def other(x: Term) -> Term:
    return x.reduce("Sum", 0, 1, 2).apply(Expand(), np.array([1, 1, 2, 2]))


SCALED: list[tuple[str, Spelling]] = [
    ("behind a product", lambda x: times(x, W[0]) * 0.3),
    ("a quotient", lambda x: times(x, W[0]) / 8.0),
    ("behind a shift", lambda x: (times(x, W[0]) + B[0]) * 0.125),
    ("behind heads", lambda x: 3.0 * heads(times(x, W[0]) + B[0])),
    ("behind scores", lambda x: times(heads(times(x, W[0])), other(x)) * 0.5),
    ("behind a shift of all", lambda x: (times(x, W[0]) + floats(5, 4)) * 0.3),
]


@pytest.mark.parametrize("spelling", [row[1] for row in SCALED], ids=[row[0] for row in SCALED])
@given(seed=st.integers(0, 99))
@settings(max_examples=3)
def test_a_scale_goes_into_the_matrix(spelling: Spelling, seed: int) -> None:
    graph = spelled(spelling, (2, 5, 3))
    feeds = {"x": numbers((2, 5, 3), DType.FLOAT32, seed, special=False)}
    before, kinds = run(graph, feeds), operators_of(graph)
    assert fuse(graph)
    assert operators_of(graph) == [kind for kind in kinds if kind not in ("Mul", "Div")]
    assert graph.decisions
    assert_equal(before, run(graph, feeds), 1e-5)


UNSCALED: list[tuple[str, Spelling]] = [
    ("zero", lambda x: times(x, W[0]) * 0.0),
    ("infinite", lambda x: times(x, W[0]) * np.inf),
    ("for each channel", lambda x: times(x, W[0]) * floats(4)),
    ("that widens", lambda x: times(x, W[0]) * np.full((1, 1, 1, 1), 0.5)),
    ("the dividend", lambda x: 2.0 / times(x, W[0])),
    ("no product", lambda x: x.apply(Relu()) * 2.0),
    ("behind a function", lambda x: times(x, W[0]).apply(Relu()) * 2.0),
    ("behind a sum that is computed", lambda x: (times(x, W[0]) + times(x, floats(3, 4))) * 2.0),
]


@pytest.mark.parametrize("spelling", [row[1] for row in UNSCALED], ids=[row[0] for row in UNSCALED])
def test_other_scales_stay(spelling: Spelling) -> None:
    assert not fuse(spelled(spelling, (2, 5, 3)))


def test_scales_in_half_precision_stay() -> None:
    assert not fuse(spelled(SCALED[0][1], (2, 3), DType.FLOAT16))


def test_a_scaled_product_with_another_user_stays() -> None:
    assert not fuse(several(lambda x: [(y := times(x, W[0])) * 2.0, y.apply(Relu())]))
    assert not fuse(several(lambda x: [(y := times(x, W[0])) * 2.0, y]))


def test_scales_of_both_operands_become_one() -> None:
    graph = spelled(lambda x: (x * 0.5).apply(MatMul(), x.apply(Transpose((0, 2, 1))) * 0.25), (2, 5, 3))
    feeds = {"x": numbers((2, 5, 3), DType.FLOAT32, special=False)}
    before = run(graph, feeds)
    assert fuse(graph)
    assert sorted(operators_of(graph)) == ["MatMul", "Mul", "Transpose"]
    assert_equal(before, run(graph, feeds), 1e-5)


GEMMS: list[tuple[str, Spelling, Gemm]] = [
    ("left", lambda x: x.apply(Transpose((1, 0))).apply(MatMul(), x), Gemm(transA=True)),
    ("right", lambda x: x.apply(MatMul(), x.apply(Transpose((1, 0)))), Gemm(transB=True)),
    ("sum", lambda x: x.apply(MatMul(), x.apply(Relu())) + x, Gemm()),
    ("sum of a row", lambda x: floats(3) + x.apply(MatMul(), x), Gemm()),
]


@pytest.mark.parametrize(("spelling", "op"), [row[1:] for row in GEMMS], ids=[row[0] for row in GEMMS])
def test_transposes_and_sums_go_into_gemm(spelling: Spelling, op: Gemm) -> None:
    graph = spelled(spelling, (3, 3))
    feeds = {"x": numbers((3, 3), DType.FLOAT32, special=False)}
    before = run(graph, feeds)
    assert fuse(graph)
    assert graph.nodes[-1].op == op
    assert not [node for node in graph.nodes if isinstance(node.op, MatMul | ew.Add | Transpose)]
    assert_equal(before, run(graph, feeds), 1e-5)


def test_a_sum_that_widens_stays() -> None:
    graph = Graph("wide")
    x = graph.add_input("x", TensorType(DType.FLOAT32, (1, 3)))
    graph.set_outputs([(times(Term(x), floats(3, 4)) + floats(5, 4)).value])
    assert not fuse(graph)
    assert not fuse(spelled(lambda x: times(x, floats(3, 4)) + floats(5, 4), (2, 5, 3)))
