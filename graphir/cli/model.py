"""Opening the model that a command is about."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from graphir.safety.foreign_text import one_line

from .options import dtypes_of, shapes_of

if TYPE_CHECKING:
    from graphir.converters.mxnet.source import MXNetSource
    from graphir.converters.opening import Reading
    from graphir.graph import Graph

    from .console import Console


def open_model(
    options: argparse.Namespace, console: Console, *, simplified: bool = True, settled: bool = True
) -> Reading:
    """The model `options.source`.

    Without `simplified` an MXNet model's graph has a value for each of the model's own, without `settled` its open
    sizes stay unknown.
    """
    from graphir.converters.opening import Choices, read_model

    choices = Choices(
        params=options.params, shapes=shapes_of(options), dtypes=dtypes_of(options), signature=options.signature,
        inputs=options.cut_at, outputs=options.outputs,
    )  # fmt: skip
    return read_model(
        options.source, choices, options.format, simplified=simplified, settled=settled, progress=console.stage
    )


def open_graph(
    options: argparse.Namespace, console: Console, *, simplified: bool = True, settled: bool = True
) -> tuple[Graph, MXNetSource | None]:
    """The graph of `options.source`, and the MXNet model that it came from."""
    reading = open_model(options, console, simplified=simplified, settled=settled)
    return reading.graph, reading.mxnet


def first_line(graph: Graph, opened: MXNetSource | None) -> str:
    """What was read, in one line."""
    from pathlib import Path

    from graphir.report.conversion import framework_of, mxnet_version

    if opened is None:
        return one_line(f"{graph.name} ({framework_of(graph)})")
    files = " + ".join(Path(file).name for file in opened.files)
    parameters = "" if opened.tensors is not None else ", without parameters"
    return one_line(files) + f" (MXNet {mxnet_version(opened.symbol.version)}{parameters})"


__all__ = ["first_line", "open_graph", "open_model"]
