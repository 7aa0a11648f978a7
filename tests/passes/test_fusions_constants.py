"""Constants in a row become one where nothing overflows or cancels between them only."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphir.ops import elementwise as ew
from graphir.ops.activation import Relu
from graphir.types import DType
from tests.passes.spelled import TOLERANCE, Spelling, Term, assert_equal, fuse, numbers, operators_of, run, spelled

FLOATS = st.sampled_from([DType.FLOAT32, DType.FLOAT16, DType.FLOAT64])
SHAPES = st.lists(st.integers(0, 3), max_size=2).map(lambda sizes: (*sizes, 3))


def relu(x: Term) -> Term:
    return x.apply(Relu())


KEPT: list[tuple[str, Spelling]] = [
    ("what overflows in between", lambda x: relu(x) * 1e30 * 1e-30),
    ("what rounds on purpose", lambda x: (relu(x) + 1e8) + -1e8),
    ("a product that overflows", lambda x: relu(x) * 1e30 * 1e30),
    ("a product that vanishes", lambda x: relu(x) * 1e-30 * 1e-30),
    ("infinity", lambda x: relu(x) + np.inf + 1.0),
]


@pytest.mark.parametrize("spelling", [row[1] for row in KEPT], ids=[row[0] for row in KEPT])
def test_what_changes_numbers_stays(spelling: Spelling) -> None:
    assert not fuse(spelled(spelling, (2, 3)))


CHAINS: list[tuple[str, Spelling]] = [
    ("Add", lambda x: relu(x) + 0.25 + np.array([1.0, 2.0, 0.5])),
    ("Add", lambda x: -2.0 + (np.array([-1.0, -2.0, -0.5]) + relu(x))),
    ("Mul", lambda x: 0.5 * (relu(x) * np.array([0.125, -0.3, 0.5]))),
    ("Mul", lambda x: relu(x) * 2.0 * 3.0),
]


@pytest.mark.parametrize(("kind", "spelling"), CHAINS)
@given(shape=SHAPES, dtype=FLOATS, seed=st.integers(0, 99))
@settings(max_examples=5)
def test_constants_in_a_row_become_one(
    kind: str, spelling: Spelling, shape: tuple[int, ...], dtype: DType, seed: int
) -> None:
    graph = spelled(spelling, shape, dtype)
    feeds = {"x": numbers(shape, dtype, seed)}
    before = run(graph, feeds)
    assert fuse(graph)
    assert operators_of(graph) == ["Relu", kind]
    assert graph.decisions
    assert_equal(before, run(graph, feeds), TOLERANCE[dtype])


def test_a_constant_in_between_that_others_read_stays() -> None:
    graph = spelled(lambda x: x, (2, 3))
    inner = Term(graph.inputs[0]) * 2.0
    graph.set_outputs([(inner * 3.0).value, inner.apply(ew.Neg()).value])
    assert not fuse(graph)
