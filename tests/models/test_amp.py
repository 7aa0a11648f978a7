"""What MXNet's AMP makes of a network: imported, written, run, and equal to live MXNet or, where its CPU build has no
products of float16 (of bfloat16 on processors without AVX-512), to the numpy reference."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import pytest

import graphir
from graphir.graph import Graph
from graphir.runtime.machine import processor_flags
from graphir.types import DType
from tests.models.amp_nets import CASES, SHAPES

# Measured: few units of 2^-11 and 2^-8. Behind a softmax of large numbers, which are whole ones in bfloat16, a unit in
# the last place of one of them changes all: there the verdict alone counts, by the noise that is measured.
CLOSE = {"float16": 5e-3, "bfloat16": 1e-2}
SOFTMAX_OF_LARGE = "all_narrow_bfloat16"


@pytest.fixture(scope="module")
def captured(mxnet: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every row as AMP converts it. In a process of its own: MXNet's bfloat16 and ml_dtypes do not go together."""
    folder = tmp_path_factory.mktemp("amp")
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "tests.models.amp_nets", str(folder)], capture_output=True, text=True, cwd=root
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


def read(captured: Path, name: str) -> Graph:
    return graphir.load(captured / f"{name}-symbol.json", shapes={"data": SHAPES[CASES[name].net]})


@pytest.mark.one_of(8)
@pytest.mark.parametrize("against", ["auto", "reference"])
@pytest.mark.parametrize("name", CASES)
def test_amp_network_equals_mxnet(captured: Path, tmp_path: Path, name: str, against: str) -> None:
    row = CASES[name]
    report = graphir.convert(
        captured / f"{name}-symbol.json", tmp_path / "made.onnx", shapes={"data": SHAPES[row.net]}, verify=True,
        against=against,
    )  # fmt: skip
    found = report.verification
    assert found is not None
    assert found.ok, found
    judged = [one.relative for one in found.sets[0].outputs if name != SOFTMAX_OF_LARGE or "softmax" not in one.name]
    assert judged
    assert max(judged) <= CLOSE[row.dtype]
    lives = against == "auto" and row.dtype == "bfloat16" and "avx512bw" in processor_flags()
    assert ("child process" in found.reference) is lives
    onnx.checker.check_model(onnx.load(tmp_path / "made.onnx"), full_check=True)


@pytest.mark.parametrize("name", CASES)
def test_amp_network_has_the_types_that_mxnet_infers(captured: Path, mxnet: ModuleType, name: str) -> None:
    graph = read(captured, name)
    symbol: Any = mxnet.sym.load(str(captured / f"{name}-symbol.json"))
    stored = mxnet.nd.load(str(captured / f"{name}-0000.params"))
    known = {key.split(":", 1)[1]: dtype_of(array) for key, array in stored.items()}
    known["data"] = str(next(value.dtype for value in graph.inputs))
    internals = symbol.get_internals()
    arguments, outputs, _ = internals.infer_type(
        **{key: mxnet_dtype(text) for key, text in known.items() if key in internals.list_arguments()}
    )
    assert arguments is not None
    expected = dict(zip(internals.list_outputs(), map(name_of, outputs), strict=True))
    computed = [value for value in graph.values if value.producer is not None]
    held = {source: str(value.dtype) for value in computed for source in value.sources}
    assert held
    assert {key: text for key, text in held.items() if key in expected} == {
        key: expected[key] for key in held if key in expected
    }


BFLOAT16 = np.dtype([("bfloat16", "<u2")])


def dtype_of(array: Any) -> str:
    return name_of(array.dtype)


def name_of(dtype: Any) -> str:
    return "bfloat16" if dtype == BFLOAT16 else np.dtype(dtype).name


def mxnet_dtype(text: str) -> Any:
    return BFLOAT16 if text == "bfloat16" else np.dtype(text).type


def test_parameters_keep_their_dtypes(captured: Path) -> None:
    graph = read(captured, "cast_params_bfloat16")
    dtypes = {value.name: value.dtype for value in graph.parameters}
    assert dtypes["conv_weight"] is dtypes["fc_bias"] is DType.BFLOAT16
    assert dtypes["bn_moving_var"] is DType.FLOAT32


def test_a_cast_network_keeps_its_statistics_wide(captured: Path) -> None:
    graph = read(captured, "net_cast_float16")
    assert [value.dtype for value in graph.inputs] == [DType.FLOAT16]
    held = {value.name.split("_", 1)[1]: value.dtype for value in graph.parameters if "0_" in value.name}
    assert {text: dtype for text, dtype in held.items() if "running" in text} == {
        "batchnorm0_running_mean": DType.FLOAT32, "batchnorm0_running_var": DType.FLOAT32
    }
    assert {value.dtype for value in graph.parameters if value.name.endswith("weight")} == {DType.FLOAT16}


def test_amp_casts_are_there(captured: Path) -> None:
    """`tojson` drops AMP's casts by default; the networks here are written with them."""
    text = (captured / "branches_float16-symbol.json").read_text()
    assert '"amp_multicast"' in text
    assert '"amp_cast"' in text
