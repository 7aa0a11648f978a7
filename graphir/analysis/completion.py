"""From the pairs that an alignment is sure of to pairs of all nodes that do the same: activations, casts, biases.

An alignment pairs what makes the structure. What lies between is paired here along the values: two nodes of one kind
that read the same values are the same, and so is a node that stands in the place of another.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Sequence

from graphir.analysis.alignment import Alignment, Pair, align
from graphir.analysis.attributes import attributes_of
from graphir.analysis.fingerprint import fingerprint
from graphir.graph import Graph, Node, Value
from graphir.ops import elementwise

Key = Callable[[Node], Hashable]
COMMUTATIVE = frozenset({elementwise.Add, elementwise.Mul, elementwise.Max, elementwise.Min, elementwise.Sum})


class Counterparts:
    """Which nodes and values of two graphs are the same, in both directions.

    `outer` are the values around two subgraphs that are known to be the same.
    """

    def __init__(self, left: Graph, right: Graph, outer: dict[Value, Value] | None = None) -> None:
        self.graphs = left, right
        self.forward: dict[Node, Node] = {}
        self.backward: dict[Node, Node] = {}
        self.values: dict[Value, Value] = dict(outer or {})
        self._reached: deque[tuple[Value, Value]] = deque()
        for value, other in pair_inputs(left.inputs, right.inputs):
            self._join(value, other)
        for node, partner in align(left, right).matched:
            self._pair(node, partner)
        for key in (_exactly, _alike, None):
            self._pair_sources(key or _alike)
            self._follow(key)

    def alignment(self) -> Alignment:
        """The pairs in the first graph's order; nodes only in the second stand behind what they follow there."""
        alone: dict[Node | None, list[Node]] = defaultdict(list)
        last: Node | None = None
        for node in self.graphs[1].nodes:
            if node in self.backward:
                last = node
            else:
                alone[last].append(node)
        found: list[Pair] = [(None, node) for node in alone[None]]
        for node in self.graphs[0].nodes:
            partner = self.forward.get(node)
            found.append((node, partner))
            if partner is not None:
                found.extend((None, behind) for behind in alone[partner])
        return Alignment(tuple(found))

    def _pair(self, node: Node, partner: Node) -> None:
        if node in self.forward or partner in self.backward:
            return
        self.forward[node], self.backward[partner] = partner, node
        for value, other in zip(node.outputs, partner.outputs, strict=False):
            self._join(value, other)

    def _join(self, value: Value, other: Value) -> None:
        self.values[value] = other
        self._reached.append((value, other))

    def _pair_sources(self, key: Key) -> None:
        """Nodes that read nothing that is computed, such as random numbers."""
        sides = [
            [node for node in graph.nodes if node not in matched and not self._computed(node)]
            for graph, matched in zip(self.graphs, (self.forward, self.backward), strict=True)
        ]
        others = _grouped(sides[1], key)
        for held, nodes in _grouped(sides[0], key).items():
            for node, partner in zip(nodes, others.get(held, ()), strict=False):
                self._pair(node, partner)

    def _follow(self, key: Key | None) -> None:
        """Look at what reads each pair of values; without a key a single node on both sides takes the other's place."""
        known = list(self.values.items())
        self._reached = deque(known)
        while self._reached:
            value, other = self._reached.popleft()
            users = [user for user in value.users() if user.graph is self.graphs[0] and user not in self.forward]
            others = [user for user in other.users() if user.graph is self.graphs[1] and user not in self.backward]
            if not users or not others:
                continue
            if key is None:
                self._replace(users, others)
                continue
            ready = _grouped(users, lambda node: self._place(node, key, mapped=True))
            waiting = _grouped(others, lambda node: self._place(node, key, mapped=False))
            for held, nodes in ready.items():
                for node, partner in zip(nodes, waiting.get(held, ()), strict=False):
                    self._pair(node, partner)

    def _place(self, node: Node, key: Key, *, mapped: bool) -> Hashable:
        """The key and the computed values that a node reads, in the second graph's terms; None if one has none."""
        read = self._computed(node)
        if mapped:
            if any(value not in self.values for value in read):
                return None
            read = [self.values[value] for value in read]
        return key(node), tuple(sorted(read, key=id) if type(node.op) in COMMUTATIVE else read)

    @staticmethod
    def _computed(node: Node) -> list[Value]:
        return [value for value in node.inputs if value is not None and not _is_constant(value)]

    def _replace(self, users: Sequence[Node], others: Sequence[Node]) -> None:
        """One node that stands for one other: both read the same, and what reads them is the same."""
        if len(users) != 1 or len(others) != 1:
            return
        node, partner = users[0], others[0]
        read = [self.values.get(value) for value in self._computed(node)]
        if read != list(self._computed(partner)):
            return
        behind = {self.forward.get(user) for value in node.outputs for user in value.users()}
        if behind == {user for value in partner.outputs for user in value.users()}:
            self._pair(node, partner)


def pair_inputs(left: Sequence[Value], right: Sequence[Value]) -> list[tuple[Value, Value]]:
    """Inputs of two graphs: by name where names are shared, the others in order."""
    named = {value.name: value for value in right}
    found = [(value, named[value.name]) for value in left if value.name in named]
    taken = {value for pair in found for value in pair}
    rest = [[value for value in side if value not in taken] for side in (left, right)]
    return found + list(zip(*rest, strict=False))


def _is_constant(value: Value) -> bool:
    return value.producer is None and value.tensor is not None


def _exactly(node: Node) -> Hashable:
    """The operator, its attributes and its constants."""
    constants = tuple(
        (slot, fingerprint(value.tensor))
        for slot, value in enumerate(node.inputs)
        if value is not None and value.tensor is not None
    )
    return node.op.name, repr(attributes_of(node)), constants


def _alike(node: Node) -> Hashable:
    return node.op.name


def _grouped(nodes: Iterable[Node], key: Key) -> dict[Hashable, list[Node]]:
    found: dict[Hashable, list[Node]] = defaultdict(list)
    for node in nodes:
        held = key(node)
        if held is not None:
            found[held].append(node)
    return found


__all__ = ["COMMUTATIVE", "Counterparts", "pair_inputs"]
