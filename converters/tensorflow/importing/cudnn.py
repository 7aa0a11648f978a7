"""TensorFlow's CudnnRNN: recurrent layers one upon the other, whose weights are one vector in cuDNN's order.

The vector holds for each layer and direction the gates' weights of the input (units, features), then those of the state
(units, units), and after all weights in the same order the biases of the input and of the state. Gates: LSTM input,
forget, new, output; GRU reset, update, new, with the reset gate on the product of the state. Source: NVIDIA's cuDNN
documentation of cudnnRNNMode_t, and TensorFlow's `_canonical_to_params`, which makes such a vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.converters.tensorflow.importing.context import ImportNode
from graphir.errors import FormatError
from graphir.graph import Value
from graphir.ops.indexing import Gather
from graphir.ops.recurrent import GRU, LSTM, RNN, Direction
from graphir.ops.shape import Reshape, Transpose
from graphir.ops.shape_parts import Concat, Slice
from graphir.tensor import Tensor

# The graph's gates by their index in cuDNN's order.
GATES = {"lstm": (0, 3, 1, 2), "gru": (1, 0, 2), "rnn_relu": (0,), "rnn_tanh": (0,)}


@dataclass(frozen=True)
class Stack:
    """What fixes the layout: gates, layers, directions, the widths of the input and of the state."""

    mode: str
    layers: int
    directions: int
    features: int
    units: int

    @property
    def rows(self) -> int:
        """Return the rows of one weight."""
        return len(GATES[self.mode]) * self.units

    def width(self, layer: int) -> int:
        """Return the features of a layer's input."""
        return self.features if layer == 0 else self.directions * self.units

    def start(self, layer: int, way: int) -> int:
        """Return where the weights of a layer's direction begin."""
        before = sum(self.directions * self.rows * (self.width(lower) + self.units) for lower in range(layer))
        return before + way * self.rows * (self.width(layer) + self.units)

    def bias_start(self, layer: int, way: int) -> int:
        """Return where its biases begin."""
        return self.start(self.layers, 0) + (layer * self.directions + way) * 2 * self.rows

    @property
    def count(self) -> int:
        """Return how many numbers there are."""
        return self.bias_start(self.layers, 0)


def import_cudnn_rnn(node: ImportNode) -> Sequence[Value]:
    """CudnnRNN, V2 and V3. What training alone needs (reserved space) is not available."""
    attrs = node.attrs
    mode, both = attrs["rnn_mode"], attrs["direction"] == "bidirectional"
    if attrs.get("num_proj", 0):
        node.refuse(f"num_proj {attrs['num_proj']}: states that are projected")
    if attrs["input_mode"] == "skip_input":
        node.refuse("input_mode skip_input: a first layer without weights for its input")
    if attrs["is_training"] and attrs["dropout"]:
        node.refuse(f"dropout {attrs['dropout']} with is_training=True; freeze the graph for inference")
    x, state, cell, params = (node.input(slot) for slot in range(4))
    time_major = bool(attrs.get("time_major", True))
    if not time_major:
        order = (1, 0, 2)
        x, state = (node.step(Transpose(order), value, suffix="steps_first") for value in (x, state))
        cell = node.step(Transpose(order), cell, suffix="cell_first") if mode == "lstm" else cell
    blocks, units = node.sizes(state, (0, 2))
    features = node.sizes(x, (2,))[0]
    if attrs["input_mode"] == "auto_select" and features == units:
        node.refuse("input_mode auto_select with as many features as units, which means skip_input")
    directions = 2 if both else 1
    stack = Stack(mode, blocks // directions, directions, features, units)
    if params.shape is not None and params.shape != (stack.count,):
        raise FormatError(f"{node.name} has parameters {params.type}, expected {stack.count} for {stack}")
    lengths = _lengths(node, x)
    last: list[list[Value]] = [[], []]
    for layer in range(stack.layers):
        weights = [_cut_weight(node, stack, layer, name) for name in ("W", "R", "B")]
        first, end = ([number * directions] for number in (layer, layer + 1))
        begin = [
            node.step(Slice(), value, node.vector(first), node.vector(end), node.vector([0]), suffix="begin")
            if stack.layers > 1 else value
            for value in ((state, cell) if mode == "lstm" else (state,))
        ]  # fmt: skip
        results = node.steps(_operator(stack), x, *weights, lengths, *begin, suffix=f"layer_{layer}")
        x = node.step(Transpose((0, 2, 1, 3)), results[0], suffix="batch_first")
        x = node.step(Reshape(), x, node.vector([0, 0, directions * units]), suffix="output")
        for values, value in zip(last, results[1:], strict=False):
            values.append(value)
    outputs = [x, *(_concat(node, values) for values in last if values)]
    if not time_major:
        outputs = [node.step(Transpose((1, 0, 2)), value, suffix="samples_first") for value in outputs]
    return outputs if mode == "lstm" else [*outputs, cell]


def _operator(stack: Stack) -> Any:
    direction = Direction.BIDIRECTIONAL if stack.directions == 2 else Direction.FORWARD
    match stack.mode:
        case "lstm":
            return LSTM(hidden_size=stack.units, direction=direction)
        case "gru":
            return GRU(hidden_size=stack.units, direction=direction, linear_before_reset=True)
        case "rnn_relu":
            return RNN(hidden_size=stack.units, direction=direction, activations=("Relu",) * stack.directions)
        case _:
            return RNN(hidden_size=stack.units, direction=direction)


def _lengths(node: ImportNode, x: Value) -> Value | None:
    """Return the sequences' lengths, unless they are known to be all steps."""
    if len(node) < 5:
        return None
    known, steps = node.known(4), node.sizes_if_known(x, (0,))
    if known is not None and steps is not None and all(length == steps[0] for length in known):
        return None
    return node.input(4)


def _concat(node: ImportNode, values: Sequence[Value]) -> Value:
    return values[0] if len(values) == 1 else node.step(Concat(0), *values, suffix="last")


def _cut_weight(node: ImportNode, stack: Stack, layer: int, name: str) -> Value:
    """Return W (D, G*H, I), R (D, G*H, H) or B (D, 2*G*H) of a layer, cut out of the vector when it is needed."""
    pieces = [_locate_weight(stack, layer, way, name) for way in range(stack.directions)]
    gates = list(GATES[stack.mode])
    params = node.input(3)
    whole = params.tensor
    if whole is None:
        parts = []
        for start, shape in pieces:
            ends = [node.vector([start]), node.vector([start + int(np.prod(shape))])]
            part = node.step(Slice(), params, *ends, suffix=f"layer_{layer}_{name}")
            part = node.step(Reshape(), part, node.vector(shape))
            axis = 1 if name == "B" else 0
            parts.append(node.step(Gather(axis), part, node.vector(gates), suffix="gates"))
        flat = [stack.directions, *((-1,) if name == "B" else (stack.rows, pieces[0][1][-1]))]
        return node.step(Reshape(), _concat(node, parts), node.vector(flat), suffix=f"layer_{layer}_{name}")

    def compute() -> NDArray[Any]:
        parts = []
        for start, shape in pieces:
            part = whole.numpy()[start : start + int(np.prod(shape))].reshape(shape)
            part = part[:, gates].reshape(-1) if name == "B" else part[gates].reshape(stack.rows, -1)
            parts.append(part)
        return np.stack(parts)

    width = (2 * stack.rows,) if name == "B" else (stack.rows, pieces[0][1][-1])
    tensor = Tensor.computed(whole.dtype, (stack.directions, *width), compute)
    return node.graph.add_parameter(node.fresh_name(f"{node.name}_layer_{layer}_{name}"), tensor)


def _locate_weight(stack: Stack, layer: int, way: int, name: str) -> tuple[int, tuple[int, ...]]:
    """Return where a weight begins, and its shape, gates apart."""
    gates, start, width = len(GATES[stack.mode]), stack.start(layer, way), stack.width(layer)
    if name == "W":
        return start, (gates, stack.units, width)
    if name == "R":
        return start + stack.rows * width, (gates, stack.units, stack.units)
    return stack.bias_start(layer, way), (2, gates, stack.units)
