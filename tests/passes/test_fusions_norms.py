"""Normalizations that are spelled out become one node, in the steps that apply."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from graphir.graph import Graph
from graphir.ops import elementwise as ew
from graphir.ops import normalization as norm
from graphir.passes.fusions import RECOGNITIONS
from graphir.types import DType, TensorType
from tests.passes.spelled import TOLERANCE, Spelling, Term, assert_equal, fuse, numbers, operators_of, run, spelled

LAYER, RMS = norm.LayerNormalization.__name__, norm.RMSNormalization.__name__
SCALE, SHIFT = np.array([0.5, -2, 1.5]), np.array([1.0, 0, -3])
EPSILON = 2.0**-10


def root(x: Term) -> Term:
    return x.apply(ew.Sqrt())


def centered(x: Term, *axes: int) -> Term:
    return x - x.reduce("Mean", *(axes or (-1,)))


def mean_square(x: Term, *axes: int) -> Term:
    return (x**2).reduce("Mean", *(axes or (-1,))) + EPSILON


def standard(x: Term) -> Term:
    return centered(x) / root(mean_square(centered(x)))


def rms(x: Term) -> Term:
    return x * root(mean_square(x)).apply(ew.Reciprocal())


def narrowed(x: Term, core: Spelling) -> Term:
    return core(x.cast(DType.FLOAT32)).cast(DType.FLOAT16)


SPELLINGS: list[tuple[str, Spelling]] = [
    (LAYER, lambda x: standard(x) * SCALE + SHIFT),
    (LAYER, lambda x: SHIFT + SCALE * standard(x)),
    (LAYER, standard),
    (LAYER, lambda x: standard(x) * SCALE),
    (LAYER, lambda x: centered(x) * (1.0 / root(mean_square(centered(x)))) * SCALE + SHIFT),
    (LAYER, lambda x: centered(x) * (mean_square(centered(x)) ** -0.5) * SCALE + SHIFT),
    (LAYER, lambda x: centered(x) / root((centered(x) * centered(x)).reduce("Mean", -1) + EPSILON) * SCALE + SHIFT),
    (RMS, rms),
    (RMS, lambda x: SCALE * rms(x)),
    (RMS, lambda x: x / root(mean_square(x)) * SCALE),
    (RMS, lambda x: x / (mean_square(x) ** 0.5) * SCALE),
    (RMS, lambda x: x * (1.0 / root((x * x).reduce("Mean", -1) + EPSILON)) * SCALE),
]
HALF: list[tuple[str, Spelling]] = [
    (LAYER, lambda x: narrowed(x, standard) * SCALE + SHIFT),
    (RMS, lambda x: SCALE * narrowed(x, rms)),
]
SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(lambda sizes: (*sizes, 3))


@pytest.mark.one_of(2, by="name")
@pytest.mark.parametrize(("name", "spelling"), SPELLINGS)
@given(shape=SHAPES, seed=st.integers(0, 99))
@settings(max_examples=5)
def test_a_spelling_becomes_its_normalization(name: str, spelling: Spelling, shape: tuple[int, ...], seed: int) -> None:
    graph = spelled(spelling, shape)
    feeds = {"x": numbers(shape, DType.FLOAT32, seed, special=False)}
    before = run(graph, feeds)
    fuse(graph, RECOGNITIONS)
    assert operators_of(graph) == [name]
    assert_equal(before, run(graph, feeds), TOLERANCE[DType.FLOAT32])


@pytest.mark.parametrize(("name", "spelling"), HALF)
def test_half_precision_computes_its_statistics_wide(name: str, spelling: Spelling) -> None:
    graph = spelled(spelling, (4, 3), DType.FLOAT16)
    feeds = {"x": numbers((4, 3), DType.FLOAT16, special=False) * 60}  # whose squares float16 does not hold
    before = run(graph, feeds)
    fuse(graph, RECOGNITIONS)
    assert operators_of(graph) == [name]
    assert graph.nodes[0].op.stash_type is DType.FLOAT32  # type: ignore[attr-defined]
    assert np.isfinite(before[graph.outputs[0].name]).all()
    assert_equal(before, run(graph, feeds), TOLERANCE[DType.FLOAT16])


KEPT: list[tuple[str, Spelling]] = [
    ("other axes", lambda x: centered(x, 0) / root(mean_square(centered(x, 0), 0))),
    ("two different axes", lambda x: centered(x) / root(mean_square(centered(x), 0))),
    ("an epsilon for each channel", lambda x: x / root((x**2).reduce("Mean", -1) + np.array([1e-3, 1e-3, 2e-3]))),
    ("another power", lambda x: x / root((x**3.0).reduce("Mean", -1) + EPSILON)),
    ("a sum of squares", lambda x: x / root((x**2).reduce("Sum", -1) + EPSILON)),
    ("another operand", lambda x: x / root(mean_square(x.apply(ew.Abs()) + 1))),
]


@pytest.mark.parametrize("spelling", [row[1] for row in KEPT], ids=[row[0] for row in KEPT])
def test_what_is_something_else_stays(spelling: Spelling) -> None:
    assert not fuse(spelled(spelling, (2, 3)), RECOGNITIONS)


def test_statistics_in_half_precision_stay() -> None:
    assert not fuse(spelled(standard, (2, 3), DType.FLOAT16), RECOGNITIONS)


@pytest.mark.parametrize("scale", [np.ones((2, 1)), np.ones((1, 2, 3)), np.float32(2)], ids=["rows", "wider", "number"])
def test_a_scale_of_another_shape_stays_behind(scale: NDArray[Any]) -> None:
    graph = spelled(lambda x: standard(x) * scale, (2, 3))
    fuse(graph, RECOGNITIONS)
    assert operators_of(graph) == [LAYER, "Mul"]


def test_a_mean_that_is_an_output_stays() -> None:
    graph = spelled(lambda x: x, (2, 3))
    x = Term(graph.inputs[0])
    mean = x.reduce("Mean", -1)
    middle = x - mean
    graph.set_outputs([(middle / root(mean_square(middle))).value, mean.value])
    assert not fuse(graph, [norm.LayerNormalization])


def test_sizes_of_the_normalized_axes_must_be_known() -> None:
    graph = Graph("open")
    x = graph.add_input("x", TensorType(DType.FLOAT32, (2, "N")))
    graph.set_outputs([rms(Term(x)).value])
    assert not fuse(graph, RECOGNITIONS)
    assert fuse(spelled(lambda x: rms(x) * SCALE, ("N", 3)), RECOGNITIONS)
