"""Operands that change nothing: x * 1, x + 0, x and True, and a recurrent layer that starts at 0, as it does anyway.

`NEUTRAL` are rules. Exact, but for the sign of a zero: -0.0 + 0.0 is 0.0. So a zero is added on where the sum is an
output or what reads it divides by it; a zero whose sign shows further down may have the other one.
"""

from __future__ import annotations

import numpy as np

from graphir.graph import Graph, Node, Value
from graphir.ops import elementwise as ew
from graphir.ops.base import Operator
from graphir.ops.creation import ConstantOfShape
from graphir.ops.recurrent import GRU, LSTM, RNN
from graphir.ops.shape import Expand, Reshape, Squeeze, Tile, Transpose, Unsqueeze
from graphir.ops.shape_parts import Slice
from graphir.types import DType, Unknown

from .rewrite import Accepted, Rule, Rules, bypass

# By operator: the number that changes nothing, and in which slots.
NUMBERS: dict[type[Operator], tuple[float, tuple[int, ...]]] = {
    ew.Mul: (1, (0, 1)),
    ew.Div: (1, (1,)),
    ew.Add: (0, (0, 1)),
    ew.Sub: (0, (1,)),
    ew.Pow: (1, (1,)),
    ew.And: (1, (0, 1)),
    ew.Or: (0, (0, 1)),
    ew.Xor: (0, (0, 1)),
}
LARGEST = 1 << 16
ARRANGING = (Expand, Reshape, Slice, Squeeze, Tile, Transpose, Unsqueeze)


def _drop_neutral(graph: Graph, node: Node) -> Accepted:
    number, slots = NUMBERS[type(node.op)]
    for slot in slots:
        neutral, value = node.inputs[slot], node.inputs[1 - slot]
        if neutral is None or value is None or neutral.tensor is None or value.shape is None:
            continue
        if value.shape != node.output.shape or any(isinstance(dim, Unknown) for dim in value.shape):
            continue
        if value.dtype is not node.output.dtype or not _is_all(neutral, number):
            continue
        if isinstance(node.op, ew.Add) and _shows_sign_of_zero(node):
            continue
        return bypass(graph, node, value)
    return False


def _is_all(value: Value, number: float) -> bool:
    """Return whether the value is a parameter whose elements are all this number, a zero without its sign."""
    tensor = value.tensor
    if tensor is None or not 0 < tensor.size <= LARGEST or tensor.dtype is DType.STRING:
        return False
    array = tensor.numpy()
    return bool((array == number).all()) and not (tensor.dtype.is_float and np.signbit(array).any())


def _shows_sign_of_zero(node: Node) -> bool:
    result = node.output
    if result.dtype is None or not result.dtype.is_float:
        return False
    return result.is_held or any(_divides_by(user, slot) for user, slot in result.uses)


def _divides_by(node: Node, slot: int) -> bool:
    """Return whether the node may tell the sign of a zero in this slot: 1 / -0.0 is another infinity than 1 / 0.0."""
    if isinstance(node.op, ew.Pow) and slot == 0:
        exponent = node.inputs[1]
        tensor = None if exponent is None else exponent.tensor
        return tensor is None or tensor.size > LARGEST or bool((tensor.numpy() <= 0).any())
    return isinstance(node.op, ew.Reciprocal) or (isinstance(node.op, ew.Div) and slot == 1)


def _is_zero(value: Value | None) -> bool:
    """Return whether all elements are 0, whatever the shape: a parameter, or made by operators that compute
    nothing."""
    while value is not None and value.tensor is None:
        node = value.producer
        if node is None:
            return False
        if isinstance(node.op, ConstantOfShape):
            return node.op.value == 0
        if not isinstance(node.op, ARRANGING):
            return False
        value = node.inputs[0]
    return value is not None and _is_all(value, 0)


def _start_at_zero(graph: Graph, node: Node) -> Accepted:
    """Return a recurrent layer without initial states that are 0."""
    slots = [slot for slot in (5, 6) if slot < len(node.inputs) and node.op.inputs[slot].startswith("initial")]
    zeros = [slot for slot in slots if node.inputs[slot] is not None and _is_zero(node.inputs[slot])]
    for slot in zeros:
        graph.replace_input(node, slot, None)
    return bool(zeros)


ADDED = Rule("its other operand changes nothing", _drop_neutral)
NEUTRAL: Rules = {
    **dict.fromkeys(NUMBERS, (ADDED,)),
    **dict.fromkeys((GRU, LSTM, RNN), (Rule("it starts at 0 without being told", _start_at_zero),)),
}
