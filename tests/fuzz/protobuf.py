"""Changes of protobuf messages without their schema: fields, numbers, lengths, texts, nesting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.fuzz.bytes_ import mutate_bytes
from tests.fuzz.case import Random, number
from tests.fuzz.json_ import TEXTS

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


@dataclass
class Field:
    """One field: its number, wire type, and content; `parts` if the content itself parses as a message."""

    number: int
    wire: int
    value: int = 0
    content: bytes = b""
    parts: list[Field] | None = None


@dataclass
class _Input:
    data: bytes
    position: int = 0


def parse(data: bytes, depth: int = 12) -> list[Field] | None:
    """The fields, None if the bytes are no message."""
    source = _Input(data)
    found: list[Field] = []
    while source.position < len(data):
        tag = _varint(source)
        if tag is None or tag >> 3 == 0 or tag >> 3 > 100_000:
            return None
        entry = Field(tag >> 3, tag & 7)
        if entry.wire == VARINT:
            value = _varint(source)
            if value is None:
                return None
            entry.value = value
        elif entry.wire in (FIXED32, FIXED64, BYTES):
            length = {FIXED32: 4, FIXED64: 8}.get(entry.wire)
            length = _varint(source) if length is None else length
            if length is None or source.position + length > len(data):
                return None
            entry.content = data[source.position : source.position + length]
            source.position += length
            if entry.wire == BYTES and depth and entry.content and not _is_text(entry.content):
                entry.parts = parse(entry.content, depth - 1)
        else:
            return None
        found.append(entry)
    return found


def _is_text(content: bytes) -> bool:
    return len(content) > 1 and all(32 <= byte < 127 for byte in content)


def _varint(source: _Input) -> int | None:
    found = shift = 0
    while source.position < len(source.data) and shift < 70:
        byte = source.data[source.position]
        source.position += 1
        found |= (byte & 127) << shift
        if byte < 128:
            return found
        shift += 7
    return None


def varint(value: int) -> bytes:
    """The number as protobuf writes it, as 64 bits where it is negative."""
    value %= 1 << 64
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def write(fields: Sequence[Field]) -> bytes:
    """The message."""
    out = bytearray()
    for entry in fields:
        out += varint(entry.number << 3 | entry.wire)
        if entry.wire == VARINT:
            out += varint(entry.value)
        else:
            content = entry.content if entry.parts is None else write(entry.parts)
            out += (varint(len(content)) if entry.wire == BYTES else b"") + content
    return bytes(out)


@dataclass
class _Tree:
    """All lists of fields of a message, and all texts."""

    lists: list[list[Field]] = field(default_factory=list)
    texts: list[bytes] = field(default_factory=list)

    def walk(self, fields: list[Field]) -> _Tree:
        """Gather those of a message and of all inside it."""
        self.lists.append(fields)
        for entry in fields:
            if entry.parts is not None:
                self.walk(entry.parts)
            elif entry.wire == BYTES:
                self.texts.append(entry.content)
        return self


def mutate_protobuf(chance: Random, data: bytes, texts: Sequence[str] = TEXTS) -> bytes:
    """The message with one to four changes; 5 in 100 times changes that break the wire format."""
    fields = parse(data)
    if not fields or chance.random() < 0.05:
        return mutate_bytes(chance, data)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        change_message(chance, fields, texts)
    return write(fields)


def change_message(chance: Random, fields: list[Field], texts: Sequence[str] = TEXTS) -> None:
    """One change somewhere in a message: a field removed, repeated, moved, nested in itself, or its content changed."""
    tree = _Tree().walk(fields)
    owner = chance.choice([entries for entries in tree.lists if entries] or [fields])
    if not owner:
        return
    at = chance.randrange(len(owner))
    entry = owner[at]
    match chance.randrange(12):
        case 0:
            del owner[at]
        case 1:
            owner[at:at] = [entry] * chance.choice((1, 2, 30))
        case 2:
            other = chance.choice(tree.lists)
            other.insert(
                chance.randrange(len(other) + 1), Field(entry.number, entry.wire, entry.value, _content(entry))
            )
        case 3:
            owner[at] = Field(chance.choice((entry.number + 1, chance.randrange(1, 40))), *_rest(entry))
        case 4:
            owner[at] = Field(entry.number, BYTES, content=_nested(entry, chance.choice((1, 3, 60, 300))))
        case 5:
            owner[at] = Field(entry.number, VARINT, number(chance))
        case _:
            owner[at] = _changed(chance, entry, tree, texts)


def _content(entry: Field) -> bytes:
    return entry.content if entry.parts is None else write(entry.parts)


def _rest(entry: Field) -> tuple[int, int, bytes]:
    return entry.wire, entry.value, _content(entry)


def _nested(entry: Field, depth: int) -> bytes:
    content = _content(entry)
    for _ in range(depth):
        content = write([Field(entry.number, BYTES, content=content)])
    return content


def _changed(chance: Random, entry: Field, tree: _Tree, texts: Sequence[str]) -> Field:
    """The field with other content of its kind."""
    if entry.wire == VARINT:
        near = entry.value + chance.choice((-1, 1))
        return Field(entry.number, VARINT, number(chance) if chance.random() < 0.75 else near)
    if entry.parts is not None and chance.random() < 0.5:
        return Field(entry.number, BYTES, content=chance.choice((b"", mutate_bytes(chance, write(entry.parts)))))
    if entry.wire != BYTES:
        return Field(entry.number, entry.wire, content=chance.randbytes(len(entry.content)))
    roll = chance.random()
    if roll < 0.4 and tree.texts:
        return Field(entry.number, BYTES, content=chance.choice(tree.texts))
    if roll < 0.6:
        return Field(entry.number, BYTES, content=chance.choice(texts).encode("utf-8", "surrogatepass"))
    if roll < 0.75:
        packed = b"".join(varint(number(chance)) for _ in range(chance.choice((1, 2, 4, 20))))
        return Field(entry.number, BYTES, content=packed)
    return Field(entry.number, BYTES, content=mutate_bytes(chance, _content(entry)))


__all__ = [
    "BYTES",
    "FIXED32",
    "FIXED64",
    "VARINT",
    "Field",
    "change_message",
    "mutate_protobuf",
    "parse",
    "varint",
    "write",
]
