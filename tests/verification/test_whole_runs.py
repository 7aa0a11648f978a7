"""How often whole models run where detections of equal scores stand in another order: no more than parts ask for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graphir.converters.mxnet.references import ReferenceEvaluator, judges
from graphir.converters.mxnet.source import open_source
from graphir.tensor import Tensor
from graphir.verification.models import verify_conversion
from graphir.verification.options import ComparisonOptions
from graphir.verification.pairs.sides import Sides
from graphir.verification.report import VerificationReport
from graphir.verification.running.candidate import OnnxCandidate
from graphir.verification.verdict import Verdict

Feeds = Mapping[str, NDArray[Any]]
COUNT = 8
# Rows of class, score and box. The scores of rows 3 and 4 are equal, and what is subtracted from that of row 3, half a
# unit in the last place, brings row 4 before it.
SCORES = [0.9, 0.8, 0.7, 0.6, 0.6, 0.5, 0.4, 0.3]
LESS = 0.6 * 2.0**-24
DETECTOR = {
    "nodes": [
        {"op": "null", "name": "ids", "inputs": []},
        {"op": "null", "name": "data", "inputs": []},
        {"op": "null", "name": "shift", "inputs": []},
        {"op": "broadcast_add", "name": "scores", "inputs": [[1, 0, 0], [2, 0, 0]]},
        {"op": "null", "name": "boxes", "inputs": []},
        {"op": "null", "name": "factor", "inputs": []},
        {"op": "broadcast_mul", "name": "corners", "inputs": [[4, 0, 0], [5, 0, 0]]},
        {"op": "Concat", "name": "rows", "attrs": {"num_args": "3", "dim": "2"},
         "inputs": [[0, 0, 0], [3, 0, 0], [6, 0, 0]]},
        {"op": "_contrib_box_nms", "name": "kept",
         "attrs": {"overlap_thresh": "0.5", "valid_thresh": "0.01", "id_index": "0", "score_index": "1",
                   "coord_start": "2", "topk": "-1"}, "inputs": [[7, 0, 0]]},
    ],
    "arg_nodes": [0, 1, 2, 4, 5], "heads": [[8, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]},
}  # fmt: skip


def feeds() -> dict[str, NDArray[np.float32]]:
    """Boxes that do not overlap, each of another class than the next one."""
    low = np.arange(COUNT)[:, None] * 40 + np.arange(2)
    return {
        "ids": (np.arange(COUNT) % 3).astype(np.float32).reshape(1, COUNT, 1),
        "data": np.array(SCORES, np.float32).reshape(1, COUNT, 1),
        "boxes": np.concatenate([low, low + 25.5], axis=1).astype(np.float32)[None],
    }


def verified(**changes: NDArray[np.float32]) -> VerificationReport:
    """The detector against a candidate in which these parameters are others."""
    params = {"shift": np.zeros((1, COUNT, 1), np.float32), "factor": np.ones((1, 1, 4), np.float32)}
    source = open_source(json.dumps(DETECTOR), params)
    shapes = {name: array.shape for name, array in feeds().items()}
    origin, candidate = source.to_graph(shapes), source.to_graph(shapes)
    for name, array in changes.items():
        candidate.set_tensor(candidate[name], Tensor.of(array))
    how = ComparisonOptions(against="reference", feeds=feeds())
    asked = judges(source.symbol, source.plain_tensors(), how.against)
    return verify_conversion(asked, origin, candidate, candidate, how, sides=Sides(origin, candidate, made_of=True))


def shifted(row: int, by: float) -> NDArray[np.float32]:
    shift = np.zeros((1, COUNT, 1), np.float32)
    shift[0, row] = by
    return shift


@pytest.fixture
def whole_runs(monkeypatch: pytest.MonkeyPatch, in_this_process: None) -> dict[str, int]:
    """How often the reference is evaluated, and the whole candidate is run."""
    counted = {"reference": 0, "candidate": 0}
    stream, run = ReferenceEvaluator.stream, OnnxCandidate.run

    def streamed(self: ReferenceEvaluator, fed: Feeds, names: Iterable[str]) -> Iterator[tuple[str, NDArray[Any]]]:
        counted["reference"] += 1
        return stream(self, fed, names)

    def ran(self: OnnxCandidate, fed: Feeds, outputs: Sequence[str] | None = None, *rest: Any) -> Any:
        counted["candidate"] += 1
        return run(self, fed, outputs, *rest)

    monkeypatch.setattr(ReferenceEvaluator, "stream", streamed)
    monkeypatch.setattr(OnnxCandidate, "run", ran)
    return counted


def test_tied_rows_take_one_evaluation_of_the_reference(whole_runs: dict[str, int]) -> None:
    """The candidate runs as it is; without optimisations its parts do, in sessions of their own."""
    report = verified(shift=shifted(3, -LESS))
    (rows,) = report.outputs
    assert rows.verdict is Verdict.NOISE, report.to_text()
    assert rows.relative > 0.1
    assert "given the reference's choices" in rows.note
    assert whole_runs == {"reference": 1, "candidate": 1}


@pytest.mark.parametrize(
    "changes",
    [
        {"shift": shifted(3, -1e-3)},
        {"shift": shifted(6, -1e-3)},
        {"shift": shifted(3, -LESS), "factor": np.full((1, 1, 4), 1.001, np.float32)},
        {"shift": shifted(3, -LESS), "factor": np.array([1, 1, 1, 1.001], np.float32).reshape(1, 1, 4)},
    ],
    ids=["a score", "another score", "boxes beside a tie", "a side of the boxes beside a tie"],
)
def test_a_fault_beside_tied_rows_is_a_difference(changes: dict[str, NDArray[np.float32]]) -> None:
    report = verified(**changes)
    assert report.verdict is Verdict.BROKEN, report.to_text()
    assert report.causes[0].name in ("scores_output", "corners_output")


def test_the_same_rows_are_identical(whole_runs: dict[str, int]) -> None:
    assert verified().verdict is Verdict.IDENTICAL
    assert whole_runs["reference"] == 1
