"""Recurrent layers written out step by step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.faults.model import Model, Node, get

from .layers import held
from .rewrite import Rewrite, everywhere


class Steps:
    """Nodes put in front of a place, one after the other; each method that adds one gives its result's name."""

    def __init__(self, model: Model, position: int, prefix: str) -> None:
        self.model, self.position, self.prefix = model, position, prefix

    def add(self, kind: str, *inputs: str, **attributes: object) -> str:
        return self.several(kind, inputs, 1, **attributes)[0]

    def several(self, kind: str, inputs: Sequence[str], results: int, **attributes: object) -> list[str]:
        made: list[str] = []
        for _ in range(results):
            number = len(made)
            while (name := self.model.fresh(f"{self.prefix}_step{number}")) in made:
                number += 1
            made.append(name)
        self.model.insert(self.position, kind, list(inputs), made, **attributes)
        self.position += 1
        return made


def unrolled(model: Model, node: Node) -> bool:
    """An LSTM of a known number of steps as that many cells (Hochreiter and Schmidhuber 1997; ONNX's gates i, o, f, c),
    with nothing fed but the sequence."""
    shape, is_open = model.shape(node.input[0]), _is_open(model, node.input[0])
    fed = [slot for slot in range(4, len(node.input)) if node.input[slot]]
    if shape is None or is_open or fed or get(node, "direction", "forward") != "forward":
        return False
    if any(model.users(name) for name in node.output[1:]):
        return False
    size, x, target = get(node, "hidden_size"), node.input[0], node.output[0]
    own, recurrent, biases = (held(model, node, slot)[0] for slot in (1, 2, 3))
    weight, again = model.constant(own.T, "cell_weight"), model.constant(recurrent.T, "cell_again")
    bias = model.constant(biases[: 4 * size] + biases[4 * size :], "cell_bias")
    parts, front = model.constant(np.full(4, size, np.int64)), model.constant(np.array([0], np.int64))
    steps = Steps(model, model.position(node), node.name)
    model.remove(node)
    hidden, cell, rows = "", "", []
    for turn in range(shape[0]):
        now = steps.add("Gather", x, model.constant(np.array(turn, np.int64), "turn"), axis=0)
        total = steps.add("Add", steps.add("MatMul", now, weight), bias)
        if hidden:
            total = steps.add("Add", total, steps.add("MatMul", hidden, again))
        taken, given, forgotten, new = steps.several("Split", [total, parts], 4, axis=1)
        fresh = steps.add("Mul", steps.add("Sigmoid", taken), steps.add("Tanh", new))
        kept = steps.add("Mul", steps.add("Sigmoid", forgotten), cell) if cell else ""
        cell = steps.add("Add", kept, fresh) if kept else fresh
        hidden = steps.add("Mul", steps.add("Sigmoid", given), steps.add("Tanh", cell))
        rows.append(steps.add("Unsqueeze", hidden, front))
    model.insert(steps.position, "Concat", rows, [(joined := model.fresh("joined_steps"))], axis=0)
    model.insert(
        steps.position + 1, "Unsqueeze", [joined, model.constant(np.array([1], np.int64))], [target]
    )
    return True


def _is_open(model: Model, value: str) -> bool:
    """Whether an input's number of steps is open, or what is fed is no input."""
    found = [item for item in model.graph.input if item.name == value]
    return not found or bool(found[0].type.tensor_type.shape.dim[0].dim_param)


REWRITES = (Rewrite("LSTM unrolled", everywhere("LSTM", unrolled)),)

__all__ = ["REWRITES"]
