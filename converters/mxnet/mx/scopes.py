"""What `with` makes current, by thread: name managers, attribute scopes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Held = TypeVar("Held")


class Scopes(Generic[Held]):
    """A stack for each thread; at its bottom lies what `make` gives, once a thread."""

    def __init__(self, make: Callable[[], Held]) -> None:
        self._make = make
        self._local = threading.local()

    def current(self) -> Held:
        """Return the innermost."""
        return self._stack()[-1]

    def enter(self, value: Held) -> None:
        """Make it the innermost."""
        self._stack().append(value)

    def leave(self) -> None:
        """Take the innermost away."""
        self._stack().pop()

    def replace(self, value: Held) -> None:
        """Put another in the place of the innermost."""
        self._stack()[-1] = value

    def _stack(self) -> list[Held]:
        stack: list[Held] | None = getattr(self._local, "stack", None)
        if stack is None:
            stack = self._local.stack = [self._make()]
        return stack
