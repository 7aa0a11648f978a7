"""Layers over the last axis are put on matrices where that leaves fewer nodes, and nothing else changes."""

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
from graphir.ops import normalization as norm
from graphir.ops.activation import Relu, Softmax
from graphir.ops.linear import MatMul
from graphir.ops.shape import Reshape, Transpose
from graphir.ops.shape_parts import Split
from graphir.passes.fusions.rows import flatten_products
from graphir.types import DType
from tests.contract import held
from tests.growth import is_near_linear
from tests.passes.spelled import Term, assert_equal, numbers, operators_of, run, spelled

RANDOM = np.random.default_rng(3)
Outputs = Callable[[Term], list[Term]]


def floats(*shape: int) -> NDArray[Any]:
    return RANDOM.uniform(-1, 1, shape)


def dense(x: Term, columns: int = 4) -> Term:
    shape = x.value.shape
    assert shape is not None
    return x.apply(MatMul(), floats(shape[-1], columns)) + floats(columns)


def reshape(x: Term, *sizes: int) -> Term:
    return x.apply(Reshape(), np.array(sizes))


def normalized(x: Term, axis: int = -1) -> Term:
    shape = x.value.shape
    assert shape is not None
    graph = x.value.graph
    parameters = [graph.constant(floats(shape[-1]).astype(np.float32)) for _ in range(2)]
    node = graph.add_node(norm.LayerNormalization(axis=axis), (x.value, *parameters))
    return Term(node.outputs[0])


def halves(x: Term) -> list[Term]:
    operands = (x.value, x.value.graph.constant(np.array([1, 3])))
    return [Term(value) for value in x.value.graph.add_node(Split(2, axis=-1), operands).outputs]


def residual(x: Term) -> Term:
    return normalized(dense(x.apply(Relu()), 3) + x.apply(Relu()))


def chain(x: Term, length: int) -> Term:
    for _ in range(length):
        x = dense(x)
    return x


def network(outputs: Outputs, shape: tuple[int | str, ...] = (2, 5, 3), dtype: DType = DType.FLOAT32) -> Graph:
    graph = spelled(lambda x: x, shape, dtype)
    graph.set_outputs([term.value for term in outputs(Term(graph.inputs[0]))])
    return graph


def flatten(graph: Graph) -> bool:
    return bool(held("flatten_products", flatten_products, graph))


# With how many Gemms and Reshapes there are then.
FLAT: list[tuple[str, Outputs, int, int]] = [
    ("three in a row", lambda x: [chain(x, 3)], 3, 2),
    ("behind a Reshape", lambda x: [chain(reshape(x.apply(ew.Neg()), 5, 2, 3), 2)], 2, 2),
    ("in front of one", lambda x: [reshape(chain(x, 2), 2, 5, 2, 2)], 2, 2),
    ("in front of two", lambda x: [reshape(y := chain(x, 2), 2, 5, 2, 2), reshape(y, 40)], 2, 3),
    ("in front of one, and an output", lambda x: [reshape(y := chain(x, 3), 2, 5, 2, 2), y], 3, 3),
    ("on both sides of a Reshape", lambda x: [chain(reshape(chain(x, 3), 2, 5, 2, 2), 3)], 6, 3),
    ("a shift of whole tensors", lambda x: [chain(x, 4).apply(MatMul(), floats(4, 4)) + floats(5, 4)], 4, 2),
    ("around functions", lambda x: [dense(dense(dense(x.apply(Relu())).apply(Softmax())).apply(ew.Erf()))], 3, 2),
    ("around normalizations and sums", lambda x: [residual(residual(residual(x)))], 3, 2),
    ("around sums of numbers", lambda x: [chain((chain(x, 2) * 0.5).apply(ew.Clip(), -1.0, 1.0), 1)], 3, 2),
    ("around a Split", lambda x: [dense(part, 2) + dense(part, 2) for part in halves(chain(x, 2))], 6, 3),
    ("between transposes", lambda x: [chain(x.apply(Transpose((1, 0, 2))), 3).apply(Transpose((2, 1, 0)))], 3, 2),
    ("with the last shift not alone", lambda x: [chain(chain(x, 3).apply(MatMul(), floats(4, 4)), 0)], 3, 2),
]


@pytest.mark.parametrize(("outputs", "gemms", "reshapes"), [row[1:] for row in FLAT], ids=[row[0] for row in FLAT])
@given(seed=st.integers(0, 99))
@settings(max_examples=3)
def test_products_in_a_row_are_on_matrices(outputs: Outputs, gemms: int, reshapes: int, seed: int) -> None:
    graph = network(outputs)
    count = len(list(graph.nodes))
    feeds = {"x": numbers((2, 5, 3), DType.FLOAT32, seed, special=False)}
    before = run(graph, feeds)
    assert flatten(graph)
    kinds = operators_of(graph)
    assert (kinds.count("Gemm"), kinds.count("Reshape")) == (gemms, reshapes)
    assert len(kinds) < count
    assert graph.decisions
    assert_equal(before, run(graph, feeds), 1e-5)
    assert not flatten(graph)


@given(shape=st.lists(st.integers(1, 4), min_size=2, max_size=4), dtype=st.sampled_from([DType.FLOAT32, DType.FLOAT64]))
@settings(max_examples=8)
def test_any_rank_and_dtype(shape: list[int], dtype: DType) -> None:
    graph = network(lambda x: [chain(x, 3)], (*shape, 3), dtype)
    feeds = {"x": numbers((*shape, 3), dtype, special=False)}
    before = run(graph, feeds)
    assert flatten(graph)
    assert_equal(before, run(graph, feeds), 1e-5)


KEPT: list[tuple[str, Outputs]] = [
    ("no fewer nodes", lambda x: [chain(x, 2)]),
    ("no shift", lambda x: [x.apply(MatMul(), floats(3, 3)).apply(MatMul(), floats(3, 3)).apply(Relu())]),
    ("shifts of whole tensors", lambda x: [x.apply(MatMul(), floats(3, 3)) + floats(5, 3)]),
    ("another axis", lambda x: [dense(normalized(dense(x), 1)).apply(Softmax(axis=1))]),
    ("outputs in between", lambda x: [y := dense(x), z := dense(y), dense(z)]),
    ("products that others read", lambda x: [y := x.apply(MatMul(), floats(3, 3)), y + floats(3)]),
]


@pytest.mark.parametrize("outputs", [row[1] for row in KEPT], ids=[row[0] for row in KEPT])
def test_other_parts_stay(outputs: Outputs) -> None:
    assert not flatten(network(outputs))


@pytest.mark.parametrize("shape", [("N", "T", 3), (2, 0, 3), (5, 3)], ids=str)
def test_sizes_that_no_reshape_gives_back_and_matrices_stay(shape: tuple[int | str, ...]) -> None:
    assert not flatten(network(lambda x: [chain(x, 4)], shape))


def heads(x: Term) -> Term:
    return reshape(chain(x, 4), 0, 5, 2, 2)


@given(batch=st.integers(1, 4))
@settings(max_examples=4)
def test_a_named_size_stays_open(batch: int) -> None:
    graph = network(lambda x: [chain(x, 4), heads(x)], ("N", 5, 3))
    kinds = [value.type for value in graph.outputs]
    feeds = {"x": numbers((batch, 5, 3), DType.FLOAT32, special=False)}
    before = run(graph, feeds)
    assert flatten(graph)
    assert [value.type for value in graph.outputs] == kinds
    assert_equal(before, run(graph, feeds), 1e-5)


def test_many_parts_take_linear_time() -> None:
    def work(count: int) -> None:
        def parts(x: Term) -> Term:
            for _ in range(count):
                x = dense(dense(dense(x))).apply(Softmax(axis=1))
            return x

        graph = spelled(parts, (2, 3, 4))
        assert len(list(graph.nodes)) == 7 * count
        assert flatten_products(graph)
        assert len(list(graph.nodes)) == 6 * count

    assert is_near_linear(work, 60, 480)
