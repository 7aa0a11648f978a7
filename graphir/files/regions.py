"""Regions of files: where the bytes of weights lie, and how they get from there to memory or to another file.

A region remembers which file was meant. Bytes of a file that was changed or replaced since then are never taken for it.
"""

from __future__ import annotations

import io
import mmap
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from typing import IO, Any

import numpy as np

from graphir.errors import FormatError
from graphir.structure.record import record

from .reading import open_descriptor, open_plain

# Bytes that are read at a time. Two such pieces fit into a cache, and the C library uses their memory again: pieces of
# megabytes are mapped anew each time, which costs more than reading.
CHUNK = 1 << 18
SMALL = 1 << 16
# Nanoseconds in which two writes to a file may bear the same time: ticks are 1 to 10 ms.
TICK = 20_000_000
# Which file it is, its size, and when it was last written.
Stamp = tuple[int, int, int, int]


@record
class FileRegion:
    """`nbytes` bytes of the file `path`, from `offset` on. `stamp` is that of the file that was meant: what stands
    under its name later may be another one, or have been written to."""

    path: str
    offset: int
    nbytes: int
    stamp: Stamp | None = field(default=None, compare=False, repr=False)

    def __init__(self, path: str, offset: int, nbytes: int, stamp: Stamp | None = None) -> None:
        self.__dict__.update(path=path, offset=offset, nbytes=nbytes, stamp=stamp)


def stamp_of(status: os.stat_result) -> Stamp:
    """Return what tells a file from another one, and from itself after it was written to.

    A write bears the time at which it began, by a clock of some ms. Where that was just now, it is waited
    out: a write that goes on, or begins in the same tick, would leave no trace.
    """
    age = time.time_ns() - status.st_mtime_ns
    if 0 <= age < TICK:
        time.sleep((TICK - age) / 1e9)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


# The regions that were mapped since `unchanged` was entered, each with a descriptor of its file.
_watched: ContextVar[list[tuple[FileRegion, int]] | None] = ContextVar("watched", default=None)


@contextmanager
def unchanged() -> Iterator[None]:
    """What is mapped in here is held to its stamp once more at the end, when its bytes have been used: a map shows what
    is written to its file meanwhile. Raises FormatError."""
    watched: list[tuple[FileRegion, int]] = []
    token = _watched.set(watched)
    statuses: list[tuple[FileRegion, os.stat_result]] = []
    try:
        yield
    finally:
        _watched.reset(token)
        for region, descriptor in watched:
            statuses.append((region, os.fstat(descriptor)))
            os.close(descriptor)
    for region, status in statuses:
        _check_stamp(region, status)


def mapped(region: FileRegion) -> np.ndarray[Any, Any]:
    """Return the bytes of a region as a read-only uint8 view of a private map that lives as long as the view."""
    if region.nbytes == 0:
        return np.zeros(0, np.uint8)
    if region.nbytes <= SMALL:
        with SourceFiles() as files:
            return np.frombuffer(b"".join(files.pieces(region)), np.uint8)
    start = region.offset - region.offset % mmap.ALLOCATIONGRANULARITY
    lead = region.offset - start
    try:
        with open_plain(region.path) as file:
            _check_stamp(region, os.fstat(file.fileno()))
            watched = _watched.get()
            if watched is not None:
                watched.append((region, os.dup(file.fileno())))
            view = mmap.mmap(file.fileno(), region.nbytes + lead, access=mmap.ACCESS_READ, offset=start)
    except (OSError, ValueError) as error:
        raise FormatError(
            f"cannot map {region.nbytes} bytes of weights: {error}; was the file moved or cut short since then?",
            path=region.path,
            offset=region.offset,
        ) from error
    return np.frombuffer(view, np.uint8, region.nbytes, lead)


class SourceFiles:
    """The files that weights are copied from, each opened once, and held to what they were when they were opened."""

    def __init__(self) -> None:
        self._descriptors: dict[str, int] = {}
        self._last: dict[str, FileRegion] = {}

    def __enter__(self) -> SourceFiles:
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        statuses = {path: os.fstat(descriptor) for path, descriptor in self._descriptors.items()}
        for descriptor in self._descriptors.values():
            os.close(descriptor)
        self._descriptors.clear()
        if error is None:
            for path, status in statuses.items():
                _check_stamp(self._last[path], status)

    def _open(self, region: FileRegion) -> int:
        descriptor = self._descriptors.get(region.path)
        if descriptor is None:
            try:
                descriptor = self._descriptors[region.path] = open_descriptor(region.path)
            except OSError as error:
                raise FormatError(f"cannot read weights: {error.strerror}", path=region.path) from error
        if self._last.get(region.path, FileRegion("", 0, 0)).stamp != region.stamp:
            _check_stamp(region, os.fstat(descriptor))
        self._last[region.path] = region
        return descriptor

    def pieces(self, region: FileRegion) -> Iterator[bytes]:
        """Yield the bytes of a region in pieces. They are read, not mapped: a file that is cut short
        meanwhile is an error then, not the end of the process. Raises FormatError as `copy` does."""
        descriptor = self._open(region)
        done = 0
        while done < region.nbytes:
            data = os.pread(descriptor, min(CHUNK, region.nbytes - done), region.offset + done)
            if not data:
                raise _short_file_error(region, done)
            done += len(data)
            yield data

    def copy(self, region: FileRegion, file: IO[bytes]) -> int:
        """Copy a region to the file's position. Raises FormatError if its file is gone or no longer what it was."""
        descriptor = self._open(region)
        in_memory = not isinstance(getattr(file, "raw", file), io.FileIO)  # or one that encodes what it is given
        if region.nbytes <= SMALL or in_memory:
            for piece in self.pieces(region):
                file.write(piece)
            return region.nbytes
        file.flush()
        target = file.fileno()
        left, offset = region.nbytes, region.offset
        while left:
            moved = _copy_once(descriptor, target, offset, min(left, 1 << 30))
            if moved == 0:
                raise _short_file_error(region, region.nbytes - left)
            left -= moved
            offset += moved
        if file.seekable():
            file.seek(os.lseek(target, 0, os.SEEK_CUR))
        return region.nbytes


def _check_stamp(region: FileRegion, status: os.stat_result) -> None:
    """Raise FormatError for a file that is another one than the region's, or was written to."""
    if region.stamp is None or region.stamp == stamp_of(status):
        return
    if status.st_size < region.offset + region.nbytes:
        raise _short_file_error(region, max(0, status.st_size - region.offset))
    raise FormatError("the file was changed or replaced since it was opened; read it anew", path=region.path)


def _short_file_error(region: FileRegion, count: int) -> FormatError:
    return FormatError(
        f"weights end {region.nbytes - count} bytes early; was the file cut short since it was opened?",
        path=region.path,
        offset=region.offset + count,
    )


def _copy_once(source: int, target: int, offset: int, count: int) -> int:
    """Copy up to `count` bytes to the target's position; falls back to read and write where the kernel cannot."""
    if hasattr(os, "copy_file_range"):
        try:
            return os.copy_file_range(source, target, count, offset)
        except OSError:
            pass  # different file systems, or one that cannot: the portable way below works for all
    os.lseek(source, offset, os.SEEK_SET)
    data = os.read(source, min(count, CHUNK))
    view = memoryview(data)
    while view:
        view = view[os.write(target, view) :]
    return len(data)
