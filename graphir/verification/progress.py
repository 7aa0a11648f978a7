"""How far a comparison is: which set of inputs, which value of how many, and about how long it still takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from graphir.safety.counted import duration

Tell = Callable[[str], None]
# An estimate before so many seconds have passed says more about how a model starts than about how it goes on.
SETTLED = 1.0


class Progress:
    """Sentences about how far a comparison is, for `tell`.

    The rest of a step is taken to go on as it went so far, further sets of inputs to take what those behind the first
    one took, on which much more is measured. `clock` gives seconds.
    """

    def __init__(self, tell: Tell | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._tell = tell or (lambda text: None)
        self._clock = clock
        self._set = ""
        self._place = self._sets = 1
        self._began = self._set_began = clock()
        self._further: list[float] = []

    def begin_set(self, name: str, place: int, total: int) -> None:
        """The set of this name is run now, the `place`-th of `total`, counted from 1."""
        now = self._clock()
        if self._place > 1 and place > self._place:
            self._further.append(now - self._set_began)
        self._set, self._place, self._sets, self._set_began = name, place, total, now
        self._say("")

    def values(self, total: int) -> Iterator[int]:
        """Counts up to `total` values, saying each that is begun."""
        self._began = self._clock()
        for place in range(total):
            if total > 1:
                self._say(f"value {place + 1} of {total}", self._rest(place, total))
            yield place

    def _rest(self, done: int, total: int) -> float | None:
        spent = self._clock() - self._began
        if not done or spent < SETTLED:
            return None
        sets = self._sets - self._place
        each = sum(self._further) / len(self._further) if self._further else 0.0
        return spent / done * (total - done) + sets * each

    def _say(self, text: str, rest: float | None = None) -> None:
        where = f"inputs {self._set!r} ({self._place} of {self._sets})" if self._set and self._sets > 1 else ""
        left = "" if rest is None else f"about {duration(rest)} left"
        self._tell(", ".join(part for part in ("comparing" + (f" on {where}" if where else ""), text, left) if part))
