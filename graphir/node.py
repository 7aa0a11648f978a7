"""What a graph is made of: values, nodes, and the decisions that conversions took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .errors import GraphError
from .ops.base import Known, Operator
from .ops.elements import whole
from .tensor import Tensor
from .types import DType, TensorType, Type

if TYPE_CHECKING:
    from .graph import Graph

KNOWN_LIMIT = 256
FLOATS_LIMIT = 1


@dataclass(frozen=True)
class Decision:
    """A choice of a conversion that can change numbers or shapes: its kind, its node (or value), and why."""

    kind: str
    node: str
    text: str

    def __str__(self) -> str:
        return f"[{self.kind}] {self.node}: {self.text}"


class Value:
    """One tensor of a graph: an input, a parameter, or a result of a node.

    `type` is what is known of it now and `declared` what its source stated; `tensor` the elements of a parameter;
    `known` the elements of a small integer tensor that inference could follow; `sources` the names under which the
    source model knew it.
    """

    __slots__ = ("declared", "graph", "index", "known", "name", "producer", "sources", "tensor", "type", "uses")

    def __init__(self, graph: Graph, name: str, type_: Type) -> None:
        self.graph = graph
        self.name = name
        self.type = type_
        self.declared: Type = type_
        self.producer: Node | None = None
        self.index = 0
        self.uses: dict[tuple[Node, int], None] = {}
        self.tensor: Tensor | None = None
        self.known: Known | None = None
        self.sources: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[Any, ...] | None:
        """The shape, None if the rank is unknown (or the value is no tensor)."""
        return self.type.shape if isinstance(self.type, TensorType) else None

    @property
    def dtype(self) -> DType | None:
        """The element type, None if unknown."""
        return self.type.dtype if isinstance(self.type, TensorType) else None

    @property
    def rank(self) -> int | None:
        """The number of axes, None if unknown."""
        shape = self.shape
        return None if shape is None else len(shape)

    def users(self) -> list[Node]:
        """The nodes that use the value, each once, in the order in which they took it up."""
        return list(dict.fromkeys(node for node, _ in self.uses))

    def __repr__(self) -> str:
        return f"Value({self.name}: {self.type})"


class Node:
    """One application of an operator. Its operands and results are fixed; `Graph` has the methods that replace them."""

    __slots__ = ("_next", "_previous", "graph", "inputs", "name", "op", "outputs", "subgraphs")

    def __init__(self, graph: Graph, op: Operator, inputs: tuple[Value | None, ...], name: str) -> None:
        self.graph: Graph | None = graph
        self.op = op
        self.inputs = inputs
        self.outputs: tuple[Value, ...] = ()
        self.name = name
        self.subgraphs: tuple[Graph, ...] = ()
        self._previous: Node | None = None
        self._next: Node | None = None

    @property
    def following(self) -> Node | None:
        """The node that stands behind this one in its graph, None if it is the last."""
        return self._next

    @property
    def output(self) -> Value:
        """The only result. Raises GraphError if there are several."""
        if len(self.outputs) != 1:
            raise GraphError(f"{self.name} ({self.op.name}) has {len(self.outputs)} results; choose one from outputs")
        return self.outputs[0]

    def __repr__(self) -> str:
        return f"Node({self.name}: {self.op})"


def known_of(tensor: Tensor) -> Known | None:
    """The elements of a small tensor of integers or booleans, or a single float; other tensors' bytes stay unread."""
    dtype = tensor.dtype
    limit = FLOATS_LIMIT if dtype.is_float else KNOWN_LIMIT if dtype.is_integer or dtype is DType.BOOL else 0
    if dtype.bits < 8 or tensor.size > limit:
        return None
    found = tensor.numpy().reshape(-1).tolist()
    return Known(tensor.shape, tuple([whole(float(element)) if dtype.is_float else int(element) for element in found]))


def describe_failure(name: str, op: Operator, operands: Sequence[Value | None], error: Exception) -> str:
    """One line that says which node could not be, with its operands' names and types, and why."""
    shown = ", ".join("(absent)" if value is None else f"{value.name}: {value.type}" for value in operands)
    return f"node {name or '(unnamed)'} ({op}) refuses its operands ({shown}): {error}"


__all__ = ["KNOWN_LIMIT", "Decision", "Node", "Value", "describe_failure", "known_of"]
