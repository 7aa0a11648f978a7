"""Faults of LSTM, GRU and RNN: gates, states, directions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from tests.faults.builder import Generator
from tests.faults.model import Array, Model, Node, get

from .edit import Edit, Fault, always, attribute, each, weights

GATES = {"LSTM": 4, "GRU": 3}


def gates_of(order: Sequence[int], kind: str) -> Callable[[Model], Iterator[Edit]]:
    """The gates of all operands of a node in another order, as another framework packs them."""

    def sites(model: Model) -> Iterator[Edit]:
        for node in model.nodes(kind):
            yield Edit((node.name,), _reorder(node.name, order))

    return sites


def _reorder(name: str, order: Sequence[int]) -> Callable[[Model, Generator], None]:
    def apply(model: Model, generator: Generator) -> None:
        node = model.node(name)
        for slot in (1, 2, 3):
            held = model.operand(node, slot)
            assert held is not None
            gates = len(order) * (2 if slot == 3 else 1)
            parts = np.split(held, gates, axis=1)
            taken = [parts[place + start] for start in range(0, gates, len(order)) for place in order]
            model.give(node, slot, np.concatenate(taken, axis=1))

    return apply


def forget_bias(model: Model, node: Node, generator: Generator) -> None:
    """1 added to the bias of the forget gate a second time."""
    held, size = model.operand(node, 3), get(node, "hidden_size")
    assert held is not None
    held[:, 2 * size : 3 * size] += 1
    model.give(node, 3, held)


def one_bias(model: Model, node: Node, generator: Generator) -> None:
    """The recurrent bias left out."""
    held = model.operand(node, 3)
    assert held is not None
    held[:, held.shape[1] // 2 :] = 0
    model.give(node, 3, held)


def biases_swapped(model: Model, node: Node, generator: Generator) -> None:
    """Input bias and recurrent bias exchanged, which matters for a GRU."""
    held = model.operand(node, 3)
    assert held is not None
    model.give(node, 3, np.roll(held, held.shape[1] // 2, axis=1))


def lacks(slot: int) -> Callable[[Model, Node], bool]:
    return lambda model, node: slot < len(node.input) and bool(node.input[slot])


def drop(slot: int) -> Callable[[Model, Node, Generator], None]:
    def apply(model: Model, node: Node, generator: Generator) -> None:
        node.input[slot] = ""

    return apply


def states_swapped(model: Model, node: Node, generator: Generator) -> None:
    node.input[5], node.input[6] = node.input[6], node.input[5]


def final_states_swapped(model: Model, node: Node, generator: Generator) -> None:
    """The last hidden state for the last cell state."""
    node.output[1], node.output[2] = node.output[2], node.output[1]


def directions_swapped(array: Array, generator: Generator) -> Array | None:
    return array[::-1] if array.shape[0] == 2 else None


def other_direction(model: Model, node: Node) -> Iterator[str]:
    held = get(node, "direction", "forward")
    if held != "bidirectional":
        yield "reverse" if held == "forward" else "forward"


def turned_time(model: Model, node: Node, generator: Generator) -> None:
    """The sequence read from its end."""
    ends = [np.array([number], np.int64) for number in (-1, -(1 << 40), 0, -1)]
    model.before(node, 0, "Slice", *(model.constant(end) for end in ends))


def functions(model: Model, node: Node) -> Iterator[list[str]]:
    """The gates' sigmoid as the hard one."""
    kinds = {"LSTM": ["HardSigmoid", "Tanh", "Tanh"], "GRU": ["HardSigmoid", "Tanh"]}[node.op_type]
    yield kinds * (2 if get(node, "direction") == "bidirectional" else 1)


def relu_for_tanh(model: Model, node: Node) -> Iterator[list[str]]:
    kinds = {"LSTM": ["Sigmoid", "Relu", "Tanh"], "GRU": ["Sigmoid", "Relu"], "RNN": ["Relu"]}[node.op_type]
    yield kinds * (2 if get(node, "direction") == "bidirectional" else 1)


def peephole_order(array: Array, generator: Generator) -> Array | None:
    """The peepholes i, f, o for i, o, f."""
    parts = np.split(array, 3, axis=1)
    return np.concatenate([parts[0], parts[2], parts[1]], axis=1)


FAULTS = (
    Fault("LSTM: gates in the order i, f, c, o", gates_of((0, 2, 3, 1), "LSTM")),
    Fault("LSTM: forget and input gate exchanged", gates_of((2, 1, 0, 3), "LSTM")),
    Fault("GRU: gates in the order r, z, h", gates_of((1, 0, 2), "GRU")),
    Fault("LSTM: bias of the forget gate", each("LSTM", forget_bias, always)),
    Fault("recurrent bias left out", each("LSTM GRU RNN", one_bias, always)),
    Fault("GRU: biases exchanged", each("GRU", biases_swapped, always)),
    Fault(
        "GRU: reset before or behind",
        attribute("GRU", "linear_before_reset", lambda model, node: [1 - get(node, "linear_before_reset", 0)]),
    ),
    Fault("another direction", attribute("LSTM GRU RNN", "direction", other_direction)),
    Fault("directions exchanged", weights("LSTM GRU", 1, directions_swapped)),
    Fault("initial hidden state left out", each("LSTM GRU", drop(5), lacks(5))),
    Fault("initial cell state left out", each("LSTM", drop(6), lacks(6))),
    Fault("initial states exchanged", each("LSTM", states_swapped, lacks(6))),
    Fault("final states exchanged", each("LSTM", final_states_swapped, lambda model, node: len(node.output) > 2)),
    Fault("peepholes left out", each("LSTM", drop(7), lacks(7))),
    Fault("peepholes in another order", weights("LSTM", 7, peephole_order)),
    Fault("lengths of sequences left out", each("LSTM", drop(4), lacks(4))),
    Fault("a sequence read from its end", each("LSTM GRU RNN", turned_time, always)),
    Fault("hard sigmoid in gates", attribute("LSTM GRU", "activations", functions)),
    Fault("Relu for tanh in cells", attribute("LSTM GRU RNN", "activations", relu_for_tanh)),
    Fault("cell state clipped", attribute("LSTM GRU RNN", "clip", lambda model, node: [0.5])),
)

__all__ = ["FAULTS"]
