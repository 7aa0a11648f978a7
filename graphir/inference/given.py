"""Shapes and dtypes that are given from outside, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from graphir.errors import GraphError, ShapeError
from graphir.safety.arguments import expect_mapping
from graphir.symbolic.text import dimensions
from graphir.types import ANYTHING, Dim, DType, TensorType, Type, parse_shape

from .declared import nearest

if TYPE_CHECKING:
    from graphir.graph import Graph, Value


def given_types(
    graph: Graph, shapes: Mapping[str, object] | None, dtypes: Mapping[str, object] | None
) -> dict[Value, Type]:
    """Return the types of the values that were given; what was not given of one is what its source states.

    Raises GraphError for a name that the graph does not have and ShapeError for what is no shape or dtype.
    """
    given: dict[Value, Type] = {}
    shapes = None if shapes is None else expect_mapping(shapes, "shapes")
    dtypes = None if dtypes is None else expect_mapping(dtypes, "dtypes")
    for name in dict.fromkeys([*(shapes or {}), *(dtypes or {})]):
        if name not in graph:
            known = nearest(name, [value.name for value in graph.inputs])
            raise GraphError(f"the graph has no value {name!r}; {known}")
        value = graph[name]
        stated = value.declared if isinstance(value.declared, TensorType) else ANYTHING
        shape = parse_dims((shapes or {})[name]) if shapes and name in shapes else stated.shape
        dtype = DType.of((dtypes or {})[name]) if dtypes and name in dtypes else stated.dtype
        given[value] = TensorType(dtype, shape)
    return given


def parse_dims(shape: object) -> tuple[Dim, ...] | None:
    """Return a shape given from outside: text, or integers, names, None and dimensions in a sequence; None is an
    unknown rank.

    Raises ShapeError.

    >>> parse_dims((1, "N", None))
    (1, Sym('N'), UNKNOWN)
    """
    if shape is None:
        return None
    try:
        dims = parse_shape(shape) if isinstance(shape, str) else dimensions(shape)
    except ValueError as error:
        raise ShapeError(f"not a shape: {shape!r}: {error}") from None
    for dim in dims:
        if isinstance(dim, int) and dim < 0:
            raise ShapeError(f"not a shape: {shape!r}: the size {dim} is negative; an unknown size is None or '?'")
    return dims
