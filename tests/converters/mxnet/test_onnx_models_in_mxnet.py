"""Real ONNX models written for MXNet: live MXNet and what is read back compute what onnxruntime recorded."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import graphir
from graphir.converters.mxnet import from_symbol, save
from graphir.converters.mxnet.files.params import read_params
from tests.converters.mxnet.exporting import Array, mxnet_outputs
from tests.equivalence.live import LivePair
from tests.onnx_backend_mxnet import DTYPES

MODELS = (
    *("burn-mnist", "dtln-1", "dtln-2", "magika-v3_3", "onnxpkg-light-inception-v1", "onnxpkg-light-shufflenet"),
    *("silero-vad-16k-op15", "tract-bidi-lstm", "ultraface-rfb-320", "xdl-blaze-dnn"),
)
LIMIT = 1e-4


def golden(shared: Path, model: str) -> tuple[Path, dict[str, Array], list[Array]]:
    """The model's file, the inputs of its golden capture, and the outputs in order."""
    folder = shared / "models" / "onnx" / model
    with np.load(folder / "golden.npz") as archive:
        arrays = {name: archive[name] for name in archive.files}
    inputs = {name.removeprefix("input:"): array for name, array in arrays.items() if name.startswith("input:")}
    numbered = {int(name.split(":", 2)[1]): array for name, array in arrays.items() if name.startswith("output:")}
    return folder / "model.onnx", inputs, [numbered[index] for index in sorted(numbered)]


def written(path: Path, inputs: dict[str, Array], folder: Path) -> tuple[str, dict[str, Array], dict[str, Array]]:
    """The symbol, its parameters by plain name, and the inputs that it wants in their dtypes; all of it as written."""
    graph = graphir.load(path, shapes={name: array.shape for name, array in inputs.items()})
    symbol, weights = save(graph, folder / "model-symbol.json")
    text = symbol.read_text()
    params = {name.partition(":")[2]: tensor.numpy() for name, tensor in read_params(weights).items()}
    variables = {node["name"]: node.get("attrs", {}) for node in json.loads(text)["nodes"] if node["op"] == "null"}
    feeds = {
        name: inputs[name].astype(DTYPES[int(attributes.get("__dtype__", 0))])
        for name, attributes in variables.items()
        if name not in params
    }
    return text, params, feeds


def distance(found: Array, expected: Array) -> float:
    """The largest difference relative to the largest magnitude."""
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    scale = max(float(np.abs(expected).max(initial=0.0)), 1e-30)
    return float(np.abs(found.astype(np.float64) - expected.astype(np.float64)).max(initial=0.0)) / scale


@pytest.mark.one_of(8)
@pytest.mark.live
@pytest.mark.parametrize("model", MODELS)
def test_live_mxnet_computes_the_same(shared: Path, model: str, live_pair: LivePair, tmp_path: Path) -> None:
    path, inputs, expected = golden(shared, model)
    found = mxnet_outputs(live_pair, *written(path, inputs, tmp_path))
    assert max(distance(one, other) for one, other in zip(found, expected, strict=True)) <= LIMIT


@pytest.mark.one_of(8)
@pytest.mark.parametrize("model", MODELS)
def test_what_is_read_back_computes_the_same(shared: Path, model: str, tmp_path: Path) -> None:
    path, inputs, expected = golden(shared, model)
    text, params, feeds = written(path, inputs, tmp_path)
    shapes = {name: array.shape for name, array in feeds.items()}
    graph = from_symbol(text, params, shapes, dtypes={name: array.dtype for name, array in feeds.items()})
    found = list(graphir.Session(graph, providers="cpu").run(feeds).values())
    assert max(distance(one, other) for one, other in zip(found, expected, strict=True)) <= LIMIT


def test_no_model_is_left_out(shared: Path) -> None:
    bad_on_purpose = {"mms-mnist"}
    assert {folder.name for folder in (shared / "models" / "onnx").iterdir()} - bad_on_purpose == set(MODELS)
