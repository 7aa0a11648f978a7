"""Names that nothing else has."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import TYPE_CHECKING

from graphir.structure.reaching import graphs_within

if TYPE_CHECKING:
    from graphir.graph import Graph

SUGGESTED = 4


def free_name(wanted: str, taken: Container[str], numbers: dict[str, int]) -> str:
    """Return `wanted` if it is not taken, else `wanted` with a number behind it.

    `numbers` remembers the next one of each name, so that asking often for the same takes no longer each time.

    >>> numbers = {}
    >>> [free_name(wanted, {"a", "a_1"}, numbers) for wanted in ("a", "a", "b")]
    ['a_2', 'a_3', 'b']
    """
    if wanted not in taken:
        return wanted
    number = numbers.get(wanted, 1)
    while f"{wanted}_{number}" in taken:
        number += 1
    numbers[wanted] = number + 1
    return f"{wanted}_{number}"


def similar_names(wanted: str, names: Iterable[str]) -> str:
    """Return what may be meant by a name that does not exist, as the end of a sentence; "" for nothing.

    >>> similar_names("re_lu/Relu", ["model/re_lu/Relu", "model/conv/BiasAdd"]), similar_names("x", ["logits"])
    ('; there is model/re_lu/Relu', '')
    """
    from difflib import get_close_matches

    known = list(names)
    last = wanted.rpartition("/")[2].partition(":")[0].lower()
    matches = [name for name in known if last and last in name.rpartition("/")[2].lower()]
    close = get_close_matches(wanted, matches or known, SUGGESTED, 0.3 if matches else 0.6) or matches[:SUGGESTED]
    return f"; there is {', '.join(close)}" if close else ""


class Names:
    """Names, none given twice."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = dict.fromkeys(taken)  # in order, so that the last ones can be given up
        self._numbers: dict[str, int] = {}

    def fresh(self, wanted: str) -> str:
        """Return `wanted` or, if that is taken, `wanted` with a number; taken from now on."""
        name = free_name(wanted, self._taken, self._numbers)
        self._taken[name] = None
        return name

    def claim(self, name: str) -> bool:
        """Take a name if it is free; whether it was."""
        is_free = name not in self._taken
        self._taken[name] = None
        return is_free

    def mark(self) -> tuple[int, dict[str, int]]:
        """Return what `back_to` wants, to give up the names that are taken from now on."""
        return len(self._taken), dict(self._numbers)

    def back_to(self, mark: tuple[int, dict[str, int]]) -> None:
        """Give up the names that were taken since `mark` said this."""
        count, self._numbers = mark
        while len(self._taken) > count:
            self._taken.popitem()


def value_names(graph: Graph) -> Iterator[str]:
    """Yield the names of all values of a graph and of the graphs inside it."""
    return (value.name for inner in graphs_within(graph) for value in inner.values)
