"""Sequences and optional values whose structure is known become the plain tensors that they hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Union

import numpy as np

from graphir.errors import GraphirError
from graphir.graph import Graph, Node, Value
from graphir.inference import infer_graph
from graphir.ops import sequence as sq
from graphir.ops.base import normalize_axis
from graphir.ops.elementwise import Identity
from graphir.ops.shape import Squeeze, Unsqueeze
from graphir.ops.shape_parts import Concat, Split
from graphir.safety.limits import charge_nodes
from graphir.types import ANYTHING, DType, OptionalType, TensorType

from .dead_code import remove_dead_code
from .inline import GraphNames, InlinedGraph, take_place
from .outcome import Outcome, Stays


@dataclass(frozen=True)
class Absent:
    """What an optional value without element holds."""


@dataclass(frozen=True)
class Elements:
    """What a sequence holds."""

    items: tuple[Value, ...]


Content = Union[Value, Elements, Absent]


def resolve_structure(graph: Graph, names: GraphNames | None = None) -> Outcome:
    """Replace the operators on sequences and optional values by plain ones, where all positions and lengths are known.

    SequenceMap becomes a copy of its body for each element. Sequences that are inputs, or results of loops, stay, and
    so does what depends on them. `names` are those of the graph, if the caller has them. Exact: no number changes.
    Linear in nodes.
    """
    if not any(isinstance(node.op, sq.OPERATORS) for node in graph.nodes):
        return Outcome()
    count = len(graph)
    walk = _SequenceWalk(graph, names or GraphNames(graph))
    walk.run(list(graph.nodes))
    outcome = walk.outcome
    left = remove_dead_code(graph)
    if outcome or len(graph) != count:  # else all that went is what refused nodes had made
        outcome |= left
    if outcome:
        infer_graph(graph)
    outcome.reasons = {node: reason for node, reason in outcome.reasons.items() if node.graph is graph}
    return outcome


class _SequenceWalk:
    """One walk over the nodes, which learns what every sequence holds."""

    def __init__(self, graph: Graph, names: GraphNames) -> None:
        self.graph = graph
        self.names = names
        self.contents: dict[Value, Content] = {}
        self.replaced: dict[Value, Value] = {}
        self.outcome = Outcome()

    def run(self, nodes: list[Node]) -> None:
        """Resolve node by node. What a refused node leaves behind is dead code."""
        for node in nodes:
            handler = HANDLERS.get(type(node.op))
            if handler is None:
                continue
            body = InlinedGraph(node.subgraphs[0] if node.subgraphs else self.graph, self.graph, self.names, node.name)
            try:
                self._settle(node, handler(self, node, body), body)
            except GraphirError as error:
                self.outcome.reasons[node] = str(error)

    def _settle(self, node: Node, contents: list[Content], body: InlinedGraph) -> None:
        """A tensor takes the place of the node's result; what a sequence holds is noted."""
        values = [content for content in contents if isinstance(content, Value)]
        if len(values) == len(contents) and not isinstance(node.op, sq.Optional | Identity):
            self.replaced.update(zip(node.outputs, values, strict=True))
            take_place(self.graph, node, values, body.new_nodes)
            self.outcome.note(node.name, "what it takes from its sequence is known")
        else:
            self.contents.update(zip(node.outputs, contents, strict=True))

    def now(self, value: Value) -> Value:
        """Return what stands for a value by now."""
        while value in self.replaced:
            value = self.replaced[value]
        return value

    def content(self, value: Value) -> Content:
        """Return what an optional value, a sequence or a tensor holds. Raises Stays."""
        content = self.contents.get(value)
        if content is not None:
            return content
        if isinstance(value.type, TensorType) and value.type != ANYTHING:
            return value
        origin = "an input" if value.producer is None else f"computed by {value.producer.name}"
        raise Stays(f"{value.name} is {value.type}, {origin}; what it holds is known at run time only")

    def elements(self, node: Node) -> tuple[Value, ...]:
        """Return the elements of the sequence that is the node's first operand. Raises Stays."""
        value = node.inputs[0]
        assert value is not None
        content = self.content(value)
        if not isinstance(content, Elements):
            raise Stays(f"{value.name} is {value.type}, expected a sequence")
        return content.items

    def position(self, node: Node, slot: int, count: int, default: int) -> int:
        """Return a position among `count` places, counted from the front. Raises Stays."""
        value = node.operand(slot)
        if value is None:
            position = default
        else:
            known = value.integers
            if known is None or len(known) != 1:
                raise Stays(f"the position {value.name} is computed at run time")
            position = known[0] + count if known[0] < 0 else known[0]
        if not 0 <= position < count:
            raise Stays(f"the position {position} is outside of a sequence of {count} elements")
        return position


def _construct(walk: _SequenceWalk, node: Node, body: InlinedGraph) -> list[Content]:
    return [Elements(tuple(value for value in node.inputs if value is not None))]


def _identity(walk: _SequenceWalk, node: Node, body: InlinedGraph) -> list[Content]:
    value = node.inputs[0]
    assert value is not None
    return [value if isinstance(value.type, TensorType) else walk.content(value)]


def _element_at(walk: _SequenceWalk, node: Node, body: InlinedGraph) -> list[Content]:
    items = walk.elements(node)
    return [items[walk.position(node, 1, len(items), 0)]]


def _insert(walk: _SequenceWalk, node: Node, body: InlinedGraph) -> list[Content]:
    items, new = walk.elements(node), node.inputs[1]
    assert new is not None
    value = node.operand(2)
    if value is None:
        return [Elements((*items, new))]
    known = value.integers
    counts_from_the_end = known is not None and len(known) == 1 and known[0] < 0
    index = walk.position(node, 2, len(items) + (not counts_from_the_end), 0)
    return [Elements((*items[:index], new, *items[index:]))]


def _erase(walk: _SequenceWalk, node: Node, body: InlinedGraph) -> list[Content]:
    items = walk.elements(node)
    index = walk.position(node, 1, len(items), len(items) - 1)
    return [Elements((*items[:index], *items[index + 1 :]))]


def _length(walk: _SequenceWalk, node: Node, body: InlinedGraph) -> list[Content]:
    return [walk.graph.constant(np.int64(len(walk.elements(node))))]


def _concat(walk: _SequenceWalk, node: Node, body: InlinedGraph) -> list[Content]:
    op, items = node.op, walk.elements(node)
    assert isinstance(op, sq.ConcatFromSequence)
    if not items:
        raise Stays("there are no elements to join")
    if op.new_axis:
        axes = walk.graph.constant([op.axis], DType.INT64)
        items = tuple(body.add(Unsqueeze(), [item, axes], node, "row").outputs[0] for item in items)
    return [items[0] if len(items) == 1 else body.add(Concat(op.axis), items, node, "joined").outputs[0]]


def _split(walk: _SequenceWalk, node: Node, body: InlinedGraph) -> list[Content]:
    op, value = node.op, node.inputs[0]
    assert isinstance(op, sq.SplitToSequence)
    assert value is not None
    if value.shape is None:
        raise Stays(f"the number of axes of {value.name} is not known")
    axis = normalize_axis(op.axis, len(value.shape))
    stated = node.operand(1)
    sizes = _sizes(value, axis, stated)
    parts = [value]
    if len(sizes) > 1:
        lengths = walk.graph.constant(list(sizes), DType.INT64)
        parts = list(body.add(Split(len(sizes), axis), [value, lengths], node, "part").outputs)
    if stated is None and not op.keepdims:
        axes = walk.graph.constant([axis], DType.INT64)
        parts = [body.add(Squeeze(), [part, axes], node, "element").outputs[0] for part in parts]
    return [Elements(tuple(parts))]


def _sizes(value: Value, axis: int, stated: Value | None) -> tuple[int, ...]:
    """Return the sizes of the parts. Raises Stays."""
    whole = value.shape[axis] if value.shape is not None else None
    known = None if stated is None else stated.integers
    if stated is not None and known is None:
        raise Stays(f"the sizes of the parts ({stated.name}) are computed at run time")
    if stated is not None and known is not None and stated.rank == 1:
        return known
    if not isinstance(whole, int):
        raise Stays(f"how many parts there are, axis {axis} of {value.name} {value.type}, is not known")
    size = 1 if known is None else known[0]
    if whole == 0 or size < 1:
        raise Stays(f"{whole} elements do not make parts of {size}")
    charge_nodes(-(-whole // size), f"{value.name} {value.type} taken apart")
    return tuple(min(size, whole - start) for start in range(0, whole, size))


def _map(walk: _SequenceWalk, node: Node, body: InlinedGraph) -> list[Content]:
    contents = [walk.content(value) for value in node.inputs if value is not None]
    lengths = {len(content.items) for content in contents if isinstance(content, Elements)}
    if len(lengths) != 1 or any(isinstance(content, Absent) for content in contents):
        raise Stays(f"its sequences have the lengths {', '.join(map(str, sorted(lengths)))}")
    results: list[list[Value]] = [[] for _ in node.outputs]
    for turn in range(lengths.pop()):
        given = [_element(content, turn) for content in contents]
        start = len(body.new_nodes)
        values = body.copy(dict(zip(body.body.inputs, given, strict=True)), node, turn=turn)
        walk.run(body.new_nodes[start:])
        for elements, value in zip(results, values, strict=True):
            elements.append(walk.now(value))
    return [Elements(tuple(elements)) for elements in results]


def _element(content: Content, turn: int) -> Value:
    assert not isinstance(content, Absent)
    return content.items[turn] if isinstance(content, Elements) else content


def _optional(walk: _SequenceWalk, node: Node, body: InlinedGraph) -> list[Content]:
    value = node.inputs[0] if node.inputs else None
    return [Absent() if value is None else walk.content(value)]


def _get_element(walk: _SequenceWalk, node: Node, body: InlinedGraph) -> list[Content]:
    value = node.inputs[0]
    assert value is not None
    content = walk.content(value)
    if isinstance(content, Absent):
        raise Stays(f"{value.name} holds nothing")
    return [content]


def _has_element(walk: _SequenceWalk, node: Node, body: InlinedGraph) -> list[Content]:
    value = node.inputs[0] if node.inputs else None
    certain = value is not None and not isinstance(value.type, OptionalType) and value.type != ANYTHING
    has = value is not None and (certain or not isinstance(walk.content(value), Absent))
    return [walk.graph.constant(np.bool_(has))]


Handler = Callable[[_SequenceWalk, Node, InlinedGraph], list[Content]]
HANDLERS: Mapping[type, Handler] = {
    sq.SequenceConstruct: _construct,
    sq.SequenceEmpty: _construct,
    sq.SequenceAt: _element_at,
    sq.SequenceInsert: _insert,
    sq.SequenceErase: _erase,
    sq.SequenceLength: _length,
    sq.ConcatFromSequence: _concat,
    sq.SplitToSequence: _split,
    sq.SequenceMap: _map,
    sq.Optional: _optional,
    sq.OptionalGetElement: _get_element,
    sq.OptionalHasElement: _has_element,
    Identity: _identity,
}
