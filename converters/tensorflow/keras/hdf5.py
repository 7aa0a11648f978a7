"""HDF5 files as groups and arrays. The library that reads them runs in a child process (`hdf5_child`), which refuses
whatever leads out of the file; this one never opens them with it.

An array whose elements lie in the file as they are is a view of it; others, compressed ones, come from the child when
they are asked for.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from graphir.errors import FormatError, GraphError, ImportFailure
from graphir.extras import install_hint
from graphir.files.reading import open_plain
from graphir.safety.children import ForkServer
from graphir.safety.json_text import read_json
from graphir.safety.limits import current
from graphir.tensor import Tensor
from graphir.types import DType

CHILD = Path(__file__).with_name("hdf5_child.py")
PATIENCE = 60.0  # seconds; what the child works is limited by itself, in seconds of CPU
# The library opens no plugin, asks no other driver, and starts no threads.
SETTINGS = {
    "HDF5_DRIVER": None, "HDF5_DRIVER_CONFIG": None, "HDF5_VOL_CONNECTOR": None,
    "HDF5_PLUGIN_PRELOAD": "::", "HDF5_PLUGIN_PATH": os.devnull, "HDF5_USE_FILE_LOCKING": "FALSE",
    "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
}  # fmt: skip
Contents = dict[str, Any]


@dataclass(frozen=True)
class Bytes:
    """Where an HDF5 file lies: in a file from a byte on, or, if that is not on the disk, as `data` in memory."""

    path: Path
    start: int
    size: int
    data: memoryview | None = None


class Hdf5:
    """An open file; close it when its arrays have been made. `root` is its first group."""

    def __init__(self, source: Bytes) -> None:
        """Open a file. Raises FormatError for one that is damaged or leads out of itself, ImportFailure without
        h5py."""
        self.source = source
        self._groups: dict[str, Contents] = {}
        self._arrays: dict[str, Contents] = {}
        self._start()
        answer = self._read_answer(self._receive_line())
        self._groups, self._arrays = answer["groups"], answer["arrays"]
        self._inside: dict[str, list[str]] = {path: [] for path in self._groups}
        for path in (*self._groups, *self._arrays):
            if path:
                above, _, name = path.rpartition("/")
                self._inside[above].append(name)
        self.root = Group(self, "")

    def __enter__(self) -> Hdf5:
        return self

    def __exit__(self, *exception: object) -> None:
        self._finalizer()

    def _start(self) -> None:
        limits = current()
        words = [self.source.start, self.source.size, limits.elements, limits.expansion]
        with self._open_source() as file:
            self._pipe = _request(file.fileno(), words, self.source.path)
        self._finalizer = weakref.finalize(self, self._pipe.close)

    def _open_source(self) -> IO[bytes]:
        if self.source.data is None:
            return open_plain(self.source.path)
        file = tempfile.TemporaryFile()  # noqa: SIM115  closed by the caller
        file.write(self.source.data)
        file.flush()
        return file

    def _receive_line(self) -> bytes:
        """Return the first line that the child writes."""
        line = bytearray()
        while not line.endswith(b"\n"):
            line += self._receive(1 << 20)
        return bytes(line)

    def _receive(self, count: int) -> bytes:
        """Return some bytes that the child writes. Raises FormatError if it ends or writes nothing for long."""
        try:
            piece = self._pipe.recv(count)
        except OSError:  # it said nothing in time, or was ended
            piece = b""
        if not piece:
            raise self._failure()
        return piece

    def _failure(self) -> FormatError:
        reason = "its HDF5 cannot be read: the library fell over it, or took more time or memory than it may"
        return FormatError(reason, path=self.source.path)

    def _read_answer(self, line: bytes) -> Contents:
        answer: Contents = read_json(line)
        path = self.source.path
        if "missing" in answer:
            raise ImportFailure(f"{path}: Keras's files need h5py, which is not installed: {install_hint('keras')}")
        if "damaged" in answer:
            raise FormatError(f"its HDF5 is damaged: {answer['damaged']}", path=path, offset=self.source.start)
        if "refused" in answer:
            location = answer["at"] or "/"
            raise FormatError(f"its HDF5 holds {answer['refused']} (at {location}), which is not read", path=path)
        return answer

    def names(self, group: str) -> list[str]:
        """Return what stands in a group."""
        return self._inside[group]

    def attributes(self, group: str) -> Mapping[str, Any]:
        """Return the attributes of a group that are texts or lists of texts, of the few that are read."""
        return self._groups[group]

    def is_group(self, path: str) -> bool:
        """Return whether a group stands there."""
        return path in self._groups

    def is_array(self, path: str) -> bool:
        """Return whether a data set stands there."""
        return path in self._arrays

    def tensor(self, path: str) -> Tensor:
        """Return the elements of a data set. Raises FormatError for what are no numbers."""
        entry = self._arrays[path]
        if entry["dtype"] is None:
            raise FormatError(f"{path} is no array of numbers ({entry['kind']})", path=self.source.path)
        dtype, shape, offset = np.dtype(entry["dtype"]), tuple(entry["shape"]), entry["offset"]
        try:
            native = DType.of(dtype.newbyteorder("="))
            if offset is None:
                return Tensor.of(np.frombuffer(self._receive_array(path), dtype).reshape(shape))
            if self.source.data is not None:
                count = int(np.prod(shape, dtype=np.int64))
                return Tensor.of(np.frombuffer(self.source.data, dtype, count, offset).reshape(shape))
            if not dtype.isnative:
                raw = Tensor.at(self.source.path, self.source.start + offset, native, shape)
                return Tensor.computed(native, shape, lambda: raw.numpy().view(dtype).astype(dtype.newbyteorder("=")))
            return Tensor.at(self.source.path, self.source.start + offset, native, shape)
        except (GraphError, ValueError) as error:
            raise FormatError(f"{path} is no tensor: {error}", path=self.source.path) from error

    def _receive_array(self, path: str) -> bytearray:
        """Return the elements of an array from the child."""
        try:
            self._pipe.sendall(json.dumps(path).encode("ascii") + b"\n")
        except OSError as error:
            raise self._failure() from error
        begun = b""
        while b"\n" not in begun:
            begun += self._receive(64)
        header, _, start = begun.partition(b"\n")
        data = bytearray(start)
        while len(data) < int(header):
            data += self._receive(min(int(header) - len(data), 1 << 20))
        return data


class Group:
    """A group of an HDF5 file: what stands in it by name or path, and its attributes."""

    def __init__(self, file: Hdf5, path: str) -> None:
        self._file = file
        self.path = path

    @property
    def attrs(self) -> Mapping[str, Any]:
        """Return the attributes that are texts or lists of texts."""
        return self._file.attributes(self.path)

    def __len__(self) -> int:
        return len(self._file.names(self.path))

    def __iter__(self) -> Iterator[str]:
        return iter(self._file.names(self.path))

    def group(self, name: str) -> Group | None:
        """Return the group at a path, None if there is none."""
        path = self._path(name)
        return Group(self._file, path) if self._file.is_group(path) else None

    def tensor(self, name: str) -> Tensor:
        """Return the array at a path. Raises FormatError if there is none."""
        path = self._path(name)
        if not self._file.is_array(path):
            what = "a group" if self._file.is_group(path) else "nothing"
            raise FormatError(f"there is {what} at {path}, expected an array", path=self._file.source.path)
        return self._file.tensor(path)

    def _path(self, name: str) -> str:
        above = "" if name.startswith("/") else self.path
        return "/".join([above, *(part for part in name.split("/") if part not in ("", "."))])


_server = ForkServer(CHILD, SETTINGS, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _request(file: int, words: Sequence[int], path: Path) -> socket.socket:
    """Return a socket on which a process answers for an open file. Raises ImportFailure if none can be started."""
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            _server.request(json.dumps(words).encode("ascii"), [file, theirs.fileno()])
        except OSError as error:
            ours.close()
            raise ImportFailure(f"{path}: cannot start {sys.executable} to read HDF5: {error}") from error
    ours.settimeout(PATIENCE)
    return ours
