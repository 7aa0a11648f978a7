"""ONNX records as the bytes of their protobuf messages, but for a model's initializers, which the writer streams.

Field numbers and wire types are those of onnx.proto; fields stand in the order of their numbers, empty texts are left
out.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from graphir.converters.kernel.protobuf import BYTES, FIXED32, VARINT, write_varint
from graphir.converters.onnx.dtypes import CODES, code_of
from graphir.converters.onnx.files.notes import NODE, NOTHING, TENSOR, VALUE, Note, Notes
from graphir.converters.onnx.files.records import (
    DIM_PARAM,
    FIELD,
    METADATA,
    PRODUCER,
    OnnxGraph,
    OnnxModel,
    OnnxNode,
    SerializedAttribute,
)
from graphir.errors import ExportFailure
from graphir.structure.store import REWRITTEN
from graphir.tensor import Tensor
from graphir.types import (
    ANYTHING,
    TYPES,
    DType,
    MapType,
    OptionalType,
    SequenceType,
    SparseTensorType,
    Sym,
    TensorType,
    Type,
)

INT64 = 1 << 63
Place = tuple[str, int, int]
_EXTERNAL = 1  # TensorProto.DataLocation
_FLOAT, _INT, _STRING, _TENSOR, _GRAPH, _FLOATS, _INTS, _STRINGS, _TYPE = 1, 2, 3, 4, 5, 6, 7, 8, 13  # AttributeType
_WHOLE = r"-?\d{1,20}"
_SHORT = [bytes((number,)) for number in range(128)]


def framed(number: int, content: bytes) -> bytes:
    """Return a field that is a message, a text or bytes. The numbers of ONNX's fields with such are below 16."""
    length = len(content)
    return _SHORT[number << 3 | BYTES] + (_SHORT[length] if length < 128 else write_varint(length)) + content


def header_of(number: int, length: int) -> bytes:
    """Return what stands before the content of such a field."""
    return _SHORT[number << 3 | BYTES] + write_varint(length)


def output_addition(names: Sequence[str]) -> bytes:
    """Return bytes that, behind those of a model, make it one with these values as further outputs.

    Protobuf reads repeated fields and messages that come again as one.
    """
    return framed(7, b"".join([framed(12, _text(1, name)) for name in names]))


def input_addition(types: Mapping[str, tuple[int, Sequence[int]]]) -> bytes:
    """Bytes that, behind those of a model, make weights of it defaults of inputs, given their element types and shapes.

    Weights are defaults of inputs from version 4 of the format on; an older model becomes one of that.
    """
    inputs = []
    for name, (code, shape) in types.items():
        sizes = b"".join(framed(1, write_varint(1 << 3) + write_varint(size)) for size in shape)
        tensor = write_varint(1 << 3) + write_varint(code) + framed(2, sizes)
        inputs.append(framed(11, _text(1, name) + framed(2, framed(1, tensor))))
    return framed(7, b"".join(inputs))


def model_message(model: OnnxModel) -> bytes:
    """Return the ModelProto without its graph."""
    metadata = model.metadata
    version = metadata.get(f"{FIELD}model_version", "")
    properties = {
        key.removeprefix(METADATA): text
        for key, text in metadata.items()
        if (not key.startswith(FIELD) or key.startswith(METADATA)) and key != REWRITTEN
    }
    imports = {"": model.opset, **model.domains}
    return b"".join((
        _integer(1, model.ir_version),
        _text(2, PRODUCER),
        _text(3, _version()),
        _text(4, metadata.get(f"{FIELD}domain", "")),
        _integer(5, int(version)) if version and re.fullmatch(_WHOLE, version) else b"",
        _text(6, metadata.get(f"{FIELD}doc_string", "")),
        *(framed(8, framed(1, domain.encode()) + _integer(2, opset)) for domain, opset in imports.items()),
        _entries(14, properties.items()),
    ))  # fmt: skip


def graph_message(model: OnnxModel) -> bytes:
    """Return the model's GraphProto without its initializers."""
    dims = {key[len(DIM_PARAM) :]: text for key, text in model.metadata.items() if key.startswith(DIM_PARAM)}
    return _graph(model, dims, b"")


def tensor_header(name: str, tensor: Tensor, location: Place | None, note: Note = NOTHING) -> tuple[bytes, int]:
    """Return the TensorProto up to its raw data, and how many bytes of raw data follow it; `location` is that of its
    elements in another file: the path, the offset and the length."""
    texts: Iterable[object] = ()
    end = b""
    if tensor.dtype is DType.STRING:
        texts = tensor.numpy().reshape(-1)
    elif location is not None:
        entries = zip(("location", "offset", "length"), map(str, location), strict=True)
        end = _entries(13, entries) + _integer(14, _EXTERNAL)
    header = b"".join((
        *(_integer(1, size) for size in tensor.shape),
        _integer(2, CODES[tensor.dtype]),
        *(framed(6, _utf8(text, name)) for text in texts),
        _text(8, name),
        _text(12, note.doc_string),
        end,
        _long_entries(16, note.entries),
    ))  # fmt: skip
    if location is not None or tensor.dtype is DType.STRING:
        return header, 0
    return header + header_of(9, tensor.nbytes), tensor.nbytes


def _version() -> str:
    from graphir import __version__

    return __version__


def _utf8(text: object, what: str) -> bytes:
    """Return the bytes of a text. Odd ones that an import kept as surrogates come back. Raises ExportFailure for other
    halves of surrogate pairs."""
    if isinstance(text, bytes):
        return text
    try:
        return str(text).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise ExportFailure(f"{what}: {text!r} holds half of a surrogate pair, which UTF-8 has no bytes for") from error


def _text(number: int, text: str) -> bytes:
    """Return a field that is a text; nothing for an empty one."""
    return framed(number, text.encode()) if text else b""


def _integer(number: int, value: int) -> bytes:
    """Return a field that is an int64. Raises ExportFailure for a number beyond that."""
    if 0 <= value < 128:
        return _SHORT[number << 3 | VARINT] + _SHORT[value]
    if not -INT64 <= value < INT64:
        raise ExportFailure(f"the number {value} in the graph's metadata needs over 64 bits")
    return _SHORT[number << 3 | VARINT] + write_varint(value % (2 * INT64))


def _float(number: int, value: float) -> bytes:
    """Return a field that is a float32, infinite beyond its range."""
    try:
        packed = struct.pack("<f", value)
    except OverflowError:
        packed = struct.pack("<f", float("inf") if value > 0 else float("-inf"))
    return _SHORT[number << 3 | FIXED32] + packed


def _entries(number: int, pairs: Iterable[tuple[str, str]]) -> bytes:
    """StringStringEntryProtos."""
    return b"".join([framed(number, framed(1, key.encode()) + framed(2, text.encode())) for key, text in pairs])


def _long_entries(number: int, pairs: Iterable[tuple[str, str]]) -> bytes:
    """Return the same in a field with a number of 16 and more."""
    entries = [framed(1, key.encode()) + framed(2, text.encode()) for key, text in pairs]
    return b"".join([write_varint(number << 3 | BYTES) + write_varint(len(entry)) + entry for entry in entries])


def _graph(graph: OnnxGraph, dims: Mapping[str, str], initializers: bytes) -> bytes:
    """Return a GraphProto. `dims` maps symbols to the names that their source had for them."""
    notes = Notes(graph.metadata)
    about = notes.of_graph()
    return b"".join((
        *[framed(1, _node(node, dims, notes.of(NODE, node.outputs))) for node in graph.nodes],
        _text(2, graph.name),
        initializers,
        _text(10, about.doc_string),
        *_values(11, graph.inputs, dims, notes),
        *_values(12, graph.outputs, dims, notes),
        *_values(13, graph.value_info, dims, notes),
        _long_entries(16, about.entries),
    ))  # fmt: skip


def _subgraph(graph: OnnxGraph, dims: Mapping[str, str]) -> bytes:
    notes = Notes(graph.metadata)
    tensors = [_tensor(name, tensor, notes.of(TENSOR, (name,))) for name, tensor in graph.initializers.items()]
    return _graph(graph, dims, b"".join([framed(5, tensor) for tensor in tensors]))


def _tensor(name: str, tensor: Tensor, note: Note = NOTHING) -> bytes:
    header, size = tensor_header(name, tensor, None, note)
    return header + b"".join(tensor.chunks()) if size else header


def _node(node: OnnxNode, dims: Mapping[str, str], note: Note) -> bytes:
    """Return a NodeProto."""
    fields = [framed(1, name.encode()) for name in node.inputs]
    fields += [framed(2, name.encode()) for name in node.outputs]
    fields += (_text(3, node.name), _text(4, node.op_type))
    for name, value in node.attributes.items():
        fields.append(framed(5, _attribute(node, name, value, dims)))
    if note is not NOTHING or node.domain:
        fields += (_text(6, note.doc_string), _text(7, node.domain), _entries(9, note.entries))
    return b"".join(fields)


def _attribute(node: OnnxNode, name: str, value: Any, dims: Mapping[str, str]) -> bytes:
    """Return an AttributeProto. Raises ExportFailure for a value that it cannot hold."""
    if isinstance(value, SerializedAttribute):
        return value.data
    what = f"attribute {name} of {node.name}"
    if isinstance(value, tuple | list):
        kind, content = _list_field(node, name, value, what)
    elif isinstance(value, bool | int):
        _check_whole(node, name, value, (value,))
        kind, content = _INT, _integer(3, int(value))
    elif isinstance(value, float):
        kind, content = _FLOAT, _float(2, value)
    elif isinstance(value, str | bytes):
        kind, content = _STRING, framed(4, _utf8(value, what))
    elif isinstance(value, Tensor):
        kind, content = _TENSOR, framed(5, _tensor("", value))
    elif isinstance(value, OnnxGraph):
        kind, content = _GRAPH, framed(6, _subgraph(value, dims))
    elif isinstance(value, TYPES):
        kind, content = _TYPE, framed(14, _type(name, value, dims))
    else:
        raise _unsupported_value(node, name, value)
    return framed(1, name.encode()) + content + write_varint(20 << 3 | VARINT) + _SHORT[kind]


def _list_field(node: OnnxNode, name: str, value: Sequence[Any], what: str) -> tuple[int, bytes]:
    """Return the type and the field of an attribute that is a list: of integers, of numbers, or of texts."""
    whole = [item for item in value if isinstance(item, int)]
    _check_whole(node, name, value, whole)
    if len(whole) == len(value):
        return _INTS, b"".join([_integer(8, int(item)) for item in whole])
    if all(isinstance(item, int | float) for item in value):
        return _FLOATS, b"".join([_float(7, item) for item in value])
    if all(isinstance(item, str) for item in value):
        return _STRINGS, b"".join([framed(9, _utf8(item, what)) for item in value])
    raise _unsupported_value(node, name, value)


def _check_whole(node: OnnxNode, name: str, value: object, whole: Sequence[int]) -> None:
    if any(not -INT64 <= item < INT64 for item in whole):
        raise ExportFailure(f"{node.name} ({node.op_type}): attribute {name} is {value!r}: it needs over 64 bits")


def _unsupported_value(node: OnnxNode, name: str, value: object) -> ExportFailure:
    return ExportFailure(f"{node.name} ({node.op_type}): attribute {name} is {value!r}, which ONNX cannot hold")


def _values(
    number: int, values: Sequence[tuple[str, Type]], dims: Mapping[str, str], notes: Notes
) -> Iterable[bytes]:
    """ValueInfoProtos."""
    for name, type_ in values:
        note = notes.of(VALUE, (name,))
        type_field = b"" if type_ == ANYTHING else framed(2, _type(name, type_, dims))
        ends = (_text(3, note.doc_string), _entries(4, note.entries))
        yield framed(number, b"".join((framed(1, name.encode()), type_field, *ends)))


def _type(name: str, type_: Type, dims: Mapping[str, str]) -> bytes:
    """Return a TypeProto."""
    if isinstance(type_, SequenceType | OptionalType):
        return framed(4 if isinstance(type_, SequenceType) else 9, framed(1, _type(name, type_.element, dims)))
    if isinstance(type_, MapType):
        return framed(5, _integer(1, code_of(type_.key, name)) + framed(2, _type(name, type_.element, dims)))
    assert isinstance(type_, TensorType | SparseTensorType)
    content = _integer(1, code_of(type_.dtype, name))
    if type_.shape is not None:
        sizes = []
        for dim in type_.shape:
            if isinstance(dim, int) and dim >= INT64:
                raise ExportFailure(f"{name} is {type_}: a size needs over 64 bits")
            known = _integer(1, dim) if isinstance(dim, int) else b""
            sizes.append(_text(2, dims.get(str(dim), str(dim))) if isinstance(dim, Sym) else known)
        content += framed(2, b"".join([framed(1, size) for size in sizes]))
    return framed(8 if isinstance(type_, SparseTensorType) else 1, content)
