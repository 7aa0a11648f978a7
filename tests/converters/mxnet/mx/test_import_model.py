"""`mx.contrib.onnx`: ONNX models as MXNet's objects, ours and live MXNet's own."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from graphir.converters.mxnet import mx
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.errors import ImportFailure, UnsupportedOpError
from tests.building import make_model, run_model, save_model
from tests.typed import untyped

FEEDS = {"x": np.random.default_rng(3).normal(size=(2, 3, 6, 6)).astype(np.float32)}


def network(path: Path, domain: str = "") -> str:
    """A convolution, a batch normalization and a Relu, or what a domain calls so; its input's batch is open."""
    random = np.random.default_rng(5)
    weights = {
        "w": random.normal(size=(4, 3, 3, 3)), "s": random.normal(size=4), "b": random.normal(size=4),
        "m": random.normal(size=4), "v": random.random(4) + 0.5,
    }  # fmt: skip
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], "conv", pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", "s", "b", "m", "v"], ["n"], "norm", epsilon=1e-3),
        helper.make_node("Relu", ["n"], ["y"], "last", domain=domain),
    ]
    model = make_model(
        nodes, {"x": ["N", 3, 6, 6]}, {"y": ["N", 4, 6, 6]},
        {name: array.astype(np.float32) for name, array in weights.items()}, opset=13,
        domains={domain: 1} if domain else {},
    )  # fmt: skip
    return str(save_model(path, model))


def expected_of(path: str) -> Any:
    return next(iter(run_model(path, FEEDS).values()))


def close(found: Any, expected: Any) -> bool:
    return bool(np.allclose(found, expected, rtol=1e-5, atol=1e-5)) and found.shape == expected.shape


def test_import_gives_symbol_and_parameters(tmp_path: Path) -> None:
    path = network(tmp_path / "net.onnx")
    symbol, arg_params, aux_params = mx.contrib.onnx.import_model(path)
    assert set(symbol.list_arguments()) == {"x", *arg_params}
    assert set(symbol.list_auxiliary_states()) == set(aux_params) == {"m", "v"}
    arrays = {name: array.asnumpy() for name, array in (arg_params | aux_params).items()}
    found = evaluate(read_symbol(symbol), arrays | FEEDS)
    assert close(next(iter(found.values())), expected_of(path))


@pytest.mark.live
def test_import_gives_what_live_mxnet_runs(tmp_path: Path, mxnet: ModuleType) -> None:
    path = network(tmp_path / "net.onnx")
    symbol, arg_params, aux_params = mx.contrib.onnx.import_model(path, as_mxnet=True)
    assert isinstance(symbol, mxnet.sym.Symbol)
    executor = symbol.bind(
        mxnet.cpu(), {**arg_params, "x": mxnet.nd.array(FEEDS["x"])}, aux_states=aux_params, grad_req="null"
    )
    assert close(executor.forward(is_train=False)[0].asnumpy(), expected_of(path))


@pytest.mark.live
def test_import_gives_a_gluon_block(tmp_path: Path, mxnet: ModuleType) -> None:
    path = network(tmp_path / "net.onnx")
    block = mx.contrib.onnx.import_to_gluon(path, mxnet.cpu())
    assert close(block(mxnet.nd.array(FEEDS["x"])).asnumpy(), expected_of(path))


@pytest.mark.live
@pytest.mark.parametrize("model", ["gluoncv-cifar-resnet20-v1", "mtcnn-det1-pnet", "toy-lenet-miraclewkf"])
def test_real_model_goes_there_and_back(model: str, shared: Path, tmp_path: Path, mxnet: ModuleType) -> None:
    folder = shared / "models" / "mxnet" / model
    facts = json.loads((folder / "golden.json").read_text())
    shapes = [tuple(shape) for name, shape in facts["inputs"].items() if not name.endswith("label")]
    path = untyped(mx).onnx.export_model(
        str(folder / "model-symbol.json"), str(folder / "model-0000.params"), shapes,
        onnx_file_path=str(tmp_path / "model.onnx"),
    )  # fmt: skip
    symbol, arg_params, aux_params = mx.contrib.onnx.import_model(path, as_mxnet=True)
    with np.load(folder / "golden.npz") as archive:
        golden = {name: archive[name] for name in archive.files}
    feeds = {
        name.partition(":")[2]: mxnet.nd.array(array) for name, array in golden.items() if name.startswith("input:")
    }
    wanted = {name: array for name, array in feeds.items() if name in symbol.list_arguments()}
    executor = symbol.bind(mxnet.cpu(), arg_params | wanted, aux_states=aux_params, grad_req="null")
    results = [result.asnumpy() for result in executor.forward(is_train=False)]
    expected = [array for name, array in golden.items() if name.startswith("output:")]
    errors = [np.abs(one - other).max() / np.abs(other).max() for one, other in zip(results, expected, strict=True)]
    assert max(errors) < 1e-4


def test_metadata(tmp_path: Path) -> None:
    assert mx.contrib.onnx.get_model_metadata(network(tmp_path / "net.onnx")) == {
        "input_tensor_data": [("x", (0, 3, 6, 6), TensorProto.FLOAT)],
        "output_tensor_data": [("y", (0, 4, 6, 6))],
    }


def test_operators_that_mxnet_lacks_are_named(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOpError, match="last"):
        mx.contrib.onnx.import_model(network(tmp_path / "net.onnx", domain="other"))


@pytest.mark.parametrize(
    ("wanted", "call"),
    [
        ("as_mxnet=True", lambda path: mx.contrib.onnx.import_model(path, as_mxnet=True)),
        ("a gluon block", lambda path: mx.contrib.onnx.import_to_gluon(path, None)),
    ],
    ids=["symbol", "gluon"],
)
def test_absent_mxnet_is_said(wanted: str, call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = network(tmp_path / "net.onnx")
    real = builtins.__import__

    def without_mxnet(name: str, *rest: Any) -> Any:
        if name == "mxnet":
            raise ImportError("No module named 'mxnet'")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_mxnet)
    with pytest.raises(ImportFailure, match=f"{wanted} needs MXNet in this Python"):
        call(path)
