"""Protobuf's wire format: numbers and fields, for the readers that leave weights where they lie."""

from __future__ import annotations

from collections.abc import Iterator

from graphir.errors import FormatError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def read_varint(data: memoryview, position: int, end: int) -> tuple[int, int]:
    """Return the number at `position` and where it ends. Raises FormatError."""
    number = shift = 0
    start = position
    while True:
        if position >= end:
            raise FormatError("the protobuf is cut short in the middle of a number", offset=start)
        byte = data[position]
        position += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, position
        shift += 7
        if shift > 63:
            raise FormatError("not a protobuf: a number has more than 64 bits", offset=start)


def write_varint(number: int) -> bytes:
    """Return the number in the wire format."""
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def read_field(data: memoryview, position: int, end: int, message: str) -> tuple[int, int, int, int]:
    """Return the field of a `message` at `position`: its number, its wire type, where its content begins and where it
    ends.

    Raises FormatError, with the byte, for what is no field or is cut short.
    """
    start = position
    tag, position = read_varint(data, position, end)
    number, wire_type = tag >> 3, tag & 7
    if number == 0:
        raise FormatError(f"not a protobuf: a field of {message} has the number 0", offset=start)
    if wire_type == VARINT:
        return number, wire_type, position, read_varint(data, position, end)[1]
    if wire_type == BYTES:
        length, position = read_varint(data, position, end)
        stop = position + length
    elif wire_type == FIXED32:
        stop = position + 4
    elif wire_type == FIXED64:
        stop = position + 8
    else:
        raise FormatError(f"not a protobuf: a field of {message} has the wire type {wire_type}", offset=start)
    if stop > end:
        raise FormatError(
            f"the protobuf is cut short: a field of {message} wants {stop - position} bytes, {end - position} are left",
            offset=start,
        )
    return number, wire_type, position, stop


def outline(data: memoryview, position: int, end: int, message: str) -> Iterator[tuple[int, int, int, int]]:
    """Yield the fields of a `message`, as `read_field` gives them. Of one that is cut short what is left is given, and
    it is the last. Raises FormatError for what is no field."""
    while position < end:
        tag, content = read_varint(data, position, end)
        number, wire_type = tag >> 3, tag & 7
        if number and wire_type == BYTES:
            length, content = read_varint(data, content, end)
            stop = min(content + length, end)
        else:
            number, wire_type, content, stop = read_field(data, position, end, message)
        yield number, wire_type, content, stop
        position = stop
