"""What steps lead to from some items of a graph: values, nodes or names, forward or backward."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from graphir.graph import Graph
    from graphir.node import Node

T = TypeVar("T", bound=Hashable)


def reachable(starts: Iterable[T], step: Callable[[T], Iterable[T]]) -> Iterator[T]:
    """Yield the items that steps lead to, each once: the starts themselves, then the nearest first. Linear in steps.

    >>> list(reachable("c", {"a": "", "b": "a", "c": "db", "d": "a"}.__getitem__))
    ['c', 'd', 'b', 'a']
    """
    pending = list(dict.fromkeys(starts))
    seen = set(pending)
    for item in pending:
        yield item
        for other in step(item):
            if other not in seen:
                seen.add(other)
                pending.append(other)


def graphs_within(graph: Graph) -> Iterator[Graph]:
    """Yield a graph and the graphs inside it, at any depth."""
    return reachable([graph], lambda around: [inner for node in around.nodes for inner in node.subgraphs])


def nodes_within(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yield nodes, then those of the graphs inside them, at any depth."""
    return reachable(nodes, lambda node: [inner for body in node.subgraphs for inner in body.nodes])
