"""ONNX: `from_model` and `load` read, `to_model` gives a ModelProto, `save` writes a file with streamed weights."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnx

    from graphir.graph import Graph


def from_model(model: onnx.ModelProto | bytes | str | os.PathLike[str]) -> Graph:
    """The graph of an ONNX model: a ModelProto, its bytes, or the path of a file, whose weights stay there.

    What the import assumed or rewrote stands in `graph.decisions`. Raises FormatError for what is no valid ONNX model,
    UnsupportedOpError listing every node that cannot be imported, and ImportFailure naming the nodes otherwise.
    """
    from graphir.collector import paused_collector
    from graphir.converters.onnx.importer import Importer
    from graphir.converters.onnx.reader import open_model

    with paused_collector():
        return Importer(open_model(model)).run()


def load(
    path: str | os.PathLike[str],
    *,
    shapes: Mapping[str, object] | None = None,
    dtypes: Mapping[str, object] | None = None,
) -> Graph:
    """The graph of a file, its inputs fixed to these shapes and dtypes (by name) and what follows from them inferred.

    Raises what `from_model` raises, and ImportFailure for a name that is no input or a shape that contradicts the file.
    """
    from graphir.converters.onnx.inputs import fix_inputs

    graph = from_model(path)
    if shapes or dtypes:
        fix_inputs(graph, shapes or {}, dtypes or {})
    return graph


def looks_like_onnx(head: bytes) -> bool:
    """Whether a file that begins with these bytes is most likely an ONNX model: `ir_version`, then a field of a model.

    >>> looks_like_onnx(bytes([0x08, 0x07, 0x12, 0x07])), looks_like_onnx(b'{"nodes"')
    (True, False)
    """
    if len(head) < 3 or head[0] != 0x08 or not 1 <= head[1] <= 64:
        return False
    return head[2] in (0x12, 0x1A, 0x22, 0x28, 0x32, 0x3A, 0x42, 0x72)


def to_model(graph: Graph, *, opset: int | None = None) -> onnx.ModelProto:
    """The graph as an ONNX ModelProto with all its weights.

    `opset` is 13 to the newest that the installed onnx knows. Raises UnsupportedOpError, listing every operator that
    the opset cannot say, and ExportFailure for parameters without elements or more than protobuf's 2 GiB.
    """
    import onnx

    from graphir.converters.onnx.exporter import export_graph
    from graphir.converters.onnx.writer import model_bytes

    model = onnx.ModelProto()
    model.ParseFromString(model_bytes(export_graph(graph, opset=opset)))
    return model


def save(
    graph: Graph, path: str | os.PathLike[str], *, opset: int | None = None, weights: str = "auto"
) -> list[Path]:
    """Write the graph as an .onnx file and return the files written; see `writer.write_model` for `weights`."""
    from graphir.converters.onnx.exporter import export_graph
    from graphir.converters.onnx.writer import write_model

    return write_model(export_graph(graph, opset=opset), path, weights=weights)


__all__ = ["from_model", "load", "looks_like_onnx", "save", "to_model"]
