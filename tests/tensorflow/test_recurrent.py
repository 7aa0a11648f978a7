"""Loops that are recurrent layers, and those that are not: which operators the import makes of them, and what they
compute. The written loops of `recurrent_loops` are computed by the tests of all rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import graphir
from graphir.converters.mxnet import to_symbol
from graphir.converters.onnx import to_model
from graphir.converters.tensorflow import load
from graphir.converters.tensorflow.opening import open_model
from graphir.graph import Graph, Node
from graphir.ops.recurrent import GRU, LSTM, RNN
from tests.equivalence.live import LivePair
from tests.equivalence.test_onnx import distance, run_model
from tests.requirements import needing
from tests.tensorflow.case import Case
from tests.tensorflow.conftest import Oracle
from tests.tensorflow.recurrent_loops import LAYERS, LOOPS
from tests.tensorflow.recurrent_models import KINDS, VERSION_1
from tests.tensorflow.written import write_models

CONTROL = ("GRU", "LSTM", "Loop", "RNN", "Scan")
TOLERANCE = {"float16": 4e-3, "float32": 2e-5, "float64": 1e-12}
WRITER = Path(__file__).with_name("recurrent_models.py")
NO_HALF = {"lstm_half", "lstm_mixed"}  # MXNet's CPU build has no products of float16
MODELS = sorted([*KINDS, *(f"functions_{name}" for name in VERSION_1)])
SIZES = [(1, 7), (3, 7), (2, 1), (4, 12)]


def told(graph: Graph) -> list[str]:
    """The loops and recurrent layers of a graph."""
    return [node.op.name for node in graph.nodes if node.op.name in CONTROL]


def layers(graph: Graph) -> list[Node]:
    """The recurrent layers of a graph."""
    return [node for node in graph.nodes if isinstance(node.op, RNN | GRU | LSTM)]


ROWS = [(case, kind) for kind, cases in LAYERS.items() for case in cases]


@pytest.mark.parametrize(("case", "kind"), ROWS, ids=[case.name for case, _ in ROWS])
def test_layer_is_told(case: Case, kind: str) -> None:
    graph = load(case.graph(case.open_axes if case.open_axes == "batch" else ""), outputs=case.outputs)
    graph.check()
    assert told(graph) == [kind]
    assert [node.name for node in layers(graph)] == ["scope/layer"]
    assert [(held.kind, held.node) for held in graph.decisions if "loop is" in held.text] == [
        ("recurrent loop", "scope/layer")
    ]


@pytest.mark.parametrize("case", LOOPS, ids=lambda case: case.name)
def test_other_loop_stays(case: Case) -> None:
    graph = load(case.graph(), outputs=case.outputs)
    graph.check()
    assert told(graph) == ["Loop"]
    assert not [held for held in graph.decisions if "loop is" in held.text]


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The models, written by live TensorFlow."""
    return write_models(WRITER, tmp_path_factory.mktemp("recurrent"))


def outputs_of(path: Path) -> list[str]:
    """The outputs y0, y1 and so on."""
    names = [node.name for node in open_model(path).graph.nodes]
    return sorted(name for name in names if name[:1] == "y" and name[1:].isdigit())


def feeds_of(graph: Graph, batch: int, steps: int, most: int) -> dict[str, NDArray[Any]]:
    """Values of all inputs; lengths from 0 to `most`."""
    random = np.random.Generator(np.random.PCG64(batch * 100 + steps))
    found: dict[str, NDArray[Any]] = {}
    for value in graph.inputs:
        if value.name == "lens":
            found[value.name] = random.integers(0, most + 1, batch).astype(np.int32)
            continue
        assert value.shape is not None
        assert value.dtype is not None
        stated = (steps, batch) if value.name == "u" else (batch, steps)
        pairs = zip((*stated, 0) if len(value.shape) == 3 else (batch, 0), value.shape, strict=True)
        shape = [size if isinstance(size, int) else given for given, size in pairs]
        found[value.name] = random.standard_normal(shape).astype(value.dtype.numpy())
    return found


@pytest.mark.live
@pytest.mark.one_of(8)
@pytest.mark.parametrize("name", MODELS)
def test_traced_layers_are_told(models: Path, name: str) -> None:
    path = models / f"{name}.pb"
    graph = load(path, outputs=outputs_of(path))
    graph.check()
    assert told(graph) == KINDS[name.removeprefix("functions_")]


@pytest.mark.live
@pytest.mark.one_of(8)
@pytest.mark.parametrize(("batch", "steps"), SIZES)
@pytest.mark.parametrize("name", MODELS)
def test_traced_layers_equal_tensorflow(
    models: Path, name: str, batch: int, steps: int, tensorflow: Oracle
) -> None:
    path = models / f"{name}.pb"
    names = outputs_of(path)
    graph = load(path, outputs=names)
    # a sequence is as long as there are steps if it should be longer, but it cannot be turned round
    feeds = feeds_of(graph, batch, steps, steps + (0 if "both" in name else 2))
    with needing("TensorFlow"):
        expected = tensorflow.live.run(path.read_bytes(), feeds, [f"{output}:0" for output in names])
    found = run_model(to_model(graph, opset=18), feeds)
    assert [value.shape for value in found] == [value.shape for value in expected]
    for value, wanted in zip(found, expected, strict=True):
        assert distance(value, wanted) <= TOLERANCE[str(wanted.dtype)]


@pytest.fixture(scope="module")
def mxnet() -> object:
    """Live MXNet."""
    with LivePair() as live:
        yield live


@pytest.mark.live
@pytest.mark.one_of(8)
@pytest.mark.parametrize("name", [name for name in MODELS if name not in NO_HALF])
def test_traced_layers_equal_in_mxnet(models: Path, name: str, tensorflow: Oracle, mxnet: LivePair) -> None:
    path = models / f"{name}.pb"
    names = outputs_of(path)
    feeds = feeds_of(load(path, outputs=names), 3, 7, 7)
    graph = load(path, outputs=names, shapes={name: array.shape for name, array in feeds.items()})
    symbol, params = to_symbol(graph)
    with needing("MXNet"):
        found = list(mxnet.run(symbol, {key.partition(":")[2]: held for key, held in params.items()} | feeds).values())
    with needing("TensorFlow"):
        expected = tensorflow.live.run(path.read_bytes(), feeds, [f"{output}:0" for output in names])
    for value, wanted in zip(found, expected, strict=True):
        assert value.shape == wanted.shape
        assert distance(value, wanted) <= TOLERANCE[str(wanted.dtype)]


def _layer(models: Path, name: str) -> Node:
    (node,) = layers(graphir.load(models / f"{name}.pb"))
    return node


@pytest.mark.live
@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("lstm", {"direction": "FORWARD", "activations": ()}),
        ("gru", {"linear_before_reset": True}),
        ("gru_before_backwards", {"linear_before_reset": False, "direction": "REVERSE"}),
        ("rnn", {"activations": ()}),
        ("rnn_relu", {"activations": ("Relu",), "direction": "FORWARD"}),
        ("lstm_hard", {"activations": ("HardSigmoid", "Relu", "Relu"), "activation_beta": (0.5,)}),
        ("lstm_elu", {"activations": ("Softsign", "Elu", "Elu"), "activation_alpha": (1.0, 1.0)}),
        ("lstm_linear", {"activations": ("Sigmoid", "Affine", "Affine"), "activation_alpha": (1.0, 1.0)}),
    ],
)
def test_attributes(models: Path, name: str, attributes: dict[str, object]) -> None:
    node = _layer(models, name)
    held = {key: getattr(node.op, key) for key in attributes}
    assert {key: getattr(value, "name", value) for key, value in held.items()} == attributes


@pytest.mark.live
@pytest.mark.parametrize("name", [name for name in MODELS if "both" in name and name != "both_stacked"])
def test_the_way_back_runs_in_reverse(models: Path, name: str) -> None:
    graph = graphir.load(models / f"{name}.pb")
    directions = [node.op.direction.name for node in layers(graph) if isinstance(node.op, RNN | GRU | LSTM)]
    assert directions == ["FORWARD", "REVERSE"]
    assert not [node for node in graph.nodes if node.op.name in ("Slice", "ReverseSequence")]


@pytest.mark.live
@pytest.mark.parametrize(
    ("name", "absent"), [("lstm", 5), ("lstm_without_bias", 3), ("gru_without_bias", 3), ("lstm_states", 4)]
)
def test_what_is_0_is_left_out(models: Path, name: str, absent: int) -> None:
    node = _layer(models, name)
    assert absent >= len(node.inputs) or node.inputs[absent] is None


@pytest.mark.live
def test_weights_are_read_when_they_are_needed(models: Path) -> None:
    weights = [value.tensor for value in _layer(models, "lstm").inputs[1:3] if value is not None]
    assert all("computed" in repr(tensor) for tensor in weights)


@pytest.mark.live
@pytest.mark.parametrize("name", ["lstm_states", "v1_lens"])
def test_rows_that_are_taken_to_be_as_many_are_a_decision(models: Path, name: str) -> None:
    graph = graphir.load(models / f"{name}.pb")
    assert [held.text for held in graph.decisions if "as many rows" in held.text]
