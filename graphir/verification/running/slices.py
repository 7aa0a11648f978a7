"""Which values are held, and how many at a time, so that they stay within a budget of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from graphir.arrays import Array
from graphir.safety.memory import KEPT_BY_GLIBC

if TYPE_CHECKING:
    from graphir.converters.onnx.files.structure import Structure

# What is held of each value that is compared: the reference's, the candidate's, what rounding makes of it, and by how
# much that moves each element.
HELD_OF_EACH = 4
# An eighth of such a budget may be what glibc keeps: blocks of a megabyte are returned when they are freed instead.
SMALL_BUDGET = 8 * KEPT_BY_GLIBC
# onnxruntime holds up to 2.6 times the weights while it starts an optimised session of which it fuses weights
# (ResNet-152), and twice them where freed blocks are returned at once, which takes 0.4 s more. 1.5 times the weights
# and the budget are to hold that.
STARTING = 1.5


class RecentRuns:
    """The smallest results of the last runs, by the very feeds (that dictionary, not one that is equal) and a `kind`:
    of which session they are, whose results differ by rounding from another's. Of each run up to `room` bytes stay."""

    def __init__(self, room: int, most: int) -> None:
        self._room, self._most = room, most
        self._runs: list[tuple[Mapping[str, Array], Any, dict[str, Array]]] = []

    def of(self, feeds: Mapping[str, Array], kind: Any) -> dict[str, Array]:
        """Return what is kept of the runs on these feeds."""
        return next((kept for fed, other, kept in self._runs if fed is feeds and other == kind), {})

    def keep(self, feeds: Mapping[str, Array], results: Mapping[str, Any], kind: Any) -> None:
        """Keep the smallest of a run's arrays beside those that are kept of these feeds, which become the last."""
        kept = self.of(feeds, kind)
        room = self._room - sum(array.nbytes for array in kept.values())
        arrays = {name: array for name, array in results.items() if isinstance(array, np.ndarray) and name not in kept}
        added = dict(kept)
        for name in sorted(arrays, key=lambda name: arrays[name].nbytes):
            room -= arrays[name].nbytes
            if room < 0:
                break
            added[name] = arrays[name]
        if added:  # which keeps the feeds too
            others = [run for run in self._runs if run[2] is not kept]
            self._runs = [*others[1 - self._most :], (feeds, kind, added)]

    def last(self, is_kind: Callable[[Any], bool]) -> dict[str, Array]:
        """Return what is kept of the last run of such a kind."""
        return next((kept for _, other, kept in reversed(self._runs) if is_kind(other)), {})


def in_slices(names: Iterable[str], sizes: Mapping[str, int], most: int) -> list[list[str]]:
    """Return the names in their order, in parts whose values take at most so many bytes; one that takes more is alone.

    A value of unknown size is taken for as large as the largest of them.

    >>> in_slices("abcde", {"a": 1, "b": 2, "c": 1, "e": 9}, 4)
    [['a', 'b', 'c'], ['d'], ['e']]
    """
    order = list(names)
    largest = max((sizes[name] for name in order if name in sizes), default=0)
    parts: list[list[str]] = []
    taken = 0
    for name in order:
        size = sizes.get(name, largest)
        if not parts or taken + size > most:
            parts.append([])
            taken = 0
        parts[-1].append(name)
        taken += size
    return parts


def held_at_once(structure: Structure, sizes: Mapping[str, int]) -> int:
    """Return the bytes that a run of the model holds of its values at most, each freed after its last use.

    Those of unknown size are not counted.
    """
    last = {operand: name for name, (_, operands) in structure.producers.items() for operand in operands}
    freed: dict[str, list[str]] = {}
    for operand, reader in last.items():
        if operand in structure.producers and operand not in structure.outputs:
            freed.setdefault(reader, []).append(operand)
    taken = most = 0
    for name in structure.producers:
        taken += sizes.get(name, 0)
        most = max(most, taken)
        taken -= sum(sizes.get(operand, 0) for operand in freed.get(name, ()))
    return most
