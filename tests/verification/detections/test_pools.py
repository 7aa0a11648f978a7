"""Detectors of one suppression with something computed of each row, as masks are: what went in tells near-ties from
boxes that are wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graphir.converters.mxnet import mx
from graphir.converters.mxnet.source import MXNetSource, open_source
from graphir.verification.report import VerificationReport
from graphir.verification.verdict import Verdict
from tests.verification import models

COUNT = 60
TIE = 2e-6  # scores differ by more than any unit of the inputs, and by less than the limit


def rows() -> NDArray[np.float32]:
    """Boxes far apart, but for the last two, which overlap and are about as good."""
    place = 50.0 * np.arange(COUNT)
    held = np.stack([np.zeros(COUNT), np.linspace(0.9, 0.3, COUNT), place, place, place + 20, place + 20], axis=1)
    held[-1] = held[-2] + [0, -TIE / 2, 2, 1, 2, 1]
    return held[None].astype(np.float32)


def detector(grouped: bool = False, bias: float = 0.0) -> MXNetSource:
    """Rows to which a weight is added, suppressed; and numbers of each row that stays, behind a sigmoid, with a `bias`
    of theirs. `grouped` says that the rows are suppressed in two groups, which are one image."""
    moved = mx.sym.broadcast_add(mx.sym.Variable("data"), mx.sym.Variable("moved"), name="moved_rows")
    table = mx.sym.reshape(moved, shape=(2, -1, 6)) if grouped else moved
    kept = mx.sym.contrib.box_nms(
        table, overlap_thresh=0.5, valid_thresh=0.01, coord_start=2, score_index=1, id_index=0, name="kept"
    )
    kept = mx.sym.reshape(kept, shape=(1, -1, 6), name="detections")
    hidden = mx.sym.FullyConnected(kept, num_hidden=3, flatten=False, name="hidden")
    symbol = mx.sym.Group([kept, mx.sym.sigmoid(hidden, name="mask")])
    weight = np.random.default_rng(0).normal(0, 1e-3, (3, 6)).astype(np.float32)
    moves, biases = np.zeros((1, COUNT, 6), np.float32), np.full(3, bias, np.float32)
    return open_source(symbol.tojson(), {"moved": moves, "hidden_weight": weight, "hidden_bias": biases})


def verified(change: Callable[[Any], Any], grouped: bool = False) -> VerificationReport:
    source = detector(grouped)
    graph = models.damaged(source.to_graph({"data": (1, COUNT, 6)}), "moved", change)
    return models.held_against(source, graph, feeds={"data": rows()}, against="reference")


def added(place: tuple[int, int], by: float) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        array[(0, *place)] += by
        return array

    return change


@pytest.mark.parametrize("grouped", [False, True])
def test_the_better_of_two_equals_is_known_by_what_went_in(grouped: bool) -> None:
    report = verified(added((COUNT - 1, 1), TIE), grouped)
    assert report.verdict is Verdict.NOISE, report.to_text()
    assert {found.name for found in report.outputs} >= {"detections_output", "mask_output"}
    assert "of which one suppresses the other" in report.outputs[0].note


@pytest.mark.parametrize("fault", [added((COUNT - 2, 2), 0.5), added((COUNT - 2, 0), 1.0)])
def test_a_wrong_row_is_none_of_what_went_in(fault: Callable[[Any], Any]) -> None:
    report = verified(fault)
    assert report.verdict is Verdict.BROKEN, report.to_text()


@pytest.mark.parametrize("damage", [0.0, 3.0])
def test_what_a_saturated_mask_hides_is_found_in_the_rows_before_it(damage: float) -> None:
    source = detector(bias=60.0)
    graph = models.damaged(source.to_graph({"data": (1, COUNT, 6)}), "moved", added((COUNT - 1, 1), TIE))
    graph = models.damaged(graph, "hidden_bias", lambda array: array + np.float32(damage))
    report = models.held_against(source, graph, feeds={"data": rows()}, against="reference")
    differing = [found.name for found in report.outputs if found.verdict.differs]
    assert differing == (["hidden_output (before the head)"] if damage else []), report.to_text()
