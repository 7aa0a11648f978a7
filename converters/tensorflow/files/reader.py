"""Bytes to records: frozen graphs as .pb or .pbtxt. Weights stay in the file.

Of attributes, texts are str (bytes where they are no UTF-8), dtypes DType (or TensorFlow's name), shapes tuples with
UNKNOWN (None: unknown rank), tensors Tensor, functions FunctionCall, lists tuples.
"""

from __future__ import annotations

import mmap
import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphir.converters.kernel.impostors import GIT_LFS, TF_LITE, refuse_impostors
from graphir.converters.tensorflow.dtypes import data_type
from graphir.converters.tensorflow.files.recognition import looks_like_text
from graphir.converters.tensorflow.files.records import (
    Bound,
    Endpoint,
    FunctionCall,
    FunctionNode,
    Signature,
    TFFunction,
    TFGraph,
    TFNode,
)
from graphir.converters.tensorflow.files.tensors import TensorSource, text_of
from graphir.converters.tensorflow.files.text_format import parse
from graphir.converters.tensorflow.files.wire import Message, decode
from graphir.converters.tensorflow.schema.conformity import check_nodes
from graphir.converters.tensorflow.schema.operators import operator_schema
from graphir.errors import FormatError, ImportFailure
from graphir.files.reading import open_plain
from graphir.safety.foreign_text import unicode_text
from graphir.safety.limits import hold_nodes
from graphir.tensor import Tensor
from graphir.types import UNKNOWN, Shape

_LISTS = ("s", "i", "f", "b", "type", "shape", "tensor", "func")


def plain(value: Message, tensors: TensorSource, what: str) -> Any:
    """Return the value of an AttrValue. Raises FormatError for one that states nothing or a broken tensor."""
    for kind, content in value.items():
        if kind == "list":
            return _read_list(content, tensors, what)
        if kind == "placeholder":
            return Bound(content)
        return _read_single(kind, content, tensors, what)
    return ()  # an empty list states nothing at all


def _read_list(value: Message, tensors: TensorSource, what: str) -> tuple[Any, ...]:
    stated = [kind for kind in _LISTS if value.get(kind)]
    if len(stated) > 1:
        raise FormatError(f"{what}: a list of both {' and '.join(stated)}", path=tensors.path)
    return tuple(_read_single(kind, content, tensors, what) for kind in stated for content in value[kind])


def _read_single(kind: str, content: Any, tensors: TensorSource, what: str) -> Any:
    if kind == "s":
        return text_of(content)
    if kind == "type":
        return data_type(content)
    if kind == "shape":
        return shape_of(content)
    if kind == "tensor":
        return tensors.tensor(content, what)
    if kind == "func":
        return FunctionCall(
            content.get("name", ""),
            {name: plain(inner, tensors, f"{what}.{name}") for name, inner in content.get("attr", {}).items()},
        )
    return content


def shape_of(message: Message) -> Shape | None:
    """Return the shape of a TensorShapeProto: None for an unknown rank, UNKNOWN for -1."""
    if message.get("unknown_rank"):
        return None
    sizes = [dim.get("size", 0) for dim in message.get("dim", ())]
    return tuple(UNKNOWN if size < 0 else size for size in sizes)


_NOT_TENSORFLOW = (
    GIT_LFS,
    (b"<!", "text that begins like HTML; was an error page downloaded instead of the model?"),
    (b"<html", "text that begins like HTML; was an error page downloaded instead of the model?"),
    (b"<?xml", "text that begins like XML; was an error page downloaded instead of the model?"),
    (TF_LITE, "a TensorFlow Lite model, not a TensorFlow graph"),
)


@dataclass
class TFSource:
    """An opened model: its graph, the signature that was chosen (None: a bare graph), and the files that were read.

    `variables` are the elements of variables by the names of the nodes that hold them, `renamed` the names in the file
    of the placeholders that have another one here, `kind` what the model is, `layers` how many it has of each class
    where it is made of layers, `results` what these give, by the layers' names.
    """

    graph: TFGraph
    name: str = "graph"
    signature: Signature | None = None
    files: list[str] = field(default_factory=list)
    variables: dict[str, Tensor] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    kind: str = "TensorFlow GraphDef"
    layers: dict[str, int] | None = None
    results: dict[str, Endpoint] = field(default_factory=dict)

    def operators(self) -> dict[str, int]:
        """Return how many nodes the model has of each operator, or layers of each class."""
        return dict(Counter(node.op for node in self.graph.nodes)) if self.layers is None else self.layers


def open_frozen(path: Path) -> TFSource:
    """Open a frozen graph. Raises FormatError, with the byte or line, for what is none or is cut short."""
    graph = read_graph(read_message(path, "GraphDef"), TensorSource(path))
    return TFSource(graph, unicode_text(path.stem) or "graph", files=[str(path)])


def open_bytes(data: bytes | bytearray | memoryview) -> TFSource:
    """Return the graph in the bytes of a GraphDef. Raises FormatError like `open_frozen`."""
    return TFSource(read_graph(decode(memoryview(data), "GraphDef"), TensorSource()))


def read_message(path: Path, message: str) -> Message:
    """Return the message that a binary or text file holds."""
    data = mapped(path)
    head = bytes(data[:64])
    refuse_impostors(head, _NOT_TENSORFLOW, "a TensorFlow graph", path)
    try:
        if looks_like_text(data) or path.suffix == ".pbtxt":
            return parse(str(data, "utf-8"), message)
        return decode(data, message)
    except FormatError as error:
        raise FormatError(str(error).partition(" (at byte")[0], path=path, offset=error.offset) from None
    except UnicodeDecodeError as error:
        raise FormatError("a .pbtxt file that is no UTF-8 text", path=path, offset=error.start) from error


def mapped(path: Path) -> memoryview:
    """Return the file's bytes. The map goes with the last view of it."""
    try:
        with open_plain(path) as file:
            if os.fstat(file.fileno()).st_size == 0:
                raise FormatError("the file is empty", path=path)
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise ImportFailure(f"cannot read {path}: {error.strerror or error}") from error


def read_graph(message: Message, tensors: TensorSource) -> TFGraph:
    """Return the records of a GraphDef. Raises FormatError for nodes without name or operator and for repeated
    names."""
    nodes = [_read_node(entry, tensors) for entry in message.get("node", ())]
    if not nodes and not message.get("library"):
        raise FormatError("not a TensorFlow graph: it has no nodes", path=tensors.path)
    seen: set[str] = set()
    for node in nodes:
        if node.name in seen:
            raise FormatError(f"two nodes are called {node.name!r}", path=tensors.path)
        seen.add(node.name)
    hold_nodes(len(nodes))
    check_nodes(((node.name, node.op, node.attrs, len(node.inputs)) for node in nodes), tensors.path)
    functions: dict[str, TFFunction] = {}
    for entry in message.get("library", {}).get("function", ()):
        function = _read_function(entry, tensors)
        if function.name in functions or operator_schema(function.name) is not None:
            raise FormatError(f"two functions or operators are called {function.name!r}", path=tensors.path)
        functions[function.name] = function
        hold_nodes(len(function.nodes))
    return TFGraph(nodes, functions, message.get("versions", {}).get("producer", 0))


def _read_attributes(message: Message, tensors: TensorSource, what: str) -> dict[str, Any]:
    return {name: plain(value, tensors, f"{what}.{name}") for name, value in message.get("attr", {}).items()}


def _read_name(message: Message, tensors: TensorSource) -> tuple[str, str]:
    name, op = message.get("name", ""), message.get("op", "")
    if not name or not op:
        raise FormatError(f"not a TensorFlow graph: a node with the name {name!r} and no operator", path=tensors.path)
    return name, op


def _read_node(message: Message, tensors: TensorSource) -> TFNode:
    name, op = _read_name(message, tensors)
    texts = message.get("input", ())
    return TFNode(
        name,
        op,
        tuple(Endpoint.of(text) for text in texts if not text.startswith("^")),
        tuple(text[1:] for text in texts if text.startswith("^")),
        _read_attributes(message, tensors, f"node {name}"),
        message.get("device", ""),
    )


def _read_function(message: Message, tensors: TensorSource) -> TFFunction:
    signature = message.get("signature", {})
    name = signature.get("name", "")
    returned = message.get("ret", {})
    outputs = [argument.get("name", "") for argument in signature.get("output_arg", ())]
    missing = [output for output in outputs if output not in returned]
    if missing:
        raise FormatError(f"function {name} does not say what its results {missing} are", path=tensors.path)
    nodes = []
    seen = set(arguments := tuple(argument.get("name", "") for argument in signature.get("input_arg", ())))
    for entry in message.get("node_def", ()):
        label, op = _read_name(entry, tensors)
        if label in seen:
            raise FormatError(f"two nodes or arguments of function {name} are called {label!r}", path=tensors.path)
        seen.add(label)
        texts = tuple(text for text in entry.get("input", ()) if not text.startswith("^"))
        controls = tuple(text[1:] for text in entry.get("input", ()) if text.startswith("^"))
        attrs = _read_attributes(entry, tensors, f"node {label} of function {name}")
        nodes.append(FunctionNode(label, op, texts, attrs, controls))
    if not name or len(seen) != len(arguments) + len(nodes) or len(set(outputs)) != len(outputs):
        raise FormatError(f"the function {name!r} has no name, or two arguments or results of one", path=tensors.path)
    results, effects = (returned[output] for output in outputs), message.get("control_ret", {}).values()
    return TFFunction(name, arguments, tuple(outputs), tuple(results), nodes, effects=tuple(effects))
