"""ONNX: `from_model` and `load` read, `to_model` gives a ModelProto, `save` writes a file with streamed weights."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from graphir.safety.limits import bounded

if TYPE_CHECKING:
    import onnx

    from graphir.converters.formats import Source
    from graphir.graph import Graph


@bounded
def from_model(model: onnx.ModelProto | bytes | str | os.PathLike[str]) -> Graph:
    """Return the graph of an ONNX model: a ModelProto, its bytes, or the path of a file, whose weights stay there.

    What the import assumed or rewrote stands in `graph.decisions`. Raises FormatError for what is no valid ONNX model,
    UnsupportedOpError listing every node that cannot be imported, and ImportFailure naming the nodes otherwise.
    """
    from graphir.converters.onnx.files.reader import open_model
    from graphir.converters.onnx.importing.importer import Importer
    from graphir.safety.collector import paused_collector

    with paused_collector():
        return Importer(open_model(model)).run()


def load(
    path: str | os.PathLike[str],
    *,
    shapes: Mapping[str, object] | None = None,
    dtypes: Mapping[str, object] | None = None,
) -> Graph:
    """Return the graph of a file, its inputs fixed to these shapes and dtypes (by name) and what follows from them
    inferred.

    Raises what `from_model` raises, and ImportFailure for a name that is no input or a shape that contradicts the file.
    """
    return read(path, shapes=shapes, dtypes=dtypes).graph


def read(
    path: str | os.PathLike[str],
    *,
    shapes: Mapping[str, object] | None = None,
    dtypes: Mapping[str, object] | None = None,
) -> Source:
    """Return what `load` reads, with the file's own operators and weights."""
    from graphir.converters.formats import Description
    from graphir.converters.onnx.counts import count_protos
    from graphir.converters.onnx.files.reader import open_model
    from graphir.converters.onnx.importing.importer import Importer
    from graphir.converters.onnx.importing.inputs import fix_inputs
    from graphir.converters.onnx.source import OnnxFile, ends_onnxruntime
    from graphir.safety.collector import paused_collector

    with paused_collector():
        opened = open_model(path)
        graph = Importer(opened).run()
    if shapes or dtypes:
        fix_inputs(graph, shapes or {}, dtypes or {})
    stated = {name: graph.metadata.get(f"onnx.{name}", "") for name in ("opset:", "producer_name", "producer_version")}
    described = Description(
        graph.name, Path(path).name, "ONNX", f"opset {stated['opset:']}" if stated["opset:"] else "",
        producer=f"{stated['producer_name']} {stated['producer_version']}".strip(),
    )  # fmt: skip
    operators = count_protos(opened.model.graph.node)
    runnable = None if ends_onnxruntime(graph) else Path(path)
    return OnnxFile("onnx", graph, [os.fspath(path)], described, operators, runnable=runnable)


def to_model(graph: Graph, *, opset: int | None = None) -> onnx.ModelProto:
    """Return the graph as an ONNX ModelProto with all its weights.

    `opset` is 13 to 28, the newest of ONNX 1.23; by default that of the ONNX model that the graph came
    from, else 17 or the lowest that says it. What onnxruntime has no kernels for is cast around. Raises
    UnsupportedOpError, listing every operator that the opset cannot say, and ExportFailure for parameters without
    elements or more than protobuf's 2 GiB.
    """
    import onnx

    model = onnx.ModelProto()
    model.ParseFromString(to_bytes(graph, opset=opset))
    return model


def to_bytes(graph: Graph, *, opset: int | None = None) -> bytes:
    """Return the bytes of `to_model`. Raises what it raises."""
    from graphir.converters.onnx.exporting.exporter import export_graph
    from graphir.converters.onnx.files.writer import model_bytes
    from graphir.passes.pipelines import export

    with export().on_copy(graph) as live:
        return model_bytes(export_graph(live, opset=opset))


def save(
    graph: Graph, path: str | os.PathLike[str], *, opset: int | None = None, weights: str = "auto"
) -> list[Path]:
    """Write the graph as an .onnx file and return the files written; see `writer.write_model` for `weights`."""
    from graphir.converters.onnx.exporting.exporter import export_graph
    from graphir.converters.onnx.files.writer import write_model
    from graphir.passes.pipelines import export

    with export().on_copy(graph) as live:
        return write_model(export_graph(live, opset=opset), path, weights=weights)


__all__ = ["from_model", "load", "save", "to_bytes", "to_model"]
