"""Graphs written as ONNX text, and a pass judged by onnxruntime: the same numbers before and after."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from graphir.converters.onnx import from_model, to_model
from graphir.converters.onnx.evaluator import onnx_evaluator
from graphir.graph import Graph
from graphir.passes.fold_constants import fold_constants
from graphir.passes.outcome import Outcome
from graphir.passes.unroll import unroll_loops
from tests.building import parse_model, run_model
from tests.contract import held

Arrays = dict[str, NDArray[Any]]
EVALUATOR = onnx_evaluator()
fold = partial(fold_constants, evaluator=EVALUATOR)
unroll = partial(unroll_loops, evaluator=EVALUATOR)
model_of = partial(parse_model, opset=21)


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
    """The outputs of one run over `feed`, without onnxruntime's optimisations; open sizes are those given, others 2."""
    feeds = {}
    for item in model.graph.input:
        type_ = item.type.tensor_type
        dims = type_.shape.dim
        shape = tuple((sizes or {}).get(dim.dim_param, 2) if dim.dim_param else dim.dim_value for dim in dims)
        feeds[item.name] = feed(shape, onnx.helper.tensor_dtype_to_np_dtype(type_.elem_type))
    return run_model(model, feeds, optimize=False)


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
