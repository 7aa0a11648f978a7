"""What an .onnx file computes, without its weights: names, and which operator makes which value from what."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphir.converters.onnx.files.wire import strip_weights
from graphir.errors import FormatError
from graphir.files.reading import open_plain

QUANTIZING = frozenset({"QuantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul"})
COARSE_STEPS = {10: 2.0**-10, 16: 2.0**-7}  # float16, bfloat16


@dataclass(frozen=True)
class Structure:
    """The main graph of a model. `producers` holds, for each result in the file's order, its operator and operands;
    `external` says whether weights lie in other files, `element_types` which ONNX types are in it."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    producers: dict[str, tuple[str, tuple[str, ...]]]
    external: bool
    element_types: frozenset[int] = frozenset()

    @property
    def quantizes(self) -> bool:
        """Whether real numbers are rounded to quantized ones on the way."""
        return any(operator in QUANTIZING for operator, _ in self.producers.values())

    @property
    def coarsest_step(self) -> float:
        """The distance from 1 to the next number in the coarsest type that is computed in, 0 if none is coarse."""
        return max((step for code, step in COARSE_STEPS.items() if code in self.element_types), default=0.0)


def read_structure(path: str | os.PathLike[str]) -> Structure:
    """The structure of an .onnx file. Its weights are not read. Raises FormatError for what is no ONNX model."""
    import onnx

    message = _message(path)
    if not message:
        raise FormatError("the file is empty, not an ONNX model", path=path)
    model = onnx.ModelProto()
    try:
        model.ParseFromString(message)
    except Exception as error:  # protobuf's DecodeError, whose module depends on its version
        raise FormatError(f"not an ONNX model: {error}", path=path) from error
    graph = model.graph
    weights = {tensor.name for tensor in graph.initializer}
    return Structure(
        inputs=tuple(item.name for item in graph.input if item.name not in weights),
        outputs=tuple(item.name for item in graph.output),
        producers={
            name: (node.op_type, tuple(node.input)) for node in graph.node for name in node.output if name
        },
        element_types=frozenset(_element_types(graph)),
        external=any(tensor.data_location == onnx.TensorProto.EXTERNAL for tensor in graph.initializer),
    )


def _message(path: str | os.PathLike[str]) -> bytes:
    """The file without its weights."""
    return strip_weights(mapped_bytes(path)).message


def mapped_bytes(path: str | os.PathLike[str]) -> memoryview:
    """A file's bytes, mapped. The map goes with the last view of it: one that an error's traceback still holds cannot
    be closed, which would hide that error."""
    with open_plain(path) as file:
        if not os.fstat(file.fileno()).st_size:
            return memoryview(b"")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def check_external(path: str | os.PathLike[str]) -> None:
    """Raise FormatError where an .onnx file that is handed to onnxruntime as it is names data outside of its folder.

    Not every release of onnxruntime refuses that itself. What is no ONNX model is left to onnxruntime.
    """
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    from graphir.converters.onnx.files.tensors import external_place

    try:
        message = _message(path)
    except FormatError:
        return
    if b"location" not in message:
        return
    model = onnx.ModelProto()
    try:
        model.ParseFromString(message)
    except DecodeError:
        return
    for tensor in tensors_of(model.graph, *(function.node for function in model.functions)):
        for entry in tensor.external_data:
            if entry.key == "location" and tensor.data_location == onnx.TensorProto.EXTERNAL:
                external_place(Path(path), entry.value, f"tensor {tensor.name}")


def tensors_of(graph: Any, *bodies: Any) -> Iterator[Any]:
    """Every tensor of a graph and of lists of nodes, those of the graphs inside them included."""
    graphs, nodes = [graph], list(bodies)
    while graphs or nodes:
        if graphs:
            held = graphs.pop()
            yield from held.initializer
            for sparse in held.sparse_initializer:
                yield from (sparse.values, sparse.indices)
            nodes.append(held.node)
            continue
        for node in nodes.pop():
            for attribute in node.attribute:
                yield from (attribute.t, *attribute.tensors)
                for sparse in (attribute.sparse_tensor, *attribute.sparse_tensors):
                    yield from (sparse.values, sparse.indices)
                graphs += [attribute.g, *attribute.graphs] if attribute.HasField("g") else attribute.graphs


def _element_types(graph: Any) -> Iterator[int]:
    yield from (tensor.data_type for tensor in graph.initializer)
    yield from (item.type.tensor_type.elem_type for item in graph.input)
    for node in graph.node:
        if node.op_type == "Cast":
            yield from (attribute.i for attribute in node.attribute if attribute.name == "to")


__all__ = ["Structure", "check_external", "mapped_bytes", "read_structure", "tensors_of"]
