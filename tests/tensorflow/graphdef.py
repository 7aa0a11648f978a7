"""GraphDefs written without TensorFlow: the wire format from dicts, and nodes from Python values."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.converters.tensorflow.dtypes import NAMES
from graphir.converters.tensorflow.files.messages import MessageField, fields_by_name
from graphir.converters.tensorflow.schema.operators import operator_schema
from graphir.types import DType

CODES = {name: code for code, name in NAMES.items()}
PRODUCER = 1882
_VARINTS = {"int", "uint", "bool", "DataType"}


def varint(number: int) -> bytes:
    """A number as protobuf has it; negative ones as 64 bits."""
    number &= (1 << 64) - 1
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def encode(message: str, content: Mapping[str, Any]) -> bytes:
    """The bytes of a message that a dict describes, as `wire.decode` gives it (blobs as bytes)."""
    fields = fields_by_name(message)
    found = b""
    for name, value in content.items():
        field = fields[name]
        if field.is_map:
            for key, held in value.items():
                entry = _field(MessageField("key", "string", 1), key) + _field(
                    MessageField("value", field.kind, 2), held
                )
                found += _chunk(field.number, entry)
        else:
            found += b"".join(_field(field, held) for held in (value if field.repeated else [value]))
    return found


def _chunk(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def _field(field: MessageField, value: Any) -> bytes:
    if field.kind in _VARINTS:
        return varint(field.number << 3) + varint(int(value))
    if field.kind == "float":
        return varint(field.number << 3 | 5) + struct.pack("<f", value)
    if field.kind == "double":
        return varint(field.number << 3 | 1) + struct.pack("<d", value)
    if field.kind in ("string", "bytes", "blob"):
        return _chunk(field.number, value.encode() if isinstance(value, str) else bytes(value))
    return _chunk(field.number, encode(field.kind, value))


def shape_proto(shape: Sequence[int | None] | None) -> dict[str, Any]:
    """A TensorShapeProto: None and -1 are unknown sizes."""
    if shape is None:
        return {"unknown_rank": True}
    return {"dim": [{"size": -1 if size is None else size} for size in shape]}


def tensor_proto(array: NDArray[Any]) -> dict[str, Any]:
    """A TensorProto; strings are arrays of objects."""
    if array.dtype.kind in "OSU":
        texts = [item if isinstance(item, bytes) else str(item).encode() for item in array.reshape(-1).tolist()]
        return {"dtype": 7, "tensor_shape": shape_proto(array.shape), "string_val": texts}
    dtype = CODES[DType.of(array.dtype).value]
    return {"dtype": dtype, "tensor_shape": shape_proto(array.shape), "tensor_content": array.tobytes()}


def attr_value(kind: str, value: Any) -> dict[str, Any]:
    """An AttrValue of the kind that the schema states."""
    if kind.startswith("list("):
        inner = [attr_value(kind[5:-1], entry) for entry in value]
        found: dict[str, list[Any]] = {}
        for entry in inner:
            for name, held in entry.items():
                found.setdefault(name, []).append(held)
        return {"list": found}
    match kind:
        case "string":
            return {"s": value.encode() if isinstance(value, str) else value}
        case "int":
            return {"i": int(value)}
        case "float":
            return {"f": float(value)}
        case "bool":
            return {"b": bool(value)}
        case "type":
            return {"type": CODES[str(value)]}
        case "shape":
            return {"shape": shape_proto(value)}
        case "tensor":
            return {"tensor": tensor_proto(value)}
        case "func":
            return {"func": {"name": value}}
    raise ValueError(f"attribute kind {kind!r}")


def node(op: str, name: str, inputs: Sequence[str] = (), **attrs: Any) -> dict[str, Any]:
    """A NodeDef; attributes are of the kinds that TensorFlow's schema states."""
    schema = operator_schema(op)
    kinds: Mapping[str, str] = {} if schema is None else schema.kinds
    values = {key: attr_value(kinds.get(key) or _kind(value), value) for key, value in attrs.items()}
    return {"name": name, "op": op, "input": list(inputs), "attr": values}


def _kind(value: object) -> str:
    """The kind of an attribute that no schema describes."""
    for cls, kind in ((bool, "bool"), (int, "int"), (float, "float"), (str, "string")):
        if isinstance(value, cls):
            return kind
    raise ValueError(f"no kind of attribute for {value!r}")


def placeholder(name: str, dtype: str, shape: Sequence[int | None] | None) -> dict[str, Any]:
    """A Placeholder."""
    return node("Placeholder", name, dtype=dtype, shape=shape)


def const(name: str, array: NDArray[Any] | Sequence[Any] | float, dtype: str | None = None) -> dict[str, Any]:
    """A Const."""
    value = np.asarray(array, dtype)
    return node("Const", name, dtype=DType.of(value.dtype).value, value=value)


def quantized(name: str, array: NDArray[Any], dtype: str) -> dict[str, Any]:
    """A Const of a quantized type (`quint8`), whose elements are those integers."""
    found = const(name, array)
    found["attr"]["dtype"] = {"type": CODES[dtype]}
    found["attr"]["value"]["tensor"]["dtype"] = CODES[dtype]
    return found


def function(
    name: str,
    arguments: Mapping[str, str],
    results: Mapping[str, tuple[str, str]],
    *nodes: Mapping[str, Any],
) -> dict[str, Any]:
    """A FunctionDef: arguments with their dtypes, results with their dtypes and what they are (`node:output:0`)."""
    signature = {
        "name": name,
        "input_arg": [{"name": argument, "type": CODES[dtype]} for argument, dtype in arguments.items()],
        "output_arg": [{"name": result, "type": CODES[dtype]} for result, (dtype, _) in results.items()],
    }
    return {"signature": signature, "node_def": list(nodes), "ret": {key: text for key, (_, text) in results.items()}}


def graph_def(*nodes: Mapping[str, Any], producer: int = PRODUCER, functions: Sequence[Any] = ()) -> bytes:
    """The bytes of a GraphDef."""
    content: dict[str, Any] = {"node": nodes, "versions": {"producer": producer, "min_consumer": 12}}
    if functions:
        content["library"] = {"function": functions}
    return encode("GraphDef", content)
