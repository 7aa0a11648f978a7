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
    op, (features,) = node.op, node.fixed(node.shape(1)[2:], f"the weights {node.input(1).name}")
    is_reverse = op.direction is ir.Direction.REVERSE
    layers = _stack(node, nonlinearity)
    last, data = layers[-1], node.tensor()
    parts = [_module_tensors(layer, hidden, f"_l{index}") for index, layer in enumerate(layers)]
    merged = _rows_value(last)
    turned = None if is_reverse else _turned_back(node, merged, last)
    if turned is not None:
        data, merged = turned
    options = {
        "num_layers": None if len(layers) == 1 else str(len(layers)),
        "nonlinearity": '"relu"' if nonlinearity == "relu" else None,
        "bias": "False" if node.optional(3) is None else None,
        "batch_first": None if turned is None else "True",
        "bidirectional": "True" if op.direction.count == 2 else None,
    }
    tensors = {name: tensor for part in parts for name, (tensor, _) in part.items()}
    sources = {name: value for part in parts for name, (_, value) in part.items()}
    layer = node.layer(f"nn.{op.name}", [features, hidden], options, tensors=tensors, sources=sources)
    data = Expr(f"{data.atom}.flip(0)") if is_reverse else data
    states: str | None = None
    if any(node.optional(slot) is not None for slot in (5, 6)):
        starts = [node.tensor(slot) if node.optional(slot) is not None else None for slot in _state_slots(op)]
        states = tuple_of(start or f"torch.zeros_like({starts[slot - 1]})" for slot, start in enumerate(starts))
        states = states if op.has_cell else str(starts[0])
    finals = [value if node.is_read(slot) else "_" for slot, value in enumerate(node.node.outputs) if slot]
    rows = "_" if not last.is_read(0) else "rows" if merged is None or is_reverse else merged
    pattern = ""
    if any(isinstance(final, Value) for final in finals):
        pattern = "{}, ({}, {})" if op.has_cell else "{}, {}"
    else:
        pattern, finals = "{}, _", []
    reference, *_ = node.assign([rows, *finals], call(layer, data, states), pattern)
    if is_reverse:
        reference = node.assign(["rows" if merged is None else merged], f"{reference.atom}.flip(0)")[0]
    if merged is None and op.direction.count == 1:
        last.emit(f"{reference.atom}.unsqueeze(1)")
    elif merged is None:
        last.emit(f"{reference.atom}.unflatten(2, (2, {hidden})).transpose(1, 2)")


def _stack(node: RecurrentNode, nonlinearity: str) -> list[RecurrentNode]:
    """Return the layer and those stacked on it that one module computes: of the same kind and size, without states,
    each reads the rows of the one before and nothing else does. The nodes in between are not written."""
    layers = [node]
    while node.op.direction is not ir.Direction.REVERSE:
        between = _nodes_to_rows(layers[-1])
        uses = between[-1].outputs[0].uses if between else []
        if len(uses) != 1 or between[-1].outputs[0].is_held or (node.op.direction.count == 1 and len(between) > 1):
            return layers
        (user, slot), *_ = uses
        if slot or user.op != node.op or user.graph is not node.node.graph:
            return layers
        above: RecurrentNode = ExportNode(node.export, user)
        has_states = any(layer.optional(slot) is not None or layer.is_read(1) or layer.is_read(2)
                         for layer in (layers[-1], above) for slot in (4, 5, 6))  # fmt: skip
        has_bias = [layer.optional(3) is not None for layer in (node, above)]
        if has_states or has_bias[0] != has_bias[1] or _nonlinearity(above, _activations(above)) != nonlinearity:
            return layers
        node.export.absorbed.update([*between, user])
        layers.append(above)
    return layers


def _turned_back(node: RecurrentNode, rows: Value | None, last: RecurrentNode) -> tuple[Expr, Value | None] | None:
    """Return the data and the rows with the batch first, where they are turned to that before and behind the layer."""
    source = node.input(0).producer
    if source is None or not _is_turn(source) or (rows is None and last.is_read(0)):
        return None
    given = source.inputs[0]
    nodes = [] if rows is None else [user for user, _ in rows.uses]
    is_turned = rows is None or (not rows.is_held and len(nodes) == 1 and _is_turn(nodes[0]))
    if given is None or not is_turned or any(user.graph is not node.node.graph for user in nodes):
        return None
    node.export.absorbed.update(nodes)
    return node.export.reference(given), nodes[0].outputs[0] if nodes else None


def _is_turn(node: Node) -> bool:
    """Return whether a node has steps and batch change places."""
    return isinstance(node.op, Transpose) and node.op.perm == (1, 0, 2)


def _state_slots(op: Recurrent) -> tuple[int, ...]:
    return (5, 6) if op.has_cell else (5,)


def _rows_value(node: RecurrentNode) -> Value | None:
    """Return the value that is the first result without an axis of directions (T, N, D * H), where nothing else of it
    is read: the nodes on the way to it are not written."""
    nodes = _nodes_to_rows(node)
    if not nodes:
        return None
    node.export.absorbed.update(nodes)
    *others, result = (other.outputs[0] for other in nodes)
    if node.op.direction.count == 1:
        for other in others:
            node.export.bind(other, node.export.reference(result))
    return result


def _nodes_to_rows(node: RecurrentNode) -> list[Node]:
    """Return the nodes that take the axis of directions away, the last one of which gives (T, N, D * H)."""
    rows = node.result
    nodes = [other for other, _ in rows.uses]
    if rows.is_held or not nodes or any(other.graph is not rows.graph for other in nodes):
        return []
    if node.op.direction.count == 2:
        return _joined_directions(rows, nodes[0]) if len(nodes) == 1 else []
    return nodes if all(isinstance(other.op, Squeeze) and _axes(other) in ((1,), (-3,)) for other in nodes) else []


def _axes(node: Node) -> tuple[int, ...] | None:
    axes = node.inputs[1] if len(node.inputs) > 1 else None
    return None if axes is None or axes.known is None else axes.known.integers()


def _joined_directions(rows: Value, first: Node) -> list[Node]:
    """Return the nodes that put the directions (T, 2, N, H) beside each other: (T, N, 2 * H)."""
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


def _module_tensors(node: RecurrentNode, hidden: int, layer: str) -> dict[str, tuple[Tensor, Value]]:
    """Return a layer's part of the module's state_dict, each tensor with the operand that holds it; names end in
    `layer`."""
    order = GATES[node.op.name]
    result: dict[str, tuple[Tensor, Value]] = {}
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
