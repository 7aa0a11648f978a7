"""Opening the model that a command is about."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .options import dtypes_of, shapes_of

if TYPE_CHECKING:
    from graphir.converters.mxnet.source import MXNetSource
    from graphir.graph import Graph

    from .console import Console


def open_graph(
    options: argparse.Namespace, console: Console, *, simplified: bool = True, settled: bool = True
) -> tuple[Graph, MXNetSource | None]:
    """The graph of `options.source`, and the MXNet model that it came from.

    Without `simplified` an MXNet model's graph has a value for each of the model's own, without `settled` its open
    sizes stay unknown.
    """
    from graphir.converters import check_choice, detect_format, load

    console.stage(f"reading {options.source}")
    kind = detect_format(options.source)
    if kind != "mxnet":
        graph = load(
            options.source,
            params=options.params,
            shapes=shapes_of(options),
            dtypes=dtypes_of(options),
            signature=options.signature,
            inputs=options.cut_at,
            outputs=options.outputs,
        )
        return graph, None
    check_choice(options.source, kind, options.signature, options.cut_at, options.outputs)
    from graphir.converters.mxnet.source import open_source

    opened = open_source(options.source, options.params)
    console.stage("building the graph")
    shapes, dtypes = shapes_of(options), dtypes_of(options)
    return opened.to_graph(shapes, dtypes=dtypes, simplified=simplified, settled=settled), opened


def first_line(graph: Graph, opened: MXNetSource | None) -> str:
    """What was read, in one line."""
    from pathlib import Path

    from graphir.report.conversion import framework_of, mxnet_version

    if opened is None:
        return f"{graph.name} ({framework_of(graph)})"
    files = " + ".join(Path(file).name for file in opened.files)
    parameters = "" if opened.tensors is not None else ", without parameters"
    return f"{files} (MXNet {mxnet_version(opened.symbol.version)}{parameters})"


__all__ = ["first_line", "open_graph"]
