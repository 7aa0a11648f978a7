"""`mx.recordio`: files of records, in order and by key, and records that hold a label and an image."""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from graphir.converters.mxnet.mx.base import MXNetError
from graphir.converters.mxnet.mx.images import decoded_pixels, import_pillow

MAGIC = struct.pack("<I", 0xCED7230A)
LENGTH = (1 << 29) - 1  # the bits of a record's head that hold its length; above them stands which part it is
WHOLE, FIRST, MIDDLE, LAST = range(4)


class MXRecordIO:
    """A file of records, opened to read (`r`) or to write (`w`). Raises MXNetError for a file that holds no records."""

    def __init__(self, uri: str | os.PathLike[str], flag: str) -> None:
        self.uri, self.flag = os.fspath(uri), flag
        self.is_open = False
        self.open()

    def open(self) -> None:
        """Open the file. Raises ValueError for another flag, MXNetError for a file that cannot be opened."""
        if self.flag not in ("r", "w"):
            raise ValueError(f"Invalid flag {self.flag}, expected r or w")
        self.writable = self.flag == "w"
        try:
            self._file = open(self.uri, f"{self.flag}b")  # noqa: SIM115 - it stays open until close()
        except OSError as error:
            raise MXNetError(f"cannot open {self.uri}: {error}") from error
        self.size = os.fstat(self._file.fileno()).st_size
        self.is_open = True

    def close(self) -> None:
        """Close the file."""
        if self.is_open:
            self._file.close()
            self.is_open = False

    def __del__(self) -> None:
        if getattr(self, "is_open", False):
            self.close()

    def __getstate__(self) -> dict[str, Any]:
        state = {key: value for key, value in self.__dict__.items() if key != "_file"}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self.is_open:
            self.open()

    def reset(self) -> None:
        """Begin anew."""
        self.close()
        self.open()

    def write(self, buf: bytes) -> None:
        """Write a record. One that holds the mark of a record's begin at a multiple of four bytes is cut there."""
        if not self.writable:
            raise AssertionError("the file is open to read")
        if len(buf) > LENGTH:
            raise MXNetError(f"a record has {len(buf)} bytes, at most {LENGTH} can be written")
        cuts, place = [], buf.find(MAGIC)
        while place >= 0:
            cuts += [place] if place % 4 == 0 else []
            place = buf.find(MAGIC, place + (4 if place % 4 == 0 else 1))
        starts, ends = [0, *(cut + 4 for cut in cuts)], [*cuts, len(buf)]
        for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
            kind = WHOLE if not cuts else FIRST if not number else LAST if number == len(cuts) else MIDDLE
            part = buf[start:end]
            self._file.write(MAGIC + struct.pack("<I", kind << 29 | len(part)) + part + bytes(-len(part) % 4))

    def read(self) -> bytes | None:
        """Return the next record, None at the end. Raises MXNetError for what is no record."""
        if self.writable:
            raise AssertionError("the file is open to write")
        kind, record = self._part()
        if kind is None:
            return None
        if kind == WHOLE:
            return record
        if kind != FIRST:
            self._refuse("begins in the middle")
        parts = [record]
        while kind != LAST:
            kind, record = self._part()
            if kind not in (MIDDLE, LAST):
                self._refuse("has no end")
            parts.append(record)
        return MAGIC.join(parts)

    def tell(self) -> int:
        """Return where the next record begins."""
        return self._file.tell()

    def _part(self) -> tuple[int | None, bytes]:
        head = self._file.read(8)
        if not head:
            return None, b""
        if len(head) < 8 or head[:4] != MAGIC:
            self._refuse("does not begin with the mark of a record")
        kind, length = divmod(struct.unpack("<I", head[4:])[0], LENGTH + 1)
        if length > self.size - self._file.tell():
            self._refuse(f"states {length} bytes, which the file does not have")
        record = self._file.read(length)
        self._file.seek(-length % 4, os.SEEK_CUR)
        return kind, record

    def _refuse(self, problem: str) -> None:
        raise MXNetError(f"{self.uri}: the record before byte {self._file.tell()} {problem}")


class MXIndexedRecordIO(MXRecordIO):
    """A file of records, and one of their keys with the places where they begin."""

    def __init__(
        self,
        idx_path: str | os.PathLike[str],
        uri: str | os.PathLike[str],
        flag: str,
        key_type: Callable[[str], Any] = int,
    ) -> None:
        self.idx_path, self.key_type = os.fspath(idx_path), key_type
        self.idx: dict[Any, int] = {}
        self.keys: list[Any] = []
        super().__init__(uri, flag)

    def open(self) -> None:
        """Open both files. Raises MXNetError for an index that has other lines than a key and a place."""
        super().open()
        self.idx, self.keys = {}, []
        if self.writable or not os.path.isfile(self.idx_path):
            return
        for line in Path(self.idx_path).read_text().splitlines():
            parts = line.strip().split("\t")
            if len(parts) < 2 or not parts[1].isdecimal():
                raise MXNetError(f"{self.idx_path}: expected a key and a place, found {line[:80]!r}")
            self.idx[self.key_type(parts[0])] = int(parts[1])
            self.keys.append(self.key_type(parts[0]))

    def close(self) -> None:
        """Close the file, and write the index."""
        if self.is_open and self.writable:
            Path(self.idx_path).write_text("".join(f"{key}\t{self.idx[key]}\n" for key in self.keys))
        super().close()

    def seek(self, idx: Any) -> None:
        """Go to the record of a key. Raises KeyError for another key."""
        if self.writable:
            raise AssertionError("the file is open to write")
        self._file.seek(self.idx[idx])

    def read_idx(self, idx: Any) -> bytes | None:
        """Return the record of a key."""
        self.seek(idx)
        return self.read()

    def write_idx(self, idx: Any, buf: bytes) -> None:
        """Write a record under a key."""
        key, place = self.key_type(idx), self.tell()
        self.write(buf)
        self.idx[key] = place
        self.keys.append(key)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys)


class IRHeader(NamedTuple):
    """What stands before an image: `flag` is the number of labels where there are several."""

    flag: int
    label: Any
    id: int
    id2: int


HEADER = struct.Struct("<IfQQ")


def pack(header: Any, s: bytes) -> bytes:
    """Return a record of a header and bytes. Labels that are a list or an array stand between both."""
    flag, label, number, second = header
    labels = b""
    if not isinstance(label, int | float | np.number):
        array = np.asarray(label, dtype=np.float32)
        flag, label, labels = array.size, 0, array.tobytes()
    return HEADER.pack(flag, float(label), number, second) + labels + s


def unpack(s: bytes) -> tuple[IRHeader, bytes]:
    """Return the header and the bytes of a record. Raises MXNetError for a record that is shorter than it states."""
    if len(s) < HEADER.size:
        raise MXNetError(f"a record of an image has at least {HEADER.size} bytes, found {len(s)}")
    header, rest = IRHeader(*HEADER.unpack(s[: HEADER.size])), s[HEADER.size :]
    if header.flag > 0:
        if header.flag * 4 > len(rest):
            raise MXNetError(f"a record states {header.flag} labels, and has {len(rest)} bytes for them")
        header = header._replace(label=np.frombuffer(rest, np.float32, header.flag))
        rest = rest[header.flag * 4 :]
    return header, rest


def unpack_img(s: bytes, iscolor: int = -1) -> tuple[IRHeader, Any]:
    """Return the header and the pixels of a record, blue first as OpenCV has them.

    `iscolor` is 1 for three channels, 0 for none, and -1 for those of the file.
    """
    header, rest = unpack(s)
    pixels = decoded_pixels(rest, iscolor)
    if pixels.shape[-1] == 1:
        return header, pixels[..., 0]
    return header, np.concatenate([pixels[..., 2::-1], pixels[..., 3:]], axis=-1)


def pack_img(header: Any, img: Any, quality: int = 95, img_fmt: str = ".jpg") -> bytes:
    """Return a record of a header and pixels (blue first), as JPEG of a quality, or as PNG of a compression."""
    pixels = np.asarray(img)
    image = import_pillow().fromarray(pixels if pixels.ndim == 2 else np.ascontiguousarray(pixels[..., 2::-1]))
    stream = io.BytesIO()
    if img_fmt.lower() in (".jpg", ".jpeg"):
        image.save(stream, "JPEG", quality=quality)
    elif img_fmt.lower() == ".png":
        image.save(stream, "PNG", compress_level=min(quality, 9))
    else:
        raise MXNetError(f"images are packed as .jpg or .png, got {img_fmt!r}")
    return pack(header, stream.getvalue())


__all__ = ["IRHeader", "MXIndexedRecordIO", "MXRecordIO", "pack", "pack_img", "unpack", "unpack_img"]
