"""What exporters share: the node of the graph that an export function sees. See `node`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Generic, TypeVar

from graphir.converters.kernel.node import NodeView
from graphir.errors import GraphirError
from graphir.graph import Node, Value
from graphir.ops.base import Operator

O = TypeVar("O", bound=Operator, covariant=True)  # noqa: E741  one letter, as type variables have
P = TypeVar("P", bound=Operator)
F = TypeVar("F")


class BaseExportNode(NodeView, Generic[O]):
    """One node of the graph on its way out; `op` is its operator, of a class that an export function states."""

    __slots__ = ("name", "node", "op")

    def __init__(self, node: Node) -> None:
        self.name = node.name
        self.node = node
        self.op: O = node.op  # type: ignore[assignment]

    @property
    def inputs(self) -> Sequence[Value | None]:
        """The operands in order."""
        return self.node.inputs

    @property
    def operator(self) -> str:
        """The operator's name."""
        return self.node.op.name

    def infer_now(self) -> None:
        """No-op: a graph is inferred before it is written."""
        return

    @property
    def result(self) -> Value:
        """The first result."""
        return self.node.outputs[0]


def table(*rows: tuple[type[Operator], F]) -> dict[type[Operator], F]:
    """Return a family's export functions by operator. Raises GraphirError for an operator that comes twice."""
    entries = dict(rows)
    if len(entries) != len(rows):
        twice = sorted(op.__name__ for op, times in Counter(op for op, _ in rows).items() if times > 1)
        raise GraphirError(f"two export functions for {', '.join(twice)}")
    return entries
