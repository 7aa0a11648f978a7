"""Protobuf's wire format, read after the tables in `messages`, without generated classes.

A message becomes a dict of the fields that it states: scalars as Python has them, messages as dicts, repeated fields
as lists, maps as dicts. `blob` fields stay views of the data, with the place where they lie, so that a mapped file's
weights are not read.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from graphir.converters.kernel.protobuf import BYTES, FIXED32, FIXED64, VARINT, read_field, read_varint
from graphir.converters.tensorflow.files.messages import MessageField, messages
from graphir.errors import FormatError

Message = dict[str, Any]

DEEPEST = 100
_FORMATS = {"float": ("<f", 4), "double": ("<d", 8)}
_WIRE_TYPES = {
    "float": FIXED32, "double": FIXED64, "bool": VARINT, "int": VARINT, "uint": VARINT, "DataType": VARINT,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes as they lie in the data that was read; `offset` says where, None if they were written in a text."""

    data: memoryview
    offset: int | None = None


def decode(data: memoryview, message: str) -> Message:
    """Return the message that the data holds. Raises FormatError, with the byte, for what is none or is cut short."""
    return _decode(data, 0, len(data), message, 0)


def _decode(data: memoryview, position: int, end: int, message: str, depth: int) -> Message:
    if depth > DEEPEST:
        raise FormatError(f"messages are nested more than {DEEPEST} levels deep", offset=position)
    fields = messages()[message]
    values: Message = {}
    while position < end:
        start = position
        number, wire_type, content, position = read_field(data, position, end, message)
        field = fields.get(number)
        if field is None or field.kind == "any":
            continue
        if field.is_map:
            key, place = _read_entry(data, content, position, field)
            empty: Any = "" if field.kind == "string" else {}
            value = empty if place is None else _read_value(data, *place, field, depth)
            values.setdefault(field.name, {})[key] = value
        elif field.repeated and wire_type == BYTES and field.kind in _WIRE_TYPES:
            values.setdefault(field.name, []).extend(_read_packed(data, content, position, field))
        else:
            _check_wire_type(field, wire_type, message, start)
            value = _read_value(data, content, position, field, depth)
            if field.repeated:
                values.setdefault(field.name, []).append(value)
            else:
                values[field.name] = value
    return values


def _check_wire_type(field: MessageField, wire_type: int, message: str, start: int) -> None:
    expected = _WIRE_TYPES.get(field.kind, BYTES)
    if wire_type != expected:
        raise FormatError(
            f"{message}.{field.name} has the wire type {wire_type}, expected {expected}: not the message that it "
            "should be",
            offset=start,
        )


def _read_value(data: memoryview, start: int, end: int, field: MessageField, depth: int) -> Any:
    kind = field.kind
    if kind == "string":
        return _read_text(data[start:end], field.name, start)
    if kind == "bytes":
        return bytes(data[start:end])
    if kind == "blob":
        return Blob(data[start:end], start)
    if kind in _FORMATS:
        return struct.unpack_from(_FORMATS[kind][0], data, start)[0]
    if kind in _WIRE_TYPES:
        return _read_integer(read_varint(data, start, end)[0], kind)
    return _decode(data, start, end, kind, depth + 1)


def _read_integer(number: int, kind: str) -> int | bool:
    if kind == "bool":
        return bool(number)
    return number - (1 << 64) if kind == "int" and number >> 63 else number


def _read_packed(data: memoryview, start: int, end: int, field: MessageField) -> list[Any]:
    if field.kind in _FORMATS:
        code, width = _FORMATS[field.kind]
        if (end - start) % width:
            raise FormatError(f"{field.name}: {end - start} bytes are no whole number of {field.kind}s", offset=start)
        return list(struct.unpack_from(f"<{(end - start) // width}{code[1]}", data, start))
    numbers = []
    while start < end:
        number, start = read_varint(data, start, end)
        numbers.append(_read_integer(number, field.kind))
    return numbers


def _read_entry(
    data: memoryview, start: int, end: int, field: MessageField
) -> tuple[str, tuple[int, int] | None]:
    """Return the key of an entry of a map, field 1, and where its value, field 2, begins and ends. Absent, they are
    empty."""
    key, place, position = "", None, start
    while position < end:
        number, wire_type, content, position = read_field(data, position, end, field.name)
        if (number, wire_type) == (1, BYTES):
            key = _read_text(data[content:position], field.name, content)
        elif (number, wire_type) == (2, BYTES):
            place = content, position
    return key, place


def _read_text(data: memoryview, name: str, offset: int) -> str:
    try:
        return str(data, "utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{name} is no UTF-8 text: {bytes(data[:40])!r}", offset=offset) from error
