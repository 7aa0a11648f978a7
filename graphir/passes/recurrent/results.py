"""How the rows that a recurrent layer gives are used: the last one alone, or turned round like the sequence before."""

from __future__ import annotations

from graphir.graph import Graph, Node, Value
from graphir.ops import elementwise as ew
from graphir.ops.base import Operator, normalize_axis
from graphir.ops.creation import ConstantOfShape, Range
from graphir.ops.indexing import Gather
from graphir.ops.shape import Shape, Transpose, Unsqueeze
from graphir.ops.shape_parts import Concat, ReverseSequence, Slice
from graphir.passes.rewrite import put_in_place
from graphir.types import Dim, Sym

from .frames import counted
from .views import number_of

_FAR = 2**31 - 1


def last_takers(graph: Graph, rows: Value) -> list[Node]:
    """Return the nodes of a graph that take the last of the rows."""
    return [
        node
        for node in rows.users()
        if node.graph is graph and isinstance(node.op, Gather) and node.inputs[0] is rows
        and node.op.axis == 0 and _is_scalar(node.inputs[1], -1)
    ]  # fmt: skip


def take_last(graph: Graph, node: Node, last: Value) -> None:
    """Let `last` stand for what a node takes, and for the only row of lists that are made of it."""
    taken = node.outputs[0]
    for user in taken.users():
        if user.graph is graph and isinstance(user.op, Unsqueeze) and user.integers(1) == (0,):
            for other in user.outputs[0].users():
                is_row = isinstance(other.op, Gather) and other.inputs[0] is user.outputs[0] and other.op.axis == 0
                if is_row and other.graph is graph and any(_is_scalar(other.inputs[1], index) for index in (0, -1)):
                    put_in_place(graph, other, taken)
    put_in_place(graph, node, last)


def _is_scalar(value: Value | None, number: int) -> bool:
    return value is not None and value.rank == 0 and number_of(value) == number


def drop_whole_gathers(graph: Graph, rows: Value) -> None:
    """Let the rows be what gathers all of them, in order."""
    for node in rows.users():
        is_gather = isinstance(node.op, Gather) and node.graph is graph and node.inputs[0] is rows
        if is_gather and node.op.axis == 0 and _are_all(node.inputs[1], rows):  # type: ignore[attr-defined]
            put_in_place(graph, node, rows)


def _are_all(indices: Value | None, rows: Value) -> bool:
    """Return whether the indices are 0, 1, 2 and so on, as many as there are rows."""
    size = None if rows.shape is None else rows.shape[0]
    if indices is None or indices.rank != 1 or not isinstance(size, int | Sym):
        return False
    if indices.integers is not None:
        return isinstance(size, int) and indices.integers == tuple(range(size))
    node = counted(indices).producer
    if node is None or not isinstance(node.op, Range):
        return False
    start, limit, step = node.inputs
    if number_of(start) != 0 or number_of(step) != 1 or limit is None or limit.known is None:
        return False
    return limit.known.elements == (size,)


def find_zero_padding(rows: Value, length: Dim) -> Node | None:
    """Return the Concat that pads the rows with zeros up to `length`, None if anything else reads their number."""
    users = [node for node in rows.users() if not isinstance(node.op, Shape) or not node.op.start]
    if rows.is_held or [type(node.op) for node in users] not in ([Shape, Concat], [Concat, Shape]):
        return None
    count, join = users if isinstance(users[0].op, Shape) else users[::-1]
    difference = _only_user(count, ew.Sub)
    missing = None if difference is None else _only_user(difference, ew.Max)
    shape = None if missing is None else _only_user(missing, Concat)
    zeros = None if shape is None else _only_user(shape, ConstantOfShape)
    if difference is None or missing is None or zeros is None or _only_user(zeros, Concat) is not join:
        return None
    total = difference.inputs[0]
    fits = (
        count.op == Shape(end=1) and join.op == Concat(0) and join.inputs == (rows, zeros.outputs[0])
        and difference.inputs[1] is count.outputs[0] and total is not None and total.known is not None
        and total.known.elements == (length,) and len(missing.inputs) == 2 and number_of(missing.inputs[1]) == 0
        and isinstance(zeros.op, ConstantOfShape) and zeros.op.value == 0
    )  # fmt: skip
    return join if fits else None


def _only_user(node: Node, kind: type[Operator]) -> Node | None:
    """Return the only node that uses the result, if it is of this kind."""
    result, users = node.outputs[0], node.outputs[0].users()
    return users[0] if len(users) == 1 and isinstance(users[0].op, kind) and not result.is_held else None


def forward_source(value: Value, lengths: Value | None) -> tuple[Value, list[tuple[int, ...]]] | None:
    """Return what a sequence (T, N, I) is the reverse of, and the transposes between them, the last one first.

    With `lengths` each of the N sequences is turned round as far as it goes.
    """
    axes = (0, 1)
    perms: list[tuple[int, ...]] = []
    while (node := value.producer) is not None and node.inputs and node.inputs[0] is not None:
        if _is_turn(node, axes, lengths):
            return node.inputs[0], perms
        if not isinstance(node.op, Transpose) or not node.op.perm:
            return None
        perms.append(node.op.perm)
        axes, value = (node.op.perm[axes[0]], node.op.perm[axes[1]]), node.inputs[0]
    return None


def reversals(graph: Graph, rows: Value, ignored: list[Node], lengths: Value | None) -> list[Node] | None:
    """Return the nodes that turn the rows (T, N, H) round, None if anything else uses them as they are."""
    nodes: list[Node] = []
    pending = [(rows, (0, 1))]
    while pending:
        value, axes = pending.pop()
        if value.is_held:
            return None
        for node in value.users():
            if node in ignored:
                continue
            if node.graph is not graph:
                return None
            if _is_turn(node, axes, lengths):
                nodes.append(node)
            elif isinstance(node.op, Transpose) and node.op.perm:
                pending.append((node.outputs[0], (node.op.perm.index(axes[0]), node.op.perm.index(axes[1]))))
            else:
                return None
    return nodes


def _is_turn(node: Node, axes: tuple[int, int], lengths: Value | None) -> bool:
    """Return whether a node turns round its operand's axis of time, the first of the axes; the other one is the
    batch."""
    if lengths is None:
        return is_reversal(node, axes[0])
    op, value = node.op, node.inputs[0] if node.inputs else None
    if not isinstance(op, ReverseSequence) or value is None or value.rank is None or node.inputs[1] is None:
        return False
    stated = normalize_axis(op.time_axis, value.rank), normalize_axis(op.batch_axis, value.rank)
    return stated == axes and counted(node.inputs[1]) is counted(lengths)


def is_reversal(node: Node, axis: int) -> bool:
    """Return whether a node turns its operand round along this axis alone."""
    value = node.inputs[0] if node.inputs else None
    if not isinstance(node.op, Slice) or value is None or value.shape is None:
        return False
    starts, stops, axes, steps = (node.integers(slot) for slot in range(1, 5))
    if starts is None or stops is None or axes is None or steps != (-1,) or len(axes) != 1:
        return False
    if normalize_axis(axes[0], len(value.shape)) != axis:
        return False
    size = value.shape[axis]
    last, behind = (size - 1, -size - 1) if isinstance(size, int) else (_FAR, -_FAR)
    return (starts[0] == -1 or starts[0] >= last) and stops[0] <= behind
