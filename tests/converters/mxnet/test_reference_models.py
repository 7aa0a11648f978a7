"""The numpy reference evaluator against golden outputs and internals of real models.

The models and their goldens (MXNet 1.9.1) lie in a folder `shared` beside the repository.
"""

from __future__ import annotations

import importlib.util
import json
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.files.params import read_params
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.errors import UnsupportedOpError

BESIDE = [parent / "shared" / "models" for parent in Path(__file__).resolve().parents]
MODELS = next((folder for folder in BESIDE if folder.is_dir()), BESIDE[-1])
TOLERANCE = 1e-4
UNSURE = {"neural-art-squeezenet": 5e-4}
"""Goldens that are themselves farther from float64: MXNet adds up 256,000 exponentials in float32 one by one."""
SLOW = 20_000_000

Arrays = dict[str, NDArray[Any]]


def described(folder: Path) -> dict[str, Any]:
    """The model's golden.json."""
    found: dict[str, Any] = json.loads((folder / "golden.json").read_text())
    return found


def folders() -> list[Any]:
    """The folder of every model with golden outputs; large ones are marked slow."""
    found = []
    goldens = [path for kind in ("mxnet", "mxnet_symbol_only") for path in MODELS.glob(f"{kind}/*/golden.npz")]
    for path in sorted(goldens):
        marks = [pytest.mark.slow] if described(path.parent).get("n_param_elements", 0) > SLOW else []
        found.append(pytest.param(path.parent, id=path.parent.name, marks=marks))
    return found or [pytest.param(None, id="no models")]  # the fixture `shared` skips, or fails in CI


@cache
def random_parameter() -> Callable[[str, tuple[int, ...]], NDArray[Any]]:
    """The function that gives symbol-only models their weights."""
    specification = importlib.util.spec_from_file_location("rand_params", MODELS / "rand_params.py")
    if specification is None or specification.loader is None:
        raise FileNotFoundError(MODELS / "rand_params.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    function: Callable[[str, tuple[int, ...]], NDArray[Any]] = module.rand_param
    return function


def weights(folder: Path) -> Arrays:
    """Parameters and auxiliary states by plain name: the file's, or random ones of the recorded shapes."""
    for path in sorted(folder.glob("*.params")):
        return {name.split(":", 1)[-1]: array.numpy() for name, array in read_params(path).items()}
    description = described(folder)
    shapes = description["arg_shapes"] | (description.get("aux_shapes") or {})
    return {name: random_parameter()(name, tuple(shape)) for name, shape in shapes.items()}


def inputs(golden: Arrays) -> Arrays:
    """What was fed, labels included."""
    return {name.split(":", 1)[1]: array for name, array in golden.items() if name.split(":")[0].endswith("input")}


def relative(found: NDArray[Any], expected: NDArray[Any]) -> float:
    """The largest difference relative to the largest expected magnitude."""
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    return float(np.abs(found.astype(np.float64) - expected).max() / max(np.abs(expected).max(), 1e-30))


@pytest.mark.parametrize("folder", folders())
def test_outputs_and_internals(shared: Path, folder: Path) -> None:
    with np.load(folder / "golden.npz") as archive:
        golden = dict(archive)
    recorded: Arrays = {}
    if (folder / "internals.npz").exists():
        with np.load(folder / "internals.npz") as archive:
            recorded = dict(archive)
    found = evaluate(
        read_symbol(folder / "model-symbol.json"), weights(folder) | inputs(golden), internals=bool(recorded)
    )
    expected = {name.split(":", 2)[2]: array for name, array in golden.items() if name.startswith("output:")}
    far = {name: relative(found[name], array) for name, array in (recorded | expected).items()}
    assert {name: distance for name, distance in far.items() if distance > UNSURE.get(folder.name, TOLERANCE)} == {}


def test_labels_may_be_absent(shared: Path) -> None:
    folder = MODELS / "mxnet" / "toy-lenet-miraclewkf"
    symbol, arrays = read_symbol(folder / "model-symbol.json"), weights(folder)
    with np.load(folder / "golden.npz") as golden:
        found = evaluate(symbol, arrays | {"data": golden["input:data"]}, internals=True)
        assert relative(found["softmax_output"], golden["output:0:softmax_output"]) < TOLERANCE


def test_unknown_operators_are_all_named(shared: Path) -> None:
    folder = MODELS / "mxnet" / "bmxnet-mnist-32"
    with pytest.raises(UnsupportedOpError) as refusal:
        evaluate(read_symbol(folder / "model-symbol.json"), {})
    assert {gap.operator for gap in refusal.value.gaps} == {"QActivation", "QConvolution", "QFullyConnected"}


def test_random_weights_are_those_of_the_goldens(shared: Path) -> None:
    generator = np.random.RandomState(zlib.crc32(b"fc1_bias") & 0x7FFFFFFF)
    assert np.array_equal(random_parameter()("fc1_bias", (3,)), generator.uniform(-0.1, 0.1, 3).astype("float32"))
