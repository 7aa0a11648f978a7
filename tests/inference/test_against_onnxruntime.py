"""Inferred types against what onnxruntime computes, for random networks."""

from __future__ import annotations

from hypothesis import HealthCheck, assume, given, settings

from graphir.graph import Graph
from graphir.inference import infer_types
from graphir.symbolic.dims import UNKNOWN, substitute
from graphir.types import DType, TensorType
from tests.typed import present, tensor_type

from .networks import networks
from .running import results_of

FEW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@given(networks())
@FEW
def test_inferred_is_computed(graph: Graph) -> None:
    assume(len(graph))
    graph.check()
    found = results_of(graph)
    types = infer_types(graph)
    assert {name: str(types[name]) for name in found} == {
        name: str(TensorType(DType.of(array.dtype), array.shape)) for name, array in found.items()
    }
    assert {value.name: value.type for value in graph.values} == types


@given(networks())
@FEW
def test_followed_elements_are_computed(graph: Graph) -> None:
    followed = {value.name: value.known for value in graph.values if value.known is not None and value.producer}
    assume(followed)
    found = results_of(graph)
    assert {name: (known.shape, known.elements) for name, known in followed.items()} == {
        name: (found[name].shape, tuple(found[name].reshape(-1).tolist())) for name in followed
    }


@given(networks())
@settings(FEW, max_examples=150)
def test_symbolic_sizes_stand_for_the_true_ones(graph: Graph) -> None:
    """With the batch as a symbol, each size that is known is the one for that batch."""
    batch, *rest = present(graph["x"].shape)
    symbolic = infer_types(graph, {"x": ["N", *rest]})
    known = {name: str(type_) for name, type_ in infer_types(graph).items()}
    filled = {
        name: TensorType(tensor_type(type_).dtype, None if tensor_type(type_).shape is None else tuple(
            true if dim is UNKNOWN else substitute(dim, {"N": batch})
            for dim, true in zip(present(tensor_type(type_).shape), present(graph[name].shape), strict=True)
        ))
        for name, type_ in symbolic.items()
    }  # fmt: skip
    assert {name: str(type_) for name, type_ in filled.items() if type_.shape is not None} == {
        name: known[name] for name, type_ in filled.items() if type_.shape is not None
    }


@given(networks())
@settings(FEW, max_examples=100)
def test_what_is_known_of_part_holds_for_the_whole(graph: Graph) -> None:
    """Nothing but unknown sizes given: what follows still is what follows from the true sizes, or nothing."""
    open_types = infer_types(graph, {"x": [None] * len(present(graph["x"].shape))})
    wrong = {
        name: (str(type_), str(graph[name].type))
        for name, type_ in open_types.items()
        if tensor_type(type_).shape is not None
        and any(
            dim not in (UNKNOWN, true)
            for dim, true in zip(present(tensor_type(type_).shape), present(graph[name].shape), strict=True)
        )
    }
    assert wrong == {}
