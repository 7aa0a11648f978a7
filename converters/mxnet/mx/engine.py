"""`mx.engine`: bulks of operations, which change nothing here: execution is synchronous."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext


def set_bulk_size(size: int) -> int:
    """Return 0: nothing is executed in bulk."""
    return 0


def bulk(size: int) -> AbstractContextManager[None]:
    """Return a scope that changes nothing."""
    return nullcontext()


__all__ = ["bulk", "set_bulk_size"]
