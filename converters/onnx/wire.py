"""The protobuf wire format, as far as it takes to leave weights where they are.

`strip_weights` copies a serialized ModelProto without the raw bytes of its large tensors and says where in the file
they lie, so that the message can be parsed at the size of its structure. Field numbers are those of onnx.proto.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from graphir.errors import FormatError

LARGE = 1024
MARK = "graphir.region"
DEEPEST = 100

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_RAW_DATA, _EXTERNAL_DATA = 9, 13

# For each message the fields that can hold tensors, and what message each holds.
_INSIDE: dict[str, dict[int, str]] = {
    "ModelProto": {7: "GraphProto", 20: "TrainingInfoProto", 25: "FunctionProto"},
    "TrainingInfoProto": {1: "GraphProto", 2: "GraphProto"},
    "FunctionProto": {7: "NodeProto", 11: "AttributeProto"},
    "GraphProto": {1: "NodeProto", 5: "TensorProto", 15: "SparseTensorProto"},
    "NodeProto": {5: "AttributeProto"},
    "AttributeProto": {
        5: "TensorProto", 6: "GraphProto", 10: "TensorProto", 11: "GraphProto",
        22: "SparseTensorProto", 23: "SparseTensorProto",
    },
    "SparseTensorProto": {1: "TensorProto", 2: "TensorProto"},
    "TensorProto": {},
}


@dataclass
class Stripped:
    """A message without its large raw data. A tensor that lost them has an external_data entry `MARK` with a number,
    the index of its (offset, length) in `regions`."""

    message: bytes
    regions: list[tuple[int, int]] = field(default_factory=list)


def read_varint(data: memoryview, position: int, end: int) -> tuple[int, int]:
    """The number at `position` and where it ends. Raises FormatError."""
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
    """The number in the wire format."""
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _skip(data: memoryview, position: int, end: int, wire_type: int, start: int) -> tuple[int, int]:
    """Where the content of a field begins and ends. Raises FormatError."""
    if wire_type == _VARINT:
        return position, read_varint(data, position, end)[1]
    if wire_type == _BYTES:
        length, position = read_varint(data, position, end)
        stop = position + length
    elif wire_type == _FIXED32:
        stop = position + 4
    elif wire_type == _FIXED64:
        stop = position + 8
    else:
        raise FormatError(f"not an ONNX model: a field of wire type {wire_type}", offset=start)
    if stop > end:
        raise FormatError(
            f"the protobuf is cut short: a field wants {stop - position} bytes, {end - position} are left", offset=start
        )
    return position, stop


def strip_weights(data: memoryview) -> Stripped:
    """A serialized ModelProto without the raw data of 1 KB and more. Linear in the number of nodes.

    Raises FormatError, with the byte where it happens, for bytes that are no protobuf or that end too early.
    """
    found = Stripped(b"")
    found.message = b"".join(_copy(data, 0, len(data), "ModelProto", found.regions, 0))
    return found


def _copy(
    data: memoryview, position: int, end: int, message: str, regions: list[tuple[int, int]], depth: int
) -> list[bytes | memoryview]:
    if depth > DEEPEST:
        raise FormatError(f"graphs are nested more than {DEEPEST} levels deep", offset=position)
    inside = _INSIDE[message]
    pieces: list[bytes | memoryview] = []
    kept_from = position
    while position < end:
        start = position
        tag, position = read_varint(data, position, end)
        number, wire_type = tag >> 3, tag & 7
        if number == 0:
            raise FormatError("not an ONNX model: a field has the number 0", offset=start)
        content, position = _skip(data, position, end, wire_type, start)
        if wire_type != _BYTES or position - content < LARGE:
            continue
        if message == "TensorProto" and number == _RAW_DATA:
            pieces += (data[kept_from:start], _mark(len(regions)))
            regions.append((content, position - content))
            kept_from = position
        elif number in inside:
            inner = _copy(data, content, position, inside[number], regions, depth + 1)
            if len(inner) > 1:
                pieces += (data[kept_from:start], write_varint(tag), write_varint(sum(map(len, inner))), *inner)
                kept_from = position
    pieces.append(data[kept_from:end])
    return pieces


def _mark(index: int) -> bytes:
    key, value = MARK.encode(), str(index).encode()
    entry = b"\x0a" + write_varint(len(key)) + key + b"\x12" + write_varint(len(value)) + value
    return write_varint(_EXTERNAL_DATA << 3 | _BYTES) + write_varint(len(entry)) + entry


__all__ = ["LARGE", "MARK", "Stripped", "read_varint", "strip_weights", "write_varint"]
