"""Every real model on its way there and back: MXNet -> ONNX -> MXNet and ONNX -> MXNet -> ONNX, with JSON in between.

What comes back computes what the model's own framework recorded, and weights keep their names and elements.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import graphir
from graphir.converters.mxnet import from_symbol, to_symbol
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.files.params import read_params
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.converters.mxnet.schema.operators import typed_attributes
from graphir.converters.onnx import from_model, to_model
from graphir.errors import FormatError
from graphir.graph import Graph
from tests.converters.mxnet.exporting import mxnet_outputs
from tests.equivalence.live import Live, LivePair
from tests.models.judge import LIMIT, Array, import_model, relative, run_onnx
from tests.models.test_shared_models import CHECKPOINTS, LIMITS, MODELS, load_rand_param, parameters, read
from tests.onnx_backend_mxnet import DTYPES
from tests.typed import present

Arrays = dict[str, Array]
ONNX = (
    *("burn-mnist", "dtln-1", "dtln-2", "magika-v3_3", "onnxpkg-light-inception-v1", "onnxpkg-light-shufflenet"),
    *("silero-vad-16k-op15", "tract-bidi-lstm", "ultraface-rfb-320", "xdl-blaze-dnn"),
)
TENSORFLOW = ("facialrecog", "tf2onnx-ae0", "tract-hey-snips")
OPSETS = (13, 26)
# MXNet's plain convolutions take seconds for these, those of oneDNN less.
HEAVY = {
    "mxnet_symbol_only/gluoncv-cifar-wideresnet16-10",
    "mxnet_symbol_only/mxnet-mkldnn-model1",
    "mxnet_symbol_only/vgg16-reduced",
}
# Smaller initializers are shapes, axes and numbers, which an MXNet symbol has as attributes.
WEIGHT = 64
# ONNX has no place for the name of the one vector of weights that MXNet's RNN reads: it is made anew.
RENAMED = {("mxnet_symbol_only/lstm-ptb-mms", "onnx"): {"lstm_parameters": "lstm_rnn_l0_parameters"}}
# How many weights MXNet wants in one vector, in another order: W, R and B of an LSTM.
PACKED = {"dtln-1": 6, "silero-vad-16k-op15": 4, "tract-bidi-lstm": 6}


@functools.lru_cache(maxsize=1)
def mxnet_weights(shared: Path, model: str) -> Arrays:
    """The elements of a symbol's parameters, by name."""
    folder = shared / "models" / model
    held = parameters(shared, folder, read(folder)[0])
    if isinstance(held, dict):
        return held
    tensors = read_params(folder / "model-0000.params")
    return {name.partition(":")[2]: tensor.numpy() for name, tensor in tensors.items()}


@functools.lru_cache(maxsize=1)
def mxnet_graph(shared: Path, model: str) -> Graph:
    """The graph of an MXNet model at the sizes of its golden capture."""
    folder = shared / "models" / model
    shapes = {name: tuple(shape) for name, shape in read(folder)[0]["inputs"].items()}
    return import_model(folder / "model-symbol.json", mxnet_weights(shared, model), shapes)


def golden(folder: Path) -> tuple[Arrays, list[Array]]:
    """The inputs of a golden capture by name, and the outputs in order."""
    with np.load(folder / "golden.npz") as archive:
        arrays = {name: archive[name] for name in archive.files}
    inputs = {name.split(":")[1]: array for name, array in arrays.items() if name.startswith("input:")}
    numbered = [name for name in arrays if name.startswith("output:")]
    return inputs, [arrays[name] for name in numbered]


def through_onnx(graph: Graph) -> Graph:
    """The graph as it is read from the ONNX that is written of it."""
    return from_model(to_model(graph).SerializeToString())


def through_json(graph: Graph, folder: Path) -> Graph:
    """The graph as it is read from the JSON that is written of it."""
    graphir.save(graph, folder / "between.graphir.json")
    return graphir.load(folder / "between.graphir.json")


def through_mxnet(graph: Graph, inputs: Arrays) -> tuple[Graph, Arrays]:
    """The graph as it is read from the symbol that is written of it, and what that wants for the inputs."""
    text, params = to_symbol(graph)
    wanted = feeds(text, params, inputs)
    shapes = {name: array.shape for name, array in wanted.items()}
    return from_symbol(text, params, shapes, dtypes={name: array.dtype for name, array in wanted.items()}), wanted


def feeds(text: str, params: Mapping[str, Array], inputs: Arrays) -> Arrays:
    """The inputs that a symbol has beside its parameters, in the dtypes that it states."""
    held = {name.partition(":")[2] for name in params}
    variables = {node["name"]: node.get("attrs", {}) for node in json.loads(text)["nodes"] if node["op"] == "null"}
    return {
        name: inputs[name].astype(DTYPES[int(attributes.get("__dtype__", 0))])
        for name, attributes in variables.items()
        if name not in held
    }


def live_outputs(live: LivePair | Live, graph: Graph, inputs: Arrays) -> list[Array]:
    """What live MXNet computes of the symbol that is written."""
    text, params = to_symbol(graph)
    plain = {name.partition(":")[2]: array for name, array in params.items()}
    return mxnet_outputs(live, text, plain, feeds(text, params, inputs))


def worst(found: list[Array], expected: list[Array]) -> float:
    """The largest relative difference of any output."""
    return max(relative(one, other) for one, other in zip(found, expected, strict=True))


def fixed_gammas(symbol: Path) -> set[str]:
    """The parameters for which MXNet takes 1, whatever is stored."""
    nodes = read_symbol(symbol).nodes
    fixed = [node for node in nodes if node.op == "BatchNorm" and typed_attributes(node)["fix_gamma"]]
    return {nodes[node.inputs[1][0]].name for node in fixed}


@pytest.fixture(scope="module")
def fast() -> Iterator[Live]:
    """Live MXNet with oneDNN's kernels."""
    with Live(onednn=True) as found:
        yield found


MXNET_ROADS = {"mxnet": lambda graph: graph, "onnx": through_onnx}


@pytest.mark.one_of(8)
@pytest.mark.live
@pytest.mark.parametrize("road", MXNET_ROADS)
@pytest.mark.parametrize("model", MODELS)
def test_mxnet_there_and_back_computes_the_same(
    shared: Path, live_pair: LivePair, fast: Live, model: str, road: str
) -> None:
    inputs, expected = golden(shared / "models" / model)
    graph = MXNET_ROADS[road](mxnet_graph(shared, model))
    assert worst(live_outputs(fast if model in HEAVY else live_pair, graph, inputs), expected) <= LIMIT


@pytest.mark.parametrize("road", MXNET_ROADS)
@pytest.mark.parametrize("model", MODELS)
def test_mxnet_parameters_keep_names_and_elements(shared: Path, model: str, road: str) -> None:
    original = mxnet_weights(shared, model)
    _, params = to_symbol(MXNET_ROADS[road](mxnet_graph(shared, model)))
    written = {name.partition(":")[2]: array for name, array in params.items()}
    renamed = RENAMED.get((model, road), {})
    assert set(written) == {renamed.get(name, name) for name in original}
    fixed = fixed_gammas(shared / "models" / model / "model-symbol.json")
    assert all((written[name] == 1).all() for name in fixed)
    kept = {renamed.get(name, name): array for name, array in original.items() if name not in fixed}
    assert all(written[name].tobytes() == array.tobytes() for name, array in kept.items())


@pytest.mark.parametrize("model", [f"mxnet/{name}" for name in CHECKPOINTS])
def test_arguments_and_states_stay_apart(shared: Path, model: str) -> None:
    original = set(read_params(shared / "models" / model / "model-0000.params"))
    _, params = to_symbol(through_onnx(mxnet_graph(shared, model)))
    assert original == set(params)


@pytest.mark.one_of(8)
@pytest.mark.parametrize("model", MODELS)
def test_mxnet_there_and_back_reads_again(shared: Path, model: str, tmp_path: Path, capfd: Any) -> None:
    inputs, expected = golden(shared / "models" / model)
    again, wanted = through_mxnet(mxnet_graph(shared, model), inputs)
    found = run_onnx(again, tmp_path, OPSETS[-1], wanted, capfd)
    assert worst(list(found.values()), expected) <= LIMITS.get(model, LIMIT)


@functools.lru_cache(maxsize=1)
def onnx_graph(shared: Path, model: str) -> Graph:
    """The graph of an ONNX model at the sizes of its golden capture."""
    folder = shared / "models" / "onnx" / model
    return graphir.load(folder / "model.onnx", shapes={name: array.shape for name, array in golden(folder)[0].items()})


def initializers(model: onnx.ModelProto) -> Arrays:
    """The initializers that a node of the model or of a graph inside it reads."""
    read_names: set[str] = set()
    held: Arrays = {}
    pending = [model.graph]
    while pending:
        graph = pending.pop()
        held |= {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
        read_names |= {name for node in graph.node for name in node.input}
        read_names |= {output.name for output in graph.output}
        pending += [attribute.g for node in graph.node for attribute in node.attribute if attribute.HasField("g")]
    return {name: array for name, array in held.items() if name in read_names}


@pytest.mark.one_of(8)
@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("model", ONNX)
def test_onnx_written_again_computes_the_same(
    shared: Path, model: str, opset: int, tmp_path: Path, capfd: Any
) -> None:
    folder = shared / "models" / "onnx" / model
    inputs, expected = golden(folder)
    found = run_onnx(graphir.load(folder / "model.onnx"), tmp_path, opset, inputs, capfd)
    assert worst(list(found.values()), expected) <= LIMIT


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("model", ONNX)
def test_onnx_there_and_back_computes_the_same(
    shared: Path, model: str, opset: int, tmp_path: Path, capfd: Any
) -> None:
    inputs, expected = golden(shared / "models" / "onnx" / model)
    again, wanted = through_mxnet(onnx_graph(shared, model), inputs)
    found = run_onnx(again, tmp_path, opset, wanted, capfd)
    assert worst(list(found.values()), expected) <= LIMIT


@pytest.mark.parametrize("model", ONNX)
def test_onnx_written_again_keeps_its_face(shared: Path, model: str) -> None:
    path = shared / "models" / "onnx" / model / "model.onnx"
    before, after = onnx.load(path), to_model(graphir.load(path))
    original, written = initializers(before), initializers(after)
    assert set(original) <= set(written)
    assert all(written[name].tobytes() == array.tobytes() for name, array in original.items())
    held = {tensor.name for tensor in before.graph.initializer}
    fed = [value.name for value in before.graph.input if value.name not in held]
    assert [value.name for value in after.graph.input] == fed
    assert [value.name for value in after.graph.output] == [value.name for value in before.graph.output]


@pytest.mark.one_of(8)
@pytest.mark.parametrize("model", ONNX)
def test_onnx_weights_keep_their_names_in_mxnet(shared: Path, model: str) -> None:
    original = initializers(onnx.load(shared / "models" / "onnx" / model / "model.onnx"))
    weights = {name: array for name, array in original.items() if array.size > WEIGHT and array.dtype.kind == "f"}
    again, _ = through_mxnet(onnx_graph(shared, model), golden(shared / "models" / "onnx" / model)[0])
    written = {value.name: value.tensor.numpy() for value in again.parameters if value.tensor is not None}
    lost = set(weights) - set(written)
    assert len(lost) == PACKED.get(model, 0), lost


ALL = (*MODELS, *(f"onnx/{model}" for model in ONNX))


@pytest.mark.one_of(8)
@pytest.mark.parametrize("model", ALL)
def test_json_in_between_changes_nothing(shared: Path, model: str, tmp_path: Path) -> None:
    family, _, name = model.partition("/")
    graph = onnx_graph(shared, name) if family == "onnx" else mxnet_graph(shared, model)
    again = through_json(graph, tmp_path)
    assert to_model(again).SerializeToString() == to_model(graph).SerializeToString()
    (text, params), (other_text, other_params) = to_symbol(again), to_symbol(graph)
    assert text == other_text
    assert list(params) == list(other_params)
    assert all(params[name].tobytes() == array.tobytes() for name, array in other_params.items())


@pytest.mark.live
@pytest.mark.parametrize("model", TENSORFLOW)
def test_tensorflow_runs_in_mxnet(shared: Path, live_pair: LivePair, model: str) -> None:
    folder = shared / "models" / "tf" / model
    inputs, expected = golden(folder)
    graph = graphir.load(folder / "frozen.pb", shapes={name: array.shape for name, array in inputs.items()})
    assert worst(live_outputs(live_pair, graph, inputs), expected) <= LIMIT


@pytest.mark.live
def test_symbol_without_golden_comes_back(shared: Path, live_pair: LivePair) -> None:
    path = shared / "models" / "mxnet_symbol_only" / "xdl-blaze-din" / "model-symbol.json"
    shapes = {"ncomm": (4, 360), "comm": (2, 540), "indicator": (4,), "att_comm": (2, 1800, 18)}
    shapes |= {f"dice_gamma_{layer}": (1, 1) for layer in range(1, 6)}
    rand_param = load_rand_param(shared)
    bare = import_model(path, None, shapes, simplified=False)
    weights = {value.name: rand_param(value.name, present(value.shape)) for value in bare.parameters if value.sources}
    inputs = {name: np.asarray(rand_param(name, shape), np.float32) for name, shape in shapes.items()}
    inputs["indicator"] = np.array([0, 1, 1, 0], np.float32)
    graph = through_onnx(import_model(path, weights, shapes))
    expected = evaluate(read_symbol(path), {**weights, **inputs})
    assert worst(live_outputs(live_pair, graph, inputs), list(expected.values())) <= LIMIT


def test_symbol_with_repeated_names_comes_back(shared: Path) -> None:
    path = shared / "models" / "mxnet_symbol_only" / "vgg16-fcn-ilsvrc" / "model-symbol.json"
    graph = import_model(path, None, {"data": (1, 3, 224, 224)})
    again = from_symbol(to_symbol(graph)[0], None, {"data": (1, 3, 224, 224)})
    assert [node.op for node in again.nodes] == [node.op for node in graph.nodes]
    assert [value.shape for value in again.values] == [value.shape for value in graph.values]


def test_a_model_without_opset_is_refused(shared: Path) -> None:
    with pytest.raises(FormatError, match="opset_import"):
        graphir.load(shared / "models" / "onnx" / "mms-mnist" / "model.onnx")
