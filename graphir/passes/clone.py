"""A copy of a graph, for those who must not touch the original."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from graphir.graph import Graph
from graphir.structure.cloning import Images as Images
from graphir.structure.cloning import clone as clone
from graphir.structure.cloning import clone_into as clone_into
from graphir.structure.frozen import FrozenGraphError, frozen

T = TypeVar("T")


def on_copy(graph: Graph, work: Callable[[Graph], T]) -> tuple[Graph, T]:
    """Return a graph that is done with as `work` says, and what that returns, for one who must not touch `graph`: a
    copy, or where the work changes nothing the graph itself. The first change begins it again, on the copy."""
    try:
        with frozen(graph):
            return graph, work(graph)
    except FrozenGraphError:
        copy = clone(graph)
    return copy, work(copy)
