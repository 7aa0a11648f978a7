"""Protobuf's text format, written after the tables of messages: the counterpart of `text_format.parse` for tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphir.converters.tensorflow.files.messages import SCALARS, MessageField, fields_by_name
from graphir.converters.tensorflow.files.wire import Blob


def as_text(message: str, content: Mapping[str, Any]) -> str:
    """The message that a dict describes, as `wire.decode` gives it."""
    fields = fields_by_name(message)
    return " ".join(_field(fields[name], held) for name, held in content.items())


def _field(field: MessageField, held: Any) -> str:
    if field.is_map:
        value = MessageField("value", field.kind, 2)
        return " ".join(f"{field.name} {{ key: {_quoted(key.encode())} {_field(value, held[key])} }}" for key in held)
    return " ".join(_one(field, value) for value in (held if field.repeated else [held]))


def _one(field: MessageField, value: Any) -> str:
    if field.kind not in SCALARS:
        return f"{field.name} {{ {as_text(field.kind, value)} }}"
    if isinstance(value, Blob):
        value = bytes(value.data)
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return f"{field.name} : {_quoted(value)}"
    return f"{field.name} : {str(value).lower() if isinstance(value, bool) else value}"


def _quoted(data: bytes) -> str:
    plain = set(range(33, 127)) - set(b"\"'\\")
    return '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in data) + '"'


__all__ = ["as_text"]
