"""Pairs of all nodes of two graphs that do the same, down to activations, casts and biases.

What is exactly the same is paired first. Of the rest an alignment pairs what makes the structure, and what lies between
is paired along the values: two nodes of one kind that read the same values are the same, and so is a node that stands
in the place of another.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Sequence

from graphir.analysis.alignment import Alignment, Key, align, by_key, in_order
from graphir.analysis.attributes import attributes_of
from graphir.analysis.fingerprint import Fingerprints, exact_labels
from graphir.graph import Graph, Node, Value
from graphir.ops.elementwise import COMMUTATIVE


class Counterparts:
    """Which nodes and values of two graphs are the same, in both directions.

    `outer` are the values around two subgraphs that are known to be the same, `prints` what is known of the weights.
    """

    def __init__(self, left: Graph, right: Graph, outer: dict[Value, Value] | None = None) -> None:
        self.graphs = left, right
        self.prints = Fingerprints()
        self.forward: dict[Node, Node] = {}
        self.backward: dict[Node, Node] = {}
        self.values: dict[Value, Value] = dict(outer or {})
        self._reached: deque[tuple[Value, Value]] = deque()
        self._paired: deque[tuple[Node, Node]] = deque()
        self._through = False
        self._readers = _readers(left), _readers(right)
        for value, other in pair_inputs(left.inputs, right.inputs):
            self._join(value, other)
        self._pair_exactly()
        if len(self.forward) == len(left) == len(right):
            return
        self._pair_downwards()
        for node, partner in align(left, right, self.prints).matched:
            self._pair(node, partner)
        for key in (self._exactly, _kind_key):
            self._pair_sources(key)
            self._settle(key)
        self._replace_single()
        self._settle(_kind_key)
        self._settle(_kind_key, through=True)

    def alignment(self) -> Alignment:
        """Return the pairs in the first graph's order; nodes only in the second stand behind what they follow there."""
        return Alignment(tuple(in_order(*self.graphs, self.forward)))

    def _pair(self, node: Node, partner: Node) -> None:
        if node in self.forward or partner in self.backward:
            return
        self.forward[node], self.backward[partner] = partner, node
        self._paired.append((node, partner))
        for value, other in zip(node.outputs, partner.outputs, strict=False):
            self._join(value, other)

    def _join(self, value: Value, other: Value) -> None:
        self.values[value] = other
        self._reached.append((value, other))

    def _pair_exactly(self) -> None:
        """Nodes that do the same in the same place; those that can take each other's places, consistently."""
        around = {value: index for index, value in enumerate(self.values.values())}
        outer = {value: around[other] for value, other in self.values.items()}
        labels = exact_labels(self.graphs[0], outer, self.prints) | exact_labels(self.graphs[1], around, self.prints)
        sides = [by_key(graph.nodes, labels.__getitem__) for graph in self.graphs]
        for label, nodes in sides[0].items():
            if len(nodes) == len(sides[1].get(label, ())) == 1:
                self._pair(nodes[0], sides[1][label][0])
        self._pair_sources(labels.__getitem__)
        self._settle(labels.__getitem__)

    def _pair_downwards(self) -> None:
        """Nodes that do the same with the same, whatever reads them, if each is the only one."""
        pending = deque(self.values.items())
        while pending:
            self._pair_users(*pending.popleft(), self._exactly, single=True)
            pending.extend(self._reached)
            self._reached.clear()

    def _pair_sources(self, key: Key) -> None:
        """Nodes that read nothing that is computed, such as random numbers."""
        sides = [
            [node for node in graph.nodes if node not in matched and not self._computed_inputs(node)]
            for graph, matched in zip(self.graphs, (self.forward, self.backward), strict=True)
        ]
        others = by_key(sides[1], key)
        for label, nodes in by_key(sides[0], key).items():
            for node, partner in zip(nodes, others.get(label, ()), strict=False):
                self._pair(node, partner)

    def _settle(self, key: Key, *, through: bool = False) -> None:
        """Pair what reads the same values and, where several nodes do, what the same operand of a pair comes from.

        What is still alike then is the same in any order. `through` looks through nodes that have no counterpart.
        """
        self._through = through
        self._reached = deque(self.values.items())
        self._paired = deque(self.forward.items())
        alike: deque[tuple[Value, Value]] = deque()
        ends = deque(zip(self.graphs[0].outputs, self.graphs[1].outputs, strict=False))
        while self._reached or self._paired or ends or alike:
            if self._reached:
                value, other = self._reached.popleft()
                if self._pair_users(value, other, key, single=True):
                    alike.append((value, other))
            elif self._paired:
                self._pair_operands(*self._paired.popleft(), key)
            elif ends:
                self._pair_makers(*ends.popleft(), key)
            else:
                self._pair_users(*alike.popleft(), key, single=False)

    def _pair_users(self, value: Value, other: Value, key: Key, *, single: bool) -> bool:
        """Pair what reads two values that are the same; `single` leaves what has several counterparts, and says so."""
        users, others = self._open_users(value, other)
        if not users or not others:
            return False
        ready = by_key(users, lambda node: self._place(node, key, mapped=True))
        waiting = by_key(others, lambda node: self._place(node, key, mapped=False))
        left = False
        for label, nodes in ready.items():
            partners = waiting.get(label, [])
            if single and partners and len(nodes) + len(partners) > 2:
                left = True
                continue
            for node, partner in zip(nodes, partners, strict=False):
                self._pair(node, partner)
        return left

    def _pair_operands(self, node: Node, partner: Node, key: Key) -> None:
        """Pair what makes the operands of two nodes that are the same, slot by slot."""
        if type(node.op) in COMMUTATIVE:
            sources = by_key(self._open_makers(node.inputs, 0), key)
            others = by_key(self._open_makers(partner.inputs, 1), key)
            for label, nodes in sources.items():
                if len(nodes) == len(others.get(label, ())) == 1:
                    self._pair(nodes[0], others[label][0])
            return
        for value, other in zip(node.inputs, partner.inputs, strict=False):
            self._pair_makers(value, other, key)

    def _pair_makers(self, value: Value | None, other: Value | None, key: Key) -> None:
        """Pair what makes two values that stand in one place, if it is of one kind."""
        for node in self._open_makers([value], 0):
            for partner in self._open_makers([other], 1):
                if key(node) == key(partner):
                    self._pair(node, partner)

    def _open_makers(self, values: Sequence[Value | None], side: int) -> list[Node]:
        """Return the nodes of a graph that make these values and have no counterpart yet."""
        matched = self.backward if side else self.forward
        makers = dict.fromkeys(value.producer for value in values if value is not None)
        return [node for node in makers if node is not None and node.graph is self.graphs[side] and node not in matched]

    def _open_users(self, value: Value, other: Value) -> tuple[list[Node], list[Node]]:
        """Return what reads two values and has no counterpart yet."""
        users = [user for user in self._users(value, 0) if user not in self.forward]
        others = [user for user in self._users(other, 1) if user not in self.backward]
        return users, others

    def _users(self, value: Value, side: int) -> list[Node]:
        """Return what reads a value in its graph, and in the last round also what reads it through one node of its
        own."""
        users = list(self._readers[side].get(value, ()))
        if self._through:
            matched = self.backward if side else self.forward
            alone = [user for user in users if user not in matched]
            users += [behind for user in alone for output in user.outputs for behind in output.users()]
        return list(dict.fromkeys(users))

    def _place(self, node: Node, key: Key, *, mapped: bool) -> Hashable:
        """Return the key and the computed values that a node reads, in the second graph's terms; None if one has
        none."""
        read = self._computed_inputs(node)
        if self._through:
            read = [self._skip_unpaired(value, self.forward if mapped else self.backward) for value in read]
        if mapped:
            if any(value not in self.values for value in read):
                return None
            read = [self.values[value] for value in read]
        return key(node), tuple(sorted(read, key=id) if type(node.op) in COMMUTATIVE else read)

    def _skip_unpaired(self, value: Value, matched: dict[Node, Node]) -> Value:
        """Return the value that a node without counterpart makes this one from, if it reads one only; else the
        value."""
        maker = value.producer
        if maker is None or maker in matched or maker.graph not in self.graphs:
            return value
        read = self._computed_inputs(maker)
        return read[0] if len(read) == 1 else value

    @staticmethod
    def _computed_inputs(node: Node) -> list[Value]:
        return [value for value in node.inputs if value is not None and not _is_constant(value)]

    def _exactly(self, node: Node) -> Hashable:
        """Return the operator, its attributes and its constants."""
        constants = tuple(
            (slot, self.prints.fingerprint(value.tensor))
            for slot, value in enumerate(node.inputs)
            if value is not None and value.tensor is not None
        )
        return node.op.name, repr(attributes_of(node)), constants

    def _replace_single(self) -> None:
        """A single node takes the place of another: both read the same, and what reads them is the same."""
        for value, other in list(self.values.items()):
            users, others = self._open_users(value, other)
            if len(users) != 1 or len(others) != 1:
                continue
            node, partner = users[0], others[0]
            if [self.values.get(value) for value in self._computed_inputs(node)] != self._computed_inputs(partner):
                continue
            if self._reader_key(node, first=True) == self._reader_key(partner, first=False):
                self._pair(node, partner)

    def _reader_key(self, node: Node, *, first: bool) -> list[tuple[int, str]]:
        """Return what reads a node: the second graph's node, or its kind where it has no counterpart yet."""
        users = dict.fromkeys(user for value in node.outputs for user in value.users())
        if first:
            rows = [(self.forward.get(user), user.op.name) for user in users]
        else:
            rows = [(user if user in self.backward else None, user.op.name) for user in users]
        return sorted((id(user), "" if user is not None else kind) for user, kind in rows)


def _readers(graph: Graph) -> dict[Value, list[Node]]:
    """Return what reads each value in a graph. A value around it may have readers in any number of other graphs."""
    readers: dict[Value, list[Node]] = defaultdict(list)
    for node in graph.nodes:
        for value in dict.fromkeys(node.inputs):
            if value is not None:
                readers[value].append(node)
    return readers


def pair_inputs(left: Sequence[Value], right: Sequence[Value]) -> list[tuple[Value, Value]]:
    """Pair the inputs of two graphs: by name where names are shared, the others in order."""
    named = {value.name: value for value in right}
    pairs = [(value, named[value.name]) for value in left if value.name in named]
    taken = {value for pair in pairs for value in pair}
    rest = [[value for value in side if value not in taken] for side in (left, right)]
    return pairs + list(zip(*rest, strict=False))


def _is_constant(value: Value) -> bool:
    return value.producer is None and value.tensor is not None


def _kind_key(node: Node) -> Hashable:
    return node.op.name
