"""ONNX records to bytes, weights streamed: a weight is never held in anonymous memory.

The graph without its weights is a protobuf message like any other. Weights are spliced into its stream: a tensor's
header, then its bytes, copied from file to file. Field numbers and wire types are those of onnx.proto.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from graphir.converters.kernel.protobuf import write_varint
from graphir.converters.onnx.dtypes import CODES, code_of
from graphir.converters.onnx.exporting.context import OnnxGraph, OnnxNode, SerializedAttribute
from graphir.converters.onnx.exporting.exporter import OnnxModel
from graphir.converters.onnx.files.records import DIM_PARAM, FIELD, METADATA, PRODUCER
from graphir.converters.onnx.importing.notes import NODE, TENSOR, VALUE, Notes
from graphir.errors import ExportFailure
from graphir.files.regions import SourceFiles
from graphir.files.writing import replacing, replacing_pair
from graphir.tensor import Tensor
from graphir.types import ANYTHING, DType, OptionalType, SequenceType, SparseTensorType, Sym, TensorType, Type

SINGLE_FILE_LIMIT = (1 << 31) - (1 << 20)
INLINE_BELOW = 1024
WEIGHT_MODES = ("auto", "inline", "external", "reference")


def write_model(model: OnnxModel, path: str | os.PathLike[str], *, weights: str = "auto") -> list[Path]:
    """Write the model and return the files written, the .onnx first.

    `weights`: `inline` puts everything into one file, which ends below 2 GiB; `external` puts weights of 1 KB and more,
    if there are any, into `<name>.data` beside it; `reference` leaves them in the source's .params, which must lie in
    the folder of the target or below; `auto` is inline where that fits, else external. Nothing is left behind by a
    failure.
    Raises ExportFailure.
    """
    if weights not in WEIGHT_MODES:
        raise ExportFailure(f"weights={weights!r}: expected one of {', '.join(WEIGHT_MODES)}")
    target = Path(path)
    total = sum(_stored_size(tensor) for tensor in model.initializers.values())
    if weights == "auto":
        weights = "inline" if total < SINGLE_FILE_LIMIT else "external"
    if weights == "inline" and total >= SINGLE_FILE_LIMIT:
        raise ExportFailure(
            f"{total} bytes of weights do not fit into one ONNX file (protobuf ends at 2 GiB); "
            "use --weights external"
        )
    if weights == "inline" or (weights == "external" and not any(map(_is_large, model.initializers.values()))):
        with replacing(target) as (file,):
            _write_stream(model, file, {})
        return [target]
    if weights == "reference":
        places = _reference_places(model, target)
        with replacing(target) as (file,):
            _write_stream(model, file, places)
        return [target]
    data = target.with_name(target.name + ".data")
    with replacing_pair(data, target) as pair:
        stretches = _write_external(model, pair.weights)
        for location, file in pair.descriptions:
            _write_stream(model, file, {name: (location, *stretch) for name, stretch in stretches.items()})
    return [target, data]


def model_bytes(model: OnnxModel) -> bytes:
    """The whole model as bytes, weights included. Raises ExportFailure beyond protobuf's 2 GiB."""
    import io

    total = sum(_stored_size(tensor) for tensor in model.initializers.values())
    if total >= SINGLE_FILE_LIMIT:
        raise ExportFailure(f"{total} bytes of weights do not fit into one protobuf message; write the model to a file")
    stream = io.BytesIO()
    _write_stream(model, stream, {})
    return stream.getvalue()


def output_addition(names: Sequence[str]) -> bytes:
    """Bytes that, behind those of a model, make it a model with these values as further outputs.

    Protobuf reads repeated fields and messages that come again as one.
    """
    import onnx

    outputs = [onnx.ValueInfoProto(name=name) for name in names]
    return bytes(onnx.ModelProto(graph=onnx.GraphProto(output=outputs)).SerializeToString())


Place = tuple[str, int, int]


def _stored_size(tensor: Tensor) -> int:
    return 0 if tensor.dtype is DType.STRING else tensor.nbytes


def _is_large(tensor: Tensor) -> bool:
    return _stored_size(tensor) >= INLINE_BELOW


def _write_external(model: OnnxModel, file: IO[bytes]) -> dict[str, tuple[int, int]]:
    """Write the large weights; the offset and length of each."""
    stretches: dict[str, tuple[int, int]] = {}
    position = 0
    with SourceFiles() as sources:
        for name, tensor in model.initializers.items():
            if not _is_large(tensor):
                continue
            align = 4096 if tensor.nbytes >= 1 << 20 else 64
            gap = -position % align
            file.write(bytes(gap))
            stretches[name] = (position + gap, tensor.nbytes)
            position += gap + tensor.write_to(file, sources)
    return stretches


def _reference_places(model: OnnxModel, target: Path) -> dict[str, Place]:
    folder = Path(os.path.abspath(target)).parent
    places: dict[str, Place] = {}
    for name, tensor in model.initializers.items():
        if tensor.region is None or tensor.nbytes < INLINE_BELOW:
            continue
        source = Path(os.path.abspath(tensor.region.path))
        if not source.is_relative_to(folder):
            raise ExportFailure(
                f"--weights reference: the weights lie in {source}, outside the target's folder {folder}; "
                "write the .onnx beside them, or use --weights external"
            )
        places[name] = (source.relative_to(folder).as_posix(), tensor.region.offset, tensor.region.nbytes)
    return places


def _write_stream(model: OnnxModel, file: IO[bytes], places: Mapping[str, Place]) -> None:
    """ModelProto: everything but the graph (fields 1 to 3, 8, 14), then the graph (7) with its initializers (5)."""
    head, graph = _messages(model)
    notes = Notes(model.metadata)
    body = graph.SerializeToString()
    frames: list[tuple[bytes, Tensor | None]] = []
    length = len(body)
    for name, tensor in model.initializers.items():
        header, size = _tensor_header(name, tensor, places.get(name), notes)
        frame = _tag(5, 2) + write_varint(len(header) + size) + header
        frames.append((frame, tensor if size else None))
        length += len(frame) + size
    start = head.SerializeToString() + _tag(7, 2) + write_varint(length)
    if len(start) + length >= SINGLE_FILE_LIMIT + (1 << 20):
        raise ExportFailure(f"the model takes {length} bytes, more than protobuf's 2 GiB; use --weights external")
    file.write(start)
    with SourceFiles() as sources:
        for frame, weight in frames:
            file.write(frame)
            if weight is not None:
                weight.write_to(file, sources)
    file.write(body)


def _tensor_header(name: str, tensor: Tensor, place: Place | None, notes: Notes | None) -> tuple[bytes, int]:
    """The TensorProto up to its raw data, and how many bytes of raw data follow it."""
    import onnx

    proto = onnx.TensorProto(dims=tensor.shape, data_type=CODES[tensor.dtype], name=name)
    if notes is not None:
        notes.restore(TENSOR, (name,), proto)
    if tensor.dtype is DType.STRING:
        texts = tensor.numpy().reshape(-1)
        proto.string_data.extend(_utf8(text, name) for text in texts)
        return proto.SerializeToString(), 0
    if place is not None:
        location, offset, length = place
        proto.data_location = onnx.TensorProto.EXTERNAL
        for key, text in (("location", location), ("offset", str(offset)), ("length", str(length))):
            proto.external_data.add(key=key, value=text)
        return proto.SerializeToString(), 0
    return proto.SerializeToString() + _tag(9, 2) + write_varint(tensor.nbytes), tensor.nbytes


def _utf8(text: object, what: str) -> bytes:
    """The bytes of a text. Odd ones that an import kept as surrogates come back. Raises ExportFailure for other halves
    of surrogate pairs."""
    if isinstance(text, bytes):
        return text
    try:
        return str(text).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise ExportFailure(f"{what}: {text!r} holds half of a surrogate pair, which UTF-8 has no bytes for") from error


def _tag(field: int, wire_type: int) -> bytes:
    return write_varint(field << 3 | wire_type)


def _messages(model: OnnxModel) -> tuple[Any, Any]:
    """The ModelProto without a graph, and the GraphProto without initializers."""
    import onnx
    import onnx.helper

    imports = {"": model.opset, **model.domains}
    opsets = [onnx.helper.make_opsetid(domain, version) for domain, version in imports.items()]
    head = onnx.ModelProto(
        ir_version=model.ir_version,
        producer_name=PRODUCER,
        producer_version=_version(),
        opset_import=opsets,
    )
    _fill_fields(head, model.metadata)
    graph = onnx.GraphProto()
    dims = {key[len(DIM_PARAM) :]: text for key, text in model.metadata.items() if key.startswith(DIM_PARAM)}
    _fill_graph(graph, model, dims)
    return head, graph


def _fill_fields(head: Any, metadata: Mapping[str, str]) -> None:
    """Metadata of the model's own; what an import kept of the model's fields goes back into those."""
    for key, text in metadata.items():
        if not key.startswith(FIELD) or key.startswith(METADATA):
            head.metadata_props.add(key=key.removeprefix(METADATA), value=text)
    head.domain = metadata.get(f"{FIELD}domain", "")
    head.doc_string = metadata.get(f"{FIELD}doc_string", "")
    version = metadata.get(f"{FIELD}model_version", "")
    if version.lstrip("-").isdigit():
        head.model_version = int(version)


def _fill_graph(proto: Any, graph: OnnxGraph, dims: Mapping[str, str]) -> None:
    """Everything but the initializers. `dims` maps symbols to the names that their source had for them."""
    notes = Notes(graph.metadata)
    notes.restore_graph(proto)
    proto.name = graph.name
    stated = ((graph.inputs, proto.input), (graph.outputs, proto.output), (graph.value_info, proto.value_info))
    for values, field in stated:
        for name, type_ in values:
            made = field.add()
            _fill_value(made, name, type_, dims)
            notes.restore(VALUE, (name,), made)
    add = proto.node.add
    for node in graph.nodes:
        made = add(op_type=node.op_type, input=node.inputs, output=node.outputs)
        if node.name:
            made.name = node.name
        if node.domain:
            made.domain = node.domain
        if node.attributes:
            _fill_attributes(made, node, dims)
        notes.restore(NODE, node.outputs, made)


def _fill_subgraph(proto: Any, graph: OnnxGraph, dims: Mapping[str, str]) -> None:
    _fill_graph(proto, graph, dims)
    notes = Notes(graph.metadata)
    for name, tensor in graph.initializers.items():
        proto.initializer.add().ParseFromString(_tensor_bytes(name, tensor, notes))


def _tensor_bytes(name: str, tensor: Tensor, notes: Notes | None = None) -> bytes:
    header, size = _tensor_header(name, tensor, None, notes)
    return header + b"".join(tensor.chunks()) if size else header


def _version() -> str:
    from graphir import __version__

    return __version__


def _fill_attributes(proto: Any, node: OnnxNode, dims: Mapping[str, str]) -> None:
    add = proto.attribute.add
    for name, value in node.attributes.items():
        whole = [item for item in (value if isinstance(value, tuple | list) else [value]) if isinstance(item, int)]
        if any(not -(1 << 63) <= item < 1 << 63 for item in whole):
            raise ExportFailure(f"{node.name} ({node.op_type}): attribute {name} is {value!r}: it needs over 64 bits")
        if isinstance(value, bool | int):
            add(name=name, type=2, i=int(value))
        elif isinstance(value, float):
            add(name=name, type=1, f=value)
        elif isinstance(value, str | bytes):
            add(name=name, type=3, s=_utf8(value, f"attribute {name} of {node.name}"))
        elif isinstance(value, Tensor):
            add(name=name, type=4).t.ParseFromString(_tensor_bytes("", value))
        elif isinstance(value, OnnxGraph):
            _fill_subgraph(add(name=name, type=5).g, value, dims)
        elif isinstance(value, SerializedAttribute):
            add().ParseFromString(value.data)
        elif isinstance(value, TensorType | SparseTensorType | SequenceType | OptionalType):
            _fill_type(add(name=name, type=13).tp, name, value, dims)
        elif isinstance(value, tuple | list) and all(isinstance(item, int) for item in value):
            add(name=name, type=7, ints=value)
        elif isinstance(value, tuple | list) and all(isinstance(item, int | float) for item in value):
            add(name=name, type=6, floats=value)
        elif isinstance(value, tuple | list) and all(isinstance(item, str) for item in value):
            add(name=name, type=8, strings=[_utf8(item, f"attribute {name} of {node.name}") for item in value])
        else:
            raise ExportFailure(f"{node.name} ({node.op_type}): attribute {name} is {value!r}, which ONNX cannot hold")


def _fill_value(proto: Any, name: str, type_: Type, dims: Mapping[str, str]) -> None:
    proto.name = name
    if type_ != ANYTHING:
        _fill_type(proto.type, name, type_, dims)


def _fill_type(proto: Any, name: str, type_: Type, dims: Mapping[str, str]) -> None:
    if isinstance(type_, SequenceType):
        _fill_type(proto.sequence_type.elem_type, name, type_.element, dims)
        return
    if isinstance(type_, OptionalType):
        _fill_type(proto.optional_type.elem_type, name, type_.element, dims)
        return
    assert isinstance(type_, TensorType | SparseTensorType)
    tensor = proto.sparse_tensor_type if isinstance(type_, SparseTensorType) else proto.tensor_type
    tensor.elem_type = code_of(type_.dtype, name)
    if type_.shape is None:
        return
    tensor.shape.SetInParent()
    for dim in type_.shape:
        entry = tensor.shape.dim.add()
        if isinstance(dim, int):
            if dim >= 1 << 63:
                raise ExportFailure(f"{name} is {type_}: a size needs over 64 bits")
            entry.dim_value = dim
        elif isinstance(dim, Sym):
            entry.dim_param = dims.get(str(dim), str(dim))


__all__ = ["INLINE_BELOW", "SINGLE_FILE_LIMIT", "WEIGHT_MODES", "model_bytes", "output_addition", "write_model"]
