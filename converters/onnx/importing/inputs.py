"""Fixing the shapes and dtypes of a graph's inputs after import."""

from __future__ import annotations

from collections.abc import Mapping

from graphir.errors import ImportFailure, ShapeError
from graphir.graph import Graph, Value
from graphir.inference import infer_graph
from graphir.inference.declared import check_given, nearest
from graphir.inference.engine import parse_dims
from graphir.types import DType, TensorType, Type, unify


def fix_inputs(graph: Graph, shapes: Mapping[str, object], dtypes: Mapping[str, object]) -> None:
    """Give inputs shapes and dtypes by name, and infer what follows. Raises ImportFailure."""
    known = {value.name: value for value in graph.inputs}
    unknown = [name for name in (*shapes, *dtypes) if name not in known]
    if unknown:
        raise ImportFailure(
            f"a shape or dtype was given for {', '.join(unknown)}, which is no input; {nearest(unknown[0], known)}"
        )
    check_given(
        {name: parse_dims(shape) for name, shape in shapes.items()},
        {name: value.declared.shape for name, value in known.items() if isinstance(value.declared, TensorType)},
    )
    try:
        for name in dict.fromkeys((*shapes, *dtypes)):
            value = known[name]
            shape = parse_dims(shapes[name]) if name in shapes else None
            given = TensorType(DType.of(dtypes[name]) if name in dtypes else None, shape)
            fixed = _fix_type(value, given)
            value.graph.retype(value, fixed, fixed)
        infer_graph(graph)
    except ShapeError as error:
        raise ImportFailure(f"the shapes given do not fit the model: {error}") from error


def _fix_type(value: Value, given: TensorType) -> Type:
    try:
        return unify(given, value.type)
    except ShapeError as error:
        raise ShapeError(f"{value.name} is {value.type} in the model, but was given as {given}: {error}") from error
