"""What a graph holds, seen as a sequence of nodes and as a mapping of arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from graphir.errors import GraphError
from graphir.node import Node, Value
from graphir.structure.names import similar_names

if TYPE_CHECKING:
    from graphir.graph import Graph
    from graphir.structure.store import GraphStore

FEW_SHOWN = 8


def captured(graph: Graph) -> Iterator[Value]:
    """Yield the values of graphs around a subgraph that it, or a graph inside it, uses. Linear in what is inside."""
    inside = {graph}
    pending = [graph]
    while pending:
        current = pending.pop()
        for value in current.outputs:
            if value.graph not in inside:
                yield value
        for node in current.nodes:
            for inner in node.subgraphs:
                inside.add(inner)
                pending.append(inner)
            for used in node.inputs:
                if used is not None and used.graph not in inside:
                    yield used


class Nodes:
    """The nodes of a graph in order. It sees what changes; the node last given may be erased while iterating."""

    __slots__ = ("_graph",)

    def __init__(self, graph: GraphStore) -> None:
        self._graph = graph

    def __iter__(self) -> Iterator[Node]:
        node = self._graph._first
        while node is not None:
            following = node._next
            yield node
            node = following

    def __reversed__(self) -> Iterator[Node]:
        node = self._graph._last
        while node is not None:
            before = node._previous
            yield node
            node = before

    def __len__(self) -> int:
        return self._graph._count

    def __contains__(self, node: object) -> bool:
        """Return whether the graph holds this node, or one of this name."""
        if isinstance(node, str):
            return any(item.name == node for item in self)
        return isinstance(node, Node) and node.graph is self._graph

    @overload
    def __getitem__(self, key: int | str) -> Node: ...
    @overload
    def __getitem__(self, key: slice) -> list[Node]: ...
    def __getitem__(self, key: int | str | slice) -> Node | list[Node]:
        """Return a node by its place (from the end with negative numbers) or name, or a list of those in a slice.

        Raises GraphError for a name that no node has, or several, and for what is neither; IndexError for a place
        behind the end.
        """
        if isinstance(key, slice):
            return list(self)[key]
        if isinstance(key, str):
            return self._find_named(key)
        if not isinstance(key, int | np.integer) or isinstance(key, bool):
            raise GraphError(f"a node is found by its place or its name, not by {type(key).__name__}")
        index = int(key)
        nodes = islice(iter(self), index, None) if index >= 0 else islice(reversed(self), -index - 1, None)
        for node in nodes:
            return node
        raise IndexError(f"graph {self._graph.name} has {len(self)} nodes, none at {key}")

    def _find_named(self, name: str) -> Node:
        matches = [node for node in self if node.name == name]
        if len(matches) == 1:
            return matches[0]
        if not matches:
            names = dict.fromkeys(node.name for node in self)
            raise GraphError(f"graph {self._graph.name} has no node {name!r}{similar_names(name, names)}")
        operators = ", ".join(node.op.name for node in matches)
        raise GraphError(f"graph {self._graph.name} has {len(matches)} nodes {name!r} ({operators}); choose from nodes")

    def __repr__(self) -> str:
        shown = [f"{node.name}: {node.op.name}" for node in islice(iter(self), FEW_SHOWN)]
        more = len(self) - len(shown)
        return f"Nodes({', '.join(shown)}{f', and {more:,} more' if more else ''})"


class Weights(Mapping[str, "np.ndarray[Any, Any]"]):
    """The parameters that have elements, by name. An array is read, or computed, when it is asked for."""

    __slots__ = ("_graph",)

    def __init__(self, graph: GraphStore) -> None:
        self._graph = graph

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        value = self._graph._values.get(name) if isinstance(name, str) else None
        if value is None or value.tensor is None or value not in self._graph._parameters:
            raise KeyError(f"graph {self._graph.name} has no weights {name!r}{similar_names(str(name), self)}")
        return value.tensor.numpy()

    def __iter__(self) -> Iterator[str]:
        return (value.name for value in self._graph._parameters if value.tensor is not None)

    def __len__(self) -> int:
        return sum(value.tensor is not None for value in self._graph._parameters)

    def __repr__(self) -> str:
        shown = [f"{name}: {self._graph._values[name].type}" for name in islice(iter(self), FEW_SHOWN)]
        more = len(self) - len(shown)
        return f"Weights({', '.join(shown)}{f', and {more:,} more' if more else ''})"
