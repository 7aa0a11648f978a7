"""ONNX: `from_model` reads, `to_model` gives a ModelProto, `save` writes a file with streamed weights."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnx

    from graphir.graph import Graph


def from_model(model: onnx.ModelProto | bytes | str | os.PathLike[str]) -> Graph:
    """The graph of an ONNX model: a ModelProto, its bytes, or the path of a file, whose weights stay there until needed.

    What the import assumed or rewrote stands in `graph.decisions`. Raises FormatError for what is no valid ONNX model,
    UnsupportedOpError listing every node that cannot be imported, and ImportFailure naming the nodes otherwise.
    """
    from graphir.converters.onnx.importer import Importer
    from graphir.converters.onnx.reader import open_model

    return Importer(open_model(model)).run()


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


__all__ = ["from_model", "save", "to_model"]
