"""Inputs and outputs of Keras's files and of SavedModels by position, against what live TensorFlow computed."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import graphir
from graphir.converters.onnx import to_model
from tests.requirements import missing
from tests.tensorflow.written import write_models

pytestmark = pytest.mark.live

WRITER = Path(__file__).with_name("ordered_models.py")
KERAS = ("listed", "mapped", "nested", "unused", "inside")
ROWS = [*(f"{name}/model.{suffix}" for name in KERAS for suffix in ("keras", "h5")), "many/model", "version_1/model"]


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The models, written by live TensorFlow."""
    if importlib.util.find_spec("h5py") is None:
        missing("TensorFlow", "there is no h5py, which Keras's files need")
    return write_models(WRITER, tmp_path_factory.mktemp("ordered"))


@pytest.mark.one_of(4)
@pytest.mark.parametrize("name", ROWS)
def test_by_position(models: Path, name: str) -> None:
    held = np.load((models / name).parent / "arrays.npz")
    data = to_model(graphir.load(models / name)).SerializeToString()
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    arrays = [held[f"in_{place}"] for place in range(len(session.get_inputs()))]
    found = session.run(None, {value.name: array for value, array in zip(session.get_inputs(), arrays, strict=True)})
    assert len(arrays) + len(found) == len(held.files)
    expected = [held[f"out_{place}"] for place in range(len(found))]
    assert all(np.allclose(one, other, 1e-4, 1e-5) for one, other in zip(found, expected, strict=True))


def test_outputs_of_a_mapping_have_its_keys(models: Path) -> None:
    graph = graphir.load(models / "mapped/model.keras")
    assert [value.name for value in graph.outputs] == ["c", "q"]
