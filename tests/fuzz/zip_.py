"""Changes of zip archives: entries' contents, and the numbers of the headers that speak of them."""

from __future__ import annotations

import io
import struct
import warnings
import zipfile
from collections.abc import Callable

from tests.fuzz.bytes_ import mutate_bytes, put_at_places
from tests.fuzz.case import Random

LOCAL, CENTRAL, END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
# (offset, width) of the numbers of each header: version, flags, method, CRC, sizes, lengths, disk, place.
_LOCAL = ((4, 2), (6, 2), (8, 2), (14, 4), (18, 4), (22, 4), (26, 2), (28, 2))
_CENTRAL = ((8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (32, 2), (34, 2), (42, 4))
_END = ((4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 2))


def entries(data: bytes) -> list[tuple[str, bytes, int]]:
    """The names, contents and methods of an archive that our own scripts made."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [(info.filename, archive.read(info), info.compress_type) for info in archive.infolist()]


def archive_of(found: list[tuple[str, bytes, int]]) -> bytes:
    """An archive of entries; the same entries give the same bytes."""
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w") as archive:
        warnings.simplefilter("ignore")  # a name twice is one of the attacks
        for name, content, method in found:
            info = zipfile.ZipInfo(name or "x")
            info.compress_type = method
            archive.writestr(info, content)
    return buffer.getvalue()


def mutate_zip(chance: Random, data: bytes, change: Callable[[Random, str, bytes], bytes]) -> bytes:
    """The archive with another content of an entry (`change`), other entries, or other numbers in its headers."""
    roll = chance.random()
    if roll < 0.45:
        found = entries(data)
        at = chance.randrange(len(found))
        name, content, method = found[at]
        found[at] = (name, change(chance, name, content), method)
        return archive_of(found)
    if roll < 0.6:
        return archive_of(_other_entries(chance, entries(data)))
    if roll < 0.95:
        return _other_numbers(chance, data)
    return mutate_bytes(chance, data)


def _other_entries(chance: Random, found: list[tuple[str, bytes, int]]) -> list[tuple[str, bytes, int]]:
    at = chance.randrange(len(found))
    name, content, method = found[at]
    match chance.randrange(6):
        case 0:
            del found[at]
        case 1:
            found.append((name, content[: chance.randrange(len(content) + 1)], method))
        case 2:
            odd = ("", "/", "../x", "/tmp/x", "x" * 5000, "a\x1bb", "arg:", "CON", name + "/", name.upper())
            found[at] = (chance.choice(odd), content, method)
        case 3:
            found[at] = (name, content, zipfile.ZIP_STORED if method else chance.choice((8, 12, 14)))
        case 4:
            found[at] = (name, b"\0" * chance.choice((10**6, 10**7)), zipfile.ZIP_DEFLATED)
        case _:
            chance.shuffle(found)
    return found


def _other_numbers(chance: Random, data: bytes) -> bytes:
    places = []
    for signature, offsets in ((LOCAL, _LOCAL), (CENTRAL, _CENTRAL), (END, _END)):
        start = data.find(signature)
        while start >= 0:
            places += [(start + offset, width) for offset, width in offsets]
            start = data.find(signature, start + 1)
    for _ in range(chance.choice((1, 1, 2, 4))):
        data = put_at_places(chance, data, places)
    return data


def local_content(data: bytes, index: int = 0) -> int:
    """Where the content of the entry with that number begins."""
    start = -1
    for _ in range(index + 1):
        start = data.find(LOCAL, start + 1)
    name, extra = struct.unpack_from("<HH", data, start + 26)
    return start + 30 + int(name) + int(extra)


__all__ = ["archive_of", "entries", "local_content", "mutate_zip"]
