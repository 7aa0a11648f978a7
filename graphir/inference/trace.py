"""Inference that remembers what each step learned, so that the reasons of a size can be asked for.

Which operands' facts a rule's answer rests on is found by asking the rule again with one fact after the other
forgotten: what cannot be forgotten is a reason. That works for every rule, forwards and backwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, cast

from graphir.errors import ShapeError
from graphir.ops.base import Known
from graphir.types import UNKNOWN, TensorType, Type, Unknown

from .fixpoint import Inference
from .rules import infer_operands, infer_outputs, infer_values

if TYPE_CHECKING:
    from graphir.graph import Graph
    from graphir.node import Node, Value

DTYPE, RANK, ELEMENTS = "dtype", "rank", "elements"
MANY_FACTS = 400


class Fact(NamedTuple):
    """One thing that is known of a value: its dtype, its rank, the size of an axis (`what` is its number), elements."""

    value: Value
    what: str | int
    content: object


class Event(NamedTuple):
    """What a node's rule taught of a value, and everything that the rule saw.

    `node` is None for an assumption, and the node around for what a subgraph's input is given.
    """

    after: Type | Known
    node: Node | None
    backward: bool
    operands: tuple[Type | None, ...] = ()
    results: tuple[Type, ...] = ()
    known: tuple[Known | None, ...] = ()


class Tracing(Inference):
    """An inference that keeps the events of every value, in order, and what each was taken to be at the start."""

    def __init__(
        self,
        graph: Graph,
        given: Mapping[Value, Type] | None = None,
        *,
        stored: bool,
        around: Inference | None = None,
        whole: bool = True,
    ) -> None:
        super().__init__(graph, given, stored=stored, around=around, whole=whole)
        outer = around if isinstance(around, Tracing) else None
        self.events: dict[Value, list[Event]] = {} if outer is None else outer.events
        self.start: dict[Value, Type] = dict(self.types) if outer is None else outer.start
        self.holder: Node | None = None

    def body(self, graph: Graph, holder: Node) -> Inference:
        inner = super().body(graph, holder)
        assert isinstance(inner, Tracing)
        inner.holder = holder
        return inner

    def restart(self, types: Sequence[Type] = (), known: Sequence[Known | None] = ()) -> None:
        super().restart(types, known)
        for value in self.graph.values:
            self.events.pop(value, None)
            self.start[value] = value.declared
        for value, elements in zip(self.graph.inputs, known, strict=False):
            if self.types[value] != value.declared:
                self.events.setdefault(value, []).append(Event(self.types[value], self.holder, False))
            if elements is not None:
                self.events.setdefault(value, []).append(Event(elements, self.holder, False))

    def _learn(self, value: Value, type_: Type, node: Node | None) -> bool:
        event = self._event(value, node)
        if not super()._learn(value, type_, node):
            return False
        self.events.setdefault(value, []).append(event._replace(after=self.types[value]))
        return True

    def _know(self, value: Value, elements: Known, node: Node) -> None:
        event = self._event(value, node)
        super()._know(value, elements, node)
        self.events.setdefault(value, []).append(event._replace(after=elements))

    def _event(self, value: Value, node: Node | None) -> Event:
        """Return an event of now: what a rule of the node sees."""
        type_ = self.types[value]
        if node is None:
            return Event(type_, None, False)
        types, known = self.types, self.known
        return Event(
            type_,
            node,
            node is not value.producer,
            tuple([None if operand is None else types[operand] for operand in node.inputs]),
            tuple([types[result] for result in node.outputs]),
            tuple([None if operand is None else known[operand] for operand in node.inputs]),
        )


def holds(fact: Fact, type_: Type | Known | None) -> bool:
    """Return whether the type (or the elements) says what the fact says."""
    if isinstance(type_, Known) or fact.what == ELEMENTS:
        return type_ == fact.content
    if not isinstance(type_, TensorType):
        return fact.what == DTYPE and str(type_) == fact.content
    if fact.what == DTYPE:
        return type_.dtype is fact.content
    if type_.shape is None:
        return False
    if fact.what == RANK:
        return len(type_.shape) == fact.content
    assert isinstance(fact.what, int)
    return fact.what < len(type_.shape) and type_.shape[fact.what] == fact.content


def facts_of(value: Value, type_: Type | None, known: Known | None = None) -> list[Fact]:
    """Return everything that is known of a value; the rank on its own only where no size says it."""
    facts: list[Fact] = []
    if isinstance(type_, TensorType):
        if type_.shape is not None:
            facts += [
                Fact(value, axis, dim) for axis, dim in enumerate(type_.shape) if not isinstance(dim, Unknown)
            ] or [Fact(value, RANK, len(type_.shape))]
        if type_.dtype is not None:
            facts.append(Fact(value, DTYPE, type_.dtype))
    elif type_ is not None:
        facts.append(Fact(value, DTYPE, str(type_)))
    if known is not None:
        facts.append(Fact(value, ELEMENTS, known))
    return facts


@dataclass
class _View:
    """What a rule sees, in a form in which single facts can be forgotten."""

    operands: list[Type | None]
    results: list[Type]
    known: list[Known | None]

    def without(self, side: str, slot: int, what: str | int) -> _View:
        """Return the same without one fact."""
        view = _View(list(self.operands), list(self.results), list(self.known))
        if what == ELEMENTS:
            view.known[slot] = None
        elif side == "operand":
            view.operands[slot] = _forget(view.operands[slot], what)
        else:
            view.results[slot] = cast("Type", _forget(view.results[slot], what))
        return view


def _forget(type_: Type | None, what: str | int) -> Type | None:
    if not isinstance(type_, TensorType):
        return type_
    if what == DTYPE:
        return TensorType(None, type_.shape)
    if what == RANK or type_.shape is None:
        return TensorType(type_.dtype, None)
    assert isinstance(what, int)
    return TensorType(type_.dtype, (*type_.shape[:what], UNKNOWN, *type_.shape[what + 1 :]))


class Reasons:
    """The facts that rules need to say others; asked of the rules once for all nodes that are alike."""

    def __init__(self) -> None:
        self._found: dict[object, list[tuple[bool, int, str | int, object]]] = {}

    def of(self, event: Event, fact: Fact) -> list[Fact]:
        """Return the facts that the event's rule needs to say `fact`: a smallest set.

        Where several would do, the first operands'. Cost: one call of the rule for each fact that it saw, unless a like
        node was asked about before.
        """
        node = event.node
        assert node is not None
        inputs, outputs = node.inputs, node.outputs
        indices = [fact.value.index]
        if event.backward:
            indices = [slot for slot, operand in enumerate(inputs) if operand is fact.value]
        same = tuple(map(inputs.index, inputs)) if len(set(inputs)) < len(inputs) else ()
        seen = (event.operands, event.known, event.results if event.backward else ())
        key = (node.op, fact.what, fact.content, event.backward, same, *indices, seen)
        reasons = self._found.get(key)
        if reasons is None:
            reasons = self._found[key] = [
                (reason.value in outputs, (outputs if reason.value in outputs else inputs).index(reason.value),
                 reason.what, reason.content)
                for reason in _reasons(event, fact)
            ]
        return [
            Fact(outputs[slot] if is_result else cast("Value", inputs[slot]), what, content)
            for is_result, slot, what, content in reasons
        ]


def _reasons(event: Event, fact: Fact) -> list[Fact]:
    node = event.node
    assert node is not None
    view = _View(list(event.operands), list(event.results) if event.backward else [], list(event.known))
    seen: list[tuple[str, int, Fact]] = []
    for slot, operand in enumerate(node.inputs):
        if operand is not None:
            seen += [("operand", slot, item) for item in facts_of(operand, event.operands[slot], event.known[slot])]
    if event.backward:
        for slot, result in enumerate(node.outputs):
            seen += [("result", slot, item) for item in facts_of(result, event.results[slot])]
    if len(seen) > MANY_FACTS:
        seen = [entry for entry in seen if entry[2].what == fact.what or entry[2].what == ELEMENTS]
    if not _says(node, view, fact):
        return []
    needed: list[Fact] = []
    for side, slot, item in reversed(seen):
        less = view.without(side, slot, item.what)
        if _says(node, less, fact):
            view = less
        else:
            needed.append(item)
    needed.reverse()
    return list(dict.fromkeys([*needed, *_needed_ranks(node, view, fact, needed)]))


def _needed_ranks(node: Node, view: _View, fact: Fact, needed: list[Fact]) -> Iterator[Fact]:
    """Yield the ranks of operands that the rule needs, of those whose sizes it does not."""
    for slot, operand in enumerate(node.inputs):
        type_ = view.operands[slot]
        if operand is None or not isinstance(type_, TensorType) or type_.shape is None:
            continue
        if any(item.value is operand and item.what != DTYPE and item.what != ELEMENTS for item in needed):
            continue
        less = view.without("operand", slot, RANK)
        if _says(node, less, fact):
            view = less
        else:
            yield Fact(operand, RANK, len(type_.shape))


def _says(node: Node, view: _View, fact: Fact) -> bool:
    """Return whether the node's rule says the fact, given only what the view holds."""
    operands, known = tuple(view.operands), tuple(view.known)
    try:
        if view.results:
            wanted = infer_operands(
                node.op,
                cast("tuple[TensorType | None, ...]", operands),
                cast("tuple[TensorType, ...]", tuple(view.results)),
                known,
            )
            return any(
                operand is fact.value and holds(fact, type_) and not holds(fact, view.operands[slot])
                for slot, (operand, type_) in enumerate(zip(node.inputs, wanted, strict=True))
            )
        if fact.what == ELEMENTS:
            results = infer_values(node.op, operands, known)
            return results is not None and results[fact.value.index] == fact.content
        return holds(fact, infer_outputs(node.op, operands, known)[fact.value.index])
    except ShapeError:
        return False
