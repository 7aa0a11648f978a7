"""What a graph is made of: values, nodes, and the decisions that conversions took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from .decisions import Decision as Decision
from .errors import GraphError
from .ops.base import Known, Operator, Values
from .ops.elements import whole
from .tensor import Tensor
from .types import ANYTHING, DType, TensorType, Type

if TYPE_CHECKING:
    from .graph import Graph

KNOWN_LIMIT = 256
FLOATS_LIMIT = 1


def guarded(slot: str, advice: str, name: str = "") -> property:
    """Return a property that reads a slot and refuses to be assigned to, saying what to do instead."""

    def refuse(holder: Any, value: object) -> None:
        raise GraphError(f"{holder!r}: {name or slot[1:]} cannot be assigned to; {advice}")

    return property(attrgetter(slot), refuse, None, "")  # else the getter's own text would describe it


class Value:
    """One tensor of a graph: an input, a parameter, or a result of a node.

    `type` is what is known of it now and `declared` what its source stated; `tensor` the elements of a parameter;
    `known` the elements of a small integer tensor that inference could follow; `sources` the names under which the
    source model knew it. What ties it into its graph (`name`, `graph`, `producer`, its place `index` among that node's
    results, and `uses`: node and slot of each use) is read here and changed by the graph's methods.
    """

    __slots__ = ("_graph", "_index", "_name", "_producer", "_type", "_uses", "declared", "known", "sources", "tensor")

    def __init__(
        self, graph: Graph, name: str, type_: Type, producer: Node | None = None, index: int = 0
    ) -> None:
        self._graph = graph
        self._name = name
        self._type = type_
        self.declared: Type = type_ if producer is None else ANYTHING
        self._producer = producer
        self._index = index
        self._uses: dict[tuple[Node, int], None] = {}
        self.tensor: Tensor | None = None
        self.known: Known | None = None
        self.sources: tuple[str, ...] = ()

    if TYPE_CHECKING:  # the others read at the cost of a plain attribute, but cannot be assigned to

        @property
        def graph(self) -> Graph: ...
        @property
        def name(self) -> str: ...
        @property
        def producer(self) -> Node | None: ...
        @property
        def index(self) -> int: ...
        @property
        def uses(self) -> Mapping[tuple[Node, int], None]: ...
        @property
        def type(self) -> Type: ...
    else:
        graph = guarded("_graph", "a value stays in its graph")
        name = guarded("_name", "rename it by graph.rename(value, name)")
        producer = guarded("_producer", "a value stays the result of its node")
        index = guarded("_index", "a value keeps its place among its node's results")
        uses = guarded("_uses", "uses change by graph.replace_uses or graph.replace_input")
        type = guarded("_type", "graph.refine(value, type) adds to it, graph.retype(value, type) sets another one")

    @property
    def is_held(self) -> bool:
        """Whether the value is an output of its graph or of one inside that."""
        return bool(self._graph._holders.get(self))

    @property
    def is_needed(self) -> bool:
        """Whether a node uses the value, or it is an output."""
        return bool(self._uses) or self.is_held

    @property
    def is_parameter(self) -> bool:
        """Whether the value is a parameter of its graph."""
        return self in self._graph._parameters

    @property
    def shape(self) -> tuple[Any, ...] | None:
        """The shape, None if the rank is unknown (or the value is no tensor)."""
        type_ = self._type
        return type_.shape if isinstance(type_, TensorType) else None

    @property
    def dtype(self) -> DType | None:
        """The element type, None if unknown."""
        type_ = self._type
        return type_.dtype if isinstance(type_, TensorType) else None

    @property
    def rank(self) -> int | None:
        """The number of axes, None if unknown."""
        shape = self.shape
        return None if shape is None else len(shape)

    @property
    def integers(self) -> tuple[int, ...] | None:
        """The elements in order, if inference could follow all of them and they are integers; else None."""
        return None if self.known is None else self.known.integers()

    def users(self) -> list[Node]:
        """Return the nodes that use the value, each once, in the order in which they took it up."""
        return list(dict.fromkeys(node for node, _ in self._uses))

    def __repr__(self) -> str:
        return f"Value({self.name}: {self.type})"


class Node:
    """One application of an operator. Its operands and results are fixed; `Graph` has the methods that replace them.

    `name` is a label, which need not be unique. `graph` is None once the node was erased.
    """

    __slots__ = ("_graph", "_inputs", "_next", "_op", "_outputs", "_previous", "_subgraphs", "name")

    def __init__(self, graph: Graph, op: Operator, inputs: tuple[Value | None, ...], name: str) -> None:
        self._graph: Graph | None = graph
        self._op = op
        self._inputs: tuple[Value | None, ...] | list[Value | None] = inputs
        self._outputs: tuple[Value, ...] = ()
        self.name = name
        self._subgraphs: tuple[Graph, ...] = ()
        self._previous: Node | None = None
        self._next: Node | None = None

    if TYPE_CHECKING:

        @property
        def graph(self) -> Graph | None: ...
        @property
        def op(self) -> Operator: ...
        @property
        def outputs(self) -> tuple[Value, ...]: ...
        @property
        def subgraphs(self) -> tuple[Graph, ...]: ...
        @property
        def following(self) -> Node | None:
            """The node that stands behind this one in its graph, None if it is the last."""
    else:
        graph = guarded("_graph", "a node leaves its graph by graph.erase(node)")
        op = guarded("_op", "graph.replace(node, op) puts another operator in its place")
        outputs = guarded("_outputs", "a node with other results is added by graph.add_node")
        subgraphs = guarded("_subgraphs", "a node with other subgraphs is added by graph.add_node")
        following = guarded("_next", "a node keeps its place in its graph", "following")

    @property
    def inputs(self) -> tuple[Value | None, ...]:
        """The operands by slot; None stands for one that is absent."""
        inputs = self._inputs
        if type(inputs) is list:
            inputs = self._inputs = tuple(inputs)
        return inputs  # type: ignore[return-value]

    @inputs.setter
    def inputs(self, values: object) -> None:
        raise GraphError(f"{self!r}: inputs cannot be assigned to; they change by graph.replace_input or replace_uses")

    def operand(self, slot: int) -> Value | None:
        """Return the operand in a slot, None for one that is absent."""
        inputs = self.inputs
        return inputs[slot] if slot < len(inputs) else None

    def integers(self, slot: int) -> tuple[int, ...] | None:
        """Return the `integers` of the operand in a slot, None for one that is absent."""
        value = self.operand(slot)
        return None if value is None else value.integers

    def _replace(self, slot: int, value: Value | None) -> None:
        """Take another operand. A tuple is made again when it is read: a wide node may change in many slots before."""
        inputs = self._inputs
        if type(inputs) is not list:
            inputs = self._inputs = list(inputs)
        inputs[slot] = value

    @property
    def output(self) -> Value:
        """The only result. Raises GraphError if there are several."""
        if len(self._outputs) != 1:
            raise GraphError(f"{self.name} ({self.op.name}) has {len(self._outputs)} results; choose one from outputs")
        return self._outputs[0]

    def __repr__(self) -> str:
        return f"Node({self.name}: {self.op})"


_TYPE, _KNOWN = attrgetter("_type"), attrgetter("known")


def set_type(value: Value, type_: Type) -> None:
    """Set a value's type, whatever it was: for inference, and for readers that have checked it. See `Graph.retype`."""
    value._type = type_


def facts_of(operands: tuple[Value | None, ...]) -> tuple[tuple[Type | None, ...], Values]:
    """Return the types of operands, and their known elements; None for an operand that is absent."""
    if None in operands:
        types = tuple([None if value is None else value.type for value in operands])
        return types, tuple([None if value is None else value.known for value in operands])
    return tuple(map(_TYPE, operands)), tuple(map(_KNOWN, operands))


def known_of(tensor: Tensor) -> Known | None:
    """Return the elements of a small tensor of integers or booleans, or a single float; other tensors' bytes stay
    unread."""
    dtype = tensor.dtype
    limit = FLOATS_LIMIT if dtype.is_float else KNOWN_LIMIT if dtype.is_integer or dtype is DType.BOOL else 0
    if dtype.bits < 8 or tensor.size > limit:
        return None
    numbers = tensor.numpy().reshape(-1).tolist()
    return Known(tensor.shape, tuple([whole(float(number)) if dtype.is_float else int(number) for number in numbers]))


def describe_failure(name: str, op: Operator, operands: Sequence[Value | None], error: Exception) -> str:
    """Return one line that says which node could not be, with its operands' names and types, and why."""
    shown = ", ".join("(absent)" if value is None else f"{value.name}: {value.type}" for value in operands)
    return f"node {name or '(unnamed)'} ({op}) refuses its operands ({shown}): {error}"
