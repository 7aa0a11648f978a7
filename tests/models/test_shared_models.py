"""Real checkpoints and symbols made by others: converted, and equal to what MXNet computed."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.converters.onnx.exporting.exporter import newest_opset
from graphir.errors import UnsupportedOpError
from tests.models.judge import LIMIT, import_model, relative, run_onnx, shapes_by_source
from tests.typed import present

CHECKPOINTS = (
    *("gluoncv-cifar-resnet20-v1", "gluoncv-cifar-resnet20-v2", "go-test-linear", "mtcnn-det1-pnet"),
    *("mtcnn-det2-rnet", "mtcnn-det3-onet", "toy-lenet-miraclewkf", "xdl-blaze-dnn"),
)
SYMBOLS = (
    *("gluoncv-cifar-resnet110-v1", "gluoncv-cifar-wideresnet16-10", "lightened-cnn", "lstm-ptb-mms"),
    *("mxnet-clojure-imclass", "mxnet-mkldnn-model1", "mxnet-save-000800", "neural-art-squeezenet"),
    *("resnet-18-miracle", "squeezenet-v1.1-mms", "vgg16-reduced"),
)
MODELS = tuple(f"mxnet/{name}" for name in CHECKPOINTS) + tuple(f"mxnet_symbol_only/{name}" for name in SYMBOLS)
# MXNet sums 256,000 exponentials in float32 one after the other there, so the golden itself is 2.0e-4 off.
LIMITS = {"mxnet_symbol_only/neural-art-squeezenet": 5e-4}
OPSETS = (13, 17, min(newest_opset(), 26))


def read(folder: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    facts = json.loads((folder / "golden.json").read_text())
    with np.load(folder / "golden.npz") as archive:
        return facts, {name: archive[name] for name in archive.files}


def load_rand_param(shared: Path) -> Callable[[str, tuple[int, ...]], NDArray[Any]]:
    """The rule by which the weights of symbols without weights were made."""
    spec = importlib.util.spec_from_file_location("rand_params", shared / "models" / "rand_params.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.rand_param


def parameters(shared: Path, folder: Path, facts: dict[str, Any]) -> Path | dict[str, NDArray[Any]]:
    """The checkpoint's file, or stand-in weights from the rule that made the golden."""
    if (folder / "model-0000.params").exists():
        return folder / "model-0000.params"
    rand_param = load_rand_param(shared)
    shapes = {**facts["arg_shapes"], **(facts.get("aux_shapes") or {})}
    fed = {*facts["inputs"], *(facts.get("zero_inputs") or [])}
    return {name: rand_param(name, tuple(shape)) for name, shape in shapes.items() if name not in fed}


@pytest.mark.one_of(8, by="model")
@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("model", MODELS)
def test_outputs_equal_mxnet(shared: Path, model: str, opset: int, tmp_path: Path, capfd: Any) -> None:
    folder = shared / "models" / model
    facts, golden = read(folder)
    shapes = {name: tuple(shape) for name, shape in facts["inputs"].items()}
    graph = import_model(folder / "model-symbol.json", parameters(shared, folder, facts), shapes)
    graph.check()
    feeds = {key.removeprefix("input:"): array for key, array in golden.items() if key.startswith("input:")}
    found = run_onnx(graph, tmp_path, opset, feeds, capfd)
    expected = {key.split(":", 2)[2]: array for key, array in golden.items() if key.startswith("output:")}
    assert list(found) == list(expected)
    errors = {name: relative(found[name], expected[name]) for name in expected}
    assert max(errors.values()) <= LIMITS.get(model, LIMIT), errors


@pytest.mark.parametrize("model", [model for model in MODELS if model.startswith("mxnet/")])
def test_internals_equal_mxnet(shared: Path, model: str, tmp_path: Path, capfd: Any) -> None:
    folder = shared / "models" / model
    facts, golden = read(folder)
    shapes = {name: tuple(shape) for name, shape in facts["inputs"].items()}
    graph = import_model(folder / "model-symbol.json", folder / "model-0000.params", shapes, simplified=False)
    with np.load(folder / "internals.npz") as archive:
        internals = {name: archive[name] for name in archive.files}
    own = {name: value for value in graph.values if value.producer is not None for name in value.sources}
    known = [name for name in internals if name in own]
    assert known
    values = list(dict.fromkeys(own[name] for name in known))
    graph.set_outputs(values)
    feeds = {key.removeprefix("input:"): array for key, array in golden.items() if key.startswith("input:")}
    found = run_onnx(graph, tmp_path, 17, feeds, capfd)
    errors = {name: relative(found[own[name].name], internals[name]) for name in known}
    assert max(errors.values()) <= LIMIT, errors


@pytest.mark.parametrize("model", [*MODELS, "mxnet_symbol_only/vgg16-fcn-ilsvrc"])
def test_internal_shapes_equal_mxnet(shared: Path, model: str) -> None:
    folder = shared / "models" / model
    facts = json.loads((folder / "golden.json").read_text())
    shapes = {name: tuple(shape) for name, shape in facts["inputs"].items()}
    graph = import_model(folder / "model-symbol.json", None, shapes, simplified=False)
    found = shapes_by_source(graph)
    expected = {name: tuple(shape) for name, shape in facts["internal_shapes"].items() if name in found}
    # The names of this symbol come twice with different shapes.
    twice = {"conv1_2_output"} if model.endswith("vgg16-fcn-ilsvrc") else set()
    assert {name: found[name] for name in expected if name not in twice} == {
        name: shape for name, shape in expected.items() if name not in twice
    }
    labels_only = {name for name in facts["internal_shapes"] if name not in found}
    assert labels_only <= {"reshape1_output", "reshape9_output"}


def test_symbol_without_golden_equals_the_reference(shared: Path, tmp_path: Path, capfd: Any) -> None:
    folder = shared / "models" / "mxnet_symbol_only" / "xdl-blaze-din"
    shapes = {"ncomm": (4, 360), "comm": (2, 540), "indicator": (4,), "att_comm": (2, 1800, 18)}
    shapes |= {f"dice_gamma_{layer}": (1, 1) for layer in range(1, 6)}
    bare = import_model(folder / "model-symbol.json", None, shapes, simplified=False)
    rand_param = load_rand_param(shared)
    weights = {value.name: rand_param(value.name, present(value.shape)) for value in bare.parameters if value.sources}
    feeds = {name: rand_param(name, shape) for name, shape in shapes.items()} | {"indicator": np.array([0, 1, 1, 0.0])}
    feeds = {name: np.asarray(array, np.float32) for name, array in feeds.items()}
    graph = import_model(folder / "model-symbol.json", weights, shapes)
    graph.check()
    found = run_onnx(graph, tmp_path, 17, feeds, capfd)
    expected = evaluate(read_symbol(folder / "model-symbol.json"), {**weights, **feeds})
    assert list(found) == list(expected)
    assert max(relative(found[name], expected[name]) for name in expected) <= LIMIT


def test_symbol_with_repeated_names_converts(shared: Path) -> None:
    folder = shared / "models" / "mxnet_symbol_only" / "vgg16-fcn-ilsvrc"
    graph = import_model(folder / "model-symbol.json", None, {"data": (1, 3, 224, 224)})
    graph.check()
    assert [value.shape for value in graph.outputs] == [(1, 1000, 1, 1)]


@pytest.mark.parametrize(
    "model, operators",
    [
        ("mxnet/bmxnet-mnist-32", {"QActivation", "QConvolution", "QFullyConnected"}),
    ],
)
def test_refusal_names_every_unknown_operator(shared: Path, model: str, operators: set[str]) -> None:
    folder = shared / "models" / model
    facts = json.loads((folder / "golden.json").read_text())
    shapes = {name: tuple(shape) for name, shape in (facts.get("inputs") or {}).items()}
    with pytest.raises(UnsupportedOpError) as raised:
        import_model(folder / "model-symbol.json", None, shapes)
    assert {gap.operator for gap in raised.value.gaps} == operators
