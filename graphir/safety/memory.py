"""Memory: running out of it, said as an error of graphir's own, and having the C library give it back."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from graphir.errors import OutOfMemory

# Below that what the C library keeps is not worth asking it to return.
WORTH_RETURNING = 4 << 20
# glibc keeps up to 64 MB of freed memory at the end of its heap (twice the 32 MB of DEFAULT_MMAP_THRESHOLD_MAX).
KEPT_BY_GLIBC = 64 << 20
M_MMAP_THRESHOLD, RETURNED_AT_ONCE = -3, 1 << 20


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


def return_memory(nbytes: int) -> None:
    """Have the C library give back what was freed, if that is so many bytes or more that it is worth it: glibc keeps
    blocks of up to 32 MB, and what large weights were converted through stays with the process otherwise."""
    if nbytes >= WORTH_RETURNING:
        _call_glibc("malloc_trim", 0)


def return_memory_of(arrays: Iterable[Any]) -> None:
    """Do the same where these arrays, which are done with or soon will be, are large enough for that."""
    return_memory(sum(array.nbytes for array in arrays))


def return_memory_at_once() -> None:
    """Have the C library give back blocks of a megabyte when they are freed, for the rest of this process. That costs
    time: the system clears what it gives anew."""
    _call_glibc("mallopt", M_MMAP_THRESHOLD, RETURNED_AT_ONCE)


def _call_glibc(name: str, *arguments: int) -> None:
    """Call a function that other C libraries than glibc do not have."""
    function = getattr(ctypes.CDLL(None), name, None) if os.name == "posix" else None
    if function is not None:
        function(*arguments)
