"""How far long work is: whoever does it counts, whoever wants to know listens.

Work that goes through many things (nodes, weights, models) says which one it is at, by `counted`. Outside of
`listening`, as in a program that asks for nothing, that costs one look.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from graphir.structure.record import record

T = TypeVar("T")


@record
class Count:
    """`done` of `total` are behind; `what` one of them is, as in `node`."""

    what: str
    done: int
    total: int


Listener = Callable[[Count], None]
_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """What is counted in here is told to the listener, which must be quick: it is called for each thing."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def counted(things: Collection[T], what: str) -> Iterable[T]:
    """Return the things, each told to whoever listens before it is worked on.

    >>> heard = []
    >>> with listening(heard.append):
    ...     found = [thing for thing in counted("ab", "letter")]
    >>> found, heard[-1]
    (['a', 'b'], Count(what='letter', done=1, total=2))
    """
    listener = _LISTENER.get()
    return things if listener is None else _tell_counts(things, what, listener)


def tell_count(what: str, done: int, total: int) -> None:
    """Say that so many things are behind, where they do not come out of a loop that `counted` can go through."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(Count(what, done, total))


def is_listened_to() -> bool:
    """Return whether what is counted here is told to a listener."""
    return _LISTENER.get() is not None


def _tell_counts(things: Collection[T], what: str, listener: Listener) -> Iterator[T]:
    total = len(things)
    for done, thing in enumerate(things):
        listener(Count(what, done, total))
        yield thing


def duration(seconds: float) -> str:
    """Return seconds in words.

    >>> duration(0.2), duration(59), duration(61), duration(7300)
    ('1 s', '59 s', '1 min', '2 h 2 min')
    """
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    hours, minutes = divmod(round(whole / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
