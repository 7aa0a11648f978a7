"""Bytes to a ModelProto, with the weights left in the file."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphir.converters.kernel.impostors import refuse_impostors
from graphir.converters.onnx.files.records import DEFAULT_DOMAINS as DEFAULT_DOMAINS
from graphir.converters.onnx.files.stripped import NOT_ONNX, stripped_content
from graphir.converters.onnx.files.tensors import TensorSource
from graphir.errors import FormatError, ImportFailure
from graphir.files.reading import open_plain
from graphir.files.regions import stamp_of

if TYPE_CHECKING:
    import onnx


@dataclass
class OnnxSource:
    """An opened model: its ModelProto, large weights stripped, and where the tensors' bytes lie."""

    model: Any
    tensors: TensorSource

    @property
    def path(self) -> Path | None:
        """The model's file, None if it came from memory."""
        return self.tensors.path

    @property
    def opsets(self) -> dict[str, int]:
        """The version of every imported domain; the default domain is ""."""
        return versions_of(self.model)


def versions_of(proto: Any) -> dict[str, int]:
    """Return the domains that a ModelProto or FunctionProto imports; the default domain is ""."""
    return {"" if entry.domain in DEFAULT_DOMAINS else entry.domain: entry.version for entry in proto.opset_import}


def open_model(source: onnx.ModelProto | bytes | str | os.PathLike[str]) -> OnnxSource:
    """Return a model ready for import. Large weights of a file are not read.

    Raises FormatError for what is no ONNX model, is cut short, has no `ir_version` or `opset_import`, or has a newer
    opset than the installed onnx knows, and ImportFailure for a file that is not there.
    """
    import onnx

    if isinstance(source, onnx.ModelProto):
        opened = OnnxSource(source, TensorSource())
    elif isinstance(source, bytes | bytearray | memoryview):
        opened = OnnxSource(_parse_model(bytes(source), None), TensorSource())
    else:
        opened = _open_file(Path(source))
    _check(opened)
    return opened


def _open_file(path: Path) -> OnnxSource:
    """Return the file's structure. The map goes with the last view of it, which an error's traceback may hold."""
    try:
        with open_plain(path) as file:
            status = os.fstat(file.fileno())
            stamp = stamp_of(status)
            if status.st_size == 0:
                raise FormatError("the file is empty", path=path)
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise ImportFailure(f"cannot read {path}: {error.strerror or error}") from error
    stripped = stripped_content(memoryview(mapped), status, path)
    return OnnxSource(_parse_model(stripped.message, path), TensorSource(path, stripped.regions, stamp))


def _parse_model(data: bytes, path: Path | None) -> Any:
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    refuse_impostors(data[:64], NOT_ONNX, "an ONNX model", path)
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError as error:
        raise FormatError(f"not an ONNX model, or cut short: {error}", path=path) from error
    return model


def _check(opened: OnnxSource) -> None:
    import onnx.defs

    model, path = opened.model, opened.path
    if not model.HasField("graph"):
        raise FormatError("not an ONNX model: it has no graph", path=path)
    if not model.ir_version:
        raise FormatError("not a valid ONNX model: it states no ir_version", path=path)
    if not model.opset_import:
        raise FormatError(
            "not a valid ONNX model: it has no opset_import, so that no operator's version is known; "
            "add one with onnx.helper.make_opsetid if you know it",
            path=path,
        )
    versions: dict[str, int] = {}
    for entry in model.opset_import:
        domain = "" if entry.domain in DEFAULT_DOMAINS else entry.domain
        if versions.setdefault(domain, entry.version) != entry.version:
            text = f"not a valid ONNX model: it imports the opsets {versions[domain]} and {entry.version} of {domain!r}"
            raise FormatError(text, path=path)
    _check_texts(model, path)
    newest = int(onnx.defs.onnx_opset_version())
    _check_opset(opened.opsets, "", newest, path)
    for function in model.functions:
        _check_opset(versions_of(function), f"function {function.name}: ", newest, path)


def _check_opset(opsets: Mapping[str, int], where: str, newest: int, path: Path | None) -> None:
    import onnx

    opset = opsets.get("")
    if opset is not None and not 1 <= opset <= newest:
        raise FormatError(
            f"{where}opset {opset} is unknown: the installed onnx {onnx.__version__} knows 1 to {newest}; "
            "a newer onnx may know it (pip install -U onnx)",
            path=path,
        )
    odd = next((domain for domain, version in opsets.items() if not 1 <= version < 1 << 31), None)
    if odd is not None:
        raise FormatError(f"{where}domain {odd} has the version {opsets[odd]}, which cannot be", path=path)


def _check_texts(model: Any, path: Path | None) -> None:
    """Raise FormatError for a name that is not UTF-8, which protobuf hands out as bytes."""
    names: list[object] = [entry.domain for entry in model.opset_import]
    names += _names_in_graph(model.graph)
    for function in model.functions:
        names += (function.name, function.domain, getattr(function, "overload", ""))
        names += (*function.input, *function.output, *function.attribute)
        names += (entry.domain for entry in function.opset_import)
        names += _names_in_nodes(function.node)
        names += _names_in_attributes(function.attribute_proto)
    if bytes in set(map(type, names)):
        broken = next(name for name in names if isinstance(name, bytes))
        raise FormatError(f"not a valid ONNX model: the name {broken!r} is not UTF-8", path=path)


def _names_in_graph(graph: Any) -> list[object]:
    values = [*graph.input, *graph.output, *graph.value_info]
    names: list[object] = [graph.name, *(named.name for named in (*values, *graph.initializer))]
    names += [dim.dim_param for value in values for dim in value.type.tensor_type.shape.dim]
    names += [sparse.values.name for sparse in graph.sparse_initializer]
    return names + _names_in_nodes(graph.node)


def _names_in_nodes(nodes: Iterable[Any]) -> list[object]:
    names: list[object] = []
    for node in nodes:
        names += (node.op_type, node.name, node.domain)
        names += node.input
        names += node.output
        if node.attribute:
            names += _names_in_attributes(node.attribute)
    return names


def _names_in_attributes(attributes: Iterable[Any]) -> list[object]:
    names: list[object] = []
    for attribute in attributes:
        names += (attribute.name, attribute.ref_attr_name)
        for inner in (attribute.g, *attribute.graphs) if attribute.HasField("g") else attribute.graphs:
            names += _names_in_graph(inner)
    return names
