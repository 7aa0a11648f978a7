"""What exporters share: the node of the graph that an export function sees. See `node`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from graphir.converters.kernel.node import NodeView
from graphir.graph import Node, Value
from graphir.ops.base import Operator

O = TypeVar("O", bound=Operator, covariant=True)  # noqa: E741  one letter, as type variables have


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
        """A graph is inferred before it is written."""
        return

    @property
    def result(self) -> Value:
        """The first result."""
        return self.node.outputs[0]


__all__ = ["BaseExportNode", "O"]
