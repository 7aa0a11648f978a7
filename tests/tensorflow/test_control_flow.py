"""Conditionals and loops that live TensorFlow writes, of both versions, against live TensorFlow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from graphir.cli import main
from graphir.converters.onnx import to_model
from graphir.converters.tensorflow import load
from graphir.graph import Graph
from tests.equivalence.test_onnx import distance, run_model
from tests.tensorflow.control_models import BODIES, FORMS, FUNCTIONS, VERSIONS
from tests.tensorflow.written import write_models

pytestmark = pytest.mark.live

WRITER = Path(__file__).with_name("control_models.py")
TOLERANCE = 2e-5
Arrays = dict[str, NDArray[np.generic]]


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The models, written by live TensorFlow."""
    return write_models(WRITER, tmp_path_factory.mktemp("control"))


def read_arrays(path: Path, kind: str) -> Arrays:
    """The inputs ("in") or outputs ("out") that TensorFlow had."""
    with np.load(path.with_suffix(".npz")) as held:
        return {name.removeprefix(f"{kind}/"): held[name] for name in held.files if name.startswith(f"{kind}/")}


def find_differences(path: Path, graph: Graph) -> dict[str, object]:
    """The outputs that differ from TensorFlow's, with how far they are off, or with both types."""
    graph.check()
    feeds, expected = read_arrays(path, "in"), read_arrays(path, "out")
    names = {value.name for value in graph.inputs}
    results = run_model(to_model(graph), {name: array for name, array in feeds.items() if name in names})
    differences: dict[str, object] = {}
    for value, result in zip(graph.outputs, results, strict=True):
        wanted = expected.pop(value.name)
        types = (result.dtype, result.shape), (wanted.dtype, wanted.shape)
        if types[0] != types[1]:
            differences[value.name] = types
        elif (far := distance(result, wanted)) > TOLERANCE:
            differences[value.name] = far
    return differences | dict.fromkeys(expected, "no output")


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("version", VERSIONS)
def test_operators_in_bodies_equal_tensorflow(models: Path, version: str, body: str) -> None:
    path = models / f"{version}-{body}.pb"
    assert find_differences(path, load(path, outputs=list(read_arrays(path, "out")))) == {}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("form", FORMS)
def test_function_without_stated_outputs_equals_tensorflow(models: Path, form: str, name: str) -> None:
    path = models / f"{form}-{name}.pb"
    assert find_differences(path, load(path)) == {}


@pytest.mark.parametrize("name", ["lowered-cases", "old-arrays", "old-map"])
def test_live_tensorflow_proves_control_flow(models: Path, tmp_path: Path, name: str) -> None:
    assert main(["convert", str(models / f"{name}.pb"), str(tmp_path / "model.onnx"), "--verify"]) == 0
