"""Every layer of Keras that is read, in files of versions 2 and 3, against the numbers that Keras computed of them."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnxruntime
import pytest

import graphir
from graphir.converters.onnx import to_model
from graphir.converters.tensorflow.keras.layers import LAYERS
from graphir.converters.tensorflow.keras.operations import OPERATIONS
from graphir.converters.tensorflow.live.process import SETTINGS, live_python
from tests.equivalence.test_onnx import distance
from tests.requirements import missing
from tests.tensorflow.keras_cases import names_of
from tests.tensorflow.written import ROOT, values_of, write_models

onnxruntime.set_default_logger_severity(3)
pytestmark = pytest.mark.live

WRITER = Path(__file__).with_name("keras_cases.py")
MODULES = ("keras", "tf_keras")
SUFFIXES = ("keras", "h5")
TOLERANCE = 2e-5
HALF_TOLERANCE = 4e-3  # of float16, as elsewhere


class Row(NamedTuple):
    """A model of a version, which is written in both formats."""

    module: str
    name: str


ROWS = [Row(module, name) for module in MODULES for name in names_of(module)]
# Names that functions had in other versions of TensorFlow 2.
OF_OLDER_TENSORFLOW = {
    "nn.l2_normalize", "nn.sigmoid", "nn.softplus", "nn.swish", "nn.tanh", "squeeze", "transpose",
}  # fmt: skip
# Version 3 has no such layer, or cannot write it; the first two are tested by test_keras_history.
ONLY_2 = {"CuDNNGRU", "CuDNNLSTM", "RandomBrightness", "ThresholdedReLU"}


Folders = Callable[[str], Path | None]


@pytest.fixture(scope="session")
def folders(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """The models of a version of which rows run, written by it when they are first asked for, all of them where a test
    is about all; None where it is not installed.
    """
    python = live_python()
    tests = {item.name.partition("[")[0] for item in request.session.items if item.path == Path(__file__)}
    rows = set(values_of("row", __file__, request))

    @cache
    def written(module: str) -> Path | None:
        if python is None or not _has(str(python), module):
            return None
        is_about_all = any("every" in test for test in tests)
        names = [] if is_about_all else sorted(name for version, name in rows if version == module)
        return write_models(WRITER, tmp_path_factory.mktemp(module), module, *names)

    return written


def _has(python: str, module: str) -> bool:
    command = [python, "-c", f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"]
    return subprocess.run(command, env=os.environ | SETTINGS, check=False).returncode == 0


def folder_of(folders: Folders, module: str) -> Path:
    """The folder of a version."""
    if importlib.util.find_spec("h5py") is None:
        missing("TensorFlow", "there is no h5py, which Keras's files need")
    if folder := folders(module):
        return folder
    if module == "keras":
        missing("TensorFlow", "there is no Keras to write models")
    missing("tf_keras", "there is no tf_keras to write models of version 2")


@pytest.mark.one_of(8)
@pytest.mark.parametrize("row", ROWS, ids=["-".join(row) for row in ROWS])
def test_layer_equals_keras(folders: Folders, row: Row) -> None:
    folder = folder_of(folders, row.module)
    for suffix in SUFFIXES:
        assert find_difference(folder, row.name, suffix) == "", suffix


def find_difference(folder: Path, name: str, suffix: str) -> str:
    """What onnxruntime gives otherwise than Keras has given, "" if nothing."""
    graph = graphir.load(folder / f"{name}.{suffix}")
    graph.check()
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    model = to_model(graph, opset=26 if name == "operations-order" else 18)  # the former has CumProd
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    stored = np.load(folder / f"{name}.npz")
    results = session.run(None, {value.name: stored[f"in{index}"] for index, value in enumerate(session.get_inputs())})
    keys: list[str] | list[int] = [str(key) for key in stored["keys"]] or list(range(len(results)))
    titles = [value.name for value in session.get_outputs()] if stored["keys"].size else list(range(len(results)))
    if sum(title.startswith("out") for title in stored.files) != len(results):
        return f"{len(results)} outputs, but {stored.files}"
    expected = [stored[f"out{keys.index(title)}"] for title in titles]  # type: ignore[arg-type]
    types = [[(value.shape, value.dtype) for value in values] for values in (results, expected)]
    if types[0] != types[1]:
        return f"{types[0]}, but Keras has {types[1]}"
    limit = HALF_TOLERANCE if name == "half-precision" else TOLERANCE
    far = max(distance(value, real) for value, real in zip(results, expected, strict=True))
    return "" if far <= limit else f"off by {far}"


def classes(path: Path) -> set[str]:
    """The classes of all layers and operations of a model, nested ones too; for functions of TensorFlow their names."""
    found = json.loads(zipfile.ZipFile(path).read("config.json"), object_hook=_Classes.of)
    return set(found.names)


class _Classes(NamedTuple):
    """The classes in a part of a configuration."""

    names: frozenset[str]

    @staticmethod
    def of(part: dict[str, Any]) -> _Classes:
        """Those of an object, from those of what it holds."""
        own = {str(part[key]) for key in ("class_name", "function") if isinstance(part.get(key), str)}
        return _Classes(frozenset(own.union(*(_inside(value) for value in part.values()))))


def _inside(value: Any) -> frozenset[str]:
    if isinstance(value, _Classes):
        return value.names
    return frozenset().union(*map(_inside, value)) if isinstance(value, list) else frozenset()


def test_every_layer_has_a_model(folders: Folders) -> None:
    folder = folder_of(folders, "keras")
    held = frozenset[str]().union(*(classes(folder / f"{name}.keras") for name in names_of("keras")))
    assert set(LAYERS) - held == ONLY_2


@pytest.mark.parametrize("module", MODULES)
def test_every_operation_has_a_model(folders: Folders, module: str) -> None:
    folder = folder_of(folders, module)
    held = frozenset[str]().union(*(classes(folder / f"{name}.keras") for name in names_of(module)))
    of_version = {name for name in OPERATIONS if name[0].isupper() == (module == "keras")}
    assert of_version - held == (set() if module == "keras" else OF_OLDER_TENSORFLOW)


def test_page_names_what_is_read() -> None:
    page = (ROOT / "docs" / "tensorflow.md").read_text(encoding="ascii")
    section = page.partition("## Keras files")[2].partition("\n## ")[0]
    table = {name for row in re.findall(r"^\|.*\|$", section, re.M) for name in re.findall(r"`(\w+)`", row)}
    assert table == set(LAYERS)
    assert set(OPERATIONS) <= set(re.findall(r"`([\w.]+)`", section))
