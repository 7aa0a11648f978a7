"""The fixpoint: every rule runs until no type changes, forwards for results and backwards for operands."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from operator import index
from typing import TYPE_CHECKING, SupportsIndex, cast

from ..errors import GraphError, ShapeError
from ..ops.base import Known
from ..types import ANYTHING, UNKNOWN, Dim, DType, Sym, TensorType, Type, Unknown, parse_dim, parse_shape, unify
from .rules import infer_operands, infer_outputs, infer_values

if TYPE_CHECKING:
    from ..graph import Graph, Node, Value


class Inference:
    """One run of inference over a graph, beside the graph's own types, which it reads but does not change.

    Each node is visited a bounded number of times, because a type only ever gets more precise: the cost is linear in
    nodes. `types` and `known` hold the result for every value.
    """

    def __init__(self, graph: Graph, given: Mapping[Value, Type], *, stored: bool) -> None:
        self.graph = graph
        self.types: dict[Value, Type] = {}
        self.known: dict[Value, Known | None] = {}
        self._queue: deque[Node] = deque()
        self._queued: set[Node] = set()
        self._informed: dict[Value, list[Node]] = {}
        self._in_order = False
        for value in graph.values:
            start = value.type if stored else value.declared
            if value in given:
                fixed = value.tensor is not None or not isinstance(start, TensorType)
                start = _checked(value, given[value]) if fixed else given[value]
            self.types[value] = start
            self.known[value] = value.known if value.producer is None else None

    def run(self) -> None:
        """Run to the fixpoint. Raises ShapeError naming the node, the value and both sides of a contradiction."""
        backward = []
        self._in_order = True  # what the first walk learns, it carries itself to the users, which come later
        for node in self.graph.nodes:
            self._forward(node)
            if node.op.has_backward:
                backward.append(node)
        self._in_order = False
        for node in reversed(backward):
            self._backward(node)
        while self._queue:
            node = self._queue.popleft()
            self._queued.discard(node)
            self._forward(node)
            if node.op.has_backward:
                self._backward(node)

    def _operands(self, node: Node) -> tuple[tuple[Type | None, ...], tuple[Known | None, ...]]:
        types, known = self.types, self.known
        operands = tuple([None if value is None else _look(types, value) for value in node.inputs])
        return operands, tuple([None if value is None else known.get(value) for value in node.inputs])

    def _forward(self, node: Node) -> None:
        operands, values = self._operands(node)
        try:
            results = infer_outputs(node.op, operands, values)
            found = infer_values(node.op, operands, values)
        except ShapeError as error:
            raise ShapeError(
                f"node {node.name} ({node.op}) refuses its operands ({self._shown(node, node.inputs)}): {error}"
            ) from error
        for value, type_ in zip(node.outputs, results, strict=True):
            self._learn(value, type_, node)
        if found is not None:
            for value, elements in zip(node.outputs, found, strict=True):
                if elements is not None and self.known.get(value) != elements:
                    self.known[value] = elements
                    self._enqueue_users(value, node)

    def _backward(self, node: Node) -> None:
        types = self.types
        operands = tuple([None if value is None else _look(types, value) for value in node.inputs])
        open_ended = False
        for operand in operands:
            if operand is not None:
                if not isinstance(operand, TensorType):
                    return
                open_ended = open_ended or not operand.is_static
        if not open_ended:
            return
        results = tuple([self.types[value] for value in node.outputs])
        if not all(isinstance(result, TensorType) for result in results):
            return
        try:
            wanted = infer_operands(
                node.op, cast("tuple[TensorType | None, ...]", operands), cast("tuple[TensorType, ...]", results)
            )
        except ShapeError as error:
            raise ShapeError(
                f"node {node.name} ({node.op}) cannot make ({self._shown(node, node.outputs)}) of its operands "
                f"({self._shown(node, node.inputs)}): {error}"
            ) from error
        for value, type_ in zip(node.inputs, wanted, strict=True):
            if value is not None and type_ is not None and value in self.types:
                self._learn(value, type_, node)

    def _learn(self, value: Value, type_: Type, node: Node) -> None:
        held = self.types[value]
        if held is type_ or held == type_:
            return
        try:
            merged = unify(held, type_)
        except ShapeError as error:
            raise ShapeError(
                f"{value.name} is {held} by {self._origin(value)}, but node {node.name} ({node.op}) makes it {type_}: "
                f"{error}"
            ) from error
        if merged == held:
            return
        self.types[value] = merged
        if node is not value.producer:
            self._informed.setdefault(value, []).append(node)
        self._enqueue_users(value, node)
        if value.producer is not None and value.producer is not node and value.producer.op.has_backward:
            self._enqueue(value.producer)

    def _origin(self, value: Value) -> str:
        """What the type of a value follows from, in words."""
        origins = [] if value.producer is None else [value.producer]
        origins += self._informed.get(value, ())
        named = [f"node {node.name}" for node in dict.fromkeys(origins)]
        if value.producer is None and (value.declared != ANYTHING or not named):
            named.insert(0, "its declaration")
        return " and ".join(named)

    def _shown(self, node: Node, values: Iterable[Value | None]) -> str:
        """Values with their types, and the other nodes that those follow from."""
        shown = []
        for value in values:
            others = [] if value is None else [f"node {n.name}" for n in self._informed.get(value, ()) if n is not node]
            origin = f" by {' and '.join(dict.fromkeys(others))}" if others else ""
            shown.append("(absent)" if value is None else f"{value.name}: {_look(self.types, value)}{origin}")
        return ", ".join(shown)

    def _enqueue_users(self, value: Value, source: Node) -> None:
        for user, _ in value.uses:
            if user is not source or user.op.has_backward:
                self._enqueue(user)

    def _enqueue(self, node: Node) -> None:
        if not self._in_order and node not in self._queued and node.graph is self.graph:
            self._queued.add(node)
            self._queue.append(node)


def infer_graph(graph: Graph) -> bool:
    """Run inference on what the graph knows and store the result in it; True if anything changed. Raises ShapeError."""
    run = Inference(graph, {}, stored=True)
    run.run()
    changed = False
    for value, type_ in run.types.items():
        if value.type != type_:
            value.type = type_
            changed = True
        known = run.known.get(value)
        if known is not None and value.known != known:
            value.known = known
            changed = True
    return changed


def infer_types(
    graph: Graph,
    shapes: Mapping[str, object] | None = None,
    dtypes: Mapping[str, object] | None = None,
) -> dict[str, Type]:
    """The type of every value, by name, given shapes and dtypes for some of them; the graph stays as it is.

    A shape is a sequence of integers, names of symbolic sizes or None (unknown), or text such as `1,3,H,W`; a dtype
    anything that `DType.of` takes. Raises GraphError for a name that the graph does not have and ShapeError, naming
    both sides, for a contradiction. Weights are not read. Cost: linear in nodes.
    """
    given: dict[Value, Type] = {}
    names = list(dict.fromkeys([*(shapes or {}), *(dtypes or {})]))
    for name in names:
        if name not in graph:
            known = ", ".join(value.name for value in graph.inputs) or "none"
            raise GraphError(f"the graph has no value {name!r}; its inputs are: {known}")
        value = graph[name]
        stated = value.declared if isinstance(value.declared, TensorType) else ANYTHING
        shape = parse_dims((shapes or {})[name]) if shapes and name in shapes else stated.shape
        dtype = DType.of((dtypes or {})[name]) if dtypes and name in dtypes else stated.dtype
        given[value] = TensorType(dtype, shape)
    run = Inference(graph, given, stored=False)
    run.run()
    return {value.name: type_ for value, type_ in run.types.items()}


def parse_dims(shape: object) -> tuple[Dim, ...] | None:
    """A shape given from outside: text, or integers, names, None and dimensions in a sequence; None is an unknown rank.

    Raises ShapeError.

    >>> parse_dims((1, "N", None))
    (1, Sym('N'), UNKNOWN)
    """
    if shape is None:
        return None
    try:
        dims = parse_shape(shape) if isinstance(shape, str) else tuple(map(_parse_dim, cast("Iterable[object]", shape)))
    except (TypeError, ValueError) as error:
        raise ShapeError(f"not a shape: {shape!r}: {error}") from None
    for dim in dims:
        if isinstance(dim, int) and dim < 0:
            raise ShapeError(f"not a shape: {shape!r}: the size {dim} is negative; an unknown size is None or '?'")
    return dims


def _parse_dim(dim: object) -> Dim:
    if dim is None:
        return UNKNOWN
    if isinstance(dim, str):
        return parse_dim(dim)
    return dim if isinstance(dim, Sym | Unknown) else index(cast("SupportsIndex", dim))


def _look(types: Mapping[Value, Type], value: Value) -> Type:
    found = types.get(value)
    return value.type if found is None else found


def _checked(value: Value, given: Type) -> Type:
    try:
        return unify(value.type, given)
    except ShapeError as error:
        raise ShapeError(f"{value.name} is {value.type} in the model, but was given as {given}: {error}") from None


__all__ = ["Inference", "infer_graph", "infer_types", "parse_dims"]
