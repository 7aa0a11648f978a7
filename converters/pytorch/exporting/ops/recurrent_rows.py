"""Where the rows of a recurrent layer go: with the steps or with the batch first, without the axis of directions."""

from __future__ import annotations

from dataclasses import dataclass

from graphir.graph import Node, Value
from graphir.ops import recurrent as ir
from graphir.ops.creation import ConstantOfShape
from graphir.ops.shape import Expand, Reshape, Squeeze, Transpose, Unsqueeze
from graphir.types import Unknown

# What takes the axis of directions behind the batch: from there they are joined, with the steps or the batch first.
STEPS_FIRST, BATCH_FIRST = (0, 2, 1, 3), (2, 0, 1, 3)
SHAPED = (Expand, Reshape, Squeeze, Transpose, Unsqueeze)


@dataclass(frozen=True)
class LayerRows:
    """Values that are a layer's rows without an axis of directions: `by_step` are (T, N, D * H), those of them that
    more reads than what turns them; `by_batch` are (N, T, D * H). `nodes` give them."""

    by_step: tuple[Value, ...]
    by_batch: tuple[Value, ...]
    nodes: tuple[Node, ...]


def find_rows(layer: Node) -> LayerRows | None:
    """Return the rows of a layer, None where the axis of directions is read."""
    if joined := nodes_to_rows(layer, BATCH_FIRST):
        return LayerRows((), joined[-1].outputs, tuple(joined))
    nodes = nodes_to_rows(layer)
    plain = [node.outputs[0] for node in (nodes if _op(layer).direction.count == 1 else nodes[-1:])]
    turns = [user for value in plain for user, _ in value.uses if is_turn(user) and user.graph is layer.graph]
    read = [value for value in plain if value.is_held or any(user not in turns for user, _ in value.uses)]
    by_batch = tuple(turn.outputs[0] for turn in turns)
    return LayerRows(tuple(read), by_batch, (*nodes, *turns)) if nodes else None


def nodes_to_rows(layer: Node, perm: tuple[int, ...] = STEPS_FIRST) -> list[Node]:
    """Return the nodes that take the axis of directions away: each gives the rows if there is one direction, else the
    last one does."""
    rows = layer.outputs[0]
    nodes = [user for user, _ in rows.uses]
    if rows.is_held or not nodes or any(user.graph is not layer.graph for user in nodes):
        return []
    if _op(layer).direction.count == 2:
        return _joined_directions(rows, nodes[0], perm) if len(nodes) == 1 else []
    is_alone = all(isinstance(user.op, Squeeze) and _axes(user) in ((1,), (-3,)) for user in nodes)
    return nodes if is_alone and perm == STEPS_FIRST else []


def _op(layer: Node) -> ir.RNN | ir.GRU | ir.LSTM:
    assert isinstance(layer.op, ir.RNN | ir.GRU | ir.LSTM)
    return layer.op


def _axes(node: Node) -> tuple[int, ...] | None:
    axes = node.inputs[1] if len(node.inputs) > 1 else None
    return None if axes is None or axes.known is None else axes.known.integers()


def _joined_directions(rows: Value, first: Node, perm: tuple[int, ...]) -> list[Node]:
    """Return the nodes that put the directions (T, 2, N, H) beside each other."""
    if not isinstance(first.op, Transpose) or first.op.perm != perm:
        return []
    (turned,) = first.outputs
    if turned.is_held or len(turned.uses) != 1 or rows.shape is None:
        return []
    ((second, slot),) = turned.uses
    wanted = (rows.shape[perm[0]], rows.shape[perm[1]], rows.shape[3] * 2)
    fits = isinstance(second.op, Reshape) and slot == 0 and second.graph is rows.graph
    is_known = not any(isinstance(size, Unknown) for size in wanted)
    return [first, second] if fits and is_known and second.outputs[0].shape == wanted else []


def is_turn(node: Node) -> bool:
    """Return whether a node has steps and batch change places."""
    return isinstance(node.op, Transpose) and node.op.perm == (1, 0, 2)


def is_zero(value: Value) -> bool:
    """Return whether all elements of a value are known to be zero: a layer begins with such states by itself."""
    node = value.producer
    if node is None:
        return value.tensor is not None and not value.tensor.numpy().any()
    if isinstance(node.op, SHAPED) and node.inputs[0] is not None:
        return is_zero(node.inputs[0])
    return isinstance(node.op, ConstantOfShape) and node.op.value == 0
