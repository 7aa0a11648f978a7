"""A copy of a graph, for those who must not touch the original."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from graphir.graph import Graph
from graphir.structure.cloning import Images as Images
from graphir.structure.cloning import clone as clone
from graphir.structure.cloning import clone_into as clone_into


@contextmanager
def on_copy(graph: Graph, change: Callable[[Graph], object], *, needed: bool) -> Iterator[Graph]:
    """The graph as `change` makes it, for one who must not touch it: a copy, or the graph itself if none is `needed`.

    What is decided about the copy is decided about the graph.
    """
    if not needed:
        yield graph
        return
    copy = clone(graph)
    change(copy)
    yield copy
    graph.decisions[:] = copy.decisions
