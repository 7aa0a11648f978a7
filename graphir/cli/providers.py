"""`graphir providers`: what onnxruntime can run models on here."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .options import add_output_options

if TYPE_CHECKING:
    from graphir.runtime.providers import Provider

    from .console import Console

SECONDS = 60.0
EPILOG = """Each provider of the installed onnxruntime or of a plugin (onnxruntime-ep-*) is tested: it multiplies two
matrices in a separate process. --provider takes `name`, with an optional :DEVICE and ,KEY=VALUE:

  graphir verify model.onnx model.onnx --provider cuda:1
  graphir bench model.onnx --provider cpu openvino:CPU,num_of_threads=2
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.epilog = EPILOG
    add_output_options(parser)


def run(options: argparse.Namespace, console: Console) -> int:
    """Print one row per provider. Return 0 even if some do not run."""
    from graphir.report.text import table
    from graphir.runtime.plugins import plugin_reasons
    from graphir.runtime.providers import ROWS, TABLE, available_providers, import_onnxruntime

    version = import_onnxruntime().__version__
    available = available_providers()
    known = [row for row in TABLE if row.runtime_name in available]
    others = [name for name in available if name.lower() not in ROWS]
    rows = []
    for row in known:
        console.stage(f"trying {row.name}")
        rows.append((row.name, row.runtime_name, _try_provider(row)))
    rows += [(name, name, "not tested: graphir does not know it") for name in others]
    reasons = plugin_reasons()
    rows += [
        (row.name, row.runtime_name, f"not here: {reasons.get(row.runtime_name, row.install)}")
        for row in TABLE
        if row not in known
    ]
    keys = ("name", "provider", "here")
    console.data({"onnxruntime": version, "providers": [dict(zip(keys, line, strict=True)) for line in rows]})
    console.show(lambda: f"onnxruntime {version}\n\n{table(keys, rows, flexible=(2,))}")
    return 0


def _try_provider(row: Provider) -> str:
    """Return `runs`, or why the provider does not run."""
    import numpy as np

    from graphir.converters.session import Session
    from graphir.errors import GraphirError
    from graphir.graph import Graph
    from graphir.ops.linear import MatMul
    from graphir.safety.isolation import Caps, run_isolated
    from graphir.types import DType, TensorType

    def product() -> bool:
        graph = Graph("product")
        square = graph.add_input("x", TensorType(DType.FLOAT32, (2, 2)))
        graph.set_outputs([graph.add(MatMul(), square, square)])
        result = Session(graph, providers=row.name)(np.full((2, 2), 0.5, np.float32))
        return bool(np.array_equal(result, np.full((2, 2), 0.5, np.float32)))

    try:
        return "runs" if run_isolated(product, Caps(SECONDS)) else "runs, with a wrong product of two matrices"
    except GraphirError as error:
        return f"does not run: {str(error).splitlines()[0]}"
