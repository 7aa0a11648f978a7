"""Opening files that may be anything: a pipe, a device, a folder where a model's file is expected."""

from __future__ import annotations

import os
import stat
from typing import IO

from graphir.errors import FormatError

from .sources import READ, remember

_KINDS = (
    (stat.S_ISLNK, "a link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def open_plain(path: str | os.PathLike[str], *, buffering: int = -1) -> IO[bytes]:
    """Return the file, opened to be read. Raises FormatError for what is no plain file, without waiting for a pipe's
    writer, and for a path that no file can have; OSError as `open` does."""
    return os.fdopen(open_descriptor(path), "rb", buffering)


def open_descriptor(path: str | os.PathLike[str]) -> int:
    """Return the same as a file descriptor."""
    try:
        # O_NONBLOCK: a pipe that nobody writes to would hold `open` itself; of plain files it has no meaning.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except ValueError as error:  # a NUL, or half of a surrogate pair
        raise FormatError(f"no file can have the name {os.fspath(path)!r}: {error}") from error
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        remember(path, READ)
        return descriptor
    os.close(descriptor)
    raise FormatError(f"cannot be read: {kind_of_file(mode)}, not a regular file", path=path)


def kind_of_file(mode: int) -> str | None:
    """Return what a file's mode says that it is, None for a regular file."""
    if stat.S_ISREG(mode):
        return None
    return next((text for test, text in _KINDS if test(mode)), "something else")


def read_limited(path: str | os.PathLike[str], limit: int) -> bytes:
    """Return the bytes of a regular file of at most `limit` bytes. Raises FormatError for a larger one, and as
    `open_plain` does."""
    with open_plain(path) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise FormatError(f"it has more than {limit:,} bytes, which are not read", path=path)
    return data
