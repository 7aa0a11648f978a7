"""Finding the value that a person means: by its name, its name in the source, or the name of its layer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from graphir.errors import GraphError
from graphir.safety.foreign_text import listing
from graphir.structure.names import similar_names
from graphir.structure.reaching import graphs_within

if TYPE_CHECKING:
    from graphir.graph import Graph, Node, Value

NUMBERED = r"(.+):([0-9]{1,9})"
LAYER_OUTPUT = "_output"

T = TypeVar("T")


class Lookup(Generic[T]):
    """What names of a model stand for: `values` by name, and the names of the results of each layer.

    A text means, the first of these that there is: the value of that name (`fc1_output`, `relu:0`), a `:0` behind it or
    not; the only result of the layer of that name (`fc1`), of which `split:1` is the second one.
    """

    def __init__(self, where: str, values: Mapping[str, T], layers: Mapping[str, Sequence[str]]) -> None:
        self.where = where
        self._values = values
        self._layers = layers

    def find(self, name: str) -> T:
        """Return what is meant. Raises GraphError with names that may be meant, and for a layer of several results with
        those."""
        for wanted in (name, name.removesuffix(":0"), f"{name}:0"):
            if wanted in self._values:
                return self._values[wanted]
        return self._values[self._of_layer(name)]

    def _of_layer(self, name: str) -> str:
        """Return the name of a layer's result."""
        numbered = re.fullmatch(NUMBERED, name, re.DOTALL)
        if name in self._layers or numbered is None:
            return self._only(name)
        layer, number = numbered[1], int(numbered[2])
        if f"{layer}{LAYER_OUTPUT}{number}" in self._values:
            return f"{layer}{LAYER_OUTPUT}{number}"
        if layer not in self._layers:
            raise self._absent_error(name)
        results = self._layers[layer]
        if number >= len(results):
            raise GraphError(f"the layer {layer!r} of {self.where} has no result {number}; it has {listing(results)}")
        return results[number]

    def _only(self, name: str) -> str:
        results = self._layers.get(name, ())
        if len(results) == 1:
            return results[0]
        if f"{name}{LAYER_OUTPUT}" in self._values:
            return f"{name}{LAYER_OUTPUT}"
        if not results:
            raise self._absent_error(name)
        raise GraphError(f"the layer {name!r} of {self.where} has several results: name one of {listing(results)}")

    def _absent_error(self, name: str) -> GraphError:
        hint = similar_names(name, dict.fromkeys([*self._layers, *self._values]))
        return GraphError(f"{self.where} has no value or layer {name!r}{hint}")


class GraphLookup(Lookup["Value"]):
    """The names of a graph's values. Made in one walk.

    The graph's own names come before the source's for them. Of a layer that became several nodes the results count
    that the source knows.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        values = {value.name: value for value in graph.values}
        for value in graph.values:
            for name in value.sources:
                values.setdefault(name, value)
        nodes: dict[str, list[Node]] = {}
        for node in graph.nodes:
            nodes.setdefault(node.name, []).append(node)
        layers = {name: [value.name for value in comparable_results(node)] for name, node in nodes.items()}
        super().__init__(graph.name, values, layers)

    def _absent_error(self, name: str) -> GraphError:
        inside = next((node for node in self.graph.nodes if _is_inside(node, name)), None)
        if inside is None:
            return super()._absent_error(name)
        return GraphError(f"{name!r} stands inside {inside.name} ({inside.op.name}), where nothing can be cut")


def comparable_results(nodes: Iterable[Node]) -> list[Value]:
    """Return the results of one layer's nodes that a user can request.

    These are first results and results that have a reader. If the source names any of them, only those count.
    """
    candidates = [
        value for node in nodes for value in node.outputs if value.index == 0 or value.uses or value.is_held
    ]
    return [value for value in candidates if value.sources] or candidates


def _is_inside(node: Node, name: str) -> bool:
    return any(name in graph for body in node.subgraphs for graph in graphs_within(body))
