"""Keras's recurrent layers: their cells' weights and what is asked of them; `recurrence` makes the graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.converters.kernel.refusals import Refusal
from graphir.converters.tensorflow.files.records import Endpoint
from graphir.converters.tensorflow.keras.config import Settings, check_layer
from graphir.converters.tensorflow.keras.context import KerasValue, LayerCall, activation_name, values_in
from graphir.converters.tensorflow.keras.recurrence import STATES, Function, LayerDirection, Recurrence
from graphir.converters.tensorflow.keras.signatures import Reads
from graphir.converters.tensorflow.keras.weights import LayerWeights, StoredByName
from graphir.errors import FormatError
from graphir.tensor import Tensor
from graphir.types import DType

GATES = {"LSTM": (0, 3, 1, 2), "GRU": (0, 1, 2), "SimpleRNN": (0,)}
USUAL = {"LSTM": ("sigmoid", "tanh"), "GRU": ("sigmoid", "tanh"), "SimpleRNN": ("tanh",)}
ACTIVATIONS: Mapping[str, Function] = {
    "elu": ("Elu", (1.0,), ()),
    "leaky_relu": ("LeakyRelu", (0.2,), ()),
    "linear": ("Affine", (1.0,), (0.0,)),
    "relu": ("Relu", (), ()),
    "sigmoid": ("Sigmoid", (), ()),
    "softplus": ("Softplus", (), ()),
    "softsign": ("Softsign", (), ()),
    "tanh": ("Tanh", (), ()),
}
HARD_SIGMOID: Function = ("HardSigmoid", (1.0 / 6.0,), (0.5,))
OLD_HARD_SIGMOID: Function = ("HardSigmoid", (0.2,), (0.5,))


def _make_cell(
    layer: LayerCall, config: Mapping[str, Any], kind: str, stored: LayerWeights, *, backward: bool, number: int = 0
) -> LayerDirection:
    """Return the cell of a configuration, the layer's number `number`: all calls of the layer have the first one's.

    Raises Refusal for what the graph's operators cannot say.
    """
    names = ("recurrent_activation", "activation") if kind != "SimpleRNN" else ("activation",)
    functions = [_activation(layer, config.get(name, usual)) for name, usual in zip(names, USUAL[kind], strict=True)]
    if kind == "LSTM":
        functions.append(functions[1])
    tensors = stored.tensors()
    use_bias = bool(config.get("use_bias", True))
    if len(tensors) < 2 + use_bias:
        raise FormatError(f"layer {layer.name} has {len(tensors)} weights, expected {2 + use_bias}")
    units = Settings(config, layer.name)["units"]
    gates = GATES[kind]
    wide = units * len(gates)
    for tensor, what, inner in zip(tensors, ("kernel", "recurrent kernel"), (None, units), strict=False):
        shape = tensor.shape
        if len(shape) != 2 or shape[1] != wide or inner not in (None, shape[0]):
            raise FormatError(f"layer {layer.name} has a {what} {list(shape)}, expected {len(gates)} * {units}")
    if use_bias and tensors[2].size not in (wide, 2 * wide):
        raise FormatError(f"layer {layer.name} has a bias {list(tensors[2].shape)}, expected {len(gates)} * {units}")
    reset_after = bool(config.get("reset_after", False)) if kind == "GRU" else False
    weight, recurrent = (_order_gates(tensor, gates, layer.dtype) for tensor in tensors[:2])
    bias = _order_bias(tensors[2], gates, units, layer.dtype) if use_bias else None
    cell = LayerDirection(kind, units, tuple(functions), reset_after, backward, weight, recurrent, bias)
    shared: LayerDirection = layer.shared.setdefault((layer.owner, "cell", number), cell) if layer.owner else cell
    return shared


def _activation(layer: LayerCall, activation: Any) -> Function:
    name, _ = activation_name(activation)
    if name == "hard_sigmoid":
        return HARD_SIGMOID if layer.keras >= 3 else OLD_HARD_SIGMOID
    if name not in ACTIVATIONS:
        raise Refusal(f"the activation {name!r} of a recurrent layer, which has {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[name]


def _order_gates(tensor: Tensor, gates: Sequence[int], dtype: DType) -> Tensor:
    """Return (in, gates * units) as (1, gates * units, in), the gates in the graph's order, computed when it is
    needed."""
    inner, wide = tensor.shape

    def compute() -> NDArray[Any]:
        blocks = np.split(tensor.numpy().astype(dtype.numpy(), copy=False).T, len(gates))
        array: NDArray[Any] = np.concatenate([blocks[gate] for gate in gates])[None]
        return array

    return Tensor.computed(dtype, (1, wide, inner), compute)


def _order_bias(tensor: Tensor, gates: Sequence[int], units: int, dtype: DType) -> Tensor:
    """Return the input's and the state's biases (1, 2 * gates * units), or the input's alone (1, gates * units)."""

    def compute() -> NDArray[Any]:
        rows = tensor.numpy().astype(dtype.numpy(), copy=False).reshape(-1, len(gates), units)[:, list(gates)]
        array: NDArray[Any] = rows.reshape(1, -1)
        return array

    return Tensor.computed(dtype, (1, tensor.size), compute)


def _add_recurrence(
    layer: LayerCall,
    cells: Sequence[LayerDirection],
    config: Mapping[str, Any],
    *,
    merge: str | None = "concat",
    natural: bool = False,
    first_state: int = 0,
) -> list[Endpoint]:
    """Add the node of a layer; `natural` gives sequences from the first step to the last in either direction. A layer
    that keeps its states counts them from `first_state`."""
    data = layer.first
    states = _initial_states(layer)
    mask = _mask(layer)
    expected = sum(STATES[cell.kind] for cell in cells)
    if len(states) not in (0, expected):
        raise Refusal(f"{len(states)} states to begin with, expected {expected}")
    if states and layer.keras < 3 and config.get("stateful"):
        raise Refusal("a stateful layer that is given states: releases of version 2 differ in which of both they take")
    backwards = any(cell.backward for cell in cells)
    if mask is not None and backwards and config.get("unroll") and config.get("zero_output_for_mask"):
        raise Refusal("unroll=True backwards over masked steps: Keras zeroes the outputs by the mask turned round")
    # the second of two is given back to front, and Bidirectional turns it round
    flips = tuple(not natural and cell.backward != (index == 1) for index, cell in enumerate(cells))
    sequences = bool(config.get("return_sequences"))
    function = Recurrence(
        tuple(cells),
        flips,
        merge,
        sequences,
        bool(config.get("return_state")),
        bool(config.get("zero_output_for_mask")),
        bool(config.get("time_major")),
        mask is not None,
        bool(states),
        tuple(f"{layer.owner}state_{first_state + slot}" for slot in range(expected if config.get("stateful") else 0)),
    )
    operands = [data.value, *([] if mask is None else [mask]), *states]
    first = layer.apply(function, "sequence", operands)
    outputs = len(cells) if merge is None else 1
    if sequences:
        layer.mask, layer.masked = mask, outputs
    count = outputs + (expected if config.get("return_state") else 0)
    return [Endpoint(first.node, slot) for slot in range(count)]


def _initial_states(layer: LayerCall) -> list[Endpoint]:
    """Return the states that the call states: an argument of its own, or values behind the data."""
    stated = layer.kwargs.get("initial_state")
    if stated is None or isinstance(stated, bool):
        return [state.value for state in layer.operands[1:]]
    return [state.value for state in values_in(stated)]


def _mask(layer: LayerCall) -> Endpoint | None:
    """Version 3 looks for the data's own mask only where the data are the only argument that holds values."""
    stated = layer.mask_argument("mask")
    if stated is not None:
        return stated
    if layer.keras >= 3 and _initial_states(layer):
        return None
    return layer.first.mask


def _layer_of(kind: str) -> Callable[[LayerCall], list[Endpoint]]:
    def recurrent(layer: LayerCall) -> list[Endpoint]:
        backward = bool(layer.config.get("go_backwards"))
        cell = _make_cell(layer, layer.config, kind, layer.stored.part("cell"), backward=backward)
        return _add_recurrence(layer, [cell], layer.config)

    return recurrent


def _make_cudnn_layer(kind: str) -> Callable[[LayerCall], list[Endpoint]]:
    """Return the function for CuDNNLSTM or CuDNNGRU of version 2: the usual layer, its weights as cuDNN has them."""

    def recurrent(layer: LayerCall) -> list[Endpoint]:
        config = {**layer.config, "recurrent_activation": "sigmoid", "activation": "tanh", "reset_after": True}
        weights = [layer.tensor(slot) for slot in range(3)]
        stored = StoredByName([("", tensor) for tensor in _convert_cudnn(weights, kind)], layer.name)
        cell = _make_cell(layer, config, kind, stored, backward=bool(config.get("go_backwards")))
        return _add_recurrence(layer, [cell], config)

    return recurrent


def _convert_cudnn(weights: Sequence[Tensor], kind: str) -> list[Tensor]:
    """Return kernel, recurrent kernel and biases: each gate's kernel lies as (units, in), its recurrent one transposed.

    The LSTM's two biases are added up.
    """
    kernel, recurrent, bias = weights
    count = len(GATES[kind])

    def kernels() -> NDArray[Any]:
        parts = np.split(kernel.numpy(), count, axis=1)
        return np.concatenate([part.reshape(part.shape[::-1]).T for part in parts], 1)

    def recurrents() -> NDArray[Any]:
        return np.concatenate([part.T for part in np.split(recurrent.numpy(), count, axis=1)], 1)

    wide = bias.shape[0] // 2
    if kind == "LSTM":
        biases = Tensor.computed(bias.dtype, (wide,), lambda: bias.numpy()[:wide] + bias.numpy()[wide:])
    else:
        biases = bias.reshaped((2, wide))
    pairs = ((kernel, kernels), (recurrent, recurrents))
    return [*(Tensor.computed(tensor.dtype, tensor.shape, make) for tensor, make in pairs), biases]


def _cell_kind(entry: Mapping[str, Any]) -> str:
    kind = str(entry.get("class_name")).removesuffix("Cell")
    if kind not in GATES:
        raise Refusal(f"the cell {entry.get('class_name')}; LSTMCell, GRUCell and SimpleRNNCell are read")
    return kind


def _check_entry(layer: LayerCall, entry: Any) -> Mapping[str, Any]:
    """Return a cell or layer that the layer holds, once its settings are what Keras writes. Raises FormatError."""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("class_name"), str):
        raise FormatError(f"layer {layer.name}: its cell or layer is {str(entry)[:60]}, expected an object")
    check_layer(entry, layer.name)
    return entry


def rnn(layer: LayerCall) -> list[Endpoint]:
    """Run a cell, or cells one upon the other: then each runs over the sequence that the one below gave."""
    entry = _check_entry(layer, layer.config["cell"])
    backward = bool(layer.config.get("go_backwards"))
    if entry["class_name"] != "StackedRNNCells":
        cell = _make_cell(layer, entry["config"], _cell_kind(entry), layer.stored.part("cell"), backward=backward)
        return _add_recurrence(layer, [cell], layer.config)
    if layer.config.get("return_state") or _initial_states(layer):
        raise Refusal("the states of StackedRNNCells as arguments or results")
    stacked = entry["config"].get("cells")
    if not isinstance(stacked, list) or not stacked:
        raise FormatError(f"layer {layer.name}: its cells are {str(stacked)[:60]}, expected a list of them")
    entries = [_check_entry(layer, inner) for inner in stacked]
    cells: list[LayerDirection] = []
    start = 0
    names: dict[str, int] = {}
    for inner in entries:
        kind = _cell_kind(inner)
        title = f"{'simple_rnn' if kind == 'SimpleRNN' else kind.lower()}_cell"
        number = names[title] = names.get(title, -1) + 1
        count = 2 + bool(inner["config"].get("use_bias", True))
        key = f"{title}_{number}" if number else title
        stored = layer.stored.count_from(start, count, "cell", "cells", key)
        cells.append(_make_cell(layer, inner["config"], kind, stored, backward=backward, number=len(cells)))
        start += count
    mask = _mask(layer)
    value = layer.data
    for depth, cell in enumerate(cells[:-1]):
        name = f"{layer.name}/cell_{depth}"
        inner_layer = LayerCall(
            name, Settings({}, name), layer.stored, [KerasValue(value, mask)], keras=layer.keras, dtype=layer.dtype,
            owner=layer.owner,
        )  # fmt: skip
        config = {**layer.config, "return_sequences": True, "zero_output_for_mask": False}
        first = sum(STATES[below.kind] for below in cells[:depth])
        value = _add_recurrence(inner_layer, [cell], config, natural=True, first_state=first)[0]
        layer.nodes += inner_layer.nodes
    layer.args = [KerasValue(value, mask)]
    layer.kwargs = Reads({})
    first = sum(STATES[below.kind] for below in cells[:-1])
    return _add_recurrence(layer, [cells[-1]], layer.config, first_state=first)


def bidirectional(layer: LayerCall) -> list[Endpoint]:
    """Run a cell twice, the second time from the other end, and combine both outputs."""
    forward = _check_entry(layer, layer.config["layer"])
    config = forward["config"]
    backward = layer.config.get("backward_layer") or {
        **forward, "config": {**config, "go_backwards": not config.get("go_backwards")},
    }  # fmt: skip
    backward = _check_entry(layer, backward)
    merge = layer.config.get("merge_mode") if "merge_mode" in layer.config else "concat"
    if merge not in ("concat", "sum", "mul", "ave", None):
        raise Refusal(f"merge_mode {merge!r}")
    cells: list[LayerDirection] = []
    for index, (entry, title) in enumerate(((forward, "forward_layer"), (backward, "backward_layer"))):
        inner, stored = entry["config"], layer.stored.part(title, index, 2).part("cell")
        kind = entry["class_name"]
        if kind == "RNN":
            cell = _check_entry(layer, inner.get("cell"))
            kind, inner = _cell_kind(cell), {**cell["config"], "go_backwards": inner.get("go_backwards")}
        if kind not in GATES:
            raise Refusal(f"two directions of a {kind}; LSTM, GRU and SimpleRNN are read")
        is_backward = bool(inner.get("go_backwards"))
        cells.append(_make_cell(layer, inner, kind, stored, backward=is_backward, number=len(cells)))
    if any(config.get(key) != backward["config"].get(key) for key in ("return_sequences", "return_state")):
        raise Refusal("two directions that return different things")
    # version 2 does not write this down, both do it
    config = {**config, "zero_output_for_mask": bool(config.get("return_sequences"))}
    return _add_recurrence(layer, cells, config, merge=merge)


LAYERS: Mapping[str, Callable[[LayerCall], Any]] = {
    "Bidirectional": bidirectional,
    "CuDNNGRU": _make_cudnn_layer("GRU"),
    "CuDNNLSTM": _make_cudnn_layer("LSTM"),
    "GRU": _layer_of("GRU"),
    "LSTM": _layer_of("LSTM"),
    "RNN": rnn,
    "SimpleRNN": _layer_of("SimpleRNN"),
}
