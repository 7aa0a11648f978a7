"""Why a value has the type that it has: which rules and which operands fixed each size and the dtype."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from graphir.errors import GraphError
from graphir.ops.base import Known
from graphir.ops.control import Loop, Scan
from graphir.safety.collector import paused_collector
from graphir.safety.foreign_text import one_line
from graphir.structure.names import similar_names
from graphir.types import DType, Sym, TensorType, Type, Unknown

from .given import given_types
from .trace import DTYPE, ELEMENTS, RANK, Event, Fact, Reasons, Tracing, facts_of, holds

if TYPE_CHECKING:
    from graphir.graph import Graph
    from graphir.node import Node, Value

SHOWN_PASSES = 3


class ExplainedFact(NamedTuple):
    """One fact and where it comes from.

    `source` is `given`, `declared`, `parameter`, `assumed`, `rule`, `subgraph` or `unknown`. With a rule, `node` and
    `op` say whose, `backward` that it followed from a result for an operand, and `causes` are the numbers of the steps
    with the facts that it needed: a smallest set, ranks left out where sizes are in it.
    """

    value: str
    what: str | int
    content: str
    source: str
    node: str = ""
    op: str = ""
    backward: bool = False
    causes: tuple[int, ...] = ()

    @property
    def fact(self) -> str:
        """The fact in words: `x[1] = 64`, `dtype of x = float32`, `elements of s = [N, -1]`."""
        if isinstance(self.what, int):
            return f"{self.value}[{self.what}] = {self.content}"
        return f"{self.what} of {self.value} = {self.content}"

    @property
    def origin(self) -> str:
        """Where it comes from, in words."""
        match self.source:
            case "given":
                return "given"
            case "declared":
                return "declared"
            case "parameter":
                return "the parameter's own"
            case "assumed":
                return "assumed, as nothing states it"
            case "unknown":
                return "nothing fixes it"
        way = "backwards from " if self.backward else ""
        alone = "" if self.causes or self.source == "subgraph" else ", whatever its operands are"
        return f"{way}{self.op} {self.node}{alone}"


@dataclass(frozen=True)
class Explanation:
    """Why a value has its type: steps, causes before what follows from them, and those that are the answer."""

    value: str
    type: Type
    steps: tuple[ExplainedFact, ...]
    answers: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the explanation as plain data."""
        return {
            "value": self.value,
            "type": str(self.type),
            "answers": list(self.answers),
            "steps": [
                {
                    "fact": step.fact,
                    "value": step.value,
                    "what": step.what,
                    "content": step.content,
                    "source": step.source,
                    "node": step.node or None,
                    "operator": step.op or None,
                    "direction": None if step.source != "rule" else "backward" if step.backward else "forward",
                    "causes": list(step.causes),
                }
                for step in self.steps
            ],
        }

    def __str__(self) -> str:
        lines = [f"{self.value}: {self.type}"]
        seen: set[int] = set()
        for answer in self.answers:
            lines.extend(self._lines(answer, seen))
        return "\n".join(map(one_line, lines))

    def _lines(self, answer: int, seen: set[int]) -> Iterator[str]:
        """Yield the tree below a step. What was told is not told again.

        Of causes that all say the same (the operands of an addition, all of size N) the first one is followed.
        """
        stack = [(answer, 1)]
        while stack:
            number, depth = stack.pop()
            step = self.steps[number]
            indent = "  " * depth
            if number in seen and step.causes:
                yield f"{indent}{step.fact}   (see above)"
                continue
            seen.add(number)
            yield f"{indent}{step.fact}   {step.origin}"
            passed, others = self._skip_unchanged(number)
            if len(passed) > SHOWN_PASSES:
                nodes = [self.steps[index].node for index in passed]
                agreed = f"; {others} other operand(s) on the way say the same" if others else ""
                yield f"{indent}  ... {len(passed)} nodes pass it on, {nodes[0]} to {nodes[-1]}{agreed}"
                seen.update(passed)
                step = self.steps[passed[-1]]
            causes = step.causes[:1] if self._agree(step) and len(passed) > SHOWN_PASSES else step.causes
            stack.extend((cause, depth + 1) for cause in reversed(causes))

    def _agree(self, step: ExplainedFact) -> bool:
        """Return whether all causes say the same as the step."""
        return bool(step.causes) and all(self.steps[cause].content == step.content for cause in step.causes)

    def _skip_unchanged(self, number: int) -> tuple[list[int], int]:
        """Return the line of steps below one through which its content comes unchanged, and how many others agree with
        it."""
        indices: list[int] = []
        others = 0
        step = self.steps[number]
        while self._agree(step):
            following = self.steps[step.causes[0]]
            if not following.causes:
                break
            others += len(step.causes) - 1
            indices.append(step.causes[0])
            step = following
        return indices, others


def explain(
    graph: Graph,
    name: str,
    shapes: Mapping[str, object] | None = None,
    dtypes: Mapping[str, object] | None = None,
) -> Explanation:
    """Return why the value called `name` has its type, given what `infer_types` takes.

    A name is a value's own or one that its source model had for it; `body/name` is a value of a subgraph. Raises
    GraphError for a name that there is not, and ShapeError for a contradiction. Cost: an inference that remembers what
    it learned, then a step for each fact on the way, and for each kind of them one call of a rule for each fact that
    the rule saw.
    """
    value = find_value(graph, name)
    with paused_collector():
        run = Tracing(graph, given_types(graph, shapes, dtypes), stored=False)
        run.run()
        run.assume_dtypes()
        run.finish()
        return _Explaining(run, shapes or {}, dtypes or {}).explain(value)


def find_value(graph: Graph, name: str) -> Value:
    """Return the value of this name in the graph or its subgraphs. Raises GraphError."""
    if name in graph:
        return graph[name]
    values: list[Value] = []
    for around, value in all_values(graph):
        if name in value.sources or f"{around}{value.name}" == name or (around and value.name == name):
            values.append(value)
    if len(values) == 1:
        return values[0]
    if values:
        raise GraphError(f"{name!r} may be any of {len(values)} values; write it as `graphir shapes` lists it")
    known = [f"{around}{value.name}" for around, value in all_values(graph)]
    known += [node.name for node in graph.nodes]
    raise GraphError(f"the graph has no value {name!r}{similar_names(name, dict.fromkeys(known))}")


def find_node(graph: Graph, name: str) -> tuple[str, Node] | None:
    """Return the node that a name means, with the path of its graph: of this name, where no value has it.

    A node of a subgraph is named as its values are, or, if no other is called so, alone. Raises GraphError where it may
    be several.
    """
    if name in graph or any(name in value.sources for value in graph.values):
        return None
    matches = [met for met in _all_nodes(graph, "") if name in (f"{met[0]}{met[1].name}", met[1].name)]
    if len(matches) > 1:
        raise GraphError(f"{name!r} may be any of {len(matches)} nodes; name one of their values instead")
    values = [value for around, value in all_values(graph) if name in (f"{around}{value.name}", value.name)]
    return matches[0] if matches and not values else None


def _all_nodes(graph: Graph, around: str) -> Iterator[tuple[str, Node]]:
    for node in graph.nodes:
        yield around, node
        for index, inner in enumerate(node.subgraphs):
            yield from _all_nodes(inner, f"{around}{subgraph_path(node, index)}")


def all_values(graph: Graph, around: str = "") -> Iterator[tuple[str, Value]]:
    """Yield the values of a graph and of the subgraphs in it, each with the path of its graph: empty, or
    `node.body/`."""
    for value in graph.values:
        yield around, value
    for node in graph.nodes:
        for index, inner in enumerate(node.subgraphs):
            yield from all_values(inner, f"{around}{subgraph_path(node, index)}")


def subgraph_path(node: Node, index: int) -> str:
    """Return what stands before the names of a subgraph's values: `loop1.body/`, `if1.then/`."""
    names = ("then", "else") if len(node.subgraphs) == 2 else ("body",)
    return f"{node.name}.{names[index] if index < len(names) else index}/"


class _Explaining:
    """The steps of one explanation, each fact explained once."""

    def __init__(self, run: Tracing, shapes: Mapping[str, object], dtypes: Mapping[str, object]) -> None:
        self.run = run
        self.shapes = shapes
        self.dtypes = dtypes
        self.reasons = Reasons()
        self.steps: list[ExplainedFact] = []
        self.numbers: dict[Fact, int] = {}

    def explain(self, value: Value) -> Explanation:
        """Return everything that is known of a value, and what is not."""
        type_ = self.run.types[value]
        answers = [self._number(fact) for fact in facts_of(value, type_, self.run.known[value])]
        for what in _unknown_parts(type_):
            answers.append(len(self.steps))
            self.steps.append(ExplainedFact(value.name, what, "?", "unknown"))
        return Explanation(value.name, type_, tuple(self.steps), tuple(answers))

    def _number(self, request: Fact) -> int:
        """Return the number of the fact's step; its causes' steps come before it."""
        numbers = self.numbers
        stack: list[tuple[Fact, Event | None, list[Fact] | None]] = [(request, None, None)]
        while stack:
            fact, event, causes = stack.pop()
            if fact in numbers:
                continue
            if causes is None:
                event = self._event(fact)
                causes = self._causes(event, fact)
                stack.append((fact, event, causes))
                stack.extend([(cause, None, None) for cause in reversed(causes) if cause not in numbers])
                continue
            numbers[fact] = len(self.steps)
            self.steps.append(self._step(fact, event, tuple([numbers[cause] for cause in causes])))
        return numbers[request]

    def _event(self, fact: Fact) -> Event | None:
        """Return what first said the fact; None if it held from the start."""
        if fact.what != ELEMENTS and holds(fact, self.run.start.get(fact.value)):
            return None
        for event in self.run.events.get(fact.value, ()):
            if isinstance(event.after, Known) == (fact.what == ELEMENTS) and holds(fact, event.after):
                return event
        return None

    def _causes(self, event: Event | None, fact: Fact) -> list[Fact]:
        if event is None or event.node is None:
            return []
        if event.node.subgraphs or fact.value.graph is not event.node.graph:
            return self._through_subgraph(event.node, fact)
        needed = self.reasons.of(event, fact)
        return [cause for cause in needed if cause.what != RANK] or needed

    def _step(self, fact: Fact, event: Event | None, causes: tuple[int, ...]) -> ExplainedFact:
        value, content = fact.value, _text(fact.content)
        if event is not None and event.node is not None:
            node = event.node
            source = "subgraph" if node.subgraphs else "rule"
            return ExplainedFact(
                value.name, fact.what, content, source, node.name, node.op.name, event.backward, causes
            )
        if event is not None:
            source = "assumed"
        elif value.tensor is not None:
            source = "parameter"
        else:
            given = self.dtypes if fact.what == DTYPE else self.shapes
            source = "given" if value.graph is self.run.graph and value.name in given else "declared"
        return ExplainedFact(value.name, fact.what, content, source)

    def _through_subgraph(self, node: Node, fact: Fact) -> list[Fact]:
        """Return the facts that a result of a node with subgraphs, or an input of one of them, has its own from."""
        value = fact.value
        if value.producer is not node:
            slot = value.graph.inputs.index(value)
            operand = node.operand(slot)
            shifted = _scanned_axis(node, slot, fact.what)
            return [] if operand is None else self._keep_true([Fact(operand, shifted, fact.content)])
        facts: list[Fact] = []
        for inner in node.subgraphs:
            if isinstance(node.op, Loop | Scan):
                facts += _facts_behind_loop(node, inner, fact)
            elif value.index < len(inner.outputs):
                facts.append(Fact(inner.outputs[value.index], fact.what, fact.content))
        return self._keep_true(facts)

    def _keep_true(self, facts: list[Fact]) -> list[Fact]:
        run = self.run
        return [
            fact
            for fact in facts
            if holds(fact, run.known[fact.value] if fact.what == ELEMENTS else run.types[fact.value])
        ]


def _facts_behind_loop(node: Node, body: Graph, fact: Fact) -> list[Fact]:
    """Return the facts behind a result of Loop or Scan: those of the carried values, of a slice, or of the number of
    trips."""
    index, what = fact.value.index, fact.what
    if isinstance(node.op, Loop):
        states, ahead, first = max(len(node.inputs) - 2, 0), 1, 2
    else:
        assert isinstance(node.op, Scan)
        states, ahead, first = len(node.inputs) - node.op.num_scan_inputs, 0, 0
    inner = body.outputs[index + ahead]
    if index < states:
        start = node.inputs[index + first]
        return [Fact(inner, what, fact.content), *([] if start is None else [Fact(start, what, fact.content)])]
    axes = node.op.scan_output_axes if isinstance(node.op, Scan) else ()
    axis = axes[index - states] if index - states < len(axes) else 0
    if what == RANK and isinstance(fact.content, int):
        return [Fact(inner, RANK, fact.content - 1)]
    if not isinstance(what, int):
        return [Fact(inner, what, fact.content)]
    if what != axis:
        return [Fact(inner, what - (what > axis), fact.content)]
    if isinstance(node.op, Scan):
        axes = node.op.scan_input_axes
        return [
            Fact(operand, axes[slot] if axes else 0, fact.content)
            for slot, operand in enumerate(node.inputs[states:])
            if operand is not None
        ][:1]
    limit = node.inputs[0]
    if limit is None or isinstance(fact.content, Unknown):
        return []
    content: Any = fact.content
    return [Fact(limit, ELEMENTS, Known(shape, (content,))) for shape in ((), (1,))]


def _scanned_axis(node: Node, slot: int, what: str | int) -> str | int:
    """Return the axis of a scanned operand that is axis `what` of the slices that the body gets."""
    if not isinstance(node.op, Scan) or not isinstance(what, int):
        return what
    index = slot - (len(node.inputs) - node.op.num_scan_inputs)
    if index < 0:
        return what
    axis = node.op.scan_input_axes[index] if node.op.scan_input_axes else 0
    return what + (what >= axis)


def _unknown_parts(type_: Type) -> list[str | int]:
    """Return what is not known of a type."""
    if not isinstance(type_, TensorType):
        return []
    parts: list[str | int] = [RANK] if type_.shape is None else []
    parts += [axis for axis, dim in enumerate(type_.shape or ()) if isinstance(dim, Unknown)]
    return parts + ([DTYPE] if type_.dtype is None else [])


def _text(content: object) -> str:
    if isinstance(content, Known):
        inner = ", ".join(map(str, content.elements))
        return f"[{inner}]" if content.shape else inner
    return str(content) if isinstance(content, DType | Sym | int | str) else repr(content)
