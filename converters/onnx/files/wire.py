"""The protobuf wire format, as far as it takes to leave weights where they are.

`strip_weights` copies a serialized ModelProto without the raw bytes of its large tensors and says where in the file
they lie, so that the message can be parsed at the size of its structure. Field numbers are those of onnx.proto.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from graphir.converters.kernel.protobuf import BYTES, read_field, write_varint
from graphir.errors import FormatError

LARGE = 1024
MARK = "graphir.region"
DEEPEST = 100

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


def strip_weights(data: memoryview) -> Stripped:
    """Return a serialized ModelProto without the raw data of 1 KB and more. Linear in the number of nodes.

    Raises FormatError, with the byte where it happens, for bytes that are no protobuf or that end too early.
    """
    result = Stripped(b"")
    result.message = b"".join(_copy(data, 0, len(data), "ModelProto", result.regions, 0))
    return result


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
        number, wire_type, content, position = read_field(data, position, end, message)
        if wire_type != BYTES or position - content < LARGE:
            continue
        if message == "TensorProto" and number == _RAW_DATA:
            pieces += (data[kept_from:start], _mark(len(regions)))
            regions.append((content, position - content))
            kept_from = position
        elif number in inside:
            inner = _copy(data, content, position, inside[number], regions, depth + 1)
            if len(inner) > 1:
                header = write_varint(number << 3 | BYTES) + write_varint(sum(map(len, inner)))
                pieces += (data[kept_from:start], header, *inner)
                kept_from = position
    pieces.append(data[kept_from:end])
    return pieces


def _mark(index: int) -> bytes:
    key, value = MARK.encode(), str(index).encode()
    entry = b"\x0a" + write_varint(len(key)) + key + b"\x12" + write_varint(len(value)) + value
    return write_varint(_EXTERNAL_DATA << 3 | BYTES) + write_varint(len(entry)) + entry
