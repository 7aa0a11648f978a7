"""Changes of bytes that know nothing of their meaning, and of numbers whose place is known."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from tests.fuzz.case import Random, number

_WIDTHS = {1: "B", 2: "H", 4: "I", 8: "Q"}


def mutate_bytes(chance: Random, data: bytes) -> bytes:
    """One change: a bit, a byte, a number, a cut, a repetition, a swap, an insertion."""
    if not data:
        return bytes([chance.randrange(256)])
    at = chance.randrange(len(data))
    length = min(chance.choice((1, 2, 4, 8, 16, 64, 1024)), len(data) - at)
    match chance.randrange(9):
        case 0:
            return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]
        case 1:
            return data[:at] + bytes([chance.choice((0, 1, 127, 128, 255))]) + data[at + 1 :]
        case 2:
            return data[:at]
        case 3:
            return data[:at] + data[at + length :]
        case 4:
            return data[:at] + data[at : at + length] * chance.choice((2, 3, 100)) + data[at + length :]
        case 5:
            other = chance.randrange(len(data))
            return data[:at] + data[other : other + length] + data[at + length :]
        case 6:
            return data[:at] + chance.randbytes(length) + data[at:]
        case 7:
            return data + chance.randbytes(length)
        case _:
            return put_number(chance, data, at, chance.choice((1, 2, 4, 8)))


def put_number(chance: Random, data: bytes, at: int, width: int, *, little: bool = True) -> bytes:
    """A number of `width` bytes replaced by one that breaks things, or by one near it."""
    code = ("<" if little else ">") + _WIDTHS[width]
    if at + width > len(data):
        return data
    (found,) = struct.unpack_from(code, data, at)
    wanted = number(chance) if chance.random() < 0.7 else found + chance.choice((-8, -2, -1, 1, 2, 8, 1 << 20))
    return data[:at] + struct.pack(code, wanted % (1 << (8 * width))) + data[at + width :]


def put_at_places(chance: Random, data: bytes, places: Sequence[tuple[int, int]]) -> bytes:
    """One of the numbers at `places` (offset, width) replaced."""
    at, width = chance.choice(places)
    return put_number(chance, data, at, width)


__all__ = ["mutate_bytes", "put_at_places", "put_number"]
