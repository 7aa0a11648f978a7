"""The fused RNN operator in numpy (src/operator/rnn-inl.h, rnn_impl.h).

Parameters are one vector: for each layer and direction the input weights (gates * H, input) and the recurrent weights
(gates * H, H); after all of them, in the same order, the input biases and the recurrent biases (gates * H each).
Gates: LSTM input, forget, cell, output; GRU reset, update, new.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, accumulator, require

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


@dataclass(frozen=True)
class CellWeights:
    """The weights of one layer and direction; `projection` (P, H) is None without projection_size."""

    input_weight: Array
    hidden_weight: Array
    projection: Array | None
    input_bias: Array
    hidden_bias: Array


def unpacked(
    parameters: Array, gates: int, layers: int, directions: int, width: int, hidden: int, projected: int | None
) -> list[CellWeights]:
    """Return the cells in order of layer, then direction; ValueError when the vector's length is not theirs."""
    position = 0

    def part(*shape: int) -> Array:
        nonlocal position
        count = int(np.prod(shape))
        require(position + count <= parameters.size, f"parameters of {parameters.size} are too few")
        position += count
        return parameters[position - count : position].reshape(shape)

    recurrent = projected or hidden
    weights = []
    for layer in range(layers):
        size = width if layer == 0 else recurrent * directions
        for _ in range(directions):
            first, second = part(gates * hidden, size), part(gates * hidden, recurrent)
            weights.append((first, second, part(projected, hidden) if projected else None))
    cells = [CellWeights(*matrices, part(gates * hidden), part(gates * hidden)) for matrices in weights]
    require(position == parameters.size, f"parameters of {parameters.size}, expected {position}")
    return cells


def sigmoid(data: Array) -> Array:
    """1 / (1 + exp(-x))."""
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-data)))


def step(
    mode: str, cell: CellWeights, data: Array, state: Array, memory: Array, clip: tuple[float, float] | None
) -> tuple[Array, Array]:
    """Return one time step (N, input) to the new state and memory; memory is passed through but for lstm."""
    from_input = data @ cell.input_weight.T + cell.input_bias
    from_state = state @ cell.hidden_weight.T + cell.hidden_bias
    if mode == "lstm":
        entrance, forget, candidate, exit_ = np.split(from_input + from_state, 4, axis=1)
        memory = sigmoid(forget) * memory + sigmoid(entrance) * np.tanh(candidate)
        if clip is not None:
            memory = np.clip(memory, *clip)
        state = sigmoid(exit_) * np.tanh(memory)
        return (state if cell.projection is None else state @ cell.projection.T), memory
    if mode == "gru":
        (reset_x, update_x, new_x), (reset_h, update_h, new_h) = (
            np.split(part, 3, axis=1) for part in (from_input, from_state)
        )
        update = sigmoid(update_x + update_h)
        new = np.tanh(new_x + sigmoid(reset_x + reset_h) * new_h)
        return (1 - update) * new + update * state, memory
    total = from_input + from_state
    return (np.maximum(total, 0) if mode == "rnn_relu" else np.tanh(total)), memory


def run_direction(
    mode: str,
    cell: CellWeights,
    data: Array,
    state: Array,
    memory: Array,
    lengths: Array,
    backwards: bool,
    clip: tuple[float, float] | None,
) -> tuple[Array, Array, Array]:
    """Return all time steps of (T, N, input); a sequence past its length keeps its state and puts out 0."""
    outputs = np.zeros((*data.shape[:2], state.shape[1]), data.dtype)
    order = range(data.shape[0])
    for time in reversed(order) if backwards else order:
        new_state, new_memory = step(mode, cell, data[time], state, memory, clip)
        alive = (time < lengths)[:, None]
        state, memory = np.where(alive, new_state, state), np.where(alive, new_memory, memory)
        outputs[time] = np.where(alive, new_state, 0)
    return outputs, state, memory


def rnn(attrs: Attributes, data: Array, parameters: Array, state: Array, *others: Array) -> Array | tuple[Array, ...]:
    """(T, N, input) to (T, N, directions * H), then with state_outputs the last states (layers * directions, N, H).

    `others` are the cell state (lstm) and, with use_sequence_length, the lengths (N,).
    """
    mode, hidden, layers = attrs["mode"], int(attrs["state_size"]), int(attrs["num_layers"])
    directions = 2 if attrs.get("bidirectional") else 1
    projected = attrs.get("projection_size")
    require(mode in GATES, f"mode {mode!r} is unknown")
    require(not projected or mode == "lstm", "projection_size is for lstm only")
    require(data.ndim == 3, f"data of rank {data.ndim}, expected 3")
    length, batch, width = data.shape
    dtype = accumulator(data.dtype)
    remaining = list(others)
    memories = remaining.pop(0) if mode == "lstm" else np.zeros((layers * directions, batch, hidden), dtype)
    lengths = remaining.pop(0) if attrs.get("use_sequence_length") else np.full(batch, length)
    for name, array, size in (("state", state, projected or hidden), ("state_cell", memories, hidden)):
        expected = (layers * directions, batch, size)
        require(array.shape == expected, f"{name} {array.shape}, expected {expected}")
    low, high = attrs.get("lstm_state_clip_min"), attrs.get("lstm_state_clip_max")
    clip = None if low is None or high is None else (float(low), float(high))
    cells = unpacked(parameters.astype(dtype), GATES[mode], layers, directions, width, hidden, projected)
    values, states, cell_states = data.astype(dtype), [], []
    for layer in range(layers):
        outputs = []
        for direction in range(directions):
            index = layer * directions + direction
            start, memory = state[index].astype(dtype), memories[index].astype(dtype)
            result = run_direction(mode, cells[index], values, start, memory, lengths, direction == 1, clip)
            outputs.append(result[0])
            states.append(result[1])
            cell_states.append(result[2])
        values = np.concatenate(outputs, axis=2)
    output = values.astype(data.dtype)
    if not attrs.get("state_outputs"):
        return output
    finals = [states, cell_states] if mode == "lstm" else [states]
    return (output, *(np.stack(final).astype(data.dtype) for final in finals))


OPERATORS: Mapping[str, Reference] = {"RNN": rnn}
