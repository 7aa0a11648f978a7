"""Random graphs of random operators: what is inferred, symbolic or not, is what onnxruntime computes."""

from __future__ import annotations

from typing import Any

import onnx
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from graphir.converters.onnx import from_model, to_model
from graphir.graph import Graph
from graphir.inference import infer_types
from graphir.ops.base import Element
from graphir.ops.counts import data_dependent_sizes
from graphir.symbolic.dims import UNKNOWN, substitute
from graphir.types import DType, TensorType, Unknown
from tests.typed import present, tensor_type, untyped

from .networks import networks
from .programs import programs
from .running import results_of

FEW = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
Sizes = dict[str, int]


def with_names(graph: Graph, which: list[bool]) -> tuple[Graph, Sizes]:
    """The graph anew, read from ONNX, with names for the chosen sizes of `x`; equal sizes have one name."""
    model = to_model(graph)
    del model.graph.value_info[:]
    for info in model.graph.output:
        info.ClearField("type")
    sizes: Sizes = {}
    for dim, chosen in zip(model.graph.input[0].type.tensor_type.shape.dim, which, strict=False):
        if chosen and dim.dim_value > 1:
            size = dim.dim_value
            dim.dim_param = f"s{size}"
            sizes[dim.dim_param] = size
    return from_model(onnx.ModelProto.FromString(model.SerializeToString())), sizes


def instance(element: Element, sizes: Sizes, true: float) -> float:
    """The element with numbers for its symbols; the true one where it is not known."""
    if isinstance(element, Unknown):
        return true
    if data_dependent_sizes(element):
        return true
    found = element if isinstance(element, float) else substitute(element, sizes)
    assert isinstance(found, int | float), f"{element} has other names than those of the input"
    return found


def instance_of_type(type_: TensorType, sizes: Sizes, true: TensorType) -> str:
    shape = true.shape
    if type_.shape is not None and shape is not None and len(type_.shape) == len(shape):
        shape = tuple(int(instance(dim, sizes, untyped(size))) for dim, size in zip(type_.shape, shape, strict=True))
    elif type_.shape is not None:
        shape = type_.shape
    return str(TensorType(type_.dtype or true.dtype, shape))


def computed(graph: Graph) -> dict[str, NDArray[Any]]:
    note(str(graph))
    return results_of(graph)


def types_of(arrays: dict[str, NDArray[Any]]) -> dict[str, TensorType]:
    return {name: TensorType(DType.of(array.dtype), array.shape) for name, array in arrays.items()}


@given(programs())
@FEW
def test_programs_have_the_types_that_are_computed(graph: Graph) -> None:
    true = types_of(computed(graph))
    types = infer_types(graph)
    assert {name: instance_of_type(tensor_type(types[name]), {}, true[name]) for name in true} == {
        name: str(type_) for name, type_ in true.items()
    }


@given(programs(), st.lists(st.booleans(), min_size=4, max_size=4))
@settings(FEW, max_examples=200)
def test_symbolic_programs_have_the_types_that_are_computed(graph: Graph, which: list[bool]) -> None:
    true = types_of(computed(graph))
    symbolic, sizes = with_names(graph, which)
    assume(sizes)
    note(str(symbolic))
    found = {name: symbolic[name].type for name in true}
    assert {name: instance_of_type(tensor_type(type_), sizes, true[name]) for name, type_ in found.items()} == {
        name: str(type_) for name, type_ in true.items()
    }


@given(programs(), st.lists(st.booleans(), min_size=4, max_size=4))
@settings(FEW, max_examples=200)
def test_symbolic_elements_are_what_is_computed(graph: Graph, which: list[bool]) -> None:
    arrays = computed(graph)
    symbolic, sizes = with_names(graph, which)
    note(str(symbolic))
    known = {name: symbolic[name].known for name in arrays if symbolic[name].known is not None}
    true = {name: arrays[name].reshape(-1).tolist() for name in known}
    assert {name: present(elements).shape for name, elements in known.items()} == {
        name: arrays[name].shape for name in known
    }
    assert {
        name: [
            instance(element, sizes, size) for element, size in zip(present(elements).elements, true[name], strict=True)
        ]
        for name, elements in known.items()
    } == true


@given(networks(), st.lists(st.booleans(), min_size=4, max_size=4))
@FEW
def test_networks_of_any_symbolic_sizes(graph: Graph, which: list[bool]) -> None:
    true = types_of(computed(graph))
    symbolic, sizes = with_names(graph, which)
    note(str(symbolic))
    names = [name for name in true if name in symbolic]
    assert {name: instance_of_type(tensor_type(symbolic[name].type), sizes, true[name]) for name in names} == {
        name: str(true[name]) for name in names
    }


@given(programs())
@FEW
def test_what_follows_from_unknown_sizes_is_true(graph: Graph) -> None:
    """Nothing but a rank given: x may only get sizes back that it has, as from a Reshape to a known shape."""
    true = types_of(computed(graph))
    types = infer_types(graph, {"x": [None] * len(present(graph["x"].shape))})
    assert {name: instance_of_type(tensor_type(types[name]), {}, true[name]) for name in true} == {
        name: str(type_) for name, type_ in true.items()
    }
    assert all(
        dim in (UNKNOWN, size)
        for dim, size in zip(present(tensor_type(types["x"]).shape), present(graph["x"].shape), strict=True)
    )
