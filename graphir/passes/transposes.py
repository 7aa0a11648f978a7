"""Transposes moved and cancelled: as few of them as possible between operators that want different layouts.

For one order of axes, each node that can work in either layout chooses one. A value that is made in one layout and
wanted in the other costs a Transpose; the choice with the fewest is a smallest cut of the graph (`min_cut`), so that
the result is the best there is, not what a walk happens to find. Exact: no number changes.
"""

from __future__ import annotations

from collections.abc import Iterable

from graphir.graph import Graph, Node, Value
from graphir.ops.indexing import Gather
from graphir.ops.shape import Reshape, Transpose
from graphir.types import DType

from .axis_moves import Move, Order, find_move, is_spreadable
from .dead_code import remove_dead_code
from .min_cut import ENDLESS, SINK, SOURCE, FlowNetwork
from .outcome import Outcome

MAX_ROUNDS = 4
# A parameter of at most so many bytes may be stored in both layouts; a larger one only in one.
SHARED_LIMIT = 1 << 16


def move_transposes(graph: Graph) -> Outcome:
    """Rewrite the graph with as few Transposes as possible; names of its outputs stay.

    Transposes of parameters are left behind for `simplify` to fold. Subgraphs are left as they are.
    """
    outcome = Outcome()
    for _ in range(MAX_ROUNDS):
        result = Outcome()
        for order in _orders(graph):
            result |= _Layouts(graph, order).improve()
        outcome |= result
        if not result:
            break
    return outcome


def _is_transpose(node: Node) -> bool:
    """Return whether the node transposes a value that is computed or fed, by a stated order."""
    value = node.inputs[0] if isinstance(node.op, Transpose) else None
    return value is not None and (value.producer is not None or value.tensor is None) and bool(node.op.perm)  # type: ignore[attr-defined]


def _orders(graph: Graph) -> list[Order]:
    """Return the orders of the graph's Transposes, each with its inverse behind it; those used most come first."""
    counts: dict[Order, int] = {}
    for node in graph.nodes:
        if _is_transpose(node):
            order = node.op.perm  # type: ignore[attr-defined]
            counts[order] = counts.get(order, 0) + 1
    both = {order: counts.get(order, 0) + counts.get(inverse(order), 0) for order in counts}
    orders: dict[Order, None] = {}
    for order in sorted(both, key=lambda order: (-both[order], order)):
        orders[order] = None
        orders[inverse(order)] = None
    return list(orders)


def inverse(order: Order) -> Order:
    """Return the order that undoes another.

    >>> inverse((0, 3, 1, 2))
    (0, 2, 3, 1)
    """
    return tuple(order.index(axis) for axis in range(len(order)))


class _Layouts:
    """The choice for one order: a value is as it stands, or *moved*: transposed by `order`.

    A Transpose by `order` wants its operand moved (an exit), one by the inverse gives a result that was made moved (an
    entry); where both are the same order, the first on a way is an entry.
    """

    def __init__(self, graph: Graph, order: Order) -> None:
        self.graph = graph
        self.order = order
        self.back = inverse(order)
        self.moves: dict[Node, Move] = {}
        self.entries: set[Node] = set()
        self.exits: set[Node] = set()
        self._moved: dict[Value, Value] = {}
        self._classify()

    def _classify(self) -> None:
        behind_entry: set[Value] = set()
        for node in self.graph.nodes:
            if _is_transpose(node) and node.op.perm in (self.order, self.back):  # type: ignore[attr-defined]
                is_entry = node.op.perm == self.back  # type: ignore[attr-defined]
                if self.order == self.back:
                    is_entry = node.inputs[0] not in behind_entry
                (self.entries if is_entry else self.exits).add(node)
                if is_entry:
                    behind_entry.update(node.outputs)
                continue
            move = find_move(node, self.order)
            if move is not None:
                self.moves[node] = move
                if move.moves and any(node.inputs[slot] in behind_entry for slot in move.slots):
                    behind_entry.update(node.outputs)

    def improve(self) -> Outcome:
        """Rewrite the graph if that takes Transposes away."""
        outcome = Outcome()
        before = len(self.entries) + len(self.exits)
        if not before:
            return outcome
        network = FlowNetwork()
        vertices = {node: network.add_vertex() for node, move in self.moves.items() if move.moves}
        for value in self.graph.values:
            if value.rank == len(self.order):
                self._connect(network, vertices, value)
        after, chosen = network.cut()
        if after >= before:
            return outcome
        moved = {node for node, vertex in vertices.items() if vertex in chosen}
        for node in self.graph.nodes:
            if node in moved:
                outcome.note(node.name, f"it works in the order {self.order} of axes, which takes Transposes away")
            elif node in self.entries or node in self.exits:
                outcome.note(node.name, "it moves to where fewer Transposes do")
        self._rewrite(moved)
        remove_dead_code(self.graph)
        return outcome

    def _connect(self, network: FlowNetwork, vertices: dict[Node, int], value: Value) -> None:
        """State what it costs if the value is made in one layout and wanted in another."""
        producer = value.producer
        if producer is None and self._is_free(value):
            return
        origin = SINK
        if producer is not None:
            origin = SOURCE if producer in self.entries else vertices.get(producer, SINK)
        wanted = {self._wanted_by(node, slot, vertices) for node, slot in value.uses}
        if self._is_held(value):
            wanted.add(SINK)
        wanted -= {origin, None}
        others = [vertex for vertex in wanted if vertex is not None]
        if origin != SINK:
            _cost_if_split(network, origin, others)
        if origin != SOURCE:
            _cost_if_joined(network, origin, others)

    def _wanted_by(self, node: Node, slot: int, vertices: dict[Node, int]) -> int | None:
        """Return the layout that a use wants: a place that chooses, one of the two, or None for either."""
        if node in self.exits:
            return SOURCE
        move = self.moves.get(node)
        if move is None or slot not in move.slots or node.graph is not self.graph:
            return SINK
        return vertices[node] if move.moves else None

    def _is_held(self, value: Value) -> bool:
        """Return whether the value is an output of this graph or of a subgraph."""
        return self.graph.is_output(value) or value.is_held

    def _is_free(self, value: Value) -> bool:
        """Return whether a parameter can be stored in either layout at no cost."""
        if value.tensor is None or value.tensor.dtype is DType.STRING:
            return False
        return len(value.uses) == 1 or value.tensor.nbytes <= SHARED_LIMIT

    def _rewrite(self, chosen: set[Node]) -> None:
        for node in list(self.graph.nodes):
            if node in self.entries:
                source = node.inputs[0]
                assert source is not None
                self._moved[node.outputs[0]] = source
            elif node in self.exits:
                self._drop_exit(node)
            elif node in chosen:
                self._move(node)
            elif node in self.moves and not self.moves[node].moves:
                self._move_operand(node)

    def _drop_exit(self, node: Node) -> None:
        source, result = node.inputs[0], node.outputs[0]
        assert source is not None
        moved = self._moved.get(source)
        if moved is None:
            self._moved[source] = result
        elif not self.graph.is_output(result):
            moved.sources = tuple(dict.fromkeys((*moved.sources, *result.sources)))
            self.graph.replace_uses(result, moved)
            self.graph.erase(node)

    def _move(self, node: Node) -> None:
        """Let a node work on moved operands, with Transposes back behind it, most of which nothing will use."""
        graph = self.graph
        operands = self._operands(node)
        names = [graph.fresh_name(f"{value.name}_moved") for value in node.outputs]
        replacement = graph.add_node(self.moves[node].op, operands, name=node.name, output_names=names, before=node)
        for old, new in zip(node.outputs, replacement.outputs, strict=True):
            name, is_output = old.name, self._is_held(old)
            back = graph.add_node(Transpose(self.back), (new,), name=f"{node.name}_transpose", before=node).output
            new.sources = old.sources
            graph.replace_uses(old, back)
            self._moved[back] = new
            graph.rename(old, graph.fresh_name(f"{name}_old"))
            graph.rename(back if is_output else new, name)
        graph.erase(node)

    def _move_operand(self, node: Node) -> None:
        """Let a node whose results stay the same work on a moved operand, where there is one."""
        move, graph = self.moves[node], self.graph
        operand = node.inputs[move.slots[0]]
        if operand is None or operand not in self._moved:
            return
        operands = self._operands(node)
        result = node.outputs[0]
        name, sources = result.name, result.sources
        outputs = graph.add_node(move.op, operands, name=node.name, before=node).outputs
        final = outputs[0]
        if move.picks:
            picks = graph.constant(list(move.picks), DType.INT64)
            final = graph.add(Gather(), final, picks, name=f"{node.name}_picks", before=node)
        graph.replace_uses(result, final)
        final.sources = sources
        graph.erase(node)
        graph.rename(final, name)

    def _operands(self, node: Node) -> list[Value | None]:
        move = self.moves[node]
        operands: list[Value | None] = []
        for slot, value in enumerate(node.inputs):
            if slot in move.vectors and value is not None:
                shaped = move.vectors[slot][0] if value.shape == () else list(move.vectors[slot])
                operands.append(self.graph.constant(shaped, value.dtype))
            elif slot in move.slots and value is not None:
                operands.append(self._get_moved(value, node))
            else:
                operands.append(value)
        for slot in sorted(move.vectors):
            if slot >= len(operands) or operands[slot] is None:
                operands += [None] * (slot + 1 - len(operands))
                operands[slot] = self.graph.constant(list(move.vectors[slot]), DType.INT64)
        return operands

    def _get_moved(self, value: Value, before: Node) -> Value:
        """Return the value moved: as it was made, or behind a Transpose; a parameter of lower rank is spread first."""
        moved = self._moved.get(value)
        if moved is not None and self.graph.can_use(moved):
            return moved
        spread = value
        if value.rank != len(self.order) and is_spreadable(value, self.order):
            shape = (1,) * (len(self.order) - len(value.shape or ())) + (value.shape or ())
            sizes = self.graph.constant(list(shape), DType.INT64)
            spread = self.graph.add(Reshape(), value, sizes, name=f"{value.name}_spread", before=before)
        result = self.graph.add(Transpose(self.order), spread, name=f"{value.name}_moved", before=before)
        if value.producer is not None or value.tensor is None:
            self._moved[value] = result
        return result


def _cost_if_split(network: FlowNetwork, origin: int, wanted: Iterable[int]) -> None:
    """One unit if a value is made moved and one of those who want it is not."""
    others = list(wanted)
    if len(others) == 1:
        network.connect(origin, others[0], 1)
    elif others:
        vertex = network.add_vertex()
        network.connect(origin, vertex, 1)
        for other in others:
            network.connect(vertex, other, ENDLESS)


def _cost_if_joined(network: FlowNetwork, origin: int, wanted: Iterable[int]) -> None:
    """One unit if a value is not made moved and one of those who want it is."""
    others = list(wanted)
    if len(others) == 1:
        network.connect(others[0], origin, 1)
    elif others:
        vertex = network.add_vertex()
        network.connect(vertex, origin, 1)
        for other in others:
            network.connect(other, vertex, ENDLESS)
