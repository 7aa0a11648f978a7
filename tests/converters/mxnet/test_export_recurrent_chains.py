"""Recurrent layers on their way from MXNet to the graph and back: how many RNN there are, and whose parameters."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from graphir.converters.mxnet import from_symbol, to_symbol
from graphir.converters.mxnet.exporting.exporter import export_graph
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.converters.onnx.evaluator import onnx_terms
from graphir.graph import Graph, Value
from graphir.ops.creation import ConstantOfShape
from graphir.ops.elementwise import Abs
from graphir.ops.recurrent import GRU, LSTM, RNN, Direction
from graphir.ops.shape import Reshape, Shape, Squeeze, Transpose
from graphir.ops.shape_parts import Slice
from graphir.types import UNKNOWN, DType, TensorType
from tests.converters.mxnet.exporting import difference, mxnet_outputs, operators
from tests.converters.mxnet.test_exporter import imported
from tests.converters.mxnet.test_import_recurrent import LENGTHS, gluon_layer, unreadable, with_zero_states
from tests.equivalence.case import Case
from tests.equivalence.live import Live
from tests.equivalence.recurrent import BATCH, HIDDEN, LENGTH, WIDTH, count

ZEROS = np.zeros


def weights(width: int, hidden: int, gates: int, ways: int = 1) -> list[np.ndarray[Any, Any]]:
    """W, R and B of a layer."""
    rows = gates * hidden
    return [ZEROS((ways, rows, width)), ZEROS((ways, rows, hidden)), ZEROS((ways, 2 * rows))]


def layer(graph: Graph, data: Value, op: RNN | GRU | LSTM, width: int, **states: Value) -> Value:
    """A layer on (T, N, width), merged to (T, N, D * hidden)."""
    ways, hidden = op.direction.count, op.hidden_size
    assert hidden is not None
    held = [graph.constant(array.astype(np.float32)) for array in weights(width, hidden, op.gates, ways)]
    result = graph.add_node(op, (data, *held, None, *states.values())).outputs[0]
    if ways == 1:
        return graph.add(Squeeze(), result, graph.constant([1], DType.INT64))
    turned = graph.add(Transpose((0, 2, 1, 3)), result)
    return graph.add(Reshape(), turned, graph.constant([0, 0, -1], DType.INT64))


def stacked(*ops: RNN | GRU | LSTM, between: bool = False) -> Graph:
    """Layers one on the other; with `between` something else uses the first one's result."""
    graph = Graph()
    found = graph.add_input("x", TensorType(DType.FLOAT32, (LENGTH, BATCH, WIDTH)))
    width, outputs = WIDTH, []
    for op in ops:
        found = layer(graph, found, op, width)
        assert op.hidden_size is not None
        width = op.hidden_size * op.direction.count
        if between:
            outputs.append(graph.add(Abs(), found))
            between = False
    graph.set_outputs([found, *outputs])
    return graph


BOTH = Direction.BIDIRECTIONAL
CHAINS: tuple[tuple[str, Callable[[], Graph], list[int]], ...] = (
    ("two", lambda: stacked(LSTM(hidden_size=6), LSTM(hidden_size=6)), [2]),
    ("three both ways", lambda: stacked(*[LSTM(hidden_size=6, direction=BOTH)] * 3), [3]),
    ("another width", lambda: stacked(LSTM(hidden_size=6), LSTM(hidden_size=5)), [1, 1]),
    ("another kind", lambda: stacked(LSTM(hidden_size=6), RNN(hidden_size=6)), [1, 1]),
    ("another function", lambda: stacked(RNN(hidden_size=6), RNN(hidden_size=6, activations=("Relu",))), [1, 1]),
    ("another way", lambda: stacked(RNN(hidden_size=6), RNN(hidden_size=6, direction=Direction.REVERSE)), [1, 1]),
    ("two backwards", lambda: stacked(*[RNN(hidden_size=6, direction=Direction.REVERSE)] * 2), [1, 1]),
    ("used between", lambda: stacked(LSTM(hidden_size=6), LSTM(hidden_size=6), between=True), [1, 1]),
    ("unrolled first", lambda: stacked(LSTM(hidden_size=6, clip=1.0), LSTM(hidden_size=6), LSTM(hidden_size=6)), [2]),
)


@pytest.mark.parametrize("build, layers", [entry[1:] for entry in CHAINS], ids=[entry[0] for entry in CHAINS])
def test_layers_of_one_rnn(build: Callable[[], Graph], layers: list[int]) -> None:
    nodes = json.loads(to_symbol(build())[0])["nodes"]
    assert [int(node["attrs"]["num_layers"]) for node in nodes if node["op"] == "RNN"] == layers


def test_gluon_parameters_keep_their_names() -> None:
    generator = np.random.default_rng(3)
    shapes: dict[str, tuple[int, ...]] = {"i2h_weight": (4 * HIDDEN, WIDTH), "h2h_weight": (4 * HIDDEN, HIDDEN)}
    shapes |= {"i2h_bias": (4 * HIDDEN,), "h2h_bias": (4 * HIDDEN,)}
    given = {f"l0_{name}": generator.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    state = (1, BATCH, HIDDEN)
    text, params = to_symbol(
        from_symbol(gluon_layer(), given, {"data0": (LENGTH, BATCH, WIDTH), "data1": state, "data2": state})
    )
    assert operators(text) == ["Reshape"] * 4 + ["_rnn_param_concat", "RNN"]
    assert {name.removeprefix("arg:") for name in params} == set(given)
    assert all(np.array_equal(params[f"arg:{name}"], array) for name, array in given.items())


def test_gluon_parameters_without_elements() -> None:
    state = (1, BATCH, HIDDEN)
    text, params = to_symbol(
        from_symbol(gluon_layer(), None, {"data0": (LENGTH, BATCH, WIDTH), "data1": state, "data2": state})
    )
    assert operators(text) == ["Reshape"] * 4 + ["_rnn_param_concat", "RNN"]
    assert not params


@pytest.mark.parametrize("given", [True, False], ids=["elements", "no elements"])
def test_the_vector_comes_back(given: bool) -> None:
    size = count("lstm", 2, 1)
    vector = np.random.default_rng(5).standard_normal(size).astype(np.float32)
    held = {"weights": vector} if given else None
    graph = from_symbol(with_zero_states(layers=2), held, {"data": (LENGTH, BATCH, WIDTH)})
    text, params = to_symbol(graph)
    assert sorted(operators(text)) == ["RNN", "_zeros", "_zeros"]
    assert set(params) == ({"arg:weights"} if given else set())
    assert all(np.array_equal(array, vector) for array in params.values())


def test_weights_are_not_read_before_they_are_written() -> None:
    graph = Graph()
    data = graph.add_input("x", TensorType(DType.FLOAT32, (LENGTH, BATCH, WIDTH)))
    shapes = [array.shape for array in weights(WIDTH, HIDDEN, 1)]
    held = [graph.add_parameter(f"w{slot}", unreadable(*shape)) for slot, shape in enumerate(shapes)]
    graph.set_outputs([graph.add_node(RNN(hidden_size=HIDDEN), (data, *held), name="rnn").outputs[0]])
    model = export_graph(graph, onnx_terms())
    assert {name: tensor.shape for name, tensor in model.params.items()} == {
        "arg:rnn_parameters": (HIDDEN * (WIDTH + HIDDEN + 2),)
    }


def test_zeros_of_an_open_batch() -> None:
    graph = Graph()
    data = graph.add_input("x", TensorType(DType.FLOAT32, (LENGTH, UNKNOWN, WIDTH)))
    held = [graph.constant(array.astype(np.float32)) for array in weights(WIDTH, HIDDEN, 1)]
    sizes = graph.add_node(RNN(hidden_size=HIDDEN), (data, *held)).outputs[1]
    zeros = graph.add(ConstantOfShape(), graph.add(Shape(), sizes))
    graph.set_outputs([graph.add_node(RNN(hidden_size=HIDDEN), (data, *held, None, zeros)).outputs[1]])
    found = [node for node in json.loads(to_symbol(graph)[0])["nodes"] if node["op"] == "_zeros"]
    assert {node["attrs"]["shape"] for node in found} == {f"(1, 0, {HIDDEN})"}


def test_zeros_that_were_cut_out() -> None:
    graph = Graph()
    data = graph.add_input("x", TensorType(DType.FLOAT32, (LENGTH, UNKNOWN, WIDTH)))
    sizes = graph.add_input("sizes", TensorType(DType.INT64, (3,)))
    zeros = graph.add(ConstantOfShape(), sizes)
    numbers = [graph.constant([number], DType.INT64) for number in (0, 1, 0)]
    found, width = data, WIDTH
    for _ in range(2):
        state = graph.add(Slice(), zeros, *numbers)
        found = layer(graph, found, RNN(hidden_size=HIDDEN), width, initial_h=state)
        width = HIDDEN
    graph.set_outputs([found])
    text, _ = to_symbol(graph)
    assert sorted(operators(text)) == ["RNN", "_zeros"]


def test_steps_that_are_not_known() -> None:
    graph = Graph()
    data = graph.add_input("x", TensorType(DType.FLOAT32, (UNKNOWN, BATCH, WIDTH)))
    held = [graph.constant(array.astype(np.float32)) for array in weights(WIDTH, HIDDEN, 3)]
    graph.set_outputs([graph.add_node(GRU(hidden_size=HIDDEN), (data, *held)).outputs[0]])
    assert "_foreach" in operators(to_symbol(graph)[0])


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    """Live MXNet for the module, with oneDNN: it has no other RNN for CPUs."""
    with Live(onednn=True) as found:
        yield found


@pytest.mark.live
@pytest.mark.parametrize("case", LENGTHS, ids=lambda case: case.name)
def test_lengths_count_on_cpus_too(case: Case, live: Live) -> None:
    graph, data = imported(case)
    text, params = to_symbol(graph)
    held = {name.partition(":")[2]: array for name, array in params.items()}
    found = mxnet_outputs(live, text, held, data)
    expected = list(evaluate(read_symbol(case.symbol_json()), case.arrays()).values())
    assert not difference(found, expected)
