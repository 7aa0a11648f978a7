"""Graphs run by onnxruntime as they stand, without its optimisations."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from graphir.converters.onnx import to_model
from graphir.graph import Graph
from tests.typed import present

Arrays = dict[str, NDArray[Any]]


def feeds_of(graph: Graph) -> Arrays:
    """Fixed numbers for each input, whose shapes are known."""
    feeds = {}
    for value in graph.inputs:
        count = int(np.prod(present(value.shape)))
        feeds[value.name] = np.sin(np.arange(count, dtype=np.float32)).reshape(present(value.shape))
    return feeds


def outputs_of(graph: Graph) -> Arrays:
    """The outputs of one run over `feeds_of`."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(to_model(graph).SerializeToString(), options, ["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    wanted = {value.name for value in session.get_inputs()}
    feeds = {name: array for name, array in feeds_of(graph).items() if name in wanted}
    return dict(zip(names, session.run(names, feeds), strict=True))


def results_of(graph: Graph) -> Arrays:
    """Every result of a node, by name."""
    kept = graph.outputs
    graph.set_outputs([value for value in graph.values if value.producer is not None])
    found = outputs_of(graph)
    graph.set_outputs(kept)
    return found
