"""Attention that is spelled out becomes one node, where onnxruntime computes the same with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from graphir.graph import Graph
from graphir.ops.activation import Softmax
from graphir.ops.attention import Attention
from graphir.ops.linear import MatMul
from graphir.ops.shape import Transpose
from graphir.passes.fusions import RECOGNITIONS
from graphir.types import Dim, DType, TensorType
from tests.passes.spelled import TOLERANCE, Term, assert_equal, fuse, numbers, operators_of, run

Scores = Callable[[Term], Term]
Sizes = tuple[Dim | str, ...]
CAUSAL = np.where(np.tri(3, 5, dtype=bool), 0.0, -np.inf)
SIZES: tuple[Sizes, Sizes, Sizes] = ((2, 4, 3, 8), (2, 4, 5, 8), (2, 4, 5, 6))
SPELLINGS: list[Scores] = [
    lambda s: s,
    lambda s: s * 0.25,
    lambda s: 0.25 * s,
    lambda s: s / 3.0,
    lambda s: s * 0.25 + CAUSAL,
    lambda s: CAUSAL.reshape(1, 1, 3, 5) + s / 3.0,
]


def attention(
    scores: Scores, sizes: tuple[Sizes, Sizes, Sizes] = SIZES, dtype: DType = DType.FLOAT32, axis: int = -1
) -> Graph:
    """The graph of attention whose scores go through a function."""
    graph = Graph("spelled")
    q, k, v = (graph.add_input(name, TensorType(dtype, shape)) for name, shape in zip("qkv", sizes, strict=True))
    product = graph.add(MatMul(), q, graph.add(Transpose((0, 1, 3, 2)), k))
    graph.set_outputs([scores(Term(product)).apply(Softmax(axis=axis)).apply(MatMul(), Term(v)).value])
    return graph


@pytest.mark.parametrize("scores", SPELLINGS)
@given(seed=st.integers(0, 99), batch=st.sampled_from([1, 2, "N"]))
@settings(max_examples=5)
def test_a_spelling_becomes_attention(scores: Scores, seed: int, batch: Dim | str) -> None:
    graph = attention(scores, tuple((batch, *shape[1:]) for shape in SIZES))  # type: ignore[arg-type]
    feeds: dict[str, NDArray[Any]] = {}
    for index, value in enumerate(graph.inputs):
        sizes = tuple(size if isinstance(size, int) else 2 for size in value.shape or ())
        feeds[value.name] = numbers(sizes, DType.FLOAT32, seed + index, special=False)
    before = run(graph, feeds)
    assert fuse(graph, RECOGNITIONS)
    assert operators_of(graph) == ["Transpose", "Transpose", "Attention"]
    assert_equal(before, run(graph, feeds), TOLERANCE[DType.FLOAT32])


HIDDEN = np.where(np.arange(3)[:, None] == 1, -np.inf, np.zeros((3, 5)))
KEPT: dict[str, Graph] = {
    "a row that is hidden whole": attention(lambda s: s + HIDDEN),
    "a mask of one row for all": attention(lambda s: s + np.zeros(5)),
    "a mask for each head": attention(lambda s: s + np.zeros((4, 3, 5))),
    "a mask with NaN": attention(lambda s: s + np.full((3, 5), np.nan)),
    "a mask that is computed": attention(lambda s: s + s * 2.0),
    "a scale for each key": attention(lambda s: s * np.ones(5)),
    "a scale of 0": attention(lambda s: s * 0.0),
    "another axis": attention(lambda s: s, axis=2),
    "half precision": attention(lambda s: s, dtype=DType.FLOAT16),
    "keys that are shared by all heads": attention(lambda s: s, ((2, 4, 3, 8), (2, 1, 5, 8), (2, 1, 5, 6))),
    "a Cast between": attention(lambda s: s.cast(DType.FLOAT64).cast(DType.FLOAT32)),
}


@pytest.mark.parametrize("graph", KEPT.values(), ids=KEPT.keys())
def test_what_is_something_else_stays(graph: Graph) -> None:
    assert not fuse(graph, [Attention])
