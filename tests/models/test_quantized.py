"""Quantized networks: the same numbers as MXNet's, by onnxruntime's integer kernels, and verified by honest limits."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray

import graphir
from graphir.converters.mxnet import from_symbol
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.files.params import read_params
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.converters.onnx import to_model
from graphir.runtime.machine import has_exact_8_bit_products
from graphir.runtime.session import EXACT_8_BIT_PRODUCTS
from tests.equivalence.live import Live, interpreter
from tests.models.quantized import KINDS, SHAPE
from tests.requirements import missing

ROOT = Path(__file__).resolve().parents[2]
NAMES = tuple("-".join(kind) for kind in KINDS)
CALIBRATED = tuple(name for name in NAMES if not name.startswith("none"))
# One step of 8 bits beside the largest magnitude.
STEP = 1 / 127
# How near MXNet's own numbers are: on processors without VNNI its sums saturate (0.02 to 0.11 in these networks), and
# only the numpy reference is exact.
MXNETS = STEP if has_exact_8_bit_products() else 0.15
INTEGER_KERNELS = frozenset({"QLinearConv", "ConvInteger", "QGemm", "QLinearMatMul", "MatMulInteger"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The networks that live MXNet quantized, with its outputs."""
    out = tmp_path_factory.mktemp("quantized")
    command = [interpreter(), "-m", "tests.models.quantized", str(out)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    if found.returncode:
        missing("MXNet", f"live MXNet cannot quantize: {found.stderr[-600:]}")
    return out


def optimized(model: onnx.ModelProto, path: Path) -> tuple[onnxruntime.InferenceSession, Counter[str]]:
    """A session, and how many nodes of each operator onnxruntime made of the model."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    options.add_session_config_entry(EXACT_8_BIT_PRODUCTS, "1")
    options.optimized_model_filepath = str(path)
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session, Counter(node.op_type for node in onnx.load(path).graph.node)


def parameters(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a file by plain name."""
    return {name.split(":", 1)[1]: tensor.numpy() for name, tensor in read_params(path).items()}


def relative(found: NDArray[Any], expected: NDArray[Any]) -> float:
    """The largest difference beside the largest magnitude."""
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def documented(folder: Path, name: str) -> NDArray[Any]:
    """What the numpy reference computes of a network's data."""
    arrays = parameters(folder / f"{name}-0000.params") | {"data": np.load(folder / f"{name}.npz")["data"]}
    (found,) = evaluate(read_symbol(folder / f"{name}-symbol.json"), arrays).values()
    return found


@pytest.mark.live
@pytest.mark.parametrize("name", NAMES)
def test_a_quantized_network_equals_mxnet(folder: Path, tmp_path: Path, name: str) -> None:
    symbol, params = folder / f"{name}-symbol.json", folder / f"{name}-0000.params"
    graph = from_symbol(symbol, params, {"data": ("N", *SHAPE[1:])})
    graph.check()
    model = to_model(graph)
    onnx.checker.check_model(model, full_check=True)
    session, kernels = optimized(model, tmp_path / "optimized.onnx")
    golden = np.load(folder / f"{name}.npz")
    (found,) = session.run(None, {"data": golden["data"]})
    assert relative(found, golden["output"]) <= MXNETS
    assert relative(found, documented(folder, name)) <= STEP
    assert np.array_equal(found.argmax(axis=1), golden["output"].argmax(axis=1))
    if name in CALIBRATED:
        assert kernels["QLinearConv"] >= 4
    assert sum(kernels[kernel] for kernel in INTEGER_KERNELS) == 9


@pytest.mark.live
@pytest.mark.parametrize("name", [*NAMES, "fused"])
def test_the_reference_equals_mxnet(folder: Path, name: str) -> None:
    expected = np.load(folder / f"{name}.npz")["output"]
    assert relative(documented(folder, name), expected) <= (1e-5 if name == "fused" else MXNETS)


@pytest.mark.live
def test_the_weights_are_stored_as_int8(folder: Path, tmp_path: Path) -> None:
    sizes = []
    for name in ("float", "naive-auto"):
        made = tmp_path / f"{name}.onnx"
        graphir.convert(folder / f"{name}-symbol.json", made, shapes={"data": SHAPE})
        sizes.append(made.stat().st_size)
    assert sizes[1] < 0.55 * sizes[0]


@pytest.mark.live
def test_verify_finds_a_planted_scale_and_states_its_limit(folder: Path, tmp_path: Path) -> None:
    source, made = folder / "naive-auto-symbol.json", tmp_path / "made.onnx"
    graphir.convert(source, made, shapes={"data": SHAPE})
    report = graphir.verify(source, made, shapes={"data": SHAPE})
    assert report.ok
    assert any("one step of them" in note for note in report.notes)
    model = onnx.load(made)
    scales = [node.input[1] for node in model.graph.node if node.op_type == "QuantizeLinear"]
    planted = next(tensor for tensor in model.graph.initializer if tensor.name == scales[2])
    value = onnx.numpy_helper.to_array(planted) * np.float32(1.1)
    planted.CopyFrom(onnx.numpy_helper.from_array(np.asarray(value, np.float32), planted.name))
    wrong = tmp_path / "wrong.onnx"
    onnx.save(model, wrong)
    assert not graphir.verify(source, wrong, shapes={"data": SHAPE}).ok


@pytest.mark.live
def test_a_quantized_network_goes_back_to_mxnet(folder: Path, tmp_path: Path) -> None:
    made, back = tmp_path / "made.onnx", tmp_path / "back-symbol.json"
    graphir.convert(folder / "naive-auto-symbol.json", made, shapes={"data": SHAPE})
    graphir.convert(made, back)
    golden = np.load(folder / "naive-auto.npz")
    arrays = parameters(tmp_path / "back-0000.params")
    with Live() as live:
        (found,) = live.run(back.read_text(), arrays | {"data": golden["data"]}).values()
    assert relative(found, golden["output"]) <= MXNETS


@pytest.mark.live
def test_the_zoo_s_int8_network_equals_mxnet(shared: Path, tmp_path: Path) -> None:
    from tests.converters.mxnet.test_reference_models import random_parameter

    source = shared / "models" / "mxnet_symbol_only" / "int8-mobilenet1.0"
    text = (source / "model-symbol.json").read_text()
    variables = [node for node in json.loads(text)["nodes"] if node["op"] == "null" and "attrs" in node]
    arrays = {
        node["name"]: random_parameter()(node["name"], ast.literal_eval(node["attrs"]["__shape__"]))
        for node in variables
    }
    data = np.random.Generator(np.random.PCG64(7)).uniform(-1, 1, (1, 3, 224, 224)).astype(np.float32)
    graph = from_symbol(text, arrays, {"data": data.shape})
    session, kernels = optimized(to_model(graph), tmp_path / "optimized.onnx")
    assert kernels["QLinearConv"] >= 26
    (found,) = session.run(None, {"data": data})
    with Live(onednn=True) as live:
        (expected,) = live.run(text, arrays | {"data": data}).values()
    assert relative(found, expected) <= MXNETS
    if MXNETS == STEP:
        assert found.argmax() == expected.argmax()
    (computed,) = evaluate(read_symbol(source / "model-symbol.json"), arrays | {"data": data}).values()
    assert relative(found, computed) <= STEP


@pytest.mark.live
def test_the_commands_take_a_quantized_model(folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from graphir.cli import main

    for path in folder.glob("entropy-auto*"):
        shutil.copy(path, tmp_path)
    prefix, made = str(tmp_path / "entropy-auto"), str(tmp_path / "made.onnx")
    assert main(["convert", prefix, made, "-i", "data:4,3,32,32", "--verify"]) == 0
    assert main(["verify", prefix, made, "-i", "data:4,3,32,32", "--per-layer"]) == 0
    assert "one step of them" in " ".join(capfd.readouterr().out.split())
