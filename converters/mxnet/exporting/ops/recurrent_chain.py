"""Recurrent layers that stand one on the other, as one RNN of MXNet has them."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphir.graph import Graph, Node, Value
from graphir.ops import recurrent as ir
from graphir.ops.creation import ConstantOfShape, Fill
from graphir.ops.indexing import Gather
from graphir.ops.shape import Expand, Reshape, Squeeze, Tile, Transpose, Unsqueeze
from graphir.ops.shape_parts import Concat, Slice

Recurrent = (ir.RNN, ir.GRU, ir.LSTM)
SMALL = 1 << 16
MOVES = (Expand, Gather, Reshape, Slice, Squeeze, Tile, Transpose, Unsqueeze)
USUAL = {ir.LSTM: ("sigmoid", "tanh", "tanh"), ir.GRU: ("sigmoid", "tanh")}


def mode_of(node: Node) -> str | None:
    """Return the mode in which MXNet's RNN computes a layer (but for its lengths), None if in none."""
    op = node.op
    assert isinstance(op, Recurrent)
    if op.clip is not None or node.operand(7) is not None:
        return None
    stated = tuple(name.lower() for name in op.activations)
    if isinstance(op, ir.RNN):
        kinds = set(stated) or {"tanh"}
        return f"rnn_{kinds.pop()}" if kinds in ({"tanh"}, {"relu"}) else None
    if stated and stated != USUAL[type(op)] * op.direction.count:
        return None
    if isinstance(op, ir.GRU):
        return "gru" if op.linear_before_reset else None
    return None if op.input_forget else "lstm"


@dataclass
class Chain:
    """Layers, first to last; what they begin with by slot (None: zeros), and the values that one RNN gives.

    `merged` is the last layer's result (T, N, D * H), None if its directions are wanted apart. `finals` holds for the
    state and the cell each layer's last one, None where nothing uses it. `covered` are the nodes that are not written.
    """

    layers: list[Node]
    begins: dict[int, Value] = field(default_factory=dict)
    merged: Value | None = None
    finals: list[list[Value | None]] = field(default_factory=list)
    covered: set[Node] = field(default_factory=set)

    def stem(self, wanted: str) -> str:
        """Return the name of the node: that which the last layer's result asks for, else `wanted`, or one near to
        it."""
        if self.merged is not None:
            return self.merged.name.removesuffix("_output")
        apart = self.layers[-1].outputs[0].name.removesuffix("_output")
        return wanted if wanted != apart else f"{wanted}_rnn"

    def joined(self, finals: list[Value | None]) -> Value | None:
        """Return the value that stacks the last states of several layers and is all that is made of them."""
        result = joined_states(finals)
        if result is None or result.producer is None:
            return None
        self.covered.add(result.producer)
        return result


def joined_states(finals: list[Value | None]) -> Value | None:
    """Return the result of one Concat of all these values, if nothing else uses any of them."""
    if len(finals) < 2 or any(value is None or len(value.uses) != 1 for value in finals):
        return None
    users = {user for value in finals if value is not None for user, _ in value.uses}
    if len(users) != 1:
        return None
    (user,) = users
    if not isinstance(user.op, Concat) or user.op.axis != 0 or list(user.inputs) != finals:
        return None
    return user.outputs[0]


def chain_of(node: Node, graph: Graph) -> Chain:
    """Return the layers from this one on that MXNet's RNN has in common with it."""
    layers = [node]
    between: list[Node] = []
    merged, steps = _merged(node, graph)
    while merged is not None:
        following = _following(merged, node, graph)
        if following is None:
            break
        layers.append(following)
        between += steps
        merged, steps = _merged(following, graph)
    if len(layers) > 1:
        result = _chain(layers, graph, {*between, *layers[1:]})
        if result is not None:
            result.merged, ends = _merged(layers[-1], graph)
            result.covered.update(ends)
            return result
    result = _chain([node], graph, set())
    assert result is not None
    result.merged, ends = _merged(node, graph)
    result.covered.update(ends)
    return result


def _chain(layers: list[Node], graph: Graph, covered: set[Node]) -> Chain | None:
    """Return the chain of these layers, None if what they begin with is not cut out of one value."""
    chain = Chain(layers, covered=covered)
    has_cell = isinstance(layers[0].op, ir.LSTM)
    for slot in (5, 6) if has_cell else (5,):
        begins = [layer.operand(slot) for layer in layers]
        begins = [None if value is None or is_zero(value) else value for value in begins]
        if all(value is None for value in begins):
            continue
        if len(layers) == 1:
            assert begins[0] is not None
            chain.begins[slot] = begins[0]
            continue
        source = _cut_from(begins, layers[0].op.direction.count)  # type: ignore[attr-defined]
        if source is None:
            return None
        chain.begins[slot] = source
    for slot in (1, 2) if has_cell else (1,):
        finals = [layer.outputs[slot] for layer in layers]
        chain.finals.append([value if value.uses or graph.is_output(value) else None for value in finals])
    return chain


def is_zero(value: Value) -> bool:
    """Return whether a begin state is known to be all zeros."""
    producer = value.producer
    if producer is not None and isinstance(producer.op, MOVES) and producer.inputs[0] is not None:
        return is_zero(producer.inputs[0])
    if producer is not None and isinstance(producer.op, ConstantOfShape | Fill):
        return producer.op.value == 0
    return value.tensor is not None and value.tensor.size <= SMALL and not value.tensor.numpy().any()


def _cut_from(begins: list[Value | None], directions: int) -> Value | None:
    """Return the value of which these are the parts, in order, along the first axis."""
    sources: set[Value | None] = set()
    for layer, value in enumerate(begins):
        cut = None if value is None else value.producer
        if cut is None or not isinstance(cut.op, Slice) or len(cut.inputs) < 4:
            return None
        numbers = [cut.integers(slot) for slot in range(1, len(cut.inputs))]
        wanted = [(layer * directions,), ((layer + 1) * directions,), (0,)]
        if numbers[:3] != wanted or numbers[3:] not in ([], [(1,)]):
            return None
        sources.add(cut.inputs[0])
    (source, *others) = sources
    if others or source is None or source.shape is None or source.shape[0] != len(begins) * directions:
        return None
    return source


def _merged(layer: Node, graph: Graph) -> tuple[Value | None, list[Node]]:
    """Return the result with the directions side by side, (T, N, D * H), if nothing else is made of it; and the
    nodes."""
    result = layer.outputs[0]
    user = _only_user(result, graph)
    if user is None:
        return None, []
    if layer.op.direction.count == 1:  # type: ignore[attr-defined]
        if not isinstance(user.op, Squeeze) or user.integers(1) not in ((1,), (-3,)):
            return None, []
        return user.outputs[0], [user]
    if not isinstance(user.op, Transpose) or user.op.perm != (0, 2, 1, 3):
        return None, []
    joint = _only_user(user.outputs[0], graph)
    if joint is None or not isinstance(joint.op, Reshape):
        return None, []
    outcome = joint.outputs[0]
    shape, hidden = result.shape, result.shape[3] if result.shape is not None else None
    if shape is None or outcome.shape is None or len(outcome.shape) != 3 or not isinstance(hidden, int):
        return None, []
    if outcome.shape[:2] != (shape[0], shape[2]) or outcome.shape[2] != 2 * hidden:
        return None, []
    return outcome, [user, joint]


def _only_user(value: Value, graph: Graph) -> Node | None:
    """Return the one node that uses a value, which is no output of the graph."""
    if graph.is_output(value) or len(value.uses) != 1:
        return None
    ((user, slot),) = value.uses
    return user if slot == 0 else None


def _following(merged: Value, first: Node, graph: Graph) -> Node | None:
    """Return the layer that has this result as its data and may be one of the same RNN."""
    user = _only_user(merged, graph)
    if user is None or type(user.op) is not type(first.op) or not isinstance(user.op, Recurrent):
        return None
    like = first.op
    assert isinstance(like, Recurrent)
    if mode_of(user) != mode_of(first) or user.op.direction is not like.direction:
        return None
    if like.direction is ir.Direction.REVERSE:
        return None
    has_lengths = any(node.operand(4) is not None for node in (first, user))
    recurrent, other = user.inputs[2], first.inputs[2]
    if has_lengths or recurrent is None or other is None or recurrent.shape != other.shape:
        return None
    return user
