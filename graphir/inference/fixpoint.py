"""The fixpoint: every rule runs until no type changes, forwards for results and backwards for operands."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from graphir.errors import ShapeError
from graphir.ops.base import Known
from graphir.ops.counts import name_new_sizes
from graphir.types import ANYTHING, TensorType, Type, unify

from .rules import infer_operands, infer_outputs, infer_values

if TYPE_CHECKING:
    from graphir.graph import Graph
    from graphir.node import Node, Value


class _Types(dict["Value", Type]):
    """Types by value; of a value around the graph that is inferred, the type that its own graph holds."""

    def __missing__(self, value: Value) -> Type:
        return value.type


class _Elements(dict["Value", "Known | None"]):
    """Known elements by value, in the same way."""

    def __missing__(self, value: Value) -> Known | None:
        return value.known


class Inference:
    """One run of inference over a graph, beside the graph's own types, which it reads but does not change.

    Each node is visited a bounded number of times, because a type only ever gets more precise: the cost is linear in
    nodes. `types` and `known` hold the result for every value, those of subgraphs included, which a run of their own
    (with this one `around` it) infers from the types of the node that holds them.
    """

    def __init__(
        self,
        graph: Graph,
        given: Mapping[Value, Type] | None = None,
        *,
        stored: bool,
        around: Inference | None = None,
        whole: bool = True,
    ) -> None:
        self.graph = graph
        self.given = given or {}
        self.types: dict[Value, Type] = _Types() if around is None else around.types
        self.known: dict[Value, Known | None] = _Elements() if around is None else around.known
        self._queue: deque[Node] = deque()
        self._queued: set[Node] = set()
        self._informed: dict[Value, list[Node]] = {}
        self._bodies: dict[Graph, Inference] = {}
        self._holders: dict[Graph, Node] = {}
        self._in_order = False
        if around is None and whole:
            for value in graph.values:
                start = value.type if stored else value.declared
                if value in self.given:
                    fixed = value.tensor is not None or not isinstance(start, TensorType)
                    start = _check_given(value, self.given[value]) if fixed else self.given[value]
                self.types[value] = start
                self.known[value] = value.known if value.producer is None else None

    def run(self) -> None:
        """Run to the fixpoint. Raises ShapeError naming the node, the value and both sides of a contradiction."""
        backward = []
        self._queue.clear()  # the first walk visits every node
        self._queued.clear()
        self._in_order = True  # what the first walk learns, it carries itself to the users, which come later
        for node in self.graph.nodes:
            self._forward(node)
            if node.op.has_backward:
                backward.append(node)
        self._in_order = False
        for node in reversed(backward):
            self._backward(node)
        self.finish()

    def body(self, graph: Graph, holder: Node) -> Inference:
        """Return the run over a subgraph of a node of this graph."""
        inner = self._bodies.get(graph)
        if inner is None:
            inner = self._bodies[graph] = type(self)(graph, stored=False, around=self)
            self._holders[graph] = holder
        return inner

    def restart(self, types: Sequence[Type] = (), known: Sequence[Known | None] = ()) -> None:
        """Forget what is known of a subgraph's values but what is declared, and give its inputs types and elements.

        Raises ShapeError where an input is declared as something else.
        """
        self._queue.clear()
        self._queued.clear()
        self._informed.clear()
        for value in self.graph.values:
            self.types[value] = value.declared
            self.known[value] = value.known if value.tensor is not None else None
        for value, type_, elements in zip(self.graph.inputs, types, known, strict=False):
            try:
                self.types[value] = unify(value.declared, type_)
            except ShapeError as error:
                raise ShapeError(f"its input {value.name} is {value.declared}, but is given {type_}: {error}") from None
            self.known[value] = elements

    def assume_dtypes(self) -> None:
        """Take, where nothing fixes an input's dtype, the one that was assumed for it when the graph was made."""
        for value in self.graph.inputs:
            current, stored = self.types[value], value.type
            if not isinstance(current, TensorType) or not isinstance(stored, TensorType):
                continue
            if current.dtype is None and stored.dtype:
                self._learn(value, TensorType(stored.dtype), None)

    def finish(self) -> None:
        """Go on to the fixpoint from what was learned since."""
        while self._queue:
            node = self._queue.popleft()
            self._queued.discard(node)
            self._forward(node)
            if node.op.has_backward:
                self._backward(node)

    def _forward(self, node: Node) -> None:
        types, known = self.types, self.known
        operands = tuple([None if value is None else types[value] for value in node.inputs])
        values = tuple([None if value is None else known[value] for value in node.inputs])
        try:
            if node.subgraphs:
                from .control import infer_subgraphs

                results, contents = infer_subgraphs(self, node, operands, values)
            else:
                results = infer_outputs(node.op, operands, values)
                if node.op.counts:
                    results = name_new_sizes(results, node.outputs[0].name)
                contents = infer_values(node.op, operands, values)
        except ShapeError as error:
            raise ShapeError(
                f"node {node.name} ({node.op}) refuses its operands ({self._shown(node, node.inputs)}): {error}"
            ) from error
        for value, type_ in zip(node.outputs, results, strict=True):
            self._learn(value, type_, node)
        if contents is not None:
            for value, elements in zip(node.outputs, contents, strict=True):
                if elements is not None and known[value] != elements:
                    self._know(value, elements, node)

    def _backward(self, node: Node) -> None:
        types = self.types
        operands = tuple([None if value is None else types[value] for value in node.inputs])
        open_ended = False
        for operand in operands:
            if operand is not None:
                if not isinstance(operand, TensorType):
                    return
                open_ended = open_ended or not operand.is_static
        if not open_ended:
            return
        results = tuple([types[value] for value in node.outputs])
        if not all(isinstance(result, TensorType) for result in results):
            return
        known = self.known
        values = tuple([None if value is None else known[value] for value in node.inputs])
        tensors = cast("tuple[TensorType | None, ...]", operands)
        try:
            wanted = infer_operands(node.op, tensors, cast("tuple[TensorType, ...]", results), values)
        except ShapeError as error:
            raise ShapeError(
                f"node {node.name} ({node.op}) cannot make ({self._shown(node, node.outputs)}) of its operands "
                f"({self._shown(node, node.inputs)}): {error}"
            ) from error
        for value, type_ in zip(node.inputs, wanted, strict=True):
            if value is not None and type_ is not None and value.graph is self.graph:
                self._learn(value, type_, node)

    def _learn(self, value: Value, type_: Type, node: Node | None) -> bool:
        """Add to what is known of a value; `node` says it (None: an assumption). True if that was new."""
        current = self.types[value]
        if current is type_ or current == type_:
            return False
        try:
            merged = unify(current, type_)
        except ShapeError as error:
            source = "an assumption" if node is None else f"node {node.name} ({node.op})"
            raise ShapeError(
                f"{value.name} is {current} by {self._origin(value)}, but {source} makes it {type_}: {error}"
            ) from error
        if merged == current:
            return False
        self.types[value] = merged
        producer = value.producer
        if node is not None and node is not producer:
            self._informed.setdefault(value, []).append(node)
        self._enqueue_users(value, node)
        if producer is not None and producer is not node and producer.op.has_backward:
            self._enqueue(producer)
        return True

    def _know(self, value: Value, elements: Known, node: Node) -> None:
        """Take up the known elements of a node's result."""
        self.known[value] = elements
        self._enqueue_users(value, node)

    def _origin(self, value: Value) -> str:
        """Return what the type of a value follows from, in words."""
        origins = [] if value.producer is None else [value.producer]
        origins += self._informed.get(value, ())
        named = [f"node {node.name}" for node in dict.fromkeys(origins)]
        if value in self.given:
            named.insert(0, "what was given")
        elif value.declared != ANYTHING or not named:
            named.insert(0, "its declaration")
        return " and ".join(named)

    def _shown(self, node: Node, values: Iterable[Value | None]) -> str:
        """Values with their types, the elements that the rule reads, and the other nodes that these follow from."""
        shown = []
        for slot, value in enumerate(values):
            if value is None:
                shown.append("(absent)")
                continue
            text = f"{value.name}: {self.types[value]}"
            elements = self.known[value]
            if elements is not None and value.producer is not node and slot in node.op.reads:
                text += f" = [{', '.join(map(str, elements.elements))}]"
            origins = [*self._informed.get(value, ()), *([] if value.producer is None else [value.producer])]
            others = [f"node {origin.name}" for origin in dict.fromkeys(origins) if origin is not node]
            shown.append(f"{text} by {' and '.join(others)}" if others else text)
        return ", ".join(shown)

    def _enqueue_users(self, value: Value, source: Node | None) -> None:
        for user, _ in value.uses:
            if user is not source or user.op.has_backward:
                self._enqueue(user)

    def _enqueue(self, node: Node) -> None:
        if self._in_order:
            return
        if node.graph is not self.graph:
            around = node.graph
            while around is not None and around.parent is not self.graph:
                around = around.parent
            if around is None or around not in self._holders:
                return
            node = self._holders[around]
        if node not in self._queued:
            self._queued.add(node)
            self._queue.append(node)


def _check_given(value: Value, given: Type) -> Type:
    try:
        return unify(value.type, given)
    except ShapeError as error:
        raise ShapeError(f"{value.name} is {value.type} in the model, but was given as {given}: {error}") from None
