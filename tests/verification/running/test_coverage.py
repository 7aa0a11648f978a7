"""The coverage line: what the sets of inputs never reached in a model is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from graphir import ComparisonOptions, verify
from graphir.verification.running.candidate import OnnxCandidate
from tests.inputs.test_input_sets import BOOL, FLOAT, INT64, UINT8, Side, Types, branches, make, saved
from tests.verification.models import onnx_model

X: Types = {"x": (FLOAT, ["N", 3])}
INDEX: Types = {"x": (INT64, ["N", 3])}
TABLE = np.zeros((40, 4), np.float32)


def clip(low: float, high: float) -> Side:
    return Side(make("Clip", ["x", "low", "high"], ["y"], "bound"), low=np.float32(low), high=np.float32(high))


def loop(rounds: int) -> Side:
    info = helper.make_tensor_value_info
    body = helper.make_graph(
        [make("Identity", ["go"], ["still"]), make("Neg", ["v"], ["w"])],
        "body",
        [info("i", INT64, []), info("go", BOOL, []), info("v", FLOAT, None)],
        [info("still", BOOL, []), info("w", FLOAT, None)],
    )
    nodes = [
        make("Size", ["x"], ["size"]),
        make("Min", ["size", "most"], ["rounds"]),
        make("Loop", ["rounds", "", "x"], ["y"], "loop", body=body),
    ]
    return Side(*nodes, most=np.int64(rounds))


def kept(score: float) -> Side:
    return Side(
        make("NonMaxSuppression", ["boxes", "x", "most", "overlap", "least"], ["y"], "nms"),
        boxes=np.array([[[0, 0, 1, 1], [2, 2, 3, 3], [4, 4, 5, 5]]], np.float32),
        most=np.int64(3), overlap=np.float32(0.5), least=np.float32(score),
    )  # fmt: skip


CASES: dict[str, tuple[Side, Types, int, list[str]]] = {
    "bounds": (clip(-1, 6), X, FLOAT, ["both ways of 1 Clip reached"]),
    "an upper bound": (clip(-1, 1e8), X, FLOAT, ["Clip: its upper bound never reached in 1 of 1 (bound)"]),
    "a lower bound": (clip(-1e8, 6), X, FLOAT, ["Clip: its lower bound never reached in 1 of 1 (bound)"]),
    "no upper bound": (Side(make("Clip", ["x", "low"], ["y"]), low=np.float32(0)), X, FLOAT,
                       ["both ways of 1 Clip reached"]),
    "infinity for an upper bound": (clip(0, 3.4e38), X, FLOAT, ["both ways of 1 Clip reached"]),
    "a dead Relu": (
        Side(make("Exp", ["x"], ["e"]), make("Neg", ["e"], ["n"]), make("Relu", ["n"], ["y"], "dead")),
        X,
        FLOAT,
        ["Relu: anything above 0 never reached in 1 of 1 (dead)"],
    ),
    "a Relu that does nothing": (
        Side(make("Abs", ["x"], ["p"], "magnitude"), make("Relu", ["p"], ["y"], "idle")),
        X,
        FLOAT,
        ["Relu: anything below 0 never reached in 1 of 1 (idle)", "both ways of 1 Abs reached"],
    ),
    "rows": (Side(make("Gather", ["t", "x"], ["y"]), t=TABLE), INDEX, FLOAT, ["both ways of 1 table reached"]),
    "rows that are left out": (
        Side(
            make("Mod", ["x", "half"], ["i"], "fold"), make("Gather", ["t", "i"], ["y"], "look"),
            t=TABLE, half=np.int64(20),
        ),
        INDEX,
        FLOAT,
        ["table: its last row never reached in 1 of 1 (look)", "both ways of 1 Mod reached"],
    ),
    "a branch": (
        branches("Abs", "Neg"), {"c": (BOOL, []), "v": (FLOAT, [3])}, FLOAT, ["both ways of 1 If reached"],
    ),
    "a condition that never holds": (
        Side(
            make("Mul", ["x", "x"], ["s"]), make("Less", ["s", "zero"], ["c"]),
            make("Where", ["c", "x", "s"], ["y"], "choice"), zero=np.float32(0),
        ),
        X,
        FLOAT,
        ["Where: a condition that is true never reached in 1 of 1 (choice)"],
    ),
    "one round": (loop(1), X, FLOAT, ["Loop: more than one round never reached in 1 of 1 (loop)"]),
    "rounds": (loop(3), X, FLOAT, ["both ways of 1 Loop reached"]),
    "boxes": (kept(0.1), {"x": (FLOAT, [1, 1, 3])}, INT64, ["both ways of 1 NonMaxSuppression reached"]),
    "no boxes": (
        kept(1e9), {"x": (FLOAT, [1, 1, 3])}, INT64,
        ["NonMaxSuppression: a box that is kept never reached in 1 of 1 (nms)"],
    ),
    "a value without elements": (
        Side(
            make("Compress", ["x", "none"], ["e"], axis=0), make("Relu", ["e"], ["r"], "empty"),
            make("Concat", ["x", "r"], ["y"], axis=0), none=np.array([False]),
        ),
        X,
        FLOAT,
        [
            "Relu: anything below 0 never reached in 1 of 1 (empty)",
            "Relu: anything above 0 never reached in 1 of 1 (empty)",
        ],
    ),
    "quantized ends": (
        Side(make("QuantizeLinear", ["x", "scale", "zero"], ["y"]), scale=np.float32(0.1), zero=np.uint8(9)),
        X,
        UINT8,
        ["both ways of 1 QuantizeLinear reached"],
    ),
    "an end of quantized numbers": (
        Side(make("QuantizeLinear", ["x", "scale", "zero"], ["y"], "q"), scale=np.float32(1), zero=np.uint8(0)),
        X,
        UINT8,
        ["QuantizeLinear: its largest value never reached in 1 of 1 (q)"],
    ),
    "nothing of the kind": (Side(make("Neg", ["x"], ["y"])), X, FLOAT, []),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_was_reached(name: str, tmp_path: Path) -> None:
    side, inputs, element, lines = CASES[name]
    path = saved(side, inputs, element, tmp_path / "model.onnx")
    assert verify(path, path).coverage == lines


def test_weights_are_not_held_once_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OnnxCandidate, "session_with", lambda self, addition: None)
    path = saved(clip(-1, 6), X, FLOAT, tmp_path / "model.onnx")
    assert verify(path, path).coverage == ["not measured: the weights would be held once more"]


def test_a_budget_without_room_is_said(tmp_path: Path) -> None:
    path = saved(clip(-1, 6), X, FLOAT, tmp_path / "model.onnx")
    said = verify(path, path, comparison=ComparisonOptions(memory_budget=24)).coverage
    assert said == ["not measured: the memory budget of 0 MB has no room for it"]


def test_weights_in_other_files_are_found(tmp_path: Path) -> None:
    side = clip(-1, 6)
    model = onnx_model(side.nodes, X, {"y": (FLOAT, ["N", 3])}, side.weights)
    for tensor in model.graph.initializer:
        onnx.external_data_helper.set_external_data(tensor, "weights.data")
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    assert path.with_name("weights.data").exists()
    assert verify(path, path).coverage == ["both ways of 1 Clip reached"]


def test_every_set_counts(tmp_path: Path) -> None:
    path = saved(clip(-20, 20), {"x": (FLOAT, ["N", 30])}, FLOAT, tmp_path / "model.onnx")
    said = [verify(path, path, feeds=feeds).coverage for feeds in ("normal", ["normal", "wide"])]
    assert said == [
        [
            "Clip: its lower bound never reached in 1 of 1 (bound)",
            "Clip: its upper bound never reached in 1 of 1 (bound)",
        ],
        ["both ways of 1 Clip reached"],
    ]


