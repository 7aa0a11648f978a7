"""The entry of ONNX in the table of formats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from graphir.converters.formats import Format, Manner, PathLike, Ready, Source
from graphir.converters.options import ModelOptions

if TYPE_CHECKING:
    from graphir.analysis.padding_fixes import Fixes
    from graphir.converters.glance import Glance
    from graphir.graph import Graph


def open_model(path: PathLike, options: ModelOptions, manner: Manner) -> Source:
    """Return the opened model. Its graph keeps every value of the file, whatever `manner` is."""
    from graphir.converters.onnx import read

    return read(path, shapes=options.shapes, dtypes=options.dtypes)


class OnnxTarget:
    """An .onnx file, with a .data file next to it for large weights."""

    suffix = ".onnx"
    options: Mapping[str, tuple[type, ...]] = {"opset": (int,), "weights": (str,)}
    runs = True

    def named(self, options: Mapping[str, Any]) -> str:
        """Return the name for messages, such as `ONNX opset 17`."""
        return "ONNX" if options.get("opset") is None else f"ONNX opset {options['opset']}"

    def places(self, path: PathLike) -> list[PathLike]:
        """Return the path itself; only large weights are stored next to it."""
        return [path]

    def ready(self, graph: Graph, path: PathLike, options: Mapping[str, Any]) -> Ready:
        """Return the model to be written, with its operators counted."""
        from graphir.safety.collector import paused_collector

        with paused_collector():
            from graphir.converters.onnx.counts import count_records
            from graphir.converters.onnx.exporting.exporter import export_graph
            from graphir.converters.onnx.exporting.signatures import onnx_release
            from graphir.converters.onnx.files.writer import write_model

            model = export_graph(graph, opset=options.get("opset"))
        weights = options.get("weights") or "auto"
        return Ready(
            count_records(model), lambda: write_model(model, path, weights=weights), f"opset {model.opset}",
            model.opset, {"onnx": onnx_release()},
        )  # fmt: skip


def recognizes(glance: Glance) -> bool:
    """Return whether a file has the message fields of an ONNX model."""
    if not glance.is_file or not len(glance.content):
        return False
    from graphir.converters.onnx.files.recognition import looks_like_onnx

    return looks_like_onnx(glance.content)


def check_run(path: PathLike) -> None:
    """Raise FormatError for a file that refers to weights outside its folder."""
    from graphir.converters.onnx.files.structure import check_external

    check_external(path)


def origin(metadata: Mapping[str, str]) -> str:
    """Return `ONNX opset 17` for a graph that was imported from ONNX, else an empty text."""
    opset = metadata.get("onnx.opset:")
    return "" if opset is None else f"ONNX opset {opset}"


def fixes() -> Fixes:
    """Return the corrections of padding in terms of ONNX."""
    from graphir.converters.onnx.padding_fixes import OnnxFixes

    return OnnxFixes()


FORMAT = Format(
    name="onnx",
    brand="ONNX",
    title="ONNX",
    recognizes=recognizes,
    source=open_model,
    target=OnnxTarget(),
    suffixes=(".onnx",),
    check_run=check_run,
    origin=origin,
    other_json={"irVersion": "an ONNX model as JSON; save it as binary protobuf (onnx.save)"},
    asked_last=True,
    fixes=fixes,
)
