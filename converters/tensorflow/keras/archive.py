"""`.keras` archives: members of a zip, read within limits. What the directory claims is held against what is there."""

from __future__ import annotations

import struct
import zipfile
import zlib
from pathlib import Path

from graphir.converters.tensorflow.keras.hdf5 import Bytes
from graphir.errors import FormatError
from graphir.files.reading import open_plain
from graphir.safety.limits import check_expansion

MEMBERS = 10_000
TEXT = 256 << 20  # bytes of config.json
_LOCAL = struct.Struct("<4s22xHH")
_BROKEN = (
    zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, ValueError, OverflowError, struct.error, EOFError,
    UnicodeDecodeError,
)  # fmt: skip


class Archive:
    """The members of an archive by name."""

    def __init__(self, path: Path) -> None:
        """Open an archive. Raises FormatError for what is no zip, one with too many members, or two of one name."""
        self.path = path
        with open_plain(path) as file:
            self._size = file.seek(0, 2)
            try:
                with zipfile.ZipFile(file) as archive:
                    listed = archive.infolist()
            except _BROKEN as error:
                raise FormatError(f"a damaged zip archive: {error}", path=path) from error
        if len(listed) > MEMBERS:
            raise FormatError(f"a zip archive of {len(listed)} members; at most {MEMBERS} are read", path=path)
        self._members = {info.filename: info for info in listed}
        if len(self._members) < len(listed):
            names = [info.filename for info in listed]
            twice = next(name for name in names if names.count(name) > 1)
            raise FormatError(f"a zip archive with two members called {twice!r}", path=path)

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def find(self, name: str) -> Bytes:
        """Return where a member's content lies, in the file or, inflated, in memory. Raises FormatError."""
        if name not in self._members:
            shown = ", ".join(list(self._members)[:8]) or "none"
            raise FormatError(f"no Keras model: the archive has no {name}; its members are {shown}", path=self.path)
        info = self._members[name]
        if info.flag_bits & 0x41:
            raise FormatError(f"{name} is encrypted", path=self.path)
        start = self._find_start(info, name)
        if start + info.compress_size > self._size:
            raise FormatError(f"{name} is cut short: the file ends before it", path=self.path, offset=start)
        if info.compress_type == zipfile.ZIP_STORED:
            if info.file_size != info.compress_size:
                raise FormatError(
                    f"{name} is stored in {info.compress_size} bytes, but stated as {info.file_size}", path=self.path
                )
            return Bytes(self.path, start, info.file_size)
        if info.compress_type != zipfile.ZIP_DEFLATED:
            raise FormatError(f"{name} is compressed by method {info.compress_type}; deflate is read", path=self.path)
        return Bytes(self.path, 0, info.file_size, memoryview(self._inflate(info, name, start)))

    def content(self, name: str) -> bytes:
        """Return a member's bytes, of which there must not be too many for a text."""
        member = self.find(name)
        if member.size > TEXT:
            raise FormatError(f"{name} has {member.size} bytes, expected at most {TEXT}", path=self.path)
        if member.data is not None:
            return bytes(member.data)
        with open_plain(self.path) as file:
            file.seek(member.start)
            return file.read(member.size)

    def _find_start(self, info: zipfile.ZipInfo, name: str) -> int:
        with open_plain(self.path) as file:
            file.seek(max(0, info.header_offset))
            head = file.read(_LOCAL.size)
            if len(head) < _LOCAL.size or not head.startswith(b"PK\x03\x04") or info.header_offset < 0:
                raise FormatError(f"{name} has no header where the directory says", path=self.path)
            _, name_length, extra = _LOCAL.unpack(head)
            stated = file.read(name_length)
        if stated != info.orig_filename.encode("utf-8" if info.flag_bits & 0x800 else "cp437", "replace"):
            raise FormatError(f"the header of {name} names {stated[:80]!r}", path=self.path)
        return int(info.header_offset + _LOCAL.size + name_length + extra)

    def _inflate(self, info: zipfile.ZipInfo, name: str, start: int) -> bytes:
        """Return the bytes that a member stands for: as many as it states, and not far more than it is stored in."""
        check_expansion(info.file_size, info.compress_size, f"{self.path}: {name}", "bytes")
        with open_plain(self.path) as file:
            file.seek(start)
            stored = file.read(info.compress_size)
        engine = zlib.decompressobj(-15)
        try:
            data = engine.decompress(stored, info.file_size + 1)
        except zlib.error as error:
            raise FormatError(f"{name} cannot be inflated: {error}", path=self.path, offset=start) from error
        if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
            what = "is another size or checksum than its header states"
            raise FormatError(f"{name}: what it inflates to {what}", path=self.path, offset=start)
        return data
