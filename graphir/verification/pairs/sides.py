"""The graphs of the two models of a comparison: what differs between them, and which value of one is which of the
other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice

from graphir.analysis.attributes import attributes_of
from graphir.analysis.changes import changes_of, partners
from graphir.analysis.completion import Counterparts
from graphir.analysis.counting import elements_of
from graphir.analysis.diff import Difference, Row, Status, compare
from graphir.analysis.fingerprint import Fingerprints
from graphir.errors import GraphirError
from graphir.graph import Graph, Node, Value
from graphir.structure.extract import uses_of
from graphir.structure.reaching import nodes_within, reachable

# An activation that is written as operators of its own has some ten of them, an attention some thirty.
MOST_BETWEEN = 64
Source = Graph | Callable[[], Graph] | None


class Sides:
    """Both graphs, read when they are asked for, and aligned once however often they are asked.

    A graph that cannot be had is None, and `reason` says why. Both stay as they are. Where the second was `made_of` the
    first its values are known by their names, and what differs was meant: neither is looked at unless results differ.
    """

    def __init__(self, reference: Source, candidate: Source, *, made_of: bool = False) -> None:
        self._sources = reference, candidate
        self.made_of = made_of
        self.reason = ""
        self._inferred: set[Value] = set()

    @cached_property
    def graphs(self) -> tuple[Graph, Graph] | None:
        """Both, None unless both can be had."""
        found: list[Graph] = []
        for what, source in zip(("reference", "candidate"), self._sources, strict=True):
            try:
                made = source() if callable(source) else source
            except GraphirError as error:
                self.reason = f"the {what} cannot be read as a graph: {str(error).splitlines()[0]}"
                return None
            if made is None:
                self.reason = f"the {what} is no graph"
                return None
            found.append(made)
        return found[0], found[1]

    @property
    def both(self) -> tuple[Graph, Graph]:
        """Both graphs. Only where there are graphs."""
        assert self.graphs is not None
        return self.graphs

    @property
    def candidate(self) -> Graph | None:
        """The candidate's graph, None unless both can be had."""
        return None if self.graphs is None else self.graphs[1]

    @property
    def tells(self) -> bool:
        """Whether there are two graphs that differ, and were not made to."""
        return self.proves and not self.are_equal

    @property
    def proves(self) -> bool:
        """Whether nodes that are the same prove outputs: there are two graphs, and none was made of the other."""
        return not self.made_of and self.graphs is not None

    @property
    def are_equal(self) -> bool:
        """Whether there are two graphs, and each node of one is the same in the other."""
        return self.graphs is not None and self.difference.is_equal

    @cached_property
    def counterparts(self) -> Counterparts:
        """Which nodes and values are the same. Only where there are graphs."""
        return Counterparts(*self.both)

    @cached_property
    def difference(self) -> Difference:
        """What differs. Only where there are graphs."""
        return compare(*self.both, self.counterparts)

    def changes(self) -> list[str]:
        """Return what differs, in a few lines; none where nothing does or no graph can be had."""
        return [] if self.graphs is None else changes_of(self.difference, self.graphs[0])

    def count_nodes(self) -> tuple[int, int]:
        """Return how many nodes are the same computation in both, and how many differ; 0 where no graph can be had."""
        rows = () if self.graphs is None else self.difference.rows
        same = sum(row.status is Status.SAME for row in rows)
        return same, len(rows) - same

    @cached_property
    def partners(self) -> Mapping[Node, Node]:
        """The counterpart of every node of either model that has one."""
        return partners(self.difference)

    @cached_property
    def rows(self) -> Mapping[Node, Row]:
        """Of each node of either main graph the row that it stands in, if it has no counterpart that is the same."""
        found: dict[Node, Row] = {}
        for row in self.difference.rows:
            if row.status is not Status.SAME:
                for node in (row.left, row.right):
                    while node is not None and node.graph in self.holders:
                        node = self.holders[node.graph]
                    if node is not None:
                        found.setdefault(node, row)
        return found

    @cached_property
    def holders(self) -> Mapping[Graph | None, Node]:
        """The node that holds each body of either graph. Only where there are graphs."""
        return {body: node for graph in self.both for node in nodes_within(graph.nodes) for body in node.subgraphs}

    def rows_of(self, nodes: Iterable[Node | None]) -> list[Row]:
        """Return the rows in which nodes differ, each once."""
        rows = [self.rows[node] for node in nodes if node is not None and node in self.rows]
        return list({id(row): row for row in rows}.values())

    @cached_property
    def values(self) -> Mapping[Value, Value]:
        """The computed values of the first graph that have a counterpart in the second, in the first one's order.

        Alignment and names are both asked; where they disagree that pair is taken whose operator, weights, operands and
        attributes agree more, names first. Where two nodes that are the same read other values than these pairs say,
        and only nodes that one model alone has lie between, what they read is the pair: a normalization that is part of
        the weights before it, a product whose sum is a node of its own.
        """
        aligned = self.counterparts.values
        back: dict[Value, list[Value]] = {}
        for value, other in aligned.items():
            back.setdefault(other, []).append(value)
        names = by_name(self.both[1])
        prints = self.counterparts.prints
        found: dict[Value, Value] = {}
        for node in self.both[0].nodes:
            for value in node.outputs:
                partner = aligned.get(value)
                namesake = next((names[name] for name in (value.name, *value.sources) if name in names), None)
                chosen = partner if namesake is None else namesake
                if partner is not None and namesake is not None and partner is not namesake:
                    pairs = [(value, partner), *((held, namesake) for held in back.get(namesake, ()))]
                    ours = max(self._likeness(*pair, prints) for pair in pairs)
                    chosen = partner if ours > self._likeness(value, namesake, prints) else namesake
                if chosen is not None and chosen.producer is not None:
                    found[value] = chosen
        self._correct_by_readers(found)
        return {value: found[value] for node in self.both[0].nodes for value in node.outputs if value in found}

    @property
    def inferred(self) -> Collection[Value]:
        """Those of the first graph's values whose pair is one only because nodes that read the two are the same, with
        nodes of one model alone before them: which value between these is the pair is a guess."""
        return self._inferred & self.values.keys()

    def is_uncertain(self, value: Value) -> bool:
        """Return whether the pair of a value is a guess: it is inferred, or the names of the two do not say it and
        several nodes of one kind, which read the same, are not the same in the second graph."""
        node, other = value.producer, self.values.get(value)
        if value in self.inferred or node is None or other is None or other.name in (value.name, *value.sources):
            return value in self.inferred
        read = [held for held in uses_of(node) if held.tensor is None]
        others = {user for held in read for user in held.users() if type(user.op) is type(node.op)} & self.rows.keys()
        return sum([held for held in uses_of(user) if held.tensor is None] == read for user in others) > 1

    def _likeness(self, value: Value, other: Value, prints: Fingerprints) -> tuple[bool, bool, bool, int, bool]:
        """Return how much speaks for two values being the same: sizes, weights, operator, how many operands are, and
        attributes."""
        node, partner = value.producer, other.producer
        fits = not _are_of_other_sizes(value, other)
        if node is None or partner is None:
            return fits, False, False, 0, False
        weights = [
            sorted(
                str(prints.fingerprint(held.tensor))
                for held in maker.inputs if held is not None and held.tensor is not None and held.tensor.size > 1
            )
            for maker in (node, partner)
        ]  # fmt: skip
        read = {self.counterparts.values.get(held) for held in node.inputs if held is not None} - {None}
        agreeing = sum(held in read for held in partner.inputs)
        alike = repr(attributes_of(node)) == repr(attributes_of(partner))
        return fits, weights[0] == weights[1], type(node.op) is type(partner.op), agreeing, alike

    def _correct_by_readers(self, found: dict[Value, Value]) -> None:
        """Pair what nodes that are the same read, and outputs, where only nodes without counterpart lie between that
        and what was paired."""
        pairs = self.counterparts
        back: dict[Value, set[Value]] = {}
        for value, other in found.items():
            back.setdefault(other, set()).add(value)
        for value, other in self._read_alike():
            partner, others = found.get(value), back.get(other, set()) - {value}
            if partner is not other:
                if _are_of_other_sizes(value, other):
                    continue
                is_open = not others if partner is None else _are_of_other_sizes(value, partner)
                ahead = partner is not None and _leads(other, partner, pairs.backward)
                behind = any(_leads(value, held, pairs.forward) for held in others)
                if not (is_open or ahead or behind):
                    continue
                if partner is not None:
                    back[partner].discard(value)
                found[value] = other
                self._inferred.add(value)
            for held in others:
                found.pop(held, None)
            back[other] = {value}

    def _read_alike(self) -> Iterator[tuple[Value, Value]]:
        """Yield the computed values that stand in one slot of two nodes that are the same, and outputs of one name."""
        for node, partner in self.counterparts.forward.items():
            for value, other in zip(node.inputs, partner.inputs, strict=False):
                if value is not None and other is not None and value.producer and other.producer:
                    yield value, other
        ends = {value.name: value for value in self.both[1].outputs}
        for value in self.both[0].outputs:
            if value.name in ends and value.producer and ends[value.name].producer:
                yield value, ends[value.name]


def by_name(graph: Graph) -> dict[str, Value]:
    """Return the computed values by their names, and by those that they had in the model that they come from."""
    computed = [value for node in graph.nodes for value in node.outputs]
    found = {name: value for value in computed for name in value.sources}
    return found | {value.name: value for value in computed}


def is_reshaped(value: Value, other: Value) -> bool:
    """Return whether one of two values is the other reshaped, as far as is known: the ranks differ,
    and the numbers of elements do not."""
    ranks = {len(held.shape) for held in (value, other) if held.shape is not None}
    return len(ranks) == 2 and len({elements_of(value), elements_of(other)} - {None}) < 2


def _are_of_other_sizes(value: Value, other: Value) -> bool:
    """Return whether two values cannot hold the same numbers in some layout: one is padded, say, or reshaped."""
    sizes = [sorted(dim for dim in held.shape or () if isinstance(dim, int) and dim != 1) for held in (value, other)]
    return is_reshaped(value, other) or (len(sizes[0]) == len(sizes[1]) and sizes[0] != sizes[1])


def _leads(value: Value, origin: Value, matched: Mapping[Node, Node]) -> bool:
    """Return whether a value is made from another one by nodes that have no counterpart, few of them."""

    def reads(held: Value) -> list[Value]:
        node = held.producer
        if node is None or node in matched:
            return []
        return [read for read in node.inputs if read is not None and read.producer is not None]

    return origin in islice(reachable([value], reads), MOST_BETWEEN)
