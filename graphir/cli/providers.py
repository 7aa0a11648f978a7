"""`graphir providers`: what onnxruntime can run models on here."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .options import add_output_options

if TYPE_CHECKING:
    from graphir.runtime.providers import Provider

    from .console import Console

SECONDS = 60.0
EPILOG = """Each provider that the installed onnxruntime has, or that a plugin (onnxruntime-ep-*) brings, multiplies two
matrices in a process of its own. `name` is what --provider takes, with :DEVICE and ,KEY=VALUE behind it:

  graphir verify model.onnx model.onnx --provider cuda:1
  graphir bench model.onnx --provider cpu openvino:CPU,num_of_threads=2
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.epilog = EPILOG
    add_output_options(parser)


def run(options: argparse.Namespace, console: Console) -> int:
    """Print a row a provider; what does not run is no failure."""
    from graphir.report.text import table
    from graphir.runtime.plugins import plugin_reasons
    from graphir.runtime.providers import ROWS, TABLE, available_providers, import_onnxruntime

    version = import_onnxruntime().__version__
    available = available_providers()
    own = [row for row in TABLE if row.runtime_name in available]
    others = [name for name in available if name.lower() not in ROWS]
    found = []
    for row in own:
        console.stage(f"trying {row.name}")
        found.append((row.name, row.runtime_name, _answer(row)))
    found += [(name, name, "not tried: graphir knows nothing of it") for name in others]
    reasons = plugin_reasons()
    found += [
        (row.name, row.runtime_name, f"not here: {reasons.get(row.runtime_name, row.install)}")
        for row in TABLE
        if row not in own
    ]
    keys = ("name", "provider", "here")
    console.data({"onnxruntime": version, "providers": [dict(zip(keys, line, strict=True)) for line in found]})
    console.show(lambda: f"onnxruntime {version}\n\n{table(keys, found, flexible=(2,))}")
    return 0


def _answer(row: Provider) -> str:
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
