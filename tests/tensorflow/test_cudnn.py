"""CudnnRNN, which TensorFlow runs on GPUs only, against its definition in numpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import graphir
from graphir.converters.tensorflow import load
from graphir.errors import GraphirError
from tests.tensorflow.graphdef import const, graph_def, node, placeholder

Array = NDArray[Any]
GATES = {"lstm": 4, "gru": 3, "rnn_relu": 1, "rnn_tanh": 1}


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x))."""
    return 1.0 / (1.0 + np.exp(-x))


@dataclass(frozen=True)
class Row:
    """One call: x (steps, N, features), states (layers * directions, N, units)."""

    op: str
    mode: str
    layers: int = 1
    both: bool = False
    lengths: tuple[int, ...] = ()
    time_major: bool = True
    computed: bool = False
    steps: int = 5
    features: int = 3
    units: int = 4

    @property
    def batch(self) -> int:
        """As many samples as lengths, or 2."""
        return len(self.lengths) or 2

    @property
    def blocks(self) -> int:
        """Layers times directions."""
        return self.layers * (1 + self.both)

    def parameters(self, random: np.random.Generator) -> list[list[list[Array]]]:
        """For each block its input's and its state's weights, then the biases of each: one of each gate."""
        found = []
        for block in range(self.blocks):
            width = self.features if block < 1 + self.both else self.units * (1 + self.both)
            shapes = [(self.units, width), (self.units, self.units), (self.units,), (self.units,)]
            found.append([[random.standard_normal(shape) * 0.5 for _ in range(GATES[self.mode])] for shape in shapes])
        return found


def flat(parameters: list[list[list[Array]]]) -> Array:
    """cuDNN's vector: all weights, then all biases."""
    weights = [gate.reshape(-1) for block in parameters for kind in block[:2] for gate in kind]
    biases = [gate for block in parameters for kind in block[2:] for gate in kind]
    return np.concatenate([*weights, *biases]).astype(np.float32)


def one_step(mode: str, block: list[list[Array]], x: Array, h: Array, c: Array) -> tuple[Array, Array]:
    """The next states by the formulas of cuDNN's documentation."""
    left = [x @ weight.T + bias for weight, bias in zip(block[0], block[2], strict=True)]
    right = [h @ weight.T + bias for weight, bias in zip(block[1], block[3], strict=True)]
    if mode == "lstm":
        i, f, new, o = (a + b for a, b in zip(left, right, strict=True))
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(new)
        return sigmoid(o) * np.tanh(c), c
    if mode == "gru":
        reset, update = (sigmoid(left[gate] + right[gate]) for gate in (0, 1))
        return (1 - update) * np.tanh(left[2] + reset * right[2]) + update * h, c
    return (np.tanh if mode == "rnn_tanh" else lambda value: np.maximum(value, 0))(left[0] + right[0]), c


def reference(row: Row, parameters: list[list[list[Array]]], x: Array, h: Array, c: Array) -> list[Array]:
    """Output and last states, sample by sample."""
    lengths = row.lengths or (row.steps,) * row.batch
    h, c = h.astype(np.float64), c.astype(np.float64)
    for layer in range(row.layers):
        ways = []
        for way in range(1 + row.both):
            block = layer * (1 + row.both) + way
            out = np.zeros((row.steps, row.batch, row.units))
            for sample, length in enumerate(lengths):
                for step in range(length)[:: -1 if way else 1]:
                    state, cell = h[block, sample], c[block, sample]
                    state, cell = one_step(row.mode, parameters[block], x[step, sample], state, cell)
                    h[block, sample], c[block, sample], out[step, sample] = state, cell, state
            ways.append(out)
        x = np.concatenate(ways, -1)
    return [x, h, c]


ROWS = [
    Row("CudnnRNN", "lstm"),
    Row("CudnnRNN", "rnn_relu", layers=2),
    Row("CudnnRNNV2", "gru", both=True),
    Row("CudnnRNNV2", "lstm", layers=3, both=True, features=6, units=2),
    Row("CudnnRNNV2", "rnn_tanh", computed=True),
    Row("CudnnRNNV3", "lstm", layers=2, both=True, lengths=(5, 3, 1)),
    Row("CudnnRNNV3", "gru", layers=2, lengths=(2, 5), time_major=False),
    Row("CudnnRNNV3", "lstm", both=True, lengths=(5, 5), time_major=False, computed=True),
    Row("CudnnRNNV3", "rnn_relu", both=True, lengths=(4, 5)),
]


def model(row: Row, vector: Array, shapes: dict[str, tuple[int, ...]], **attrs: Any) -> bytes:
    """The GraphDef; `computed` parameters are the sum of two constants."""
    inputs = ["x", "h", "c", "p"]
    nodes = [placeholder(name, "float32", shape) for name, shape in shapes.items()]
    if row.computed:
        nodes += [const("p0", vector / 2), const("p1", vector / 2), node("Add", "p", ["p0", "p1"], T="float32")]
    else:
        nodes.append(const("p", vector))
    given: dict[str, Any] = {"is_training": False, "rnn_mode": row.mode, "T": "float32", **attrs}
    given["direction"] = "bidirectional" if row.both else "unidirectional"
    if row.op == "CudnnRNNV3":
        nodes.append(const("lengths", np.array(row.lengths, np.int32)))
        inputs.append("lengths")
        given["time_major"] = row.time_major
    return graph_def(*nodes, node(row.op, "y", inputs, **given))


def drawn(row: Row) -> tuple[list[list[list[Array]]], dict[str, Array]]:
    """The parameters and the inputs."""
    random = np.random.Generator(np.random.PCG64(3))
    shapes = {
        "x": (row.steps, row.batch, row.features),
        "h": (row.blocks, row.batch, row.units),
        "c": (row.blocks, row.batch, row.units),
    }
    arrays = {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    return row.parameters(random), arrays


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_equals_its_definition(row: Row) -> None:
    parameters, arrays = drawn(row)
    wanted = reference(row, parameters, **arrays)[: 3 if row.mode == "lstm" else 2]
    if not row.time_major:
        arrays = {name: np.ascontiguousarray(array.swapaxes(0, 1)) for name, array in arrays.items()}
        wanted = [array.swapaxes(0, 1) for array in wanted]
    graph_bytes = model(row, flat(parameters), {name: array.shape for name, array in arrays.items()})
    graph = load(graph_bytes, outputs=[f"y:{slot}" for slot in range(len(wanted))])
    graph.check()
    names = {value.name for value in graph.inputs}
    found = graphir.Session(graph).run({name: array for name, array in arrays.items() if name in names})
    differences = [np.abs(value - real).max() for value, real in zip(found.values(), wanted, strict=True)]
    assert max(differences) < 2e-5


@pytest.mark.parametrize(
    ("attrs", "reason"),
    [
        ({"input_mode": "skip_input"}, "skip_input"),
        ({"is_training": True, "dropout": 0.5}, "is_training=True"),
        ({"num_proj": 3}, "num_proj 3"),
    ],
)
def test_refused_with_the_reason(attrs: dict[str, Any], reason: str) -> None:
    row = Row("CudnnRNNV3", "lstm", lengths=(5, 5))
    parameters, arrays = drawn(row)
    shapes = {name: array.shape for name, array in arrays.items()}
    with pytest.raises(GraphirError, match=reason):
        load(model(row, flat(parameters), shapes, **attrs), outputs=["y"])


def test_other_number_of_parameters_is_an_error() -> None:
    row = Row("CudnnRNN", "lstm")
    parameters, arrays = drawn(row)
    shapes = {name: array.shape for name, array in arrays.items()}
    with pytest.raises(GraphirError, match="expected 144"):
        load(model(row, flat(parameters)[1:], shapes), outputs=["y"])
