"""Which node of one model is which of another: by weights, by structure, by names, in that order.

Equal weights anchor the two models to each other whatever their layout. Structure is compared on the skeletons, by
labels that know ever less of what lies around a node: nodes whose label comes equally often in both are the same, in
the order of their depth. From every pair found so far, pairs spread to what is read and what reads, until nothing more
follows.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from graphir.analysis.fingerprint import Fingerprints
from graphir.analysis.skeleton import Label, Skeleton, coarse, fine, kind_of, loose_kind
from graphir.graph import Graph, Node, Value
from graphir.ops.shape import Transpose
from graphir.tensor import Tensor

ROUNDS = 12
LEAST_ELEMENTS = 8
Pair = tuple[Node | None, Node | None]
Key = Callable[[Node], Hashable]


@dataclass(frozen=True)
class Alignment:
    """The nodes of two graphs side by side, in the first one's order; None where the other has no counterpart."""

    pairs: tuple[Pair, ...]

    @property
    def matched(self) -> list[tuple[Node, Node]]:
        """The pairs that have both sides."""
        return [(left, right) for left, right in self.pairs if left is not None and right is not None]


def align(left: Graph, right: Graph, prints: Fingerprints | None = None) -> Alignment:
    """Return which node of `left` is which of `right`. Both stay as they are; subgraphs are not looked into.

    Weights are read once, one at a time. Near linear in nodes. Raises what reading weights raises.
    """
    return _Aligner(left, right, prints or Fingerprints()).run()


def in_order(left: Graph, right: Graph, pairs: Mapping[Node, Node]) -> Iterator[Pair]:
    """Yield all nodes: those of the first graph in order, those only in the second behind what they follow there."""
    alone: dict[Node | None, list[Node]] = defaultdict(list)
    paired, last = set(pairs.values()), None
    for node in right.nodes:
        if node in paired:
            last = node
        else:
            alone[last].append(node)
    yield from ((None, node) for node in alone[None])
    for node in left.nodes:
        other = pairs.get(node)
        yield node, other
        if other is not None:
            yield from ((None, behind) for behind in alone[other])


class _Aligner:
    """The pairs found so far, in both directions."""

    def __init__(self, left: Graph, right: Graph, prints: Fingerprints) -> None:
        self.graphs = left, right
        self.prints = prints
        self.skeletons = Skeleton(left), Skeleton(right)
        self.forward: dict[Node, Node] = {}
        self.backward: dict[Node, Node] = {}
        self._fresh: deque[tuple[Node, Node]] = deque()

    def run(self) -> Alignment:
        self._by_weights()
        self._spread()
        for label, sort in ((fine, False), (coarse, False), (coarse, True)):
            self._by_structure(label, sort)
            self._spread()
        self._by_names()
        self._spread()
        self._by_order()
        self._spread()
        return Alignment(tuple(in_order(*self.graphs, self.forward)))

    def _pair(self, left: Node, right: Node) -> bool:
        if left in self.forward or right in self.backward:
            return False
        self.forward[left] = right
        self.backward[right] = left
        self._fresh.append((left, right))
        return True

    def _by_weights(self) -> None:
        """Nodes that alone hold the same weights."""
        self._pair_unique(self.graphs[0].nodes, self.graphs[1].nodes, self._weight_key)

    def _weight_key(self, node: Node) -> Hashable:
        """Return the kind of a node and the fingerprints of its weights; None without weights of some size."""
        tensors = [value.tensor for value in node.inputs if value is not None and value.tensor is not None]
        weights = [tensor for tensor in tensors if tensor.size >= LEAST_ELEMENTS and _is_weight(tensor)]
        return (kind_of(node), *map(self.prints.fingerprint, weights)) if weights else None

    def _by_structure(self, label: Label, sort: bool) -> None:
        """From labels that know much to those that know little; a label must come equally often in both."""
        labels = [skeleton.labels(label, ROUNDS, sort=sort) for skeleton in self.skeletons]
        for step in range(ROUNDS, 0, -1):
            sides = [
                self._open(skeleton, nodes[step], matched)
                for skeleton, nodes, matched in zip(
                    self.skeletons, labels, (self.forward, self.backward), strict=True
                )
            ]
            for key, indices in sides[0].items():
                others = sides[1].get(key, ())
                if len(indices) == len(others):
                    self._pair_in_order(indices, others)

    @staticmethod
    def _open(
        skeleton: Skeleton, labels: Sequence[Hashable], matched: dict[Node, Node]
    ) -> dict[Hashable, list[tuple[int, Node]]]:
        nodes_by_label: dict[Hashable, list[tuple[int, Node]]] = defaultdict(list)
        for index, node in enumerate(skeleton.nodes):
            if node not in matched:
                nodes_by_label[labels[index]].append((skeleton.depth[index], node))
        return nodes_by_label

    def _pair_in_order(self, left: Sequence[tuple[int, Node]], right: Sequence[tuple[int, Node]]) -> None:
        """Nodes of one label: by name if the names are the same, else in the order of their depth."""
        named = {node.name: node for _, node in right}
        if {node.name for _, node in left} == named.keys():
            for _, node in left:
                self._pair(node, named[node.name])
            return
        ordered = [sorted(side, key=lambda entry: entry[0]) for side in (left, right)]
        for (_, node), (_, other) in zip(*ordered, strict=True):
            self._pair(node, other)

    def _spread(self) -> None:
        """Pair what the two nodes of a pair read, and what reads them, where there is only one way to do so."""
        while self._fresh:
            left, right = self._fresh.popleft()
            self._spread_back(left, right)
            for value, other in zip(left.outputs, right.outputs, strict=False):
                self._spread_ahead(value, other)

    def _spread_back(self, left: Node, right: Node) -> None:
        sources = [_producers(node) for node in (left, right)]
        if len(sources[0]) == len(sources[1]) and [kind_of(a) for a in sources[0]] == [kind_of(b) for b in sources[1]]:
            for node, other in zip(*sources, strict=True):
                self._pair(node, other)
            return
        self._pair_single([a for a in sources[0] if a not in self.forward], sources[1])

    def _spread_ahead(self, value: Value, other: Value) -> None:
        self._pair_single([user for user in value.users() if user not in self.forward], other.users())
        self._pair_single(_readers(value), _readers(other))

    def _pair_single(self, left: Iterable[Node], right: Iterable[Node]) -> None:
        """Pair the nodes that are the only ones of their kind on both sides, by what they are exactly or roughly."""
        first, second = list(left), list(right)
        for key in (fine, coarse, kind_of, loose_kind):
            self._pair_unique(first, second, key)

    def _pair_unique(self, left: Iterable[Node], right: Iterable[Node], key: Key) -> None:
        """Pair the nodes whose key comes once on each side, among those that have no counterpart yet."""
        groups = by_key((node for node in left if node not in self.forward), key)
        others = by_key((node for node in right if node not in self.backward), key)
        for label, nodes in groups.items():
            if len(nodes) == len(others.get(label, ())) == 1:
                self._pair(nodes[0], others[label][0])

    def _by_names(self) -> None:
        """What is left: nodes of one kind and one name."""
        self._pair_unique(self.graphs[0].nodes, self.graphs[1].nodes, _name_key)

    def _by_order(self) -> None:
        """What is still left of the skeletons between two pairs that follow each other: in order, kind by kind."""
        ends = {node: index for index, node in enumerate(self.skeletons[1].nodes)}
        start = 0
        waiting: list[Node] = []
        for node in [*self.skeletons[0].nodes, None]:
            if node is not None and node not in self.forward:
                waiting.append(node)
                continue
            other = None if node is None else self.forward[node]
            stop = len(ends) if other is None else ends.get(other, start)
            if waiting and stop > start:
                between = [node for node in self.skeletons[1].nodes[start:stop] if node not in self.backward]
                for first, second in _common(waiting, between):
                    self._pair(first, second)
            waiting, start = [], max(start, stop)

def by_key(nodes: Iterable[Node], key: Key) -> dict[Hashable, list[Node]]:
    """Return the nodes of each key; those whose key is None are left out."""
    groups: dict[Hashable, list[Node]] = defaultdict(list)
    for node in nodes:
        label = key(node)
        if label is not None:
            groups[label].append(node)
    return groups


def _is_weight(tensor: Tensor) -> bool:
    return tensor.dtype.is_float or tensor.size > 64


def _name_key(node: Node) -> Hashable:
    return kind_of(node), node.name


def _readers(value: Value) -> list[Node]:
    """Return the nodes that read a value, and those that read it over transposes."""
    readers = []
    for user in value.users():
        readers.append(user)
        if isinstance(user.op, Transpose):
            readers += user.outputs[0].users()
    return readers


def _producers(node: Node) -> list[Node]:
    """Return the nodes that make the operands."""
    return [value.producer for value in node.inputs if value is not None and value.producer is not None]


def _common(left: Sequence[Node], right: Sequence[Node]) -> list[tuple[Node, Node]]:
    """Return a longest common subsequence by kind. Not done, and empty, where that would take long."""
    if len(left) * len(right) > 250_000:
        return []
    kinds = [kind_of(node) for node in left], [kind_of(node) for node in right]
    longest = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i in range(len(left) - 1, -1, -1):
        for j in range(len(right) - 1, -1, -1):
            same = kinds[0][i] == kinds[1][j]
            longest[i][j] = longest[i + 1][j + 1] + 1 if same else max(longest[i + 1][j], longest[i][j + 1])
    pairs, i, j = [], 0, 0
    while i < len(left) and j < len(right):
        if kinds[0][i] == kinds[1][j]:
            pairs.append((left[i], right[j]))
            i, j = i + 1, j + 1
        elif longest[i + 1][j] >= longest[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs
