"""Recurrent layers: the modules of torch where they compute the same, else functions that loop over the steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphir.converters.pytorch.exporting.context import ExportNode, Expr, binary, call, row, table, tuple_of
from graphir.converters.pytorch.exporting.expression import Reference
from graphir.converters.pytorch.exporting.ops.activation import float_text
from graphir.graph import Node, Value
from graphir.ops import recurrent as ir
from graphir.ops.shape import Reshape, Squeeze, Transpose
from graphir.tensor import Tensor
from graphir.types import Unknown

Recurrent = ir.RNN | ir.GRU | ir.LSTM
RecurrentNode = ExportNode[Recurrent]

DEFAULTS = {"RNN": ("tanh",), "GRU": ("sigmoid", "tanh"), "LSTM": ("sigmoid", "tanh", "tanh")}
# The gates in torch's order, each by its index in ONNX's.
GATES = {"RNN": (0,), "GRU": (1, 0, 2), "LSTM": (0, 2, 3, 1)}
FUNCTIONS = {
    "tanh": "torch.tanh", "sigmoid": "torch.sigmoid", "relu": "torch.relu", "softsign": "F.softsign",
    "softplus": "F.softplus",
}  # fmt: skip
# Functions of one tensor and numbers, with ONNX's defaults.
NUMBERS = {
    "leakyrelu": (0.01,), "thresholdedrelu": (1.0,), "elu": (1.0,), "hardsigmoid": (0.2, 0.5), "affine": (1.0, 0.0),
    "scaledtanh": (1.0, 1.0),
}  # fmt: skip


def export_recurrent(node: RecurrentNode) -> None:
    """nn.RNN, nn.GRU or nn.LSTM where the weights are constant, else a function."""
    (hidden,) = node.fixed(node.shape(2)[2:], f"the weights {node.input(2).name}")
    activations = _activations(node)
    lengths = node.optional(4)
    if lengths is not None and _are_whole(node, lengths):
        lengths = None
    nonlinearity = _nonlinearity(node, activations)
    if nonlinearity is None or lengths is not None or node.shape(0)[0] == 0:
        _export_loops(node, hidden, activations, lengths)
    else:
        _export_module(node, hidden, nonlinearity)


def _are_whole(node: RecurrentNode, lengths: Value) -> bool:
    """Whether all sequences are known to be as long as the data."""
    steps = node.shape(0)[0]
    return lengths.tensor is not None and isinstance(steps, int) and bool((lengths.tensor.numpy() == steps).all())


def _nonlinearity(node: RecurrentNode, activations: Sequence[str]) -> str | None:
    """The function of nn.RNN, "tanh" for the other modules; None where no module computes this."""
    op, usual = node.op, [FUNCTIONS[name] for name in DEFAULTS[node.op.name]] * node.op.direction.count
    is_relu = isinstance(op, ir.RNN) and set(activations) == {"torch.relu"}
    if not is_relu and list(activations) != usual:
        return None
    if isinstance(op, ir.GRU) and not op.linear_before_reset:
        return None
    if isinstance(op, ir.LSTM) and (op.input_forget or node.optional(7) is not None):
        return None
    slots = [slot for slot in (1, 2, 3) if node.optional(slot) is not None]
    if op.clip is not None or any(node.weight(slot) is None for slot in slots):
        return None
    return "relu" if is_relu else "tanh"


def _export_module(node: RecurrentNode, hidden: int, nonlinearity: str) -> None:
    """A module of torch, over the flipped steps where the layer runs backwards."""
    op, (features,) = node.op, node.fixed(node.shape(1)[2:], f"the weights {node.input(1).name}")
    is_reverse = op.direction is ir.Direction.REVERSE
    options = {
        "nonlinearity": '"relu"' if nonlinearity == "relu" else None,
        "bias": "False" if node.optional(3) is None else None,
        "bidirectional": "True" if op.direction.count == 2 else None,
    }
    layer = node.layer(f"nn.{op.name}", [features, hidden], options, tensors=_module_tensors(node, hidden))
    data = f"{node.tensor().atom}.flip(0)" if is_reverse else node.tensor()
    states: str | None = None
    if any(node.optional(slot) is not None for slot in (5, 6)):
        starts = [node.tensor(slot) if node.optional(slot) is not None else None for slot in _state_slots(op)]
        states = tuple_of(start or f"torch.zeros_like({starts[slot - 1]})" for slot, start in enumerate(starts))
        states = states if op.has_cell else str(starts[0])
    finals = [value if node.is_read(slot) else "_" for slot, value in enumerate(node.node.outputs) if slot]
    merged = _rows_value(node)
    rows = "_" if not node.is_read(0) else "rows" if merged is None or is_reverse else merged
    pattern = ""
    if any(isinstance(final, Value) for final in finals):
        pattern = "{}, ({}, {})" if op.has_cell else "{}, {}"
    else:
        pattern, finals = "{}, _", []
    reference, *_ = node.assign([rows, *finals], call(layer, data, states), pattern)
    if is_reverse:
        reference = node.assign(["rows" if merged is None else merged], f"{reference.atom}.flip(0)")[0]
    if merged is None and op.direction.count == 1:
        node.emit(f"{reference.atom}.unsqueeze(1)")
    elif merged is None:
        node.emit(f"{reference.atom}.unflatten(2, (2, {hidden})).transpose(1, 2)")


def _state_slots(op: Recurrent) -> tuple[int, ...]:
    return (5, 6) if op.has_cell else (5,)


def _rows_value(node: RecurrentNode) -> Value | None:
    """The value that is the first result without an axis of directions (T, N, D * H), where nothing else of it is read:
    the nodes on the way to it are not written."""
    rows = node.result
    nodes = [other for other, _ in rows.uses]
    if rows.is_held or not nodes or any(other.graph is not rows.graph for other in nodes):
        return None
    if node.op.direction.count == 2:
        nodes = _joined_directions(rows, nodes[0]) if len(nodes) == 1 else []
    elif not all(isinstance(other.op, Squeeze) and _axes(other) in ((1,), (-3,)) for other in nodes):
        nodes = []
    if not nodes:
        return None
    node.export.absorbed.update(nodes)
    *others, result = (other.outputs[0] for other in nodes)
    if node.op.direction.count == 1:
        for other in others:
            node.export.bind(other, node.export.reference(result))
    return result


def _axes(node: Node) -> tuple[int, ...] | None:
    axes = node.inputs[1] if len(node.inputs) > 1 else None
    return None if axes is None or axes.known is None else axes.known.integers()


def _joined_directions(rows: Value, first: Node) -> list[Node]:
    """The nodes that put the directions (T, 2, N, H) beside each other: (T, N, 2 * H)."""
    if not isinstance(first.op, Transpose) or first.op.perm != (0, 2, 1, 3):
        return []
    (turned,) = first.outputs
    if turned.is_held or len(turned.uses) != 1 or rows.shape is None:
        return []
    ((second, slot),) = turned.uses
    wanted = (rows.shape[0], rows.shape[2], rows.shape[3] * 2)
    fits = isinstance(second.op, Reshape) and slot == 0 and second.graph is rows.graph
    is_known = not any(isinstance(size, Unknown) for size in wanted)
    return [first, second] if fits and is_known and second.outputs[0].shape == wanted else []


def _module_tensors(node: RecurrentNode, hidden: int) -> dict[str, Tensor]:
    """The state_dict of the module."""
    order = GATES[node.op.name]
    found: dict[str, Tensor] = {}
    for direction in range(node.op.direction.count):
        suffix = "_l0_reverse" if direction else "_l0"
        for slot, name in ((1, "weight_ih"), (2, "weight_hh")):
            weight = node.weight(slot)
            assert weight is not None
            found[name + suffix] = _in_order(_of_direction(weight, direction), order, hidden)
        bias = node.weight(3)
        if bias is not None:
            both, rows = _of_direction(bias, direction), len(order) * hidden
            found["bias_ih" + suffix] = _in_order(both.rows(0, rows), order, hidden)
            found["bias_hh" + suffix] = _in_order(both.rows(rows, 2 * rows), order, hidden)
    return found


def _of_direction(tensor: Tensor, direction: int) -> Tensor:
    return tensor.rows(direction, direction + 1).reshaped(tensor.shape[1:])


def _in_order(tensor: Tensor, order: Sequence[int], hidden: int) -> Tensor:
    """The rows of each gate in another order."""
    if list(order) == sorted(order):
        return tensor
    index = np.concatenate([np.arange(gate * hidden, (gate + 1) * hidden) for gate in order])
    return Tensor.computed(tensor.dtype, tensor.shape, lambda: np.asarray(tensor.numpy())[index])


def _activations(node: RecurrentNode) -> list[str]:
    """The functions of all directions. Numbers stand in lists of their own, for those functions that have one."""
    op = node.op
    names = [name.lower() for name in op.activations] or list(DEFAULTS[op.name] * op.direction.count)
    alphas, betas = list(op.activation_alpha), list(op.activation_beta)
    found = []
    for name in names:
        numbers = list(NUMBERS.get(name, ()))
        for place, stated in enumerate((alphas, betas)[: len(numbers)]):
            numbers[place] = stated.pop(0) if stated else numbers[place]
        if name not in FUNCTIONS and name not in NUMBERS:
            node.refuse(f"the activation {name} is none of ONNX's")
        found.append(FUNCTIONS[name] if name in FUNCTIONS else f"lambda v: {_with_numbers(name, *numbers)}")
    return found


def _with_numbers(name: str, alpha: float, beta: float = 0.0) -> str:
    """A function with numbers, of v."""
    first = float_text(alpha)
    match name:
        case "leakyrelu":
            return f"F.leaky_relu(v, {first})"
        case "elu":
            return f"F.elu(v, {first})"
        case "thresholdedrelu":
            return f"F.threshold(v, {first}, 0.0)"
        case "scaledtanh":
            inner = call("torch.tanh", binary("*", Expr(float_text(beta)), "v"))
            return binary("*", float_text(alpha), inner)
    line = binary("+", binary("*", first, "v"), float_text(beta))
    return line if name == "affine" else f"{line.atom}.clamp(0, 1)"


def _export_loops(node: RecurrentNode, hidden: int, activations: Sequence[str], lengths: Value | None) -> None:
    """A function for each direction."""
    op, count = node.op, node.op.direction.count
    per_direction = len(activations) // count
    function = node.function(op.name.lower())
    merged = _rows_value(node) if count == 1 else None
    parts: list[list[Reference]] = []
    for direction in range(count):
        functions = activations[direction * per_direction : (direction + 1) * per_direction]
        starts = [_first_state(node, slot, direction, hidden) for slot in _state_slots(op)]
        is_reverse = direction == 1 or op.direction is ir.Direction.REVERSE
        peepholes = _part(node, 7, direction) if op.has_cell else None
        text = call(
            function, node.tensor(), *(_part(node, slot, direction) or "None" for slot in (1, 2, 3)),
            tuple_of(starts) if op.has_cell else starts[0],
            functions[0] if per_direction == 1 else tuple_of(functions),
            lengths=None if lengths is None else str(node.tensor(4)),
            peepholes=peepholes,
            clip=None if op.clip is None else float_text(op.clip),
            late="True" if isinstance(op, ir.GRU) and op.linear_before_reset else None,
            input_forget="True" if isinstance(op, ir.LSTM) and op.input_forget else None,
            reverse="True" if is_reverse else None,
        )  # fmt: skip
        names = ["rows" if merged is None else merged, "state", "cell"][: len(starts) + 1]
        targets = [name if node.is_read(slot) else "_" for slot, name in enumerate(names)]
        parts.append(node.assign(targets, text, ", ".join(["{}"] * len(targets))))
    for slot in range(len(node.node.outputs)):
        if not node.is_read(slot) or (slot == 0 and merged is not None):
            continue
        results, axis = [part[slot] for part in parts], 0 if slot else 1
        if count == 1:
            node.emit(f"{results[0].atom}.unsqueeze({axis})", slot)
        else:
            node.emit(call("torch.stack", tuple_of(results), dim=str(axis) if axis else None), slot)


def _part(node: RecurrentNode, slot: int, direction: int) -> Expr | None:
    """What an operand holds for a direction."""
    return None if node.optional(slot) is None else Expr(f"{node.tensor(slot).atom}[{direction}]")


def _first_state(node: RecurrentNode, slot: int, direction: int, hidden: int) -> Expr:
    """A first state (N, H), zeros where it is absent."""
    part = _part(node, slot, direction)
    return part or Expr(f"{node.tensor().atom}.new_zeros({node.size(0, 1)}, {hidden})")


EXPORTS = table(
    row(ir.RNN, export_recurrent),
    row(ir.GRU, export_recurrent),
    row(ir.LSTM, export_recurrent),
)

__all__ = ["EXPORTS"]
