"""Random networks with the input's shape withheld and parts of others given: whatever follows is true."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphir.graph import Graph
from graphir.inference import infer_types
from graphir.types import TensorType, Type, Unknown

from .networks import networks


@st.composite
def parts(draw: st.DrawFn) -> tuple[Graph, dict[str, object]]:
    """A network, and shapes of some of its results with some of their sizes; of the input at most a part."""
    graph = draw(networks(most=10))
    shapes: dict[str, object] = {"x": None}
    for value in graph.values:
        if value.tensor is None and value.shape is not None and draw(st.integers(0, 2)) == 0:
            shapes[value.name] = [size if draw(st.booleans()) else None for size in value.shape]
    return graph, shapes


def is_true(type_: Type, true: Type) -> bool:
    """Whether all that the first type says is so in the second."""
    assert isinstance(type_, TensorType)
    assert isinstance(true, TensorType)
    if type_.dtype not in (None, true.dtype):
        return False
    if type_.shape is None or true.shape is None:
        return True
    return len(type_.shape) == len(true.shape) and all(
        isinstance(size, Unknown) or size == real for size, real in zip(type_.shape, true.shape, strict=True)
    )


@given(parts())
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_follows_from_parts_is_true(drawn: tuple[Graph, dict[str, list[int | None] | None]]) -> None:
    graph, shapes = drawn
    found = infer_types(graph, shapes)
    true = {value.name: value.type for value in graph.values}
    wrong = {name: (str(type_), str(true[name])) for name, type_ in found.items() if not is_true(type_, true[name])}
    assert wrong == {}


@given(parts())
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_knowing_more_says_no_less(drawn: tuple[Graph, dict[str, list[int | None] | None]]) -> None:
    """With the input's shape given too, all that was known before is known still."""
    graph, shapes = drawn
    less = infer_types(graph, shapes)
    more = infer_types(graph, shapes | {"x": graph["x"].shape})
    assert {name: (str(type_), str(more[name])) for name, type_ in less.items() if not is_true(type_, more[name])} == {}
