"""Running out of memory, said as an error of graphir's own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from graphir.errors import OutOfMemory


@contextmanager
def memory_for(what: str) -> Iterator[None]:
    """Turn a MemoryError inside into an OutOfMemory that says what there was no memory for."""
    try:
        yield
    except MemoryError as error:
        detail = f" ({error})" if str(error) else ""
        raise OutOfMemory(f"not enough memory for {what}{detail}") from error


def machine_memory() -> int | None:
    """Return how many bytes of memory this machine has, None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
