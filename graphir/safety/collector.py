"""Pausing Python's cyclic garbage collector while large graphs are built."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collector() -> Iterator[None]:
    """Reference counting alone: everything that is built stays, and to trace 100,000 nodes over and over again takes
    longer than to build them."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
