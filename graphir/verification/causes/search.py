"""The layer at which two models part, found by comparing few of their layers.

Some layers on the way to an output that differs are compared at a time, evenly spread; what lies before one that agrees
is left alone, and the search goes on before the first that does not. With n layers it takes some log n runs, not n.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphir.graph import Value
from graphir.ops.shape import Shape
from graphir.verification.grading.heads import SATURATING

from .known import Known
from .rewrites import Rewrites
from .walks import Walks

# One run of the models gives this many; with 24 a thousand layers take three runs.
AT_ONCE = 24
# Every round leaves a 24th of what was open or finds that what differs is a rewrite.
ROUNDS = 40
# So many rewrites before the first cause; what is found then is named, right or not.
REWRITES = 20
# A rewrite is over a few layers further on: a transpose, a normalization, an activation, a residual sum.
STEPS_AHEAD = 3


class Search:
    """Finds the first layers that differ, of those that an output depends on."""

    def __init__(self, known: Known, walks: Walks, rewrites: Rewrites, at_once: int = AT_ONCE) -> None:
        self._known, self._walks, self._rewrites = known, walks, rewrites
        self._at_once = at_once

    def first(self, target: Value) -> Value:
        """The earliest layer that `target`, which differs, depends on and at which a difference begins."""
        fine: set[Value] = set()
        for _ in range(REWRITES):
            value = self._narrowed(target, fine)
            if value is target or not self._is_rewrite(value):
                return value
            fine.add(value)
        return value

    def _narrowed(self, target: Value, fine: set[Value]) -> Value:
        """The earliest that differs, written otherwise or not, but for those that are known to be `fine`."""
        current = target
        for _ in range(ROUNDS):
            before = self._walks.before(current)
            sound = self._sound(before) | fine
            known = [value for value in self._walks.ordered(before) if value in self._known.names]
            still = [value for value in known if value not in sound and value not in self._known.compared]
            asked = spread(still, self._at_once) or self._parents(current)
            self._known.ask(asked)
            first = next((value for value in known if value not in fine and self._known.differs(value)), current)
            if first is current and not asked:
                return current
            current = first
        return current

    def _parents(self, value: Value) -> list[Value]:
        """The nearest layers before one that have not been compared: what is sound was taken to be so."""
        near = self._walks.nearest(value, self._known.names.__contains__, behind=False)
        return [held for held in near if held not in self._known.compared]

    def _is_rewrite(self, value: Value) -> bool:
        """Whether a layer differs only because it is written otherwise."""
        ahead = [value]
        for _ in range(STEPS_AHEAD):
            ahead = [
                held
                for one in ahead
                for held in self._walks.nearest(one, self._known.names.__contains__, behind=True)
            ]
            self._known.ask(ahead)
            ahead = [held for held in ahead if self._known.differs(held)]
            if not ahead:
                break
        return bool(self._rewrites.explained(value))

    def _sound(self, before: set[Value]) -> set[Value]:
        """What agrees, and what that depends on."""
        found: set[Value] = set()
        for value in self._walks.ordered(before)[::-1]:
            if value not in found and self._known.agrees(value) and tells(value):
                found |= self._walks.before(value, stop=hides)
        return {value for value in found if not self._known.differs(value)}


def tells(value: Value) -> bool:
    """Whether agreement at a value says something of what it is made of: real numbers that are no saturated head's."""
    node = value.producer
    is_real = value.dtype is not None and value.dtype.is_float
    return is_real and node is not None and node.op.name not in SATURATING


def hides(value: Value) -> bool:
    """Whether a value says nothing of what it is made of: a shape, indices, a mask."""
    return (value.producer is not None and isinstance(value.producer.op, Shape)) or not tells(value)


def spread(values: Sequence[Value], count: int) -> list[Value]:
    """At most so many of the values, evenly spread, the last one among them."""
    if len(values) <= count:
        return list(values)
    step = len(values) / count
    return [values[min(len(values) - 1, int((place + 1) * step) - 1)] for place in range(count)]


__all__ = ["AT_ONCE", "Search", "hides", "spread", "tells"]
