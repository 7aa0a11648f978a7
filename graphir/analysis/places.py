"""Where a model can be cut: the values that `outputs` and `inputs` may name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from graphir.analysis.counting import elements_of
from graphir.graph import Graph, Node, Value
from graphir.structure.lookup import comparable_results
from graphir.structure.record import record

INPUT = "input"


@record
class Place:
    """A value that a model can be cut at: its name, the layer that gives it with its operator (`input` for an input of
    the model), and the elements of the weights that the layer reads. `is_output` says that the model gives it."""

    name: str
    layer: str
    operator: str
    value: Value
    parameters: int
    is_output: bool


def places(graph: Graph) -> list[Place]:
    """Return the inputs of a model and what its layers give, in the order of computation. Linear in nodes.

    A value that only graphir has, a step on the way of one layer, is left out where the source has names of its own.
    """
    outputs = set(graph.outputs)
    known = any(value.sources for node in graph.nodes for value in node.outputs)
    entries = [Place(value.name, value.name, INPUT, value, 0, value in outputs) for value in graph.inputs]
    open_count = 0  # of layers that became several nodes, the one that gives the result has the weights of all
    for node in graph.nodes:
        shown = [value for value in comparable_results([node]) if value.sources or not known]
        open_count += _weights(node)
        for value in shown:
            entries.append(Place(value.name, node.name, node.op.name, value, open_count, value in outputs))
        if shown:
            open_count = 0
    return entries


def matching(candidates: Iterable[Place], patterns: Sequence[str]) -> list[Place]:
    """Return those whose name, layer or operator is like one of the patterns (`*`, `?`, `[abc]`); all without a
    pattern."""
    return [
        place
        for place in candidates
        if not patterns
        or any(fnmatchcase(text, pattern) for pattern in patterns for text in (place.name, place.layer, place.operator))
    ]


def _weights(node: Node) -> int:
    """Return the elements of the source's weights that a node reads."""
    read = dict.fromkeys(value for value in node.inputs if value is not None and value.is_parameter and value.sources)
    return sum(elements_of(value) or 0 for value in read)
