"""The table in a checkpoint's index file: sorted keys and values, in LevelDB's table format.

The file ends with a footer of 48 bytes: two block handles (varint offset and size: of a block that is not used, and of
the index block), padding, and a magic number. A block is followed by one byte that names its compression and by a
masked CRC-32C of both. Inside, entries share the beginning of the key before them; behind the entries stand the restart
points. Source: LevelDB's table_format.md and TensorFlow's core/lib/io/table.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from graphir.converters.kernel.protobuf import read_varint
from graphir.errors import FormatError

MAGIC = 0xDB4775248B80FB57
FOOTER = 48
TRAILER = 5
_PLAIN, _SNAPPY = 0, 1
# Bytes of all keys of a block, for each byte of it and on top of that: keys may share beginnings of any length.
MOST_SHARED, LEAST_KEYS = 64, 1 << 20
_POLYNOMIAL = 0x82F63B78  # Castagnoli's, bits reversed


class _Handle(NamedTuple):
    offset: int
    size: int


def read_table(data: memoryview, path: Path) -> dict[bytes, bytes]:
    """Return the keys and values of a table file, in order. Raises FormatError, with the byte, for what is no table."""
    if len(data) < FOOTER:
        raise FormatError(
            f"not a checkpoint's index: {len(data)} bytes, less than its footer of {FOOTER}", path=path, offset=0
        )
    footer = len(data) - FOOTER
    (magic,) = struct.unpack_from("<Q", data, len(data) - 8)
    if magic != MAGIC:
        raise FormatError(
            f"not a checkpoint's index, or cut short: it ends with {magic:#018x}, expected {MAGIC:#018x}",
            path=path,
            offset=len(data) - 8,
        )
    try:
        position = _read_handle(data, footer, len(data) - 8)[1]
        index, _ = _read_handle(data, position, len(data) - 8)
        table: dict[bytes, bytes] = {}
        last, end = b"", 0
        for _, value in _read_entries(*_read_block(data, index)):
            handle, _ = _read_handle(memoryview(value), 0, len(value))
            if handle.offset < end:
                raise FormatError("the blocks of the index overlap, or stand in another order", offset=handle.offset)
            end = handle.offset + handle.size
            for key, content in _read_entries(*_read_block(data, handle)):
                if table and key <= last:
                    reason = "the keys of the index are not in order, or one comes twice"
                    raise FormatError(reason, offset=handle.offset)
                table[key], last = content, key
    except FormatError as error:
        raise FormatError(str(error).partition(" (at byte")[0], path=path, offset=error.offset) from None
    return table


def _read_handle(data: memoryview, position: int, end: int) -> tuple[_Handle, int]:
    offset, position = read_varint(data, position, end)
    size, position = read_varint(data, position, end)
    return _Handle(offset, size), position


def _read_block(data: memoryview, handle: _Handle) -> tuple[memoryview, int]:
    """Return the content of a block, and where it begins."""
    start, end = handle.offset, handle.offset + handle.size
    if end + TRAILER > len(data):
        raise FormatError(
            f"a block of {handle.size} bytes does not fit into the {len(data)} of the file; it is cut short",
            offset=start,
        )
    (stated,) = struct.unpack_from("<I", data, end + 1)
    if unmasked(stated) != crc32c(data[start : end + 1]):
        raise FormatError("a block of the index has another checksum than it states: the file is damaged", offset=start)
    if data[end] == _SNAPPY:
        raise FormatError(
            "a block of the index is compressed by Snappy, which is not supported; TensorFlow writes none itself",
            offset=start,
        )
    if data[end] != _PLAIN:
        raise FormatError(f"a block of the index has the unknown compression {data[end]}", offset=end)
    return data[start:end], start


def _read_entries(block: memoryview, start: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield keys and values of a block that begins at byte `start`."""
    if len(block) < 4:
        raise FormatError("a block of the index has no restart points", offset=start)
    (restarts,) = struct.unpack_from("<I", block, len(block) - 4)
    end = len(block) - 4 - 4 * restarts
    if end < 0:
        raise FormatError(f"a block of {len(block)} bytes states {restarts} restart points", offset=start)
    key, position = b"", 0
    left = LEAST_KEYS + MOST_SHARED * len(block)
    while position < end:
        begin = position
        shared, position = read_varint(block, position, end)
        suffix_length, position = read_varint(block, position, end)
        length, position = read_varint(block, position, end)
        if shared > len(key) or position + suffix_length + length > end:
            raise FormatError("an entry of the index does not fit into its block", offset=start + begin)
        left -= shared + suffix_length
        if left < 0:
            raise FormatError(f"the keys of a block of {len(block)} bytes share too much", offset=start + begin)
        key = key[:shared] + bytes(block[position : position + suffix_length])
        position += suffix_length
        yield key, bytes(block[position : position + length])
        position += length


@functools.cache
def _make_crc_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return tuple(table)


def crc32c(data: bytes | memoryview) -> int:
    """Return the CRC-32C (Castagnoli) of the bytes. About 10 MB a second: for what is small.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    table, value = _make_crc_table(), 0xFFFFFFFF
    for byte in bytes(data):
        value = table[(value ^ byte) & 255] ^ value >> 8
    return value ^ 0xFFFFFFFF


def unmasked(stored: int) -> int:
    """Return the checksum that a masked one stands for: masked are sums of data that hold sums themselves."""
    rotated = (stored - 0xA282EAD8) & 0xFFFFFFFF
    return (rotated >> 17 | rotated << 15) & 0xFFFFFFFF
