"""Converting a captured model and holding it against what its own framework computed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray

from graphir.converters.mxnet.source import open_source
from graphir.converters.onnx import save
from graphir.graph import Graph

Array = NDArray[Any]
LIMIT = 1e-4


def relative(found: Array, expected: Array) -> float:
    """The largest difference, relative to the largest magnitude expected."""
    assert found.shape == expected.shape
    scale = float(np.abs(expected).max(initial=0.0)) or 1.0
    return float(np.abs(found.astype(np.float64) - expected.astype(np.float64)).max(initial=0.0)) / scale


def import_model(
    symbol: Path, params: Path | Mapping[str, object] | None, shapes: Mapping[str, tuple[int, ...]], **options: Any
) -> Graph:
    """The graph, with shapes given for those inputs that the symbol has."""
    source = open_source(symbol, params)
    names = {node.name for node in source.symbol.nodes}
    return source.to_graph({name: shape for name, shape in shapes.items() if name in names}, **options)


def run_onnx(graph: Graph, folder: Path, opset: int, feeds: Mapping[str, Array], capfd: Any) -> dict[str, Array]:
    """Write, check, load without a warning and run; inner values are those that the graph shows."""
    target = folder / "model.onnx"
    save(graph, target, opset=opset)
    onnx.checker.check_model(str(target), full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 2
    options.intra_op_num_threads = 1
    capfd.readouterr()
    session = onnxruntime.InferenceSession(str(target), options, providers=["CPUExecutionProvider"])
    assert capfd.readouterr().err == ""
    names = [output.name for output in session.get_outputs()]
    wanted = {item.name: feeds[item.name] for item in session.get_inputs()}
    return dict(zip(names, session.run(None, wanted), strict=True))


def shapes_by_source(graph: Graph) -> dict[str, tuple[Any, ...] | None]:
    """The shape of every value under each name that the source model knew it by."""
    found: dict[str, tuple[Any, ...] | None] = {}
    for value in graph.values:
        for name in (*value.sources, value.name):
            found.setdefault(name, value.shape)
    return found
