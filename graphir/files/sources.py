"""The files of one command: what it has read, and what it has written, is not overwritten by what it writes next."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_FILES: ContextVar[dict[str, str] | None] = ContextVar("files", default=None)
READ, WRITTEN = "has read", "has written"


@contextmanager
def sources_kept() -> Iterator[None]:
    """Within it, files that were read or written are not overwritten, whatever name they are given: a report that is
    named like the model would replace the model."""
    token = _FILES.set({})
    try:
        yield
    finally:
        _FILES.reset(token)


def remember(path: str | os.PathLike[str], how: str) -> None:
    """Keep in mind that a file was read or written."""
    files = _FILES.get()
    if files is not None:
        files[os.path.realpath(path)] = how


class _Forwarded(dict[str, str]):
    """The files, each new one told as well."""

    def __init__(self, files: dict[str, str], tell: Callable[[str, str], None]) -> None:
        super().__init__(files)
        self._tell = tell

    def __setitem__(self, path: str, how: str) -> None:
        super().__setitem__(path, how)
        self._tell(path, how)


def forward_files(tell: Callable[[str, str], None]) -> None:
    """From now on tell each file that is remembered: for a child, whose parent is to remember it."""
    files = _FILES.get()
    if files is not None:
        _FILES.set(_Forwarded(files, tell))


def how_used(path: str | os.PathLike[str]) -> str | None:
    """Return what this command has done with a file: READ, WRITTEN, or nothing."""
    return (_FILES.get() or {}).get(os.path.realpath(path))
