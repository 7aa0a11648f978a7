"""A graph that is only looked at: the first change of it is refused, so that where there is none it needs no copy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphir.structure.store import GraphStore

_FROZEN: ContextVar[GraphStore | None] = ContextVar("frozen", default=None)


class FrozenGraphError(Exception):
    """A frozen graph would be changed. No GraphirError: no pass may take it for a refusal."""


@contextmanager
def frozen(graph: GraphStore) -> Iterator[None]:
    """Have the first change of a graph or of one inside it raise FrozenGraphError, in this thread."""
    token = _FROZEN.set(graph)
    try:
        yield
    finally:
        _FROZEN.reset(token)


def expect_open(graph: GraphStore) -> None:
    """Raise FrozenGraphError for a graph that is frozen, or around which one is."""
    kept = _FROZEN.get()
    if kept is not None:
        around: GraphStore | None = graph
        while around is not None:
            if around is kept:
                raise FrozenGraphError(graph.name)
            around = around.parent
