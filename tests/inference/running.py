"""Graphs run by onnxruntime as they stand, without its optimisations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.graph import Graph
from tests.building import run_model
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
    return run_model(graph, feeds_of(graph), optimize=False)


def results_of(graph: Graph) -> Arrays:
    """Every result of a node, by name."""
    kept = graph.outputs
    graph.set_outputs([value for value in graph.values if value.producer is not None])
    found = outputs_of(graph)
    graph.set_outputs(kept)
    return found
