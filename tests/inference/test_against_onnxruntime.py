"""Inferred types against what onnxruntime computes, for random networks."""

from __future__ import annotations

import numpy as np
import onnxruntime
from hypothesis import HealthCheck, assume, given, settings

from graphir.converters.onnx import to_model
from graphir.dims import UNKNOWN, Unknown, substitute
from graphir.graph import Graph
from graphir.inference import infer_types
from graphir.types import DType, TensorType

from .networks import networks

FEW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def computed(graph: Graph, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Every result of a node, by name, as onnxruntime computes it without optimisations."""
    kept = graph.outputs
    graph.set_outputs([value for value in graph.values if value.producer is not None])
    model = to_model(graph).SerializeToString()
    graph.set_outputs(kept)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds), strict=True))


def feeds_of(graph: Graph) -> dict[str, np.ndarray]:
    shape = graph["x"].shape
    return {"x": np.sin(np.arange(np.prod(shape), dtype=np.float32)).reshape(shape)}


def size_of(dim, number):
    return number if isinstance(dim, Unknown) else substitute(dim, {"N": number})


@given(networks())
@FEW
def test_inferred_is_computed(graph):
    assume(len(graph))
    graph.check()
    found = computed(graph, feeds_of(graph))
    types = infer_types(graph)
    assert {name: str(types[name]) for name in found} == {
        name: str(TensorType(DType.of(array.dtype), array.shape)) for name, array in found.items()
    }
    assert {value.name: value.type for value in graph.values} == types


@given(networks())
@FEW
def test_followed_elements_are_computed(graph):
    followed = {value.name: value.known for value in graph.values if value.known is not None and value.producer}
    assume(followed)
    found = computed(graph, feeds_of(graph))
    assert {name: (known.shape, known.elements) for name, known in followed.items()} == {
        name: (found[name].shape, tuple(found[name].reshape(-1).tolist())) for name in followed
    }


@given(networks())
@settings(FEW, max_examples=150)
def test_symbolic_sizes_stand_for_the_true_ones(graph):
    """With the batch as a symbol, each size that is known is the one for that batch."""
    batch, *rest = graph["x"].shape
    symbolic = infer_types(graph, {"x": ["N", *rest]})
    known = {name: str(type_) for name, type_ in infer_types(graph).items()}
    filled = {
        name: TensorType(type_.dtype, None if type_.shape is None else tuple(
            true if dim is UNKNOWN else substitute(dim, {"N": batch})
            for dim, true in zip(type_.shape, graph[name].shape, strict=True)
        ))
        for name, type_ in symbolic.items()
    }  # fmt: skip
    assert {name: str(type_) for name, type_ in filled.items() if type_.shape is not None} == {
        name: known[name] for name, type_ in filled.items() if type_.shape is not None
    }


@given(networks())
@settings(FEW, max_examples=100)
def test_what_is_known_of_part_holds_for_the_whole(graph):
    """Nothing but unknown sizes given: what follows still is what follows from the true sizes, or nothing."""
    open_types = infer_types(graph, {"x": [None] * len(graph["x"].shape)})
    wrong = {
        name: (str(type_), str(graph[name].type))
        for name, type_ in open_types.items()
        if type_.shape is not None
        and any(dim not in (UNKNOWN, true) for dim, true in zip(type_.shape, graph[name].shape, strict=True))
    }
    assert wrong == {}
