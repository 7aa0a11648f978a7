"""Recurrent layers as modules of torch and as loops, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphir.converters.pytorch import to_module
from graphir.graph import Graph
from graphir.ops.creation import ConstantOfShape
from graphir.ops.recurrent import GRU, LSTM, RNN, Direction
from graphir.ops.shape import Reshape, Squeeze, Transpose
from graphir.tensor import Tensor
from graphir.types import DType, TensorType
from tests.converters.pytorch.cases import Case, Check, Constant, uniform
from tests.converters.pytorch.running import need_torch, run_module, run_session

GATES = {RNN: 1, GRU: 3, LSTM: 4}
BOTH = Direction.BIDIRECTIONAL
BACK = Direction.REVERSE


SIZES = {"steps": 5, "batch": 3, "features": 4, "hidden": 2}


def case(
    op: Any, *, lengths: Any = None, states: str = "", peepholes: bool = False, computed: bool = False,
    text: str | None = None, tolerance: float | None = None, **others: Any,
) -> Case:  # fmt: skip
    """A layer with random weights; `states` names those that are given: h, c. `others` are sizes, and `dtype`,
    `open_steps` and `bias` where they are not float32, False and True."""
    steps, batch, features, hidden = (others.get(name, size) for name, size in SIZES.items())
    dtype, open_steps, bias = others.get("dtype", "float32"), others.get("open_steps", False), others.get("bias", True)
    count, rows = op.direction.count, GATES[type(op)] * hidden

    def weights(*shape: int, seed: int) -> Any:
        drawn = uniform(*shape, low=-1, high=1, dtype=dtype, seed=seed)
        return drawn if computed else Constant(drawn)

    def state(name: str) -> Any:
        return uniform(count, batch, hidden, dtype=dtype, seed=ord(name)) if name in states else None

    operands = [
        uniform(steps, batch, features, dtype=dtype),
        weights(count, rows, features, seed=1),
        weights(count, rows, hidden, seed=2),
        weights(count, 2 * rows, seed=3) if bias else None,
        None if lengths is None else lengths,
        state("h"),
    ]
    if isinstance(op, LSTM):
        operands += [state("c"), weights(count, 3 * hidden, seed=4) if peepholes else None]
    while operands[-1] is None:
        operands.pop()
    return Case(op, *operands, batch=open_steps, text=text, tolerance=tolerance)


LENGTHS = np.array([5, 2, 3], np.int32)
SOFT = ("Softsign", "Softplus", "Relu")
CASES = [
    case(RNN(2), text="self.y = nn.RNN(4, 2)\n"),
    case(RNN(2, BOTH, ("Relu", "Relu")), text='nn.RNN(4, 2, nonlinearity="relu", bidirectional=True)'),
    case(RNN(2, BACK), states="h", open_steps=True, text="self.y(in0.flip(0), in5)"),
    case(RNN(2, BOTH, ("Relu", "Tanh"))),
    case(RNN(2, activations=("Affine",), activation_alpha=(0.5,), activation_beta=(0.25,))),
    case(RNN(2, activations=("ScaledTanh",), activation_alpha=(1.5,), activation_beta=(0.5,), clip=0.7)),
    case(RNN(2, activations=("ThresholdedRelu",), activation_alpha=(0.3,)), lengths=LENGTHS, states="h"),
    case(RNN(2), computed=True, bias=False),
    case(GRU(2, linear_before_reset=True), text="nn.GRU(4, 2)"),
    case(GRU(2, BOTH, linear_before_reset=True), bias=False, states="h"),
    case(GRU(2, BACK, linear_before_reset=True), batch=1, open_steps=True),
    case(GRU(2, linear_before_reset=True), dtype="float64", tolerance=1e-6),
    case(GRU(2), text="rows, h = gru("),
    case(GRU(2, BOTH), bias=False, states="h"),
    case(GRU(2, BACK), lengths=LENGTHS, states="h"),
    case(GRU(2, BOTH, linear_before_reset=True), lengths=LENGTHS),
    case(GRU(2, activations=("HardSigmoid", "LeakyRelu"), activation_alpha=(0.25, 0.1), activation_beta=(0.4,))),
    case(GRU(3, clip=0.4), hidden=3, computed=True, open_steps=True),
    case(LSTM(2), text="nn.LSTM(4, 2)"),
    case(LSTM(2), bias=False, states="hc", text="(in5, in6)"),
    case(LSTM(2, BOTH), states="h", text="torch.zeros_like(in5)"),
    case(LSTM(2, BACK), states="c", open_steps=True),
    case(LSTM(3, BOTH), hidden=3, steps=1, batch=1, features=1),
    case(LSTM(2), peepholes=True, text="peepholes=self."),
    case(LSTM(2, BOTH), peepholes=True, lengths=LENGTHS, states="hc"),
    case(LSTM(2, BACK, clip=0.3, input_forget=True), lengths=np.array([0, 5, 1], np.int32)),
    case(LSTM(2, activations=SOFT), open_steps=True),
    case(LSTM(2, BOTH, ("Sigmoid", "Elu", "Tanh") * 2, activation_alpha=(0.5, 0.25))),
    case(LSTM(2, clip=0.5), computed=True, states="hc"),
    case(LSTM(2), lengths=Constant(np.array([5, 5, 5], np.int32)), text="nn.LSTM(4, 2)"),
]


@pytest.mark.parametrize("row", CASES, ids=str)
def test_layer(row: Case, check: Check) -> None:
    check(row)


def test_a_layer_reads_as_a_person_writes_it() -> None:
    """The axis of directions, which frameworks do not have, is not made only to be taken away."""
    need_torch()
    graph, x = _layer(Direction.FORWARD)
    graph.set_outputs([graph.add(Squeeze(), graph.nodes[0].outputs[0], graph.constant([1], DType.INT64), name="out")])
    text = _checked(graph, x)
    assert "        x, _ = self.gru(x)  # (N, 3, 2)\n        return x\n" in text


def test_joined_directions_are_what_torch_gives() -> None:
    need_torch()
    graph, x = _layer(BOTH)
    turned = graph.add(Transpose((0, 2, 1, 3)), graph.nodes[0].outputs[0], name="turned")
    graph.set_outputs([graph.add(Reshape(), turned, graph.constant([0, 0, -1], DType.INT64), name="out")])
    text = _checked(graph, x)
    assert "        x, _ = self.gru(x)  # (N, 3, 4)\n        return x\n" in text


def test_directions_are_joined_with_the_batch_first() -> None:
    """As Keras' Bidirectional has them: one module gives the rows as they are, whatever their order of axes."""
    need_torch()
    graph, x = _layer(BOTH, batch_first=True)
    turned = graph.add(Transpose((2, 0, 1, 3)), graph.nodes[-1].outputs[0], name="turned")
    graph.set_outputs([graph.add(Reshape(), turned, graph.constant([0, 0, -1], DType.INT64), name="out")])
    text = _checked(graph, x)
    assert "batch_first=True, bidirectional=True" in text
    assert "        x, _ = self.gru(x)  # (N, 3, 4)\n        return x\n" in text


@pytest.mark.parametrize(("number", "reads"), [(0.0, "self.gru(x)"), (0.5, "self.gru(x, ")])
def test_first_states_that_are_zero_are_not_written(number: float, reads: str) -> None:
    need_torch()
    graph, x = _layer(Direction.FORWARD)
    (gru,) = graph.nodes
    sizes = graph.constant([1, 3, 2], DType.INT64)
    state = graph.add(ConstantOfShape(number), sizes, name="state")
    node = graph.add_node(gru.op, [*gru.inputs, None, state], name="layer")
    graph.set_outputs([graph.add(Squeeze(), node.outputs[0], graph.constant([1], DType.INT64), name="out")])
    assert reads.replace("gru", "layer") in _checked(graph, x)


def _layer(direction: Direction, *, batch_first: bool = False) -> tuple[Graph, Any]:
    graph, count = Graph("layer"), direction.count
    data = graph.add_input("data", TensorType(DType.FLOAT32, ("N", 3, 4)))
    operands: list[Any] = [graph.add(Transpose((1, 0, 2)), data) if batch_first else data]
    for seed, shape in enumerate(((count, 6, 4), (count, 6, 2), (count, 12))):
        operands.append(graph.constant(uniform(*shape, seed=seed), name="weight"))
    graph.add_node(GRU(2, direction, linear_before_reset=True), operands, name="gru")
    return graph, uniform(5, 3, 4)


def stacked(op: Any, layers: int, *, batch_first: bool, rows: bool = True, bias: bool = True) -> tuple[Graph, Any]:
    """Return layers on layers, and data for them; with `batch_first` turned before and behind, as Keras has them. The
    result is the last state without `rows`."""
    graph, count, gates = Graph("stack"), op.direction.count, GATES[type(op)]
    x = graph.add_input("data", TensorType(DType.FLOAT32, ("N", 5, 4) if batch_first else (5, "N", 4)))
    if batch_first:
        x = graph.add(Transpose((1, 0, 2)), x)
    for layer in range(layers):
        shapes = ((count, 2 * gates, 4 if layer == 0 else 2 * count), (count, 2 * gates, 2), (count, 4 * gates))
        weights = [graph.constant(uniform(*shape, low=-1, high=1, seed=layer + place), name=f"weight{layer}_{place}")
                   for place, shape in enumerate(shapes) if bias or place < 2]  # fmt: skip
        node = graph.add_node(op, [x, *weights], name=f"rnn{layer}")
        if count == 2:
            turned = graph.add(Transpose((0, 2, 1, 3)), node.outputs[0])
            x = graph.add(Reshape(), turned, graph.constant([0, 0, -1], DType.INT64))
        else:
            x = graph.add(Squeeze(), node.outputs[0], graph.constant([1], DType.INT64))
    x = graph.add(Transpose((1, 0, 2)), x) if batch_first else x
    graph.set_outputs([x if rows else node.outputs[1]])
    return graph, uniform(3, 5, 4) if batch_first else uniform(5, 3, 4)


STACKS: list[tuple[Any, dict[str, Any], str]] = [
    (LSTM(2), {"layers": 2, "batch_first": True}, "nn.LSTM(4, 2, num_layers=2, batch_first=True)"),
    (LSTM(2), {"layers": 3, "batch_first": False}, "nn.LSTM(4, 2, num_layers=3)"),
    (LSTM(2, BOTH), {"layers": 2, "batch_first": True, "bias": False},
     "num_layers=2,\n            bias=False,\n            batch_first=True,\n            bidirectional=True,\n"),
    (GRU(2, linear_before_reset=True), {"layers": 2, "batch_first": False}, "nn.GRU(4, 2, num_layers=2)"),
    (GRU(2, BOTH, linear_before_reset=True), {"layers": 1, "batch_first": True}, "batch_first=True"),
    (RNN(2), {"layers": 2, "batch_first": True}, "nn.RNN(4, 2, num_layers=2, batch_first=True)"),
    (RNN(2, BACK), {"layers": 2, "batch_first": True}, "self.rnn1 = nn.RNN(2, 2)"),
    (LSTM(2), {"layers": 1, "batch_first": True, "rows": False}, "nn.LSTM(4, 2, batch_first=True)"),
    (LSTM(2), {"layers": 2, "batch_first": True, "rows": False}, "nn.LSTM(2, 2, batch_first=True)"),
    (GRU(2, linear_before_reset=True), {"layers": 2, "batch_first": True, "rows": False},
     "        x, _ = self.rnn0(x)\n        _, h = self.rnn1(x)"),
    (GRU(2), {"layers": 2, "batch_first": True}, "gru("),
]


@pytest.mark.parametrize(("op", "options", "part"), STACKS)
def test_stacked_layers_are_one_module(op: Any, options: dict[str, Any], part: str) -> None:
    need_torch()
    text = _checked(*stacked(op, **options))
    assert part in text, text


def _checked(graph: Graph, x: Any) -> str:
    found, text = run_module(graph, [x])
    np.testing.assert_allclose(found[0], run_session(graph, {"data": x})[0], rtol=1e-5, atol=1e-6)
    return text


def test_the_weights_of_a_layer_have_their_sources() -> None:
    """Those that operands hold, and those that were computed from parameters."""
    graph = Graph("net")
    data = graph.add_input("data", TensorType(DType.FLOAT32, (5, 3, 4)))
    shapes = {"input_weights": (1, 8, 4), "state_weights": (1, 8, 2), "all_biases": (16,)}
    weights = {
        name: graph.add_parameter(name, Tensor.of(np.ones(shape, np.float32))) for name, shape in shapes.items()
    }
    sizes = graph.add_parameter("sizes", Tensor.of(np.array([1, 16])))
    bias = graph.add(Reshape(), weights.pop("all_biases"), sizes, name="bias")
    node = graph.add_node(LSTM(2), [data, *weights.values(), bias], name="lstm")
    graph.set_outputs([node.outputs[0]])

    sources = {row["key"]: row["source"] for row in to_module(graph).names}

    assert sources == {
        "lstm.weight_ih_l0": "input_weights", "lstm.weight_hh_l0": "state_weights",
        "lstm.bias_ih_l0": "all_biases", "lstm.bias_hh_l0": "all_biases",
    }  # fmt: skip
