"""How often two classifiers choose the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import graphir
from graphir.verification.grading.ranking import Ranking, joined, ranked
from tests.typed import present

ROW = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]


@pytest.mark.parametrize("left, right, allowed, expected", [
    ([ROW], [ROW], 0.0, Ranking("y", 1, 1, 0, 1, 0)),
    ([ROW], [ROW[::-1]], 0.01, Ranking("y", 1, 0, 0, 0, 0)),
    ([ROW], [[*ROW[:5], 0.7, 0.6]], 0.01, Ranking("y", 1, 0, 0, 1, 0)),  # the same five, another best
    ([ROW], [[*ROW[:5], 0.7, 0.6]], 0.05, Ranking("y", 1, 0, 1, 1, 0)),  # each is off by what is allowed
    ([ROW], [[0.1, 0.31, 0.2, *ROW[3:]]], 0.06, Ranking("y", 1, 1, 0, 0, 1)),
    ([ROW, ROW], [ROW, ROW[::-1]], 0.01, Ranking("y", 2, 1, 0, 1, 0)),
    ([ROW[:3]], [ROW[:3]], 0.0, Ranking("y", 1, 1, 0)),
    ([[0.5, 0.5]], [[0.5, 0.5]], 0.0, Ranking("y", 1, 1, 0)),
    ([[np.nan, 0.5]], [[np.nan, 0.5]], 0.0, None),
    ([[[0.1, 0.2]]], [[[0.1, 0.2]]], 0.0, None),  # more axes than classes
    ([ROW], [ROW[:3]], 0.0, None),
])  # fmt: skip
def test_rankings(left: Any, right: Any, allowed: float, expected: Ranking | None) -> None:
    assert ranked("y", np.array(left, np.float32), np.array(right, np.float32), allowed) == expected


@pytest.mark.parametrize("ranking, said", [
    (Ranking("y", 4, 4, 0), "y: top-1 the same in 4 of 4 rows"),
    (Ranking("y", 2, 1, 1), "y: top-1 the same in 1 of 2 rows (the rest near-ties)"),
    (Ranking("y", 2, 1, 0), "y: top-1 the same in 1 of 2 rows (the rest no near-ties)"),
    (Ranking("y", 2, 2, 0, 2, 0), "y: top-1 the same in 2 of 2 rows, top-5 the same in 2 of 2 rows"),
    (Ranking("y", 4, 1, 2), "y: top-1 the same in 1 of 4 rows (2 of the other 3 by near-ties)"),
])  # fmt: skip
def test_what_is_said(ranking: Ranking, said: str) -> None:
    assert str(ranking) == said


def test_sets_are_added_up() -> None:
    one, other = Ranking("y", 2, 1, 1, 2, 0), Ranking("y", 3, 3, 0, 2, 0)
    assert joined([one], [other]) == [Ranking("y", 5, 4, 1, 4, 0)]
    assert joined([], [one]) == [one]


@pytest.mark.parametrize("head, classes, told", [
    ("Softmax", 3, True), ("Relu", 12, False), ("Tanh", 12, True), (None, 12, True), (None, 3, False),
])  # fmt: skip
def test_only_scores_of_classes_have_a_ranking(tmp_path: Path, head: str | None, classes: int, told: bool) -> None:
    weight = numpy_helper.from_array(np.random.default_rng(0).standard_normal((6, classes)).astype(np.float32), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p" if head else "y"], name="p")]
    nodes += [helper.make_node(head, ["p"], ["y"], name="h")] if head else []
    sizes = {"x": 6, "y": classes}
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", size]) for name, size in sizes.items()]
    graph = helper.make_graph(nodes, "m", ends[:1], ends[1:], [weight])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = tmp_path / "m.onnx"
    path.write_bytes(proto.SerializeToString())
    report = graphir.verify(path, path)
    assert [one.name for one in report.rankings] == (["y"] if told else [])
    if told:
        ranking = present(report.rankings[0])
        assert ranking.top1 == ranking.rows > 8, "rows of all sets"
        assert "classes: y: top-1" in report.to_text()
        assert report.to_json()["rankings"][0]["top1"] == ranking.rows
