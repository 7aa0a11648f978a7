"""Activation functions that are spelled out become one node, where all of it is as it must be."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from graphir.decisions import DecisionKind
from graphir.ops import activation as act
from graphir.ops import elementwise as ew
from graphir.ops.base import Operator
from graphir.passes.fusions import RECOGNITIONS
from graphir.types import DType
from tests.passes.spelled import TOLERANCE, Spelling, Term, assert_equal, fuse, numbers, operators_of, run, spelled
from tests.typed import present

SQRT2, RATE = math.sqrt(2), math.sqrt(2 / math.pi)


def erf(x: Term) -> Term:
    return x.apply(ew.Erf())


def tanh(x: Term) -> Term:
    return x.apply(act.Tanh())


def relu(x: Term) -> Term:
    return x.apply(act.Relu())


def clip(x: Term, low: float, high: float) -> Term:
    return x.apply(ew.Clip(), low, high)


def shifted(x: Term) -> Term:
    return x - x.reduce("Max", -1)


def power(x: Term) -> Term:
    return shifted(x).apply(ew.Exp())


def leaky(x: Term, comparison: Operator, slope: float) -> Term:
    branches = (x * slope, x) if comparison == ew.Less() else (x, x * slope)
    return x.apply(comparison, 0.0).apply(ew.Where(), *branches)


SLOPES = np.array([0.5, -0.25, 2.0])
# By the operator that they become, or the operators.
SPELLINGS: list[tuple[str, Spelling]] = [
    ("Gelu", lambda x: x * (erf(x / SQRT2) + 1) * 0.5),
    ("Gelu", lambda x: 0.5 * x * (1 + erf(x * (1 / SQRT2)))),
    ("Gelu", lambda x: x * (0.5 * (1 + erf(x / SQRT2)))),
    ("Gelu", lambda x: (x / 2.0) * (1 + erf(x / SQRT2))),
    ("Gelu", lambda x: x * ((1 + erf(x / SQRT2)) / 2.0)),
    ("Gelu", lambda x: (x * (1 + erf(x / SQRT2))) / 2.0),
    ("Gelu", lambda x: 0.5 * x * (1 + tanh(RATE * (x + 0.044715 * x**3)))),
    ("Gelu", lambda x: x * 0.5 * (1 + tanh((x + x * x * x * 0.044715) * RATE))),
    ("Gelu", lambda x: x * 0.5 * (1 + tanh((x + x * (x * x) * 0.044715) * RATE))),
    ("Gelu", lambda x: 0.5 * x * (1 + tanh(x * RATE * (1 + 0.044715 * x * x)))),
    ("HardSwish", lambda x: x * clip(x + 3, 0, 6) / 6.0),
    ("HardSwish", lambda x: x * (clip(x + 3, 0, 6) * (1 / 6))),
    ("HardSwish", lambda x: x * (relu(x + 3).apply(ew.Min(), 6) / 6.0)),
    ("HardSwish", lambda x: x * clip(x * (1 / 6) + 0.5, 0, 1)),
    ("HardSigmoid", lambda x: clip(x + 3, 0, 6) / 6.0),
    ("HardSigmoid", lambda x: clip(x * 0.25 + 0.5, 0, 1)),
    ("Mish", lambda x: x * tanh(x.apply(act.Softplus()))),
    ("LeakyRelu", lambda x: x.apply(ew.Max(), x * 0.25)),
    ("LeakyRelu", lambda x: leaky(x, ew.Less(), 0.25)),
    ("LeakyRelu", lambda x: leaky(x, ew.Greater(), -2.0)),
    ("LeakyRelu", lambda x: leaky(x, ew.GreaterOrEqual(), 3.0)),
    ("PRelu", lambda x: relu(x) - relu(-x) * SLOPES),
    ("PRelu", lambda x: relu(x) + SLOPES * relu(-x)),
    ("Clip", lambda x: x.apply(ew.Max(), -1.0).apply(ew.Min(), 4.0)),
    ("Clip", lambda x: x.apply(ew.Min(), 4.0).apply(ew.Max(), -1.0)),
    ("Clip", lambda x: relu(x).apply(ew.Min(), 6.0)),
    ("Clip", lambda x: clip(relu(x), 0, 6)),
    ("Sigmoid", lambda x: 1.0 / ((-x).apply(ew.Exp()) + 1)),
    ("Sigmoid", lambda x: (1 + (-x).apply(ew.Exp())).apply(ew.Reciprocal())),
    ("Softsign", lambda x: x / (1 + x.apply(ew.Abs()))),
    ("Softmax", lambda x: power(x) / power(x).reduce("Sum", -1)),
    ("LogSoftmax", lambda x: shifted(x) - power(x).reduce("Sum", -1).apply(ew.Log())),
]
IDS = [f"{name}-{index}" for index, (name, _) in enumerate(SPELLINGS)]
SHORT = ("Gelu", "HardSigmoid")  # whose constants are float32
SHAPES = st.lists(st.integers(0, 4), max_size=3).map(lambda sizes: (*sizes, 3))
FEW = settings(max_examples=6)


@pytest.mark.one_of(4, by="name")
@pytest.mark.parametrize(("name", "spelling"), SPELLINGS, ids=IDS)
@given(shape=SHAPES, dtype=st.sampled_from([DType.FLOAT32, DType.FLOAT16, DType.FLOAT64]), seed=st.integers(0, 99))
@FEW
def test_a_spelling_becomes_its_function(
    name: str, spelling: Spelling, shape: tuple[int, ...], dtype: DType, seed: int
) -> None:
    assume(name not in SHORT or dtype is not DType.FLOAT64)
    graph = spelled(spelling, shape, dtype)
    feeds = {"x": numbers(shape, dtype, seed, special="Softmax" not in name)}
    before = run(graph, feeds)
    assert fuse(graph, RECOGNITIONS)
    assert operators_of(graph) == [name]
    is_exact = name == "LeakyRelu"
    assert (DecisionKind.FUSED in {decision.kind for decision in graph.decisions}) is not is_exact
    assert_equal(before, run(graph, feeds), 0 if is_exact else TOLERANCE[dtype])


@pytest.mark.parametrize(("name", "spelling"), SPELLINGS, ids=IDS)
def test_open_sizes_stay_open(name: str, spelling: Spelling) -> None:
    graph = spelled(spelling, ("N", 3))
    assert fuse(graph, RECOGNITIONS)
    assert operators_of(graph) == [name]
    assert graph.outputs[0].type == graph.inputs[0].type


KEPT: list[tuple[str, Spelling]] = [
    ("another slope", lambda x: x * x.apply(act.HardSigmoid(alpha=0.2, beta=0.5))),
    ("another factor", lambda x: x * (erf(x / 1.5) + 1) * 0.5),
    ("another constant", lambda x: 0.5 * x * (1 + tanh(RATE * (x + 0.05 * x**3)))),
    ("another operand", lambda x: x * (erf(tanh(x) / SQRT2) + 1) * 0.5),
    ("a factor for each channel", lambda x: x * (erf(x / SQRT2) + 1) * np.array([0.5, 0.5, 0.5])),
    ("a factor that widens", lambda x: x * (erf(x / SQRT2) + 1) * np.full((1, 1, 1, 1), 0.5)),
    ("a slope above 1", lambda x: x.apply(ew.Max(), x * 1.5)),
    ("a slope below 0", lambda x: x.apply(ew.Max(), x * -0.5)),
    ("a slope that is computed", lambda x: x.apply(ew.Max(), x * tanh(x))),
    ("another threshold", lambda x: x.apply(ew.Less(), 1.0).apply(ew.Where(), x * 0.5, x)),
    ("limits that cross", lambda x: x.apply(ew.Max(), 4.0).apply(ew.Min(), 1.0)),
    ("limits for each channel", lambda x: x.apply(ew.Max(), np.zeros(3)).apply(ew.Min(), 1.0)),
    ("a limit below a Relu", lambda x: relu(x).apply(ew.Min(), -1.0)),
    ("a limit that is NaN", lambda x: x.apply(ew.Max(), np.nan).apply(ew.Min(), 1.0)),
    ("two axes", lambda x: (x - x.reduce("Max", 0, 1)).apply(ew.Exp())),
    ("a sum along another axis", lambda x: power(x) / power(x).reduce("Sum", 0)),
    ("an exponential that overflows", lambda x: x.apply(ew.Exp()) / x.apply(ew.Exp()).reduce("Sum", -1)),
    ("a logarithm that overflows", lambda x: (x.apply(ew.Exp()) + 1).apply(ew.Log())),
]


@pytest.mark.parametrize("spelling", [row[1] for row in KEPT], ids=[row[0] for row in KEPT])
def test_what_is_something_else_stays(spelling: Spelling) -> None:
    assert not fuse(spelled(spelling, (2, 3)), RECOGNITIONS)


@pytest.mark.parametrize("spelling", [SPELLINGS[0][1], SPELLINGS[6][1], SPELLINGS[14][1]])
def test_constants_too_short_for_float64_stay_as_they_are(spelling: Spelling) -> None:
    assert not fuse(spelled(spelling, (2, 3), DType.FLOAT64), RECOGNITIONS)


def half(x: Term) -> Term:
    return erf(x / SQRT2) + 1


USES = [lambda inner: [inner], lambda inner: [relu(inner)]]


@pytest.mark.parametrize("use", USES, ids=["output", "node"])
def test_what_else_is_used_stays(use: Callable[[Term], list[Term]]) -> None:
    graph = spelled(lambda x: x, (2, 3))
    x = Term(graph.inputs[0])
    inner = half(x)
    graph.set_outputs([(x * inner * 0.5).value, *(term.value for term in use(inner))])
    assert not fuse(graph, RECOGNITIONS)


def test_without_the_operator_nothing_is_recognised() -> None:
    assert not fuse(spelled(SPELLINGS[0][1], (2, 3)))
    assert fuse(spelled(SPELLINGS[0][1], (2, 3)), [act.Gelu])


def test_half_precision_keeps_its_casts() -> None:
    def wide(x: Term) -> Term:
        return x * 0.5 * half(x)

    graph = spelled(lambda x: wide(x.cast(DType.FLOAT32)).cast(DType.FLOAT16), (2, 3), DType.FLOAT16)
    fuse(graph, RECOGNITIONS)
    assert operators_of(graph) == ["Cast", "Gelu", "Cast"]
    assert present(graph.nodes[1].outputs[0].dtype) is DType.FLOAT32
