"""Graphs written as ONNX text, and a pass judged by onnxruntime: the same numbers before and after."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import onnx.parser
import onnxruntime
from numpy.typing import NDArray

from graphir.converters.onnx import from_model, to_model
from graphir.converters.onnx.evaluator import onnx_evaluator
from graphir.graph import Graph
from graphir.passes.fold_constants import fold_constants
from graphir.passes.outcome import Outcome
from graphir.passes.unroll import unroll_loops
from tests.contract import held

Arrays = dict[str, NDArray[Any]]
EVALUATOR = onnx_evaluator()
fold = partial(fold_constants, evaluator=EVALUATOR)
unroll = partial(unroll_loops, evaluator=EVALUATOR)
HEADER = '<ir_version: 10, opset_import: ["": 21]>'


def model_of(text: str) -> onnx.ModelProto:
    """The model of a graph as onnx's parser takes it: `name (inputs) => (outputs) <initializers> { nodes }`."""
    return onnx.parser.parse_model(HEADER + text)


def graph_of(text: str) -> Graph:
    """The graph of such a text."""
    return from_model(model_of(text))


def feed(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Fixed numbers of a dtype."""
    count = int(np.prod(shape))
    if dtype.kind == "b":
        return (np.arange(count) % 2 == 0).reshape(shape)
    if dtype.kind in "iu":
        return (np.arange(count) % 3).astype(dtype).reshape(shape)
    return np.sin(np.arange(count) + 1).astype(dtype).reshape(shape)


def run(model: onnx.ModelProto, sizes: dict[str, int] | None = None) -> Arrays:
    """The outputs of one run over `feed`, without onnxruntime's optimisations; open sizes are those given."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    feeds = {}
    for item in session.get_inputs():
        shape = tuple(dim if isinstance(dim, int) else (sizes or {})[dim] for dim in item.shape)
        dtype = np.dtype({"float": "float32", "double": "float64"}.get(item.type[7:-1], item.type[7:-1]))
        feeds[item.name] = feed(shape, dtype)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds), strict=True))


def operators(graph: Graph) -> str:
    """The operators in order."""
    return " ".join(node.op.name for node in graph.nodes)


def lowered(text: str, change: Callable[[Graph], Outcome]) -> Graph:
    """The graph after a pass that must change it, stay valid, change nothing the second time and no number at all."""
    model = model_of(text)
    graph = from_model(model)
    graph.check()
    before = run(model)
    assert held("the pass", change, graph)
    assert not held("the pass again", change, graph)
    after = run(to_model(graph, opset=21))
    assert list(after) == list(before)
    np.testing.assert_equal(after, before)
    return graph


def unchanged(text: str, change: Callable[[Graph], Outcome]) -> Graph:
    """The graph after a pass that must leave it exactly as it is."""
    graph = graph_of(text)
    assert not held("the pass", change, graph)
    return graph
