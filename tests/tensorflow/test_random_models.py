"""Random Keras models and functions of TensorFlow, in every format, against live TensorFlow, by position.

GRAPHIR_RANDOM_MODELS is how many there are of each kind (4), GRAPHIR_RANDOM_FIRST the number of the first one: longer
runs, and one that failed again.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import graphir
from graphir.converters.onnx import to_model
from graphir.converters.tensorflow.live.process import SETTINGS, live_python
from graphir.errors import UnsupportedOpError
from tests.equivalence.test_onnx import distance
from tests.requirements import missing

pytestmark = pytest.mark.live

ROOT = Path(__file__).resolve().parents[2]
COUNT = int(os.environ.get("GRAPHIR_RANDOM_MODELS", "4"))
FIRST = int(os.environ.get("GRAPHIR_RANDOM_FIRST", "0"))
# A chain of random layers loses more digits than one layer does.
TOLERANCE = {"float32": 1e-4, "float64": 1e-9}
WRITERS: Mapping[str, tuple[str, ...]] = {
    "keras": ("tests.tensorflow.random_keras", "keras"),
    "tf_keras": ("tests.tensorflow.random_keras", "tf_keras"),
    "functions": ("tests.tensorflow.random_functions",),
}
FORMATS = {"keras": ("keras", "h5", "saved", "pb"), "tf_keras": ("keras", "h5", "saved", "pb"),
           "functions": ("saved", "pb")}  # fmt: skip
ROWS = [
    (kind, number, suffix) for kind in WRITERS for number in range(FIRST, FIRST + COUNT) for suffix in FORMATS[kind]
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The models of each kind that can be written here, written by live TensorFlow."""
    python = live_python()
    found: dict[str, Path] = {}
    for kind, (program, *arguments) in WRITERS.items() if python is not None else ():
        check = ["-c", f"import importlib.util, sys; sys.exit(importlib.util.find_spec({kind!r}) is None)"]
        if kind != "functions" and subprocess.run([str(python), *check], check=False).returncode:
            continue
        found[kind] = tmp_path_factory.mktemp(kind)
        command = [str(python), "-m", program, str(found[kind]), *arguments, str(FIRST), str(COUNT)]
        paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
        done = subprocess.run(
            command, env=os.environ | SETTINGS | {"PYTHONPATH": paths}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-2000:]
    return found


def model_of(folders: Mapping[str, Path], kind: str, number: int, suffix: str) -> tuple[Path, Any]:
    """A model's file, and its inputs and outputs."""
    if suffix in ("keras", "h5") and importlib.util.find_spec("h5py") is None:
        missing("TensorFlow", "there is no h5py, which Keras's files need")
    if kind not in folders:
        missing("tf_keras" if kind == "tf_keras" else "TensorFlow", f"nothing here writes {kind}")
    path = folders[kind] / f"{number}.{suffix}"
    reason = folders[kind] / f"{number}.none"
    if not path.exists():
        pytest.skip(reason.read_text() if reason.exists() else f"TensorFlow cannot write or run it as {suffix}")
    return path, np.load(folders[kind] / f"{number}.npz")


@pytest.mark.one_of(4, by="kind")
@pytest.mark.parametrize(("kind", "number", "suffix"), ROWS, ids=["-".join(map(str, row)) for row in ROWS])
def test_random_model_equals_tensorflow(folders: dict[str, Path], kind: str, number: int, suffix: str) -> None:
    path, held = model_of(folders, kind, number, suffix)
    # what the graph of a Keras model computes, where that is another thing than the model
    prefix = "frozen" if suffix in ("saved", "pb") and "frozen0" in held.files else "out"
    wanted = [held[f"{prefix}{place}"] for place in range(sum(name.startswith(prefix) for name in held.files))]
    inputs = [held[name] for name in sorted(name for name in held.files if name[:2] == "in")]
    try:
        graph = graphir.load(path, outputs=[f"y{place}" for place in range(len(wanted))] if suffix == "pb" else None)
        graph.check()
        model = to_model(graph)
    except UnsupportedOpError as error:
        pytest.skip(f"refused: {error}")
    if suffix == "saved":  # a signature has names, and no order: its results are sorted by them
        wanted = [wanted[list(held["saved_outputs"]).index(name)] for name in sorted(held["saved_outputs"])]
        order = [list(held["saved_inputs"]).index(value.name) for value in graph.inputs]
    elif suffix == "pb":
        order = [int(value.name[1:]) for value in graph.inputs]  # those that no output depends on are gone
    else:
        order = list(range(len(inputs)))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    except Exception as error:
        if "NOT_IMPLEMENTED" not in str(error):
            raise
        pytest.skip(f"onnxruntime has no kernel: {error}")
    feeds = {given.name: inputs[place] for given, place in zip(session.get_inputs(), order, strict=True)}
    found = session.run(None, feeds)
    assert [(value.shape, value.dtype) for value in found] == [(value.shape, value.dtype) for value in wanted]
    limit = max(TOLERANCE.get(str(value.dtype), 0.0) for value in wanted)
    assert max(distance(value, real) for value, real in zip(found, wanted, strict=True)) <= limit


@pytest.mark.parametrize("number", range(FIRST, FIRST + COUNT))
def test_a_keras_model_has_one_batch(folders: dict[str, Path], number: int) -> None:
    path, _ = model_of(folders, "keras", number, "keras")
    try:
        graph = graphir.load(path)
    except UnsupportedOpError as error:
        pytest.skip(f"refused: {error}")
    assert {str(value.shape[0]) for value in graph.inputs if value.shape} == {"N"}
