"""Archives of model servers, unpacked without harm: .tar, .tar.gz, .tgz, .zip, .mar and .model.

Their names and sizes are untrusted. Nothing is written outside the given folder, only plain files are made, and no
existing file is overwritten. Unpacked bytes, contents and headers, are counted as they come, not as the archive states.
"""

from __future__ import annotations

import errno
import gzip
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from graphir.errors import FormatError
from graphir.files.reading import open_plain
from graphir.safety.limits import check_depth, check_expansion
from graphir.structure.record import mutable_record

SUFFIXES = (".tar", ".tar.gz", ".tgz", ".zip", ".mar", ".model")
ZIP, GZIP = b"PK\x03\x04", b"\x1f\x8b"
# Where a tar names its kind, since 1988.
USTAR, USTAR_AT = b"ustar", 257
CHUNK = 1 << 20
# What a file takes of a disk even if it is empty: so many empty files are as large as their number says.
BLOCK = 4096
# The longest header of a tar, which Python's reader takes into memory as a whole: a path has at most 4 KB, a file's
# attributes on Linux 64 KB.
HEADER = 1 << 16
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def is_archive(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is called like an archive of models, and begins like one: other programs' models end in
    .model."""
    if not os.fspath(path).endswith(SUFFIXES) or not os.path.isfile(path):
        return False
    try:
        with open_plain(path) as file:
            head = file.read(USTAR_AT + len(USTAR))
    except OSError:
        return False
    return head.startswith((ZIP, GZIP)) or head.endswith(USTAR)


@mutable_record
class _Unpacking:
    """The unpacking of an archive of `stored` bytes; `unpacked_bytes` counts what it has written."""

    archive: str
    folder: Path
    stored: int
    unpacked_bytes: int = 0

    def write(self, name: str, source: IO[bytes], *, is_counted: bool = False) -> None:
        """Write a file of the archive; with `is_counted` its bytes were counted when they were read."""
        path = path_in(self.folder, name, self.archive)
        with self._translate_name_errors(name):
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("xb")
        with file:
            self.count(BLOCK)
            while data := source.read(CHUNK):
                if not is_counted:
                    self.count(len(data))
                file.write(data)

    def make_folder(self, name: str) -> None:
        """Make a folder of the archive."""
        self.count(BLOCK)
        path = path_in(self.folder, name, self.archive)
        with self._translate_name_errors(name):
            path.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def _translate_name_errors(self, name: str) -> Iterator[None]:
        """Raise FormatError for a name that is taken by another file, or that no file can have."""
        try:
            yield
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            raise FormatError(
                f"two of its files are called {name!r} (capitals may not count), or one of them is a file and a folder",
                path=self.archive,
            ) from None
        except OSError as error:
            if error.errno not in (errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ):
                raise
            raise FormatError(f"no file can be called {name[:80]!r}: {error.strerror}", path=self.archive) from error

    def count(self, nbytes: int) -> None:
        """Count unpacked bytes. Raises LimitError if they are far more than the archive holds."""
        self.unpacked_bytes += nbytes
        check_expansion(self.unpacked_bytes, self.stored, f"{self.archive}: unpacking it", "bytes")


def path_in(folder: Path, name: str, of: str) -> Path:
    """Return the path in the folder for an untrusted name. Raises FormatError for one that leads out of it."""
    parts = PurePosixPath(name).parts
    if "\0" in name or "\\" in name or ":" in name or not parts or name.startswith("/") or ".." in parts:
        raise FormatError(f"a file in it is called {name!r}, which may lead out of a folder", path=of)
    check_depth(len(parts), f"{of}: the folders of {name!r}")
    return folder.joinpath(*parts)


def unpack(archive: str | os.PathLike[str], folder: str | os.PathLike[str]) -> None:
    """Unpack an archive into an empty folder.

    Raises FormatError for what is no such archive, is damaged or locked, and for an archive with links, devices, names
    that lead elsewhere or two files of one name; LimitError where far more comes out than the archive holds.
    """
    with open_plain(archive) as file:
        head = file.read(4)
        file.seek(0)
        unpacking = _Unpacking(os.fspath(archive), Path(folder), os.fstat(file.fileno()).st_size)
        with _translate_library_errors(unpacking.archive):
            if head == ZIP:
                _unzip(file, unpacking)
            else:
                _untar(file, unpacking, is_packed=head[:2] == GZIP)


def _unzip(file: IO[bytes], unpacking: _Unpacking) -> None:
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            if entry.flag_bits & 1:
                raise FormatError(f"{entry.filename!r} in it is encrypted", path=unpacking.archive)
            if entry.compress_type not in METHODS:
                raise FormatError(f"{entry.filename!r} in it has an unsupported compression", path=unpacking.archive)
            kind = stat.S_IFMT(entry.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise FormatError(f"{entry.filename!r} in it is a link or no file", path=unpacking.archive)
            if entry.is_dir():
                unpacking.make_folder(entry.filename)
                continue
            with archive.open(entry) as source:
                unpacking.write(entry.filename, source)


class _CountedStream:
    """The stream of a tar, whose bytes are counted. `left` is how much may be read before the next entry is there,
    which `tarfile` takes into memory, None while contents are read."""

    def __init__(self, file: IO[bytes] | gzip.GzipFile, unpacking: _Unpacking) -> None:
        self._file = file
        self._unpacking = unpacking
        self.left: int | None = None

    def read(self, count: int) -> bytes:
        """Read at most `count` bytes. Raises FormatError if a header is too long."""
        data = self._file.read(count)
        self._unpacking.count(len(data))
        if self.left is not None:
            self.left -= len(data)
            if self.left < 0:
                raise FormatError(f"a header in it has more than {HEADER} bytes", path=self._unpacking.archive)
        return data


def _untar(file: IO[bytes], unpacking: _Unpacking, *, is_packed: bool) -> None:
    stream = _CountedStream(gzip.GzipFile(fileobj=file) if is_packed else file, unpacking)
    stream.left = HEADER
    with tarfile.open(fileobj=stream, mode="r|") as archive:  # type: ignore[call-overload]
        while True:
            stream.left = HEADER
            entry = archive.next()
            if entry is None:
                return
            archive.members.clear()  # each has the headers that hold for all, and is not needed any more
            if entry.isdir():
                if PurePosixPath(entry.name).parts:  # `./`, with which `tar -C folder .` begins
                    unpacking.make_folder(entry.name)
                continue
            source = archive.extractfile(entry) if entry.isreg() else None
            if source is None or entry.issparse():
                raise FormatError(f"{entry.name!r} in it is a link or no file", path=unpacking.archive)
            stream.left = None
            unpacking.write(entry.name, source, is_counted=True)


@contextmanager
def _translate_library_errors(archive: str) -> Iterator[None]:
    """Raise FormatError in place of what the libraries raise for a damaged archive."""
    try:
        yield
    except (
        tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, EOFError, NotImplementedError
    ) as error:  # fmt: skip
        raise FormatError(f"cannot be unpacked: {error}", path=archive) from error
    except (ValueError, OverflowError, UnicodeError) as error:  # numbers and names in headers
        raise FormatError(f"damaged: {error}", path=archive) from error
