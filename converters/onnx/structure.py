"""What an .onnx file computes, without its weights: names, and which operator makes which value from what."""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass

from graphir.converters.onnx.wire import strip_weights
from graphir.errors import FormatError


@dataclass(frozen=True)
class Structure:
    """The main graph of a model. `producers` holds, for each result in the file's order, its operator and operands;
    `external` says whether weights lie in other files."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    producers: dict[str, tuple[str, tuple[str, ...]]]
    external: bool


def read_structure(path: str | os.PathLike[str]) -> Structure:
    """The structure of an .onnx file. Its weights are not read. Raises FormatError for what is no ONNX model."""
    import onnx

    with open(path, "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            raise FormatError("the file is empty, not an ONNX model", path=path)
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view, memoryview(view) as data:
            message = strip_weights(data).message
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
        external=any(tensor.data_location == onnx.TensorProto.EXTERNAL for tensor in graph.initializer),
    )


__all__ = ["Structure", "read_structure"]
