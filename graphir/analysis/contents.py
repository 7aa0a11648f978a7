"""What a graph holds: the weights of its source, and how many nodes of each operator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from graphir.graph import Graph, Value
from graphir.structure.reaching import nodes_within
from graphir.tensor import Tensor
from graphir.types import DType


def weights(graph: Graph, *, used: bool = True) -> dict[str, Tensor]:
    """Return the elements of the source's weights, those in subgraphs included, by name; of those that are `used`
    only."""
    tensors: dict[str, Tensor] = {}
    for value in used_weights(graph) if used else _weights(graph):
        if value.tensor is not None:
            name = value.name if value.name not in tensors else f"{value.graph.name}/{value.name}"
            tensors[name] = value.tensor
    return tensors


def used_weights(graph: Graph) -> Iterator[Value]:
    """Return the parameters that are weights of the source and that something uses, those in subgraphs included."""
    return (value for value in _weights(graph) if value.is_needed)


def has_source_names(graph: Graph) -> bool:
    """Return whether values have names in a source, by which its weights are told from constants. Of a graph that was
    built node by node none has one: there every parameter is a weight."""
    return any(value.sources for value in graph.values)


def _weights(graph: Graph) -> Iterator[Value]:
    named = has_source_names(graph)
    return (value for value in _parameters(graph) if value.sources or not named)


def _parameters(graph: Graph) -> Iterator[Value]:
    yield from graph.parameters
    for node in graph.nodes:
        for inner in node.subgraphs:
            yield from _parameters(inner)


def count_operators(graph: Graph) -> dict[str, int]:
    """Return how many nodes there are of each operator, those of subgraphs included."""
    return dict(Counter(node.op.shown_name for node in nodes_within(graph.nodes)))


def stored_bytes(tensor: Tensor) -> int:
    """Return how many bytes the elements take, of strings those of their UTF-8 texts."""
    if tensor.dtype is not DType.STRING:
        return tensor.nbytes
    return sum(
        len(text if isinstance(text, bytes) else str(text).encode("utf-8", "surrogateescape"))
        for text in tensor.numpy().flat
    )
