"""A graph with types of its inputs stated anew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphir.errors import GraphError
from graphir.graph import Graph
from graphir.structure.cloning import clone
from graphir.types import DType, TensorType, unify

from .engine import infer_graph
from .given import parse_dims


def with_types(graph: Graph, shapes: Mapping[str, Any], dtypes: Mapping[str, Any] | None = None) -> Graph:
    """Return a copy of the graph with these shapes and dtypes of inputs, and all that follows from them.

    Raises GraphError for names that are no inputs, ShapeError if types contradict.
    """
    dtypes = dtypes or {}
    copy = clone(graph)
    inputs = {value.name: value for value in copy.inputs}
    for name in dict.fromkeys((*shapes, *dtypes)):
        if name not in inputs:
            raise GraphError(f"{name!r} is no input of the graph; its inputs are: {', '.join(inputs) or 'none'}")
        dtype = DType.of(dtypes[name]) if name in dtypes else None
        shape = parse_dims(shapes[name]) if name in shapes else None
        copy.refine(inputs[name], unify(inputs[name].type, TensorType(dtype, shape)))
    infer_graph(copy)
    return copy
