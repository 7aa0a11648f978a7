"""Random numbers: shape, dtype and distribution; the numbers are PyTorch's own."""

from __future__ import annotations

import numpy as np
import pytest

from graphir.decisions import DecisionKind
from graphir.ops.random import Multinomial, RandomNormal, RandomNormalLike, RandomUniform, RandomUniformLike
from graphir.types import DType
from tests.converters.pytorch.cases import Case, uniform
from tests.converters.pytorch.running import need_torch, run_module

X, Y = uniform(99, 103), uniform(29, 7, 51)
CASES = [
    (Case(RandomNormal((200, 50), mean=3.0, scale=0.5)), [], 3.0, 0.5, "torch.randn((200, 50)"),
    (Case(RandomNormalLike(), uniform(300, 40), batch=True), [uniform(300, 40)], 0.0, 1.0, "torch.randn((n, 40)"),
    (Case(RandomUniform((10000,), DType.FLOAT64, -1.0, 5.0)), [], 2.0, 6 / 12**0.5, "* 6.0 + -1.0"),
    (Case(RandomNormal((10007,), DType.FLOAT64)), [], 0.0, 1.0, "torch.randn((10007,), dtype=torch.float64"),
    (Case(RandomNormal((9, 7, 501), mean=-2.0)), [], -2.0, 1.0, "+ -2.0"),
    (Case(RandomNormalLike(DType.FLOAT64, 0.5, 2.0), X), [X], 0.5, 2.0, "* 2.0 + 0.5"),
    (Case(RandomNormalLike(scale=0.25), Y, batch=True), [Y], 0.0, 0.25, "* 0.25"),
    (Case(RandomUniform((33, 1, 307))), [], 0.5, 1 / 12**0.5, "torch.rand((33, 1, 307)"),
    (Case(RandomUniform((10007,), low=2.0, high=3.0)), [], 2.5, 1 / 12**0.5, "+ 2.0"),
    (Case(RandomUniformLike(), X), [X], 0.5, 1 / 12**0.5, "torch.rand((99, 103)"),
    (Case(RandomUniformLike(None, -1.0, 1.0), Y, batch=True), [Y], 0.0, 2 / 12**0.5, "torch.rand((n, 7, 51)"),
    (Case(RandomUniformLike(DType.FLOAT64, 0.0, 3.0), X), [X], 1.5, 3 / 12**0.5, "torch.float64"),
]


@pytest.mark.parametrize("row", CASES, ids=lambda row: str(row[0]))
def test_distribution(row: tuple[Case, list[object], float, float, str]) -> None:
    need_torch()
    case, feeds, mean, deviation, said = row
    graph = case.graph()
    (found,), text = run_module(graph, feeds)
    assert said in text
    type_ = graph.outputs[0].type
    assert str(found.dtype) == str(graph.outputs[0].dtype), type_
    assert found.size >= 9999
    # Six standard errors of the mean and, for these distributions, more than that of the deviation.
    bound = 6 * deviation / found.size**0.5
    assert abs(found.mean() - mean) < bound
    assert abs(found.std() - deviation) < bound
    assert [decision.kind for decision in graph.decisions] == [DecisionKind.RANDOM_NUMBERS]
    assert len(np.unique(found)) > 5000


CHANCES = np.array([0.2, 0.5, 0.01, 0.29])
SCORES = np.log(CHANCES).astype(np.float32)[None] + 7
CLASSES = [
    Case(Multinomial(DType.INT64, 9999), SCORES, batch=True, text=".softmax(1), 9999, replacement=True)"),
    Case(Multinomial(DType.INT32, 1500), SCORES.repeat(7, 0).astype(np.float64), batch=True),
    Case(Multinomial(sample_size=2), SCORES.repeat(9001, 0)),
]


@pytest.mark.parametrize("case", CLASSES, ids=str)
def test_classes_are_drawn_as_often_as_their_chances_say(case: Case) -> None:
    need_torch()
    graph = case.graph()
    (found,), text = run_module(graph, list(case.operands))
    assert case.text is None or case.text in text
    expected = graph.outputs[0].dtype
    assert (len(found), str(found.dtype)) == (len(case.operands[0]), str(expected))
    shares = np.bincount(found.ravel(), minlength=4) / found.size
    assert np.all(np.abs(shares - CHANCES) <= 6 * (CHANCES * (1 - CHANCES) / found.size) ** 0.5)
    assert [decision.kind for decision in graph.decisions] == [DecisionKind.RANDOM_NUMBERS]
