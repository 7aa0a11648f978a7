"""Models that write variables: as inputs and outputs, over three steps, against live TensorFlow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphir
from graphir.cli import main
from graphir.decisions import DecisionKind
from graphir.errors import ImportFailure
from graphir.inputs.sets import state_inputs
from graphir.structure.state import state_of
from graphir.verification.verdict import Verdict
from tests.equivalence.test_onnx import distance
from tests.tensorflow.written import write_models

pytestmark = pytest.mark.live

STATES = {
    "cache": ("at", "rows"),
    "decayed": ("c",),
    "moving_mean": ("mean",),
    "in_a_loop": ("total",),
    "result_of_assign": ("c",),
    "before_and_after": ("c",),
    "in_a_branch": ("count", "c"),
    "only_written": ("last", "count"),
    "nested": ("count", "c"),
    "rows_by_number": ("table",),
    "slices": ("at", "grid"),
    "condition_of_a_loop": ("level",),
    "frozen_beside": ("c",),
    "gathered": ("rows",),
    "v1_resource": ("c", "n"),
    "v1_reference": ("c", "n"),
    "frozen_but_one.pb": ("c",),
    "frozen_whole.pb": ("c",),
}
STEPS = 3
REFUSED = {
    "read_or_write": r"c: .*ReadVariableOp.* and .*AssignAddVariableOp.*: neither waits for the other",
    "two_writes": r"c: .*AssignAddVariableOp.* and .*AssignAddVariableOp.*: neither waits for the other",
    "optimizer": r"weight: .*ResourceApplyGradientDescent.* writes it in a way",
    "conditional": r"AssignAddVariableOp writes a variable that comes through .*of TensorFlow 1 \(.*Switch\)",
    "loop": r"AssignAddVariableOp writes a variable that comes through .*of TensorFlow 1 \(.*Enter\)",
    "loop_reference": r"AssignAdd writes a variable that comes through .*of TensorFlow 1 \(.*RefEnter\)",
    "memory": r"c: mul \(Mul\) reads it through read \(Identity\), after which it is written",
}


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The models, written by live TensorFlow, with what three steps of each give."""
    folder = tmp_path_factory.mktemp("stateful")
    return write_models(Path(__file__).with_name("stateful_models.py"), folder)


def recorded(models: Path, name: str) -> Any:
    return np.load(models / f"{name.removesuffix('.pb')}.npz")


@pytest.mark.parametrize("name", STATES)
def test_three_steps_equal_tensorflow(models: Path, name: str, tmp_path: Path) -> None:
    """The file that was written, run by onnxruntime with the state carried over."""
    expected = recorded(models, name)
    graph = graphir.load(models / name)
    graph.check()
    state = state_of(graph)
    assert tuple(state) == STATES[name]
    assert [value.name for value in graph.inputs] == ["x", *STATES[name]]
    assert [value.name for value in graph.outputs] == ["y", *(f"{held}_next" for held in STATES[name])]
    graphir.save(graph, tmp_path / "model.onnx")
    session = graphir.Session(tmp_path / "model.onnx")
    held = {key: expected[f"initial/{key}"] for key in state}
    for step in range(STEPS):
        found = session.run({"x": expected[f"{step}/in/x"]} | held)
        held = {key: found[one.output] for key, one in state.items()}
        assert distance(found["y"], expected[f"{step}/out/y"]) <= 1e-6, step
        assert all(distance(value, expected[f"{step}/state/{key}"]) <= 1e-6 for key, value in held.items()), step


@pytest.mark.parametrize("name", [name for name in STATES if name != "frozen_but_one.pb"])
def test_initial_values_are_recorded(models: Path, name: str) -> None:
    graph = graphir.load(models / name)
    expected = recorded(models, name)
    for key, one in state_inputs(graph).items():
        np.testing.assert_array_equal(one.initial, expected[f"initial/{key}"])
        assert one.initial.dtype == expected[f"initial/{key}"].dtype
    told = {made.node: made.text for made in graph.decisions if made.kind is DecisionKind.STATE}
    assert tuple(told) == STATES[name]
    assert all(f"the output {key}_next" in text and "initially" in text for key, text in told.items())


@pytest.mark.parametrize("name", REFUSED)
def test_order_that_is_not_determined_is_refused(models: Path, name: str) -> None:
    with pytest.raises(ImportFailure, match=REFUSED[name]):
        graphir.load(models / name)


@pytest.mark.parametrize("name", ["cache", "only_written", "v1_reference"])
def test_state_is_refused_on_request(models: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(models / name), "--state", "refuse"]) == 1
    shown = " ".join("".join(capsys.readouterr()).split())
    assert all(f"{key}: " in shown for key in STATES[name])
    assert "state is to be refused" in shown


def test_what_only_training_writes_is_no_state(models: Path) -> None:
    graph = graphir.load(models / "trained", state="refuse")
    assert [value.name for value in graph.inputs] == ["x"]
    assert [value.name for value in graph.outputs] == ["y"]
    assert not [made for made in graph.decisions if made.kind is DecisionKind.STATE]


@pytest.mark.parametrize("name", [name for name in STATES if name != "frozen_whole.pb"])
def test_verify_carries_the_state_of_live_tensorflow(models: Path, name: str, tmp_path: Path) -> None:
    report = graphir.convert(
        models / name, tmp_path / "model.onnx", verify=True, against="live", per_layer=True
    ).verification
    assert report is not None
    assert report.first_divergence is None
    assert report.verdict in (Verdict.IDENTICAL, Verdict.NOISE)
    assert len(report.sets) >= STEPS
    assert {f"{key}_next" for key in STATES[name]} < {one.name for one in report.outputs}
    assert any("each begins with the state" in note for note in report.notes)


def test_a_report_has_the_state(models: Path, tmp_path: Path) -> None:
    report = graphir.convert(models / "before_and_after", tmp_path / "model.onnx")
    (state,) = report.to_json()["state"]
    assert state == {"input": "c", "output": "c_next", "shape": (3,), "initial": [3.0, 1.0, 2.0]}


def test_a_file_keeps_what_is_state(models: Path, tmp_path: Path) -> None:
    graph = graphir.load(models / "in_a_branch")
    for name in ("model.onnx", "model.graphir.json"):
        graphir.save(graph, tmp_path / name)
        assert state_of(graphir.load(tmp_path / name)) == state_of(graph)


def test_given_inputs_are_repeated_for_three_steps(models: Path, tmp_path: Path) -> None:
    """A wrong next state shows even where the first step's output is right."""
    feeds = {"x": np.array([1, -2, 3], np.float32)}
    graph = graphir.load(models / "decayed")
    report = graphir.verify(models / "decayed", graph, feeds=feeds)
    assert [one.name for one in report.sets] == ["given", "given, step 2", "given, step 3"]
    assert report.ok


@pytest.mark.parametrize("given", [None, {"x": np.array([1, -2, 3], np.float32)}])
def test_files_carry_their_state(models: Path, tmp_path: Path, given: Any) -> None:
    """Two files that onnxruntime runs and that need not become graphs."""
    graph = graphir.load(models / "decayed")
    graphir.save(graph, tmp_path / "one.onnx")
    graphir.save(graph, tmp_path / "other.onnx", opset=18)
    report = graphir.verify(tmp_path / "one.onnx", tmp_path / "other.onnx", feeds=given)
    assert report.ok
    assert len(report.sets) >= STEPS
    assert any("each begins with the state" in note for note in report.notes)


def test_a_part_that_needs_no_write_has_no_state(models: Path) -> None:
    graph = graphir.load(models / "v1_resource", outputs=["trained/Read/ReadVariableOp"])
    assert not graph.inputs
    assert not state_of(graph)
