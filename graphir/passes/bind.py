"""Inputs whose values are decided become parameters."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphir.decisions import DecisionKind
from graphir.errors import GraphError, ShapeError
from graphir.graph import Graph, Value
from graphir.inference import infer_graph
from graphir.tensor import Tensor
from graphir.types import TensorType, unify

from .clone import clone
from .outcome import Outcome

SHOWN = 8


def bind_inputs(graph: Graph, values: Mapping[str, object]) -> Outcome:
    """Make parameters of the named inputs, with these elements.

    What follows from the elements is inferred at once: with the `shape` of a Reshape bound its result's sizes are
    known. An array must have the input's dtype, and a number or a list must hold elements of it. Each input that is
    bound is a decision. Raises GraphError for a name that is no input and for elements that do not fit the input, and
    ShapeError if they contradict the graph; the graph is then as it was.
    """
    tensors = {name: _tensor(_input(graph, name), elements) for name, elements in values.items()}
    if tensors:
        _bind(clone(graph), tensors)
        _bind(graph, tensors)
    outcome = Outcome()
    for name, tensor in tensors.items():
        outcome.note(name, "its elements were given")
        graph.decide(
            DecisionKind.CONSTANT_INPUT, name, f"it is always {_shown(tensor)}, as was asked for: no input any more"
        )
    return outcome


def _bind(graph: Graph, tensors: Mapping[str, Tensor]) -> None:
    for name, tensor in tensors.items():
        value = graph[name]
        parameter = graph.add_parameter(graph.fresh_name(name), tensor)
        parameter.sources = value.sources
        graph.replace_uses(value, parameter)
        graph.erase_value(value)
        graph.rename(parameter, name)
    infer_graph(graph)


def _input(graph: Graph, name: str) -> Value:
    source = next((value for value in graph.inputs if value.name == name), None)
    if source is None:
        names = ", ".join(value.name for value in graph.inputs) or "none"
        raise GraphError(f"{name!r} is no input of the graph and cannot be bound; its inputs are: {names}")
    return source


def _tensor(value: Value, elements: object) -> Tensor:
    """Return the elements in the input's dtype. Raises GraphError if that would change them, ShapeError for a wrong
    shape."""
    what = f"the input {value.name} is {value.type}"
    if not isinstance(value.type, TensorType):
        raise GraphError(f"{what}; only tensors can be bound")
    wanted = value.dtype
    try:
        tensor = Tensor.of(elements)
        if wanted is not None and tensor.dtype is not wanted:
            if isinstance(elements, np.ndarray | np.generic | Tensor):
                raise GraphError(f"it cannot be bound to {tensor.type}")
            converted = Tensor.of(elements, wanted)
            if not np.array_equal(converted.numpy().astype(tensor.dtype.numpy()), tensor.numpy()):
                raise GraphError(f"it cannot hold {_shown(tensor)}")
            tensor = converted
        unify(tensor.type, value.type)
    except ShapeError as error:
        raise ShapeError(f"{what} and cannot be bound to {tensor.type}: {error}") from None
    except GraphError as error:
        raise GraphError(f"{what}: {error}") from error
    return tensor


def _shown(tensor: Tensor) -> str:
    """Return the elements if they are few, else how many there are."""
    if tensor.size > SHOWN:
        return f"one tensor of {tensor.type}"
    return str(tensor.numpy().tolist())
