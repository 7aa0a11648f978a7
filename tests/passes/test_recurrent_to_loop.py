"""Recurrent layers as loops: the same numbers as onnxruntime's operators, and back again."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper

from graphir.converters.mxnet import to_symbol
from graphir.converters.onnx import from_model, to_model
from graphir.errors import GraphirError
from graphir.graph import Graph
from graphir.ops.recurrent import GRU, LSTM, RNN
from graphir.passes.inline import GraphNames
from graphir.passes.recurrent.loops import recognize_recurrent_loops
from graphir.passes.recurrent.to_loop import write_as_loop
from tests.equivalence.live import LivePair
from tests.passes.written import feed, run
from tests.requirements import needing
from tests.typed import untyped

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
STATES = {"RNN": ("h0",), "GRU": ("h0",), "LSTM": ("h0", "c0")}


def layer(
    kind: str, operands: str = "b", steps: int | str = 5, hidden: int = 3, **attributes: Any
) -> onnx.ModelProto:
    """A model of one layer over x (steps, 2, 4); `operands` names the optional ones: b, h (states), p, n (lengths)."""
    ways = 2 if attributes.get("direction") == "bidirectional" else 1
    rows = GATES[kind] * hidden
    shapes = {"x": (steps, 2, 4), "w": (ways, rows, 4), "r": (ways, rows, hidden), "b": (ways, 2 * rows), "n": (2,),
              "h0": (ways, 2, hidden), "c0": (ways, 2, hidden), "p": (ways, 3 * hidden)}  # fmt: skip
    names = ["x", "w", "r", "b" if "b" in operands else "", "n" if "n" in operands else ""]
    names += [name if "h" in operands else "" for name in STATES[kind]]
    names += ["p"] if "p" in operands else []
    outputs = ["y", "y_h", "y_c"][: 1 + len(STATES[kind])]
    node = helper.make_node(kind, names, outputs, hidden_size=hidden, **attributes)
    kinds = {"n": TensorProto.INT32}
    inputs = [
        helper.make_tensor_value_info(name, kinds.get(name, TensorProto.FLOAT), shapes[name]) for name in names if name
    ]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph([node], "layer", inputs, results)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def written(model: onnx.ModelProto) -> Graph:
    """The model with a loop in the place of its layer."""
    graph = from_model(model)
    (node,) = graph.nodes
    write_as_loop(graph, node, GraphNames(graph))
    graph.check()
    return graph


BOTH, BACK = {"direction": "bidirectional"}, {"direction": "reverse"}
ROWS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("rnn", "RNN", "b", {}),
    ("rnn-both", "RNN", "bh", BOTH | {"activations": ["Relu", "Tanh"]}),
    ("rnn-affine", "RNN", "", {"activations": ["Affine"], "activation_alpha": [0.5], "activation_beta": [0.25]}),
    ("rnn-linear", "RNN", "b", {"activations": ["Affine"], "activation_alpha": [1.0], "activation_beta": [0.0]}),
    ("rnn-clip", "RNN", "b", {"clip": 0.3}),
    ("gru", "GRU", "bh", {}),
    ("gru-late", "GRU", "bh", {"linear_before_reset": 1}),
    ("gru-without-bias", "GRU", "", BACK),
    ("gru-both", "GRU", "bh", BOTH | {"linear_before_reset": 1}),
    ("gru-functions", "GRU", "b", {"activations": ["HardSigmoid", "Softsign"], "activation_alpha": [0.3],
                                   "activation_beta": [0.4]}),
    ("gru-clip", "GRU", "b", {"clip": 0.5, "linear_before_reset": 1}),
    ("lstm", "LSTM", "bh", {}),
    ("lstm-zeros", "LSTM", "", BACK),
    ("lstm-both", "LSTM", "bh", BOTH),
    ("lstm-peepholes", "LSTM", "bhp", BACK),
    ("lstm-peepholes-both", "LSTM", "bp", BOTH),
    ("lstm-clip", "LSTM", "b", {"clip": 0.4}),
    ("lstm-functions", "LSTM", "bh", {"activations": ["Sigmoid", "LeakyRelu", "Elu"], "activation_alpha": [0.1, 0.7]}),
    ("rnn-lengths", "RNN", "bhn", {}),
    ("gru-lengths", "GRU", "bhn", BACK),
    ("lstm-lengths", "LSTM", "bhnp", BOTH),
    ("lstm-functions-both", "LSTM", "b", BOTH | {"activations": ["Sigmoid", "Tanh", "Tanh", "HardSigmoid", "Relu",
                                                                 "Softplus"]}),
]  # fmt: skip
# The numbers of one direction; what `recurrent_loops` finds has no clip and no lengths.
NOT_TOLD = ("rnn-affine", "lstm-functions-both", "rnn-lengths", "gru-lengths", "lstm-lengths")
BACK_AGAIN = [row for row in ROWS if "clip" not in row[3] and row[0] not in NOT_TOLD]


@pytest.mark.parametrize(("kind", "operands", "attributes"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_loop_computes_what_the_layer_does(kind: str, operands: str, attributes: dict[str, object]) -> None:
    model = layer(kind, operands, **untyped(attributes))
    graph = written(model)
    assert not [node for node in graph.nodes if isinstance(node.op, RNN | GRU | LSTM)]
    before, after = run(model), run(to_model(graph, opset=21))
    assert list(after) == list(before)
    for name, wanted in before.items():
        np.testing.assert_allclose(after[name], wanted, rtol=2e-5, atol=2e-6)


SOME = 7  # steps where the model leaves them open
OPEN = [("RNN", "bh", {}), ("GRU", "", BACK), ("LSTM", "bhp", BOTH)]


@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize(("kind", "operands", "attributes"), OPEN, ids=[row[0] for row in OPEN])
def test_of_an_open_number_of_steps_too(
    kind: str, operands: str, attributes: dict[str, object], steps: int
) -> None:
    model = layer(kind, operands, "T", **untyped(attributes))
    graph = written(model)
    assert [node.op.name for node in graph.nodes if node.subgraphs] == ["Scan"] * (2 if attributes is BOTH else 1)
    before, after = run(model, {"T": steps}), run(to_model(graph, opset=21), {"T": steps})
    for name, wanted in before.items():
        np.testing.assert_allclose(after[name], wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    ("kind", "operands", "attributes"), [row[1:] for row in BACK_AGAIN], ids=[row[0] for row in BACK_AGAIN]
)
def test_layer_is_told_again(kind: str, operands: str, attributes: dict[str, object]) -> None:
    model = layer(kind, operands, **untyped(attributes))
    graph = written(model)
    assert recognize_recurrent_loops(graph)
    graph.check()
    found = [node.op for node in graph.nodes if isinstance(node.op, RNN | GRU | LSTM)]
    both = attributes.get("direction") == "bidirectional"
    assert [op.name for op in found] == [kind] * (2 if both else 1)
    ways = ["forward", "reverse"] if both else [attributes.get("direction", "forward")]
    assert [op.direction.value for op in found] == ways
    before, after = run(model), run(to_model(graph, opset=21))
    for name, wanted in before.items():
        np.testing.assert_allclose(after[name], wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (layer("LSTM", "bn", "T"), "sequence_lens, and the number of steps of x is open"),
        (layer("RNN", activations=["Gelu"]), "none of ONNX's"),
    ],
    ids=["lengths", "activation"],
)
def test_what_cannot_be_a_loop_stays_as_it_is(model: onnx.ModelProto, reason: str) -> None:
    graph = from_model(model)
    shown = str(graph)
    with pytest.raises(GraphirError, match=reason):
        write_as_loop(graph, next(iter(graph.nodes)), GraphNames(graph))
    graph.check()
    assert str(graph) == shown


@pytest.mark.one_of(8)
@pytest.mark.live
@pytest.mark.parametrize("steps", [1500, "T"])
@pytest.mark.parametrize(
    ("kind", "attributes"),
    [("GRU", {}), ("GRU", BOTH), ("LSTM", {"input_forget": 1}), ("LSTM", {"clip": 0.5, **BACK})],
    ids=["gru", "gru-both", "lstm-coupled", "lstm-clip-backwards"],
)
def test_layers_of_many_or_open_steps_become_mxnet_s_loop(
    kind: str, attributes: dict[str, object], steps: int | str
) -> None:
    model = layer(kind, "bh", steps, **untyped(attributes))
    symbol, params = to_symbol(from_model(model))
    assert '"_foreach"' in symbol
    feeds = {item.name: run_feed(item) for item in model.graph.input}
    with LivePair() as live, needing("MXNet"):
        found = list(live.run(symbol, {key.partition(":")[2]: held for key, held in params.items()} | feeds).values())
    for value, wanted in zip(found, run(model, {"T": SOME}).values(), strict=True):
        assert value.shape == wanted.shape
        np.testing.assert_allclose(value, wanted, rtol=5e-5, atol=2e-5)


def run_feed(item: onnx.ValueInfoProto) -> NDArray[Any]:
    """What `run` feeds to an input."""
    return feed(tuple(dim.dim_value or SOME for dim in item.type.tensor_type.shape.dim), np.dtype("float32"))
