"""Folders that are open: what lies below one is reached from its descriptor, name by name, and never through a link.

Whoever may write into a folder of results can put links there. A path would lead through them; a name that is opened
relative to its folder with O_NOFOLLOW does not.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from graphir.errors import ExportFailure, FormatError

from .reading import kind_of_file

_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


class Folder:
    """An open folder. `path` is what it is called in messages; a name is an entry's, never a path."""

    def __init__(self, descriptor: int, path: Path) -> None:
        self._descriptor = descriptor
        self.path = path

    @classmethod
    @contextmanager
    def opened(cls, path: str | os.PathLike[str]) -> Iterator[Folder]:
        """Open the folder that a user named; links in its own path are followed. Raises OSError."""
        descriptor = os.open(path, _FOLDER)
        try:
            yield cls(descriptor, Path(path))
        finally:
            os.close(descriptor)

    @contextmanager
    def inner(self, name: str, *, create: bool = False) -> Iterator[Folder]:
        """Open a folder in it, and make it first where `create` says so. Raises ExportFailure for a link and for what
        is no folder, FileNotFoundError where nothing is there."""
        if create:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=self._descriptor)
        try:
            descriptor = os.open(name, _FOLDER | _NO_LINK, dir_fd=self._descriptor)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENOTDIR):
                raise
            raise self._refusal(name, "a folder") from error
        try:
            yield Folder(descriptor, self.path / name)
        finally:
            os.close(descriptor)

    def names(self) -> list[str]:
        """Return the names of its entries, sorted."""
        return sorted(os.listdir(self._descriptor))

    def status(self, name: str) -> os.stat_result | None:
        """Return what an entry is, a link itself and not its target; None where nothing is there."""
        try:
            return os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def size_of(self, name: str) -> int | None:
        """Return the size of a regular file, None of anything else."""
        status = self.status(name)
        return status.st_size if status is not None and stat.S_ISREG(status.st_mode) else None

    def read(self, name: str, limit: int) -> bytes:
        """Return the bytes of a regular file of at most `limit` bytes. Raises FormatError for a larger one and for
        anything else, without waiting for it, and OSError as `open` does."""
        descriptor = os.open(name, os.O_RDONLY | _NO_LINK, dir_fd=self._descriptor)
        with os.fdopen(descriptor, "rb") as file:
            kind = kind_of_file(os.fstat(descriptor).st_mode)
            if kind is not None:
                raise FormatError(f"cannot be read: {kind}, not a regular file", path=self.path / name)
            data = file.read(limit + 1)
        if len(data) > limit:
            raise FormatError(f"it has more than {limit:,} bytes, which are not read", path=self.path / name)
        return data

    def write(self, name: str, data: bytes) -> None:
        """Write a file that is not there yet. Raises OSError, FileExistsError for a link too."""
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o666, dir_fd=self._descriptor)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)

    def open_file(self, name: str) -> int:
        """Return a descriptor of a regular file to write to, which is made if nothing is there. Raises ExportFailure
        for a link and for what is no regular file."""
        try:
            descriptor = os.open(name, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o666, dir_fd=self._descriptor)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
                raise
            raise self._refusal(name, "a regular file") from error
        if kind_of_file(os.fstat(descriptor).st_mode) is not None:
            os.close(descriptor)
            raise self._refusal(name, "a regular file")
        return descriptor

    def check_file(self, name: str) -> None:
        """Raise ExportFailure where something other than a regular file stands under a name that is to be written."""
        status = self.status(name)
        if status is not None and kind_of_file(status.st_mode) is not None:
            raise self._refusal(name, "a regular file")

    def make_folder(self, prefix: str) -> str:
        """Make a folder with a name that nobody can guess, for its owner alone; the name."""
        while True:
            name = f"{prefix}{secrets.token_hex(8)}"
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=self._descriptor)
                return name

    def set_mode(self, name: str, mode: int) -> None:
        """Set the permissions of a folder in it."""
        with self.inner(name) as folder:
            os.fchmod(folder._descriptor, mode)

    def move(self, name: str, to: Folder, new: str) -> None:
        """Rename an entry, itself and not what a link leads to, into a folder where nothing has the new name. Raises
        OSError."""
        os.rename(name, new, src_dir_fd=self._descriptor, dst_dir_fd=to._descriptor)

    def remove(self, name: str) -> None:
        """Remove an entry with all that is below it, links themselves and not their targets; as far as it can be."""
        status = self.status(name)
        if status is None:
            return
        if stat.S_ISDIR(status.st_mode):
            shutil.rmtree(name, ignore_errors=True, dir_fd=self._descriptor)
            return
        with suppress(OSError):
            os.unlink(name, dir_fd=self._descriptor)

    def _refusal(self, name: str, wanted: str) -> ExportFailure:
        status = self.status(name)
        kind = "gone" if status is None else kind_of_file(status.st_mode) or "a regular file"
        return ExportFailure(
            f"cannot use {self.path / name}: it is {kind}, expected {wanted}; remove it, or name another folder"
        )
