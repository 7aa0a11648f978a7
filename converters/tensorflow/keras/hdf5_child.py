"""Run as a program: tell what HDF5 files hold, and give the elements of data sets that do not lie in them as they are.

The word is the descriptor of a socket. Each message there comes with two descriptors, of a file and of another socket,
and says where in the file the HDF5 begins, how many bytes it has, and how many elements and how many times what is
stored may be made. A child of this process, made by a fork, which costs milliseconds where h5py's import costs a
quarter of a second, answers on the other socket: a line of JSON, `groups` and `arrays` by path, or `missing`, `refused`
(with `at`) or `damaged`. Then each line that comes names an array, and its bytes are the answer, behind a line with
their number.

HDF5's library reads what a stranger's file tells it to: other files (external links and storage, virtual data sets),
programs (filters from plugins), and it may hang or fall over damaged ones. So it runs in a process of its own for each
file, with limits of time and memory; and before any data is read, whatever leads out of the file is refused.
"""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import sys
from importlib import import_module
from typing import Any

MEMORY = 1 << 30  # bytes that this process may take beyond what it has when h5py is there
LEAST, MOST = 2, 8  # seconds of CPU for walking through a file, by its size
WALK = 1 << 20  # bytes of a file for which there is a second more
PACE = 10 << 20  # bytes that are read in a second of CPU at least
OBJECTS = 1_000_000
PIECE = 16 << 20
ATTRIBUTES = ("model_config", "keras_version", "backend", "weight_names")
TEXT = 64 << 20
FILTERS = {1: "gzip", 2: "shuffle", 3: "fletcher32"}


class RefusedPart(Exception):
    """What is in the file and not read, and where."""

    def __init__(self, reason: str, path: str) -> None:
        super().__init__(reason)
        self.path = path


class FileWindow(io.RawIOBase):
    """A part of a file as a file of its own."""

    def __init__(self, descriptor: int, start: int, size: int) -> None:
        self._descriptor = descriptor
        self._start = start
        self._size = size
        self._position = 0

    def readable(self) -> bool:
        """Return True: it is."""
        return True

    def seekable(self) -> bool:
        """Return True: it is."""
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a position."""
        self._position = offset + (0, self._position, self._size)[whence]
        return self._position

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer, with zeros behind the end, where the library knows that nothing is."""
        view = memoryview(buffer).cast("B")
        count = max(0, min(len(view), self._size - self._position))
        done = 0
        while done < count:
            piece = os.pread(self._descriptor, count - done, self._start + self._position + done)
            if not piece:
                break
            view[done : done + len(piece)] = piece
            done += len(piece)
        view[done:] = bytes(len(view) - done)
        self._position += len(view)
        return len(view)


class FileWalk:
    """One file on its way to JSON."""

    def __init__(self, h5py: Any, file: Any, size: int, elements: int, expansion: int) -> None:
        self.h5py = h5py
        self.file = file
        self.size = size
        self.elements = elements
        self.expansion = expansion
        self.groups: dict[str, dict[str, Any]] = {}
        self.arrays: dict[str, dict[str, Any]] = {}
        self._text = TEXT

    def run(self) -> dict[str, Any]:
        """Return what the file holds. Raises Refused."""
        seen: set[Any] = set()
        pending = [("", self.h5py.h5g.open(self.file.id, b"/"))]
        while pending:
            path, group = pending.pop()
            address = self.h5py.h5o.get_info(group).addr
            if address in seen:
                raise RefusedPart("a group that stands in two places, or in itself", path)
            seen.add(address)
            if len(self.groups) + len(self.arrays) > OBJECTS:
                raise RefusedPart(f"more than {OBJECTS} objects", path)
            self.groups[path] = self._read_attributes(path, group)
            for name in group:
                inner = f"{path}/{_text(name)}"
                if not name or b"/" in name:
                    raise RefusedPart("a link whose name is none", inner)
                self._check_link(group, name, inner)
                item = self.h5py.h5o.open(group, name)
                if isinstance(item, self.h5py.h5g.GroupID):
                    pending.append((inner, item))
                elif isinstance(item, self.h5py.h5d.DatasetID):
                    self.arrays[inner] = self._describe_array(inner, item)
        return {"groups": self.groups, "arrays": self.arrays}

    def _check_link(self, group: Any, name: bytes, path: str) -> None:
        kind = group.links.get_info(name).type
        h5l = self.h5py.h5l
        if kind == h5l.TYPE_HARD:
            return
        names = {h5l.TYPE_SOFT: "a soft link", h5l.TYPE_EXTERNAL: "an external link, which leads to another file"}
        raise RefusedPart(names.get(kind, "a link of a kind that a program defines"), path)

    def _read_attributes(self, path: str, item: Any) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name in ATTRIBUTES:
            if self.h5py.h5a.exists(item, name.encode()):
                values[name] = self._read_attribute(f"{path}@{name}", item, name)
        return values

    def _read_attribute(self, path: str, owner: Any, name: str) -> Any:
        """Return a text, or the list of texts of a vector; None for what is neither."""
        attribute = self.h5py.h5a.open(owner, name.encode())
        kind, shape = attribute.get_type(), attribute.shape
        count = 1
        for size in shape:
            count *= size
        if not count and len(shape) == 1:  # a list of nothing has no dtype of its own
            return []
        if not isinstance(kind, self.h5py.h5t.TypeStringID):
            return None
        if len(shape) > 1 or count * (1 if kind.is_variable_str() else kind.get_size()) > TEXT:
            raise RefusedPart(f"an attribute of the shape {list(shape)}", path)
        value = self.h5py.AttributeManager(self.h5py.Group(owner))[name]
        if isinstance(value, self.h5py.Empty):
            return None
        texts = [_text(text) for text in value.tolist()] if shape else [_text(value)]
        self._text -= sum(map(len, texts))
        if self._text < 0:
            raise RefusedPart(f"attributes of more than {TEXT} characters", path)
        return texts if shape else texts[0]

    def _describe_array(self, path: str, data_set: Any) -> dict[str, Any]:
        """Return the dtype of a data set (None for what is no number), its shape, and where it lies (None: not as it
        is)."""
        properties = data_set.get_create_plist()
        if properties.get_external_count():
            raise RefusedPart("a data set whose elements are in other files (external storage)", path)
        layout = properties.get_layout()
        if layout == self.h5py.h5d.VIRTUAL:
            raise RefusedPart("a virtual data set, whose elements are in other files", path)
        for index in range(properties.get_nfilters()):
            code = properties.get_filter(index)[0]
            if code not in FILTERS:
                known = ", ".join(FILTERS.values())
                raise RefusedPart(f"a data set behind the filter {code}; only {known} are read, no plugins", path)
        kind = data_set.get_type()
        classes = (self.h5py.h5t.TypeIntegerID, self.h5py.h5t.TypeFloatID, self.h5py.h5t.TypeEnumID)
        space = data_set.get_space().get_simple_extent_type()
        shape = list(data_set.shape or ())
        if not isinstance(kind, classes) or space == self.h5py.h5s.NULL:
            return {"dtype": None, "shape": shape, "kind": type(kind).__name__}
        dtype = data_set.dtype
        entry: dict[str, Any] = {"dtype": dtype.str, "shape": shape, "offset": None}
        count = dtype.itemsize
        for size in shape:
            count *= size
        if layout == self.h5py.h5d.CONTIGUOUS and data_set.get_offset() is not None:
            entry["offset"] = data_set.get_offset()
            if entry["offset"] + count > self.size:
                raise RefusedPart(f"a data set of {count} bytes, of which the file holds fewer: it is cut short", path)
            return entry
        stored = data_set.get_storage_size()
        if stored > self.size or count > dtype.itemsize * self.elements + self.expansion * stored:
            raise RefusedPart(f"a data set of {count} bytes, of which {stored} are stored (see --limits)", path)
        return entry

    def give(self, path: str, answers: Any) -> None:
        """Write the elements of an array in C order."""
        import numpy as np

        data_set = self.h5py.Dataset(self.h5py.h5o.open(self.file.id, path.encode("utf-8", "surrogateescape")))
        answers.write(f"{int(data_set.nbytes)}\n".encode())
        rows = max(1, PIECE // max(1, int(data_set.nbytes) // max(1, data_set.shape[0] if data_set.shape else 1)))
        _allow(MOST + int(data_set.nbytes) // PACE)
        for start in range(0, data_set.shape[0] if data_set.shape else 1, rows):
            part = data_set[start : start + rows] if data_set.shape else data_set[()]
            answers.write(np.ascontiguousarray(part).tobytes())
        answers.flush()


def _text(text: Any) -> str:
    return text.decode("utf-8", "surrogateescape") if isinstance(text, bytes) else str(text)


def _allow(seconds: int) -> None:
    """Let the process run for so many seconds of CPU from here on."""
    try:
        import resource
    except ImportError:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime) + 1 + seconds
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, hard))
    except (ValueError, OSError):
        return  # the system offers none; the one who started this still watches the clock


def _cap_memory() -> None:
    try:
        import resource
    except ImportError:
        return
    try:
        with open("/proc/self/statm") as file:
            size = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ValueError, OSError):
        return  # as above


def answer(h5py: Any, file: int, pipe: socket.socket, words: list[int]) -> None:
    """Write what one file holds, then the requested arrays, until there are no more requests."""
    start, size, elements, expansion = words
    answers = pipe.makefile("wb")

    def tell(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message).encode("ascii") + b"\n")
        answers.flush()

    if isinstance(h5py, ImportError):
        tell({"missing": str(h5py)})
        return
    _cap_memory()
    _allow(min(MOST, LEAST + size // WALK))
    try:
        walk = FileWalk(h5py, h5py.File(FileWindow(file, start, size), "r"), size, elements, expansion)
        tell(walk.run())
    except RefusedPart as error:
        tell({"refused": str(error), "at": error.path})
        return
    except Exception as error:  # whatever the library says of a damaged file; this process ends with it
        tell({"damaged": f"{type(error).__name__}: {error}"[:500]})
        return
    for line in pipe.makefile("rb"):
        walk.give(json.loads(line), answers)


def main() -> None:
    """Answer until the one who started this closes its socket."""
    h5py: Any
    try:
        h5py = import_module("h5py")
    except ImportError as error:
        h5py = error
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever is interrupted closes the socket
    control = socket.socket(fileno=int(sys.argv[1]))
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1 << 10, 2)
        if not message:
            return
        if not os.fork():
            control.close()
            try:
                answer(h5py, descriptors[0], socket.socket(fileno=descriptors[1]), json.loads(message))
            finally:
                os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)


if __name__ == "__main__":
    main()
