"""Recurrent layers: the modules of torch where they compute the same, else functions that loop over the steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphir.converters.pytorch.exporting.context import ExportNode, Expr, binary, call, row, table, tuple_of
from graphir.converters.pytorch.exporting.expression import ValueReference
from graphir.converters.pytorch.exporting.ops.activation import float_text
from graphir.converters.pytorch.exporting.ops.recurrent_rows import (
    LayerRows,
    find_rows,
    is_turn,
    is_zero,
    nodes_to_rows,
)
from graphir.converters.pytorch.exporting.state import Weights
from graphir.graph import Node, Value
from graphir.ops import recurrent as ir
from graphir.tensor import Tensor

Recurrent = ir.RNN | ir.GRU | ir.LSTM
RecurrentNode = ExportNode[Recurrent]

DEFAULTS = {"RNN": ("tanh",), "GRU": ("sigmoid", "tanh"), "LSTM": ("sigmoid", "tanh", "tanh")}
# The gates in torch's order, each by its index in ONNX's.
GATES = {"RNN": (0,), "GRU": (1, 0, 2), "LSTM": (0, 2, 3, 1)}
FUNCTIONS = {
    "tanh": "torch.tanh", "sigmoid": "torch.sigmoid", "relu": "torch.relu", "softsign": "F.softsign",
    "softplus": "F.softplus",
}  # fmt: skip
# What the last state is called, and that of the cell.
STATES = ("h", "c")
# Functions of one tensor and numbers, with ONNX's defaults.
NUMBERS = {
    "leakyrelu": (0.01,), "thresholdedrelu": (1.0,), "elu": (1.0,), "hardsigmoid": (0.2, 0.5), "affine": (1.0, 0.0),
    "scaledtanh": (1.0, 1.0),
}  # fmt: skip


def export_recurrent(node: RecurrentNode) -> None:
    """nn.RNN, nn.GRU or nn.LSTM where the weights are constant, else a function."""
    (hidden,) = node.sizes(2, [2])
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
    """Return whether all sequences are known to be as long as the data."""
    steps = node.shape(0)[0]
    return lengths.tensor is not None and isinstance(steps, int) and bool((lengths.tensor.numpy() == steps).all())


def _nonlinearity(node: RecurrentNode, activations: Sequence[str]) -> str | None:
    """Return the function of nn.RNN, "tanh" for the other modules; None where no module computes this."""
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
    """A module of torch for the layer and those stacked on it, over the flipped steps where it runs backwards."""
    op, (features,) = node.op, node.sizes(1, [2])
    is_reverse = op.direction is ir.Direction.REVERSE
    layers = _stack(node, nonlinearity)
    last = layers[-1]
    parts = [_module_tensors(layer, hidden, f"_l{index}") for index, layer in enumerate(layers)]
    rows = find_rows(last.node)
    data = None if is_reverse else _data_by_batch(node, rows, last)
    is_turned = data is not None
    options = {
        "num_layers": None if len(layers) == 1 else str(len(layers)),
        "nonlinearity": '"relu"' if nonlinearity == "relu" else None,
        "bias": "False" if node.optional(3) is None else None,
        "batch_first": "True" if is_turned else None,
        "bidirectional": "True" if op.direction.count == 2 else None,
    }
    weights = {name: pair for part in parts for name, pair in part.items()}
    layer = node.layer(f"nn.{op.name}", [features, hidden], options, weights)
    data = data or node.tensor()
    target = _target(last, rows, is_turned=is_turned, is_reverse=is_reverse)
    text = call(layer, f"{data.atom}.flip(0)" if is_reverse else data, _states(node))
    result = _assign_results(node, target, text)
    if is_reverse:
        (result,) = node.assign([_target(last, rows, is_turned=False)], f"{result.atom}.flip(0)")
    if rows is not None:
        _give_rows(node, rows, result, is_turned=is_turned)
    elif last.is_read(0):
        last.emit(
            f"{result.atom}.unsqueeze(1)" if op.direction.count == 1
            else f"{result.atom}.unflatten(2, (2, {hidden})).transpose(1, 2)"
        )  # fmt: skip


def _states(node: RecurrentNode) -> str | None:
    """Return the first states as the module takes them, None where they are zero."""
    starts = [node.tensor(slot) if _has_state(node, slot) else None for slot in _state_slots(node.op)]
    if not any(starts):
        return None
    first = next(start for start in starts if start)
    states = [start or f"torch.zeros_like({first})" for start in starts]
    return tuple_of(states) if node.op.has_cell else str(first)


def _has_state(node: RecurrentNode, slot: int) -> bool:
    """Return whether a layer has a first state that may be other than zero."""
    value = node.optional(slot)
    return value is not None and not is_zero(value)


def _target(
    node: RecurrentNode, rows: LayerRows | None, *, is_turned: bool, is_reverse: bool = False
) -> Value | str:
    """Return what the layer's rows are assigned to: a value of the graph if they are one as they are."""
    if not node.is_read(0):
        return "_"
    values = () if rows is None or is_reverse else rows.by_batch if is_turned else rows.by_step
    return values[0] if values else "rows"


def _assign_results(node: RecurrentNode, target: Value | str, text: str) -> ValueReference:
    """Write the statement that calls the module, and return its rows."""
    finals = [value if node.is_read(slot) else "_" for slot, value in enumerate(node.node.outputs) if slot]
    pattern = "{}, ({}, {})" if node.op.has_cell else "{}, {}"
    if not any(isinstance(final, Value) for final in finals):
        pattern, finals = "{}, _", []
    return node.assign([target, *finals], text, pattern, names=("", *STATES))[0]


def _give_rows(node: RecurrentNode, rows: LayerRows, result: Expr, *, is_turned: bool) -> None:
    """Have the rows stand for all values that are these, turned for those with the other order of axes."""
    node.export.absorbed.update(rows.nodes)
    same, other = (rows.by_batch, rows.by_step) if is_turned else (rows.by_step, rows.by_batch)
    for value in same[1:]:
        node.export.bind(value, result)
    turned = Expr(f"{result.atom}.transpose(0, 1)")
    if is_turned:
        node.export.turned.update(dict.fromkeys(other, result))
    elif other:
        (turned,) = node.assign([other[0]], turned)
    for value in other:
        node.export.bind(value, turned)


def _data_by_batch(node: RecurrentNode, rows: LayerRows | None, last: RecurrentNode) -> Expr | None:
    """Return the data with the batch first, where they are turned before the layer and its rows behind it; None for
    other ones."""
    data = node.input(0)
    if rows is None and last.is_read(0):
        return None
    users = [] if rows is None else [use for value in rows.by_step for use in value.uses]
    if any(value.is_held for value in (() if rows is None else rows.by_step)):
        return None
    if not all(slot == 0 and user.graph is node.node.graph and _is_module(node, user) for user, slot in users):
        return None
    if data in node.export.turned:
        return node.export.turned[data]
    source = data.producer
    given = source.inputs[0] if source is not None and is_turn(source) else None
    return None if given is None else node.export.reference(given)


def _is_module(node: RecurrentNode, user: Node) -> bool:
    """Return whether a node becomes a module that takes its rows in their order."""
    if not isinstance(user.op, ir.RNN | ir.GRU | ir.LSTM) or user.op.direction is ir.Direction.REVERSE:
        return False
    layer: RecurrentNode = ExportNode(node.export, user)
    lengths = layer.optional(4)
    return (lengths is None or _are_whole(layer, lengths)) and _nonlinearity(layer, _activations(layer)) is not None


def _stack(node: RecurrentNode, nonlinearity: str) -> list[RecurrentNode]:
    """Return the layer and those stacked on it that one module computes: of the same kind and size, without states,
    each reads the rows of the one before and nothing else does. The nodes in between are not written."""
    layers = [node]
    while node.op.direction is not ir.Direction.REVERSE:
        between = nodes_to_rows(layers[-1].node)
        uses = between[-1].outputs[0].uses if between else []
        if len(uses) != 1 or between[-1].outputs[0].is_held or (node.op.direction.count == 1 and len(between) > 1):
            return layers
        (user, slot), *_ = uses
        if slot or user.op != node.op or user.graph is not node.node.graph:
            return layers
        above: RecurrentNode = ExportNode(node.export, user)
        has_states = any(_has_state(layer, slot) or layer.is_read(1) or layer.is_read(2)
                         for layer in (layers[-1], above) for slot in (4, 5, 6))  # fmt: skip
        has_bias = [layer.optional(3) is not None for layer in (node, above)]
        if has_states or has_bias[0] != has_bias[1] or _nonlinearity(above, _activations(above)) != nonlinearity:
            return layers
        node.export.absorbed.update([*between, user])
        layers.append(above)
    return layers


def _state_slots(op: Recurrent) -> tuple[int, ...]:
    return (5, 6) if op.has_cell else (5,)


def _module_tensors(node: RecurrentNode, hidden: int, layer: str) -> Weights:
    """Return a layer's part of the module's state_dict, each tensor with the operand that holds it; names end in
    `layer`."""
    order = GATES[node.op.name]
    result: Weights = {}
    for direction in range(node.op.direction.count):
        suffix = f"{layer}_reverse" if direction else layer
        for slot, name in ((1, "weight_ih"), (2, "weight_hh")):
            weight = node.weight(slot)
            assert weight is not None
            result[name + suffix] = _in_order(_of_direction(weight, direction), order, hidden), node.input(slot)
        bias = node.weight(3)
        if bias is not None:
            both, rows = _of_direction(bias, direction), len(order) * hidden
            for index, name in enumerate(("bias_ih", "bias_hh")):
                part = both.rows(index * rows, (index + 1) * rows)
                result[name + suffix] = _in_order(part, order, hidden), node.input(3)
    return result


def _of_direction(tensor: Tensor, direction: int) -> Tensor:
    return tensor.rows(direction, direction + 1).reshaped(tensor.shape[1:])


def _in_order(tensor: Tensor, order: Sequence[int], hidden: int) -> Tensor:
    """Return the rows of each gate in another order."""
    if list(order) == sorted(order):
        return tensor
    index = np.concatenate([np.arange(gate * hidden, (gate + 1) * hidden) for gate in order])
    return Tensor.computed(tensor.dtype, tensor.shape, lambda: np.asarray(tensor.numpy())[index])


def _activations(node: RecurrentNode) -> list[str]:
    """Return the functions of all directions. Numbers stand in lists of their own, for those functions that have
    one."""
    op = node.op
    names = [name.lower() for name in op.activations] or list(DEFAULTS[op.name] * op.direction.count)
    alphas, betas = list(op.activation_alpha), list(op.activation_beta)
    result = []
    for name in names:
        numbers = list(NUMBERS.get(name, ()))
        for place, stated in enumerate((alphas, betas)[: len(numbers)]):
            numbers[place] = stated.pop(0) if stated else numbers[place]
        if name not in FUNCTIONS and name not in NUMBERS:
            node.refuse(f"the activation {name} is none of ONNX's")
        result.append(FUNCTIONS[name] if name in FUNCTIONS else f"lambda v: {_with_numbers(name, *numbers)}")
    return result


def _with_numbers(name: str, alpha: float, beta: float = 0.0) -> str:
    """Return a function with numbers, of v."""
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
    rows = find_rows(node.node) if count == 1 else None
    parts: list[list[ValueReference]] = []
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
        finals = [name if node.is_read(slot) else "_" for slot, name in enumerate(STATES[: len(starts)], 1)]
        targets = [_target(node, rows, is_turned=False), *finals]
        parts.append(node.assign(targets, text, ", ".join(["{}"] * len(targets))))
    if rows is not None:
        _give_rows(node, rows, parts[0][0], is_turned=False)
    for slot in range(len(node.node.outputs)):
        if not node.is_read(slot) or (slot == 0 and rows is not None):
            continue
        results, axis = [part[slot] for part in parts], 0 if slot else 1
        if count == 1:
            node.emit(f"{results[0].atom}.unsqueeze({axis})", slot)
        else:
            node.emit(call("torch.stack", tuple_of(results), dim=str(axis) if axis else None), slot)


def _part(node: RecurrentNode, slot: int, direction: int) -> Expr | None:
    """Return what an operand holds for a direction."""
    return None if node.optional(slot) is None else Expr(f"{node.tensor(slot).atom}[{direction}]")


def _first_state(node: RecurrentNode, slot: int, direction: int, hidden: int) -> Expr:
    """Return a first state (N, H), zeros where it is absent."""
    part = _part(node, slot, direction)
    return part or Expr(f"{node.tensor().atom}.new_zeros({node.size(0, 1)}, {hidden})")


EXPORTS = table(
    row(ir.RNN, export_recurrent),
    row(ir.GRU, export_recurrent),
    row(ir.LSTM, export_recurrent),
)
