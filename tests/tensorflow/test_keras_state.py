"""Stateful recurrent layers of Keras, in every format, over three steps, against live Keras."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import graphir
from graphir.errors import ImportFailure, UnsupportedOpError
from graphir.inputs.sets import state_inputs
from tests.equivalence.test_onnx import distance
from tests.requirements import missing
from tests.tensorflow.written import write_models

pytestmark = pytest.mark.live

VERSION_3 = ("lstm", "gru", "simple", "two_ways", "masked", "cells", "stacked", "begun", "inside")
FILES = (
    *(f"{name}.{suffix}" for name in VERSION_3 for suffix in ("keras", "h5")),
    *(f"{name}_2.{suffix}" for name in ("lstm", "two_ways", "masked") for suffix in ("keras", "h5")),
    *("lstm", "masked", "two_ways"),
)


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The models, written by live Keras, with what three calls of each give."""
    folder = tmp_path_factory.mktemp("stateful_keras")
    return write_models(Path(__file__).with_name("stateful_keras.py"), folder)


def file_of(models: Path, name: str) -> Path:
    """A model's file."""
    if "_2." in name and find_spec("tf_keras") is None:
        missing("tf_keras", "there is no tf_keras to write models of version 2")
    return models / name


@pytest.mark.parametrize("name", FILES)
def test_three_steps_equal_keras(models: Path, name: str) -> None:
    graph = graphir.load(file_of(models, name))
    graph.check()
    expected = np.load(models / f"{Path(name).stem}.npz")
    state = state_inputs(graph)
    assert state
    assert all(not one.initial.any() for one in state.values())
    session = graphir.Session(graph)
    held = {key: one.initial for key, one in state.items()}
    for step in range(3):
        found = session.run({graph.inputs[0].name: expected[f"{step}/in"]} | held)
        held = {key: found[one.output] for key, one in state.items()}
        assert distance(found[graph.outputs[0].name], expected[f"{step}/out"]) <= 2e-6, step


@pytest.mark.parametrize("name", ["two_ways.keras", "cells.keras", "inside.keras", "masked.keras", "two_ways_2.h5"])
def test_verify_sets_and_reads_the_states_of_live_keras(models: Path, name: str) -> None:
    path = file_of(models, name)
    graph = graphir.load(path)
    report = graphir.verify(path, graph, against="live")
    assert report.ok, report
    assert set(state_inputs(graph)) < set(report.feeds)
    assert {one.output for one in state_inputs(graph).values()} < {one.name for one in report.outputs}


@pytest.mark.parametrize(
    ("name", "reason"), [("called_twice.keras", "called more than once"), ("begun_2.h5", "that is given states")]
)
def test_what_no_file_determines_is_refused(models: Path, name: str, reason: str) -> None:
    with pytest.raises(UnsupportedOpError, match=reason):
        graphir.load(file_of(models, name))


def test_state_is_refused_on_request(models: Path) -> None:
    with pytest.raises(ImportFailure, match="rnn/state_0: the layer is stateful"):
        graphir.load(models / "gru.keras", state="refuse")
