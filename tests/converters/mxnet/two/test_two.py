"""Files of MXNet 2.0: what they compute through ONNX and through the numpy reference is what MXNet 2.0 computed."""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import graphir
from graphir.converters.mxnet import from_symbol
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.converters.onnx import to_model
from tests.equivalence.test_onnx import run_model

HERE = Path(__file__).resolve().parent
SYMBOLS: dict[str, Any] = {
    name: symbol
    for file in ("rows.json", "nodes.json")
    for name, symbol in json.loads((HERE / file).read_text(encoding="ascii")).items()
}
NETWORKS = ("attention", "bert", "convolutions", "recurrent")
TOLERANCE = {"float16": 4e-3, "float32": 2e-5, "float64": 1e-5}  # float64: of float32 operands
Arrays = dict[str, NDArray[Any]]


@cache
def _arrays() -> Arrays:
    found: Arrays = {}
    for file in ("rows.npz", "nodes.npz"):
        with np.load(HERE / file) as archive:
            found |= {name: archive[name] for name in archive.files}
    return found


def arrays(name: str) -> tuple[Arrays, list[NDArray[Any]]]:
    """Inputs by variable, and outputs in order."""
    own = {key.partition("/")[2]: value for key, value in _arrays().items() if key.partition("/")[0] == name}
    inputs = {key: value for key, value in own.items() if not key.startswith("output")}
    return inputs, [own[f"output{place}"] for place in range(len(own) - len(inputs))]


def assert_same(found: NDArray[Any], wanted: NDArray[Any]) -> None:
    """Same dtype, same shape, numbers within the dtype's rounding of the largest."""
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    finite = np.abs(wanted[np.isfinite(wanted)].astype(np.float64))
    limit = TOLERANCE.get(str(wanted.dtype), 0.0) * max(1.0, finite.max(initial=0.0))
    np.testing.assert_allclose(found.astype(np.float64), wanted.astype(np.float64), rtol=0, atol=limit)


@pytest.mark.parametrize("name", SYMBOLS)
def test_operator_through_onnx(name: str) -> None:
    inputs, wanted = arrays(name)
    graph = from_symbol(
        json.dumps(SYMBOLS[name]),
        shapes={key: value.shape for key, value in inputs.items()},
        dtypes={key: str(value.dtype) for key, value in inputs.items()},
    )
    for found, expected in zip(run_model(to_model(graph), inputs), wanted, strict=True):
        assert_same(found, expected)


@pytest.mark.parametrize("name", SYMBOLS)
def test_operator_by_the_reference(name: str) -> None:
    inputs, wanted = arrays(name)
    found = evaluate(read_symbol(json.dumps(SYMBOLS[name])), inputs)
    for result, expected in zip(found.values(), wanted, strict=True):
        assert_same(result, expected)


@pytest.mark.parametrize("name", NETWORKS)
def test_network_is_converted_and_verified(name: str, tmp_path: Path) -> None:
    inputs, wanted = arrays(name)
    for ending in ("symbol.json", "0000.params"):
        shutil.copy(HERE / f"{name}-{ending}", tmp_path)
    shapes = {key: value.shape for key, value in inputs.items()}
    dtypes = {key: str(value.dtype) for key, value in inputs.items()}
    source, target = tmp_path / f"{name}-symbol.json", tmp_path / "model.onnx"
    options = graphir.ModelOptions(shapes=shapes, dtypes=dtypes)
    report = graphir.convert(source, target, verify=True, model_options=options)
    assert report.verification is not None
    assert report.verification.verdict.passes
    session = graphir.Session(tmp_path / "model.onnx")
    for found, expected in zip(session.run(inputs).values(), wanted, strict=True):
        assert_same(found, expected)


def test_what_two_computes_otherwise_is_told() -> None:
    attrs = {"kernel": "(4, 4)", "stride": "(2, 2)", "target_shape": "(10, 10)", "num_filter": "2"}
    nodes: list[dict[str, Any]] = [{"op": "null", "name": name, "inputs": []} for name in ("data", "weight")]
    nodes.append({"op": "Deconvolution", "name": "up", "attrs": attrs, "inputs": [[0, 0, 0], [1, 0, 0]]})
    shapes = {"data": (1, 2, 5, 5), "weight": (2, 2, 4, 4)}
    for version in (10901, 20000):
        stated = {"mxnet_version": ["int", version]}
        symbol = {"nodes": nodes, "arg_nodes": [0, 1], "heads": [[2, 0, 0]], "attrs": stated}
        texts = [str(made.text) for made in from_symbol(json.dumps(symbol), shapes=shapes).decisions]
        assert any("2.0 refuses it" in text for text in texts) is (version == 20000)
