"""The import of fused recurrent networks: where their parameters come from, and what cannot be said."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from graphir.converters.mxnet import from_symbol
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.converters.onnx import to_model
from graphir.errors import FormatError, GraphirError, ImportFailure, UnsupportedOpError
from graphir.graph import Graph
from graphir.ops.recurrent import LSTM
from graphir.tensor import Tensor
from graphir.types import DType, TensorType, symbol
from tests.equivalence.recurrent import HIDDEN, LENGTH, WIDTH, count, projected, recurrent
from tests.equivalence.test_onnx import distance, imported, run_model

LENGTHS = [
    recurrent(f"lengths_{mode}_{layers}_{directions}", mode, layers, directions, use_sequence_length=True,
              state_outputs=True)
    for mode in ("lstm", "gru", "rnn_tanh")
    for layers, directions in ((1, 1), (2, 2))
]  # fmt: skip


def node(op: str, name: str, *inputs: tuple[int, int], **attrs: object) -> dict[str, Any]:
    """One NNVM node."""
    return {
        "op": op,
        "name": name,
        "attrs": {key: str(value) for key, value in attrs.items()},
        "inputs": [[source, slot, 0] for source, slot in inputs],
    }


def document(*nodes: dict[str, Any]) -> str:
    """A symbol whose last node is its output."""
    variables = [index for index, entry in enumerate(nodes) if entry["op"] == "null"]
    heads = [[len(nodes) - 1, 0, 0]]
    version = {"mxnet_version": ["int", 10901]}
    return json.dumps({"nodes": nodes, "arg_nodes": variables, "heads": heads, "attrs": version})


def with_zero_states(mode: str = "lstm", layers: int = 1, **attrs: object) -> str:
    """An RNN as `mx.rnn.FusedRNNCell` unrolls it: its begin states are zeros of an open batch size."""
    widths = (attrs.get("projection_size", HIDDEN), HIDDEN)
    states = 2 if mode == "lstm" else 1
    zeros = [node("_zeros", f"begin_{index}", shape=f"({layers}, 0, {widths[index]})") for index in range(states)]
    inputs = [(index, 0) for index in range(2 + states)]
    attrs = {"mode": mode, "state_size": HIDDEN, "num_layers": layers, **attrs}
    return document(node("null", "data"), node("null", "weights"), *zeros, node("RNN", "rnn", *inputs, **attrs))


def gluon_layer() -> str:
    """An LSTM as gluon exports it: its parameters are variables of their own, flattened and joined."""
    shapes: dict[str, tuple[int, ...]] = {"i2h_weight": (4 * HIDDEN, WIDTH), "h2h_weight": (4 * HIDDEN, HIDDEN)}
    shapes |= {"i2h_bias": (4 * HIDDEN,), "h2h_bias": (4 * HIDDEN,)}
    nodes = [node("null", "data0")]
    flat = []
    for name, shape in shapes.items():
        nodes.append(node("null", f"l0_{name}", __shape__=shape, __lr_mult__=1.0, __dtype__=0))
        nodes.append(node("Reshape", f"flat_{name}", (len(nodes) - 1, 0), shape="-1"))
        flat.append((len(nodes) - 1, 0))
    nodes.append(node("_rnn_param_concat", "joined", *flat, num_args=4, dim=0))
    nodes += [node("null", "data1"), node("null", "data2")]
    inputs = [(0, 0), *((len(nodes) - place, 0) for place in (3, 2, 1))]
    nodes.append(node("RNN", "rnn", *inputs, mode="lstm", state_size=HIDDEN, num_layers=1, state_outputs=True))
    return document(*nodes)


def unreadable(*shape: int) -> Tensor:
    """A tensor that must not be read."""

    def read() -> np.ndarray[Any, Any]:
        raise AssertionError("the weights were read")

    return Tensor.computed(DType.FLOAT32, shape, read)


def operators(graph: Graph) -> list[str]:
    """The operators' names in order."""
    return [entry.op.name for entry in graph.nodes]


@pytest.mark.parametrize("opset", [13, 17, 22])
@pytest.mark.parametrize("case", LENGTHS, ids=lambda case: case.name)
def test_sequence_lengths(case: Any, opset: int) -> None:
    expected = list(evaluate(read_symbol(case.symbol_json()), case.arrays()).values())
    graph, feeds = imported(case)
    found = run_model(to_model(graph, opset=opset), feeds)
    assert max(map(distance, found, expected)) < 2e-5


def test_sequence_lengths_are_a_decision() -> None:
    graph, _ = imported(LENGTHS[0])
    assert "sequence length" in {decision.kind for decision in graph.decisions}


def test_zero_begin_states_are_left_out_for_any_batch() -> None:
    weights = np.zeros(count("lstm", 1, 1), np.float32)
    graph = from_symbol(with_zero_states(), {"weights": weights}, {"data": ("T", "N", WIDTH)})
    assert operators(graph) == ["LSTM", "Squeeze"]
    assert graph.outputs[0].type == TensorType(DType.FLOAT32, (symbol("T"), symbol("N"), HIDDEN))


def test_weights_stay_unread() -> None:
    tensor = unreadable(count("lstm", 2, 1))
    graph = from_symbol(with_zero_states(layers=2), {"weights": tensor}, {"data": (LENGTH, 3, WIDTH)})
    names = {value.name: value.shape for value in graph.parameters if value.name.startswith("rnn_l")}
    assert names == {
        "rnn_l0_W": (1, 4 * HIDDEN, WIDTH),
        "rnn_l0_R": (1, 4 * HIDDEN, HIDDEN),
        "rnn_l0_B": (1, 8 * HIDDEN),
        "rnn_l1_W": (1, 4 * HIDDEN, HIDDEN),
        "rnn_l1_R": (1, 4 * HIDDEN, HIDDEN),
        "rnn_l1_B": (1, 8 * HIDDEN),
    }


def test_features_follow_from_the_number_of_parameters() -> None:
    weights = {"weights": unreadable(count("gru", 1, 1))}
    graph = from_symbol(with_zero_states("gru"), weights, {"data": (LENGTH, 3, None)})
    assert graph["data"].shape == (LENGTH, 3, WIDTH)


def test_number_of_parameters_follows_from_the_features() -> None:
    graph = from_symbol(with_zero_states("gru", 2), None, {"data": (LENGTH, 3, WIDTH)})
    assert graph["weights"].shape == (count("gru", 2, 1),)
    assert graph.outputs[0].shape == (LENGTH, 3, HIDDEN)


def test_features_are_asked_for() -> None:
    with pytest.raises(ImportFailure, match=r"rnn \(RNN\): RNN needs the sizes of data"):
        from_symbol(with_zero_states(), None, {"data": (LENGTH, 3, None)})


def test_parameters_of_gluon_without_elements() -> None:
    graph = from_symbol(gluon_layer(), None, {"data0": (LENGTH, 3, WIDTH)})
    layer = next(entry for entry in graph.nodes if isinstance(entry.op, LSTM))
    assert [value.name for value in graph.inputs] == ["data0", "data1", "data2"]
    assert graph["l0_i2h_weight"] in graph.parameters
    assert [value.shape for value in layer.inputs[1:4] if value is not None] == [(1, 24, 4), (1, 24, 6), (1, 48)]


def test_parameters_of_gluon_become_initializers() -> None:
    shapes = {"l0_i2h_weight": (24, 4), "l0_h2h_weight": (24, 6), "l0_i2h_bias": (24,), "l0_h2h_bias": (24,)}
    arrays = {name: np.arange(np.prod(shape), dtype=np.float32).reshape(shape) for name, shape in shapes.items()}
    graph = from_symbol(gluon_layer(), arrays, {"data0": (LENGTH, 3, WIDTH)})
    assert operators(graph) == ["LSTM", "Squeeze"]
    stored = graph["rnn_l0_W"].tensor
    assert stored is not None
    gates = np.split(arrays["l0_i2h_weight"], 4)
    np.testing.assert_array_equal(stored.numpy()[0], np.concatenate([gates[0], gates[3], gates[1], gates[2]]))


def test_projection_with_dependent_rows_is_found_when_it_is_read() -> None:
    case = projected("dependent", 1, 1)
    arrays = case.arrays()
    parameters = np.zeros_like(arrays["rnn0_parameters"])
    shapes = {name: array.shape for name, array in arrays.items() if name != "rnn0_parameters"}
    graph = from_symbol(case.symbol_json(), {"rnn0_parameters": parameters}, shapes)
    with pytest.raises(FormatError, match="rnn0: the projection of layer 0 has dependent rows"):
        to_model(graph)


REFUSED = (
    ({"lstm_state_clip_min": -1.0, "lstm_state_clip_max": 1.0}, "unroll the cell"),
    ({"projection_size": 2, "mode": "gru"}, "for mode lstm only"),
    ({"projection_size": 2}, "give the weights"),
)


@pytest.mark.parametrize(("attrs", "message"), REFUSED)
def test_refused(attrs: dict[str, object], message: str) -> None:
    with pytest.raises(UnsupportedOpError, match=f"rnn.*{message}"):
        from_symbol(with_zero_states(**attrs), None, {"data": (LENGTH, 3, WIDTH)})  # type: ignore[arg-type]


def test_wrong_number_of_parameters_is_refused() -> None:
    with pytest.raises(GraphirError, match="weights has 100 elements; 1 layer"):
        from_symbol(with_zero_states(), {"weights": np.zeros(100, np.float32)}, {"data": (LENGTH, 3, WIDTH)})


def test_zeros_of_open_sizes_in_a_where() -> None:
    """As `mx.rnn.ZoneoutCell` begins: MXNet knows the zeros' sizes from the other operand."""
    nodes = [node("null", "data"), node("_zeros", "begin", shape="(0, 0)")]
    text = document(*nodes, node("where", "chosen", (0, 0), (0, 0), (1, 0)))
    graph = from_symbol(text, {}, {"data": ("N", 3)})
    assert graph["chosen_output"].type == TensorType(DType.FLOAT32, (symbol("N"), 3))


def test_zeros_of_open_sizes_on_both_sides_of_a_where() -> None:
    """A ZoneoutCell's first step chooses between its begin state and itself: the condition says how large it is."""
    text = document(
        node("null", "mask"), node("_zeros", "begin", shape="(0, 3)"),
        node("where", "state", (0, 0), (1, 0), (1, 0)),
    )  # fmt: skip
    graph = from_symbol(text, shapes={"mask": (5, 3)})
    assert graph.outputs[0].shape == (5, 3)
    (found,) = run_model(to_model(graph), {"mask": np.ones((5, 3), np.float32)})
    assert np.array_equal(found, np.zeros((5, 3)))
