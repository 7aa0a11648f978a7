"""What a graph holds and how it is read: values, nodes in order, names, outputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING

from graphir.decisions import DecisionKind
from graphir.errors import GraphError
from graphir.node import Decision, Node, Value
from graphir.safety.arguments import expect
from graphir.structure.frozen import expect_open
from graphir.structure.names import free_name, similar_names
from graphir.structure.views import Nodes, Weights
from graphir.tensor import Tensor
from graphir.types import TYPES, Type

if TYPE_CHECKING:
    from graphir.graph import Graph
    from graphir.ops.base import Operator


REWRITTEN = "graphir.rewritten"
"""In a graph's metadata: into which dtype it was rewritten, so that it is no more what its file holds, node by node."""


class GraphStore:
    """The values and nodes of a `Graph`, which adds the methods that change them."""

    def __init__(self, name: str = "graph", *, parent: Graph | None = None) -> None:
        self.name = expect(name, str, "the name of a graph")
        if parent is not None:
            expect(parent, GraphStore, "the parent of a graph", "a Graph or None")
        self.parent = parent
        self.metadata: dict[str, str] = {}
        self.decisions: list[Decision] = []
        self._values: dict[str, Value] = {}
        self._inputs: list[Value] = []
        self._outputs: tuple[Value, ...] | list[Value] = ()
        self._holders: dict[Value, dict[Graph, list[int]]] = {}  # of a value: whose outputs it is, and which
        self._parameters: dict[Value, None] = {}
        self._constants: dict[object, tuple[Value, Tensor]] = {}
        self._counters: dict[str, int] = {}
        self._first: Node | None = None
        self._last: Node | None = None
        self._count = 0
        self.kinds: set[type[Operator]] = set()  # the operators of all nodes that it has or had

    @property
    def inputs(self) -> tuple[Value, ...]:
        """The values that a run is fed with, in order."""
        return tuple(self._inputs)

    @property
    def outputs(self) -> tuple[Value, ...]:
        """The values that a run gives, in order."""
        outputs = self._outputs
        if type(outputs) is list:
            outputs = self._outputs = tuple(outputs)
        return outputs  # type: ignore[return-value]

    @property
    def parameters(self) -> tuple[Value, ...]:
        """The values with elements of their own (or that will have them), in the order of their creation."""
        return tuple(self._parameters)

    @property
    def parameter_count(self) -> int:
        """How many parameters there are, without a tuple of them."""
        return len(self._parameters)

    def __str__(self) -> str:
        from graphir.structure.text import format_graph

        return format_graph(self)  # type: ignore[arg-type]

    def _repr_html_(self) -> str:
        """Return the graph for a notebook: a picture without scripts, or a text without the library that draws."""
        drawer = import_module("graphir.drawing.picture")  # found by its name: a graph needs no picture of itself
        return str(drawer.html_of(self))

    @property
    def nodes(self) -> Nodes:
        """The nodes in order, as a view: `len(graph.nodes)`, `graph.nodes[0]`, `graph.nodes["fc1"]`."""
        return Nodes(self)

    def node(self, name: str) -> Node:
        """Return the node of this name. Raises GraphError if there is none, with names that may be meant, or several.

        Every node is looked at: for many names make a dict of `graph.nodes` once.
        """
        return self.nodes[expect(name, str, f"the name of a node of {self.name}")]

    def weights(self) -> Weights:
        """Return the elements of the parameters by name, as arrays that must not be written to; read when asked for."""
        return Weights(self)

    def copy(self) -> Graph:
        """Return the same graph again, to be changed on its own; elements are shared, since none of them ever
        changes."""
        from graphir.structure.cloning import clone

        return clone(self)  # type: ignore[arg-type]

    @property
    def values(self) -> Iterator[Value]:
        """All values in the order in which they were made; one that was renamed counts as made then."""
        return iter(tuple(self._values.values()))

    def __len__(self) -> int:
        return self._count

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._values

    def __getitem__(self, name: str) -> Value:
        value = self._values.get(expect(name, str, f"a name in {self.name}"))
        if value is None:
            raise GraphError(f"graph {self.name} has no value {name!r}{similar_names(name, self._values)}")
        return value

    def find(self, names: Iterable[str]) -> list[Value | None]:
        """Return the values of these names, None for each that there is not."""
        return list(map(self._values.get, names))

    def holds(self, value: Value) -> bool:
        """Return whether the value is one of this graph itself and has not been erased."""
        return self._values.get(value._name) is value

    def is_input(self, value: Value) -> bool:
        """Return whether the value is among the graph's inputs."""
        is_member = self.holds(expect(value, Value, "is_input", "a Value of the graph"))
        return is_member and value.producer is None and value not in self._parameters

    def __repr__(self) -> str:
        return f"Graph({self.name}: {self._count} nodes, {len(self._parameters)} parameters)"

    def fresh_name(self, wanted: str) -> str:
        """Return `wanted` if no value has that name, else `wanted` with the first free number behind it."""
        expect_open(self)  # which number is free is counted
        return free_name(expect(wanted, str, "the wanted name"), self._values, self._counters)

    def decide(self, kind: DecisionKind, node: str, text: str) -> None:
        """Record a decision."""
        expect_open(self)
        self.decisions.append(Decision(kind, node, text))

    def _new_value(self, name: str, type_: Type) -> Value:
        expect_open(self)
        if not expect(name, str, "the name of a value"):
            raise GraphError("a value needs a name")
        expect(type_, TYPES, f"the type of {name}")
        if name in self._values:
            raise GraphError(f"a value called {name!r} exists already")
        value = Value(self, name, type_)  # type: ignore[arg-type]
        self._values[name] = value
        return value

    def _replace_outputs(self, indices: Iterable[int], value: Value) -> None:
        """Give a value at these places. A tuple is made again when it is read: many may be replaced before."""
        outputs = self._outputs
        if type(outputs) is not list:
            outputs = self._outputs = list(outputs)
        for index in indices:
            outputs[index] = value

    def _own_node(self, node: Node) -> None:
        expect_open(self)
        if expect(node, Node, f"a node of {self.name}").graph is not self:
            raise GraphError(f"{node.name} is not a node of {self.name}")

    def _own(self, value: Value) -> None:
        expect_open(self)
        expect(value, Value, f"a value of {self.name}", "a Value of the graph, as in graph['x']")
        if not self.holds(value):
            raise GraphError(f"{value.name} is not a value of {self.name}")

    def _link(self, node: Node, before: Node | None) -> None:
        """Put a new node before a node of this graph, or at the end."""
        if before is None:
            node._previous = self._last
            if self._last is not None:
                self._last._next = node
            else:
                self._first = node
            self._last = node
        else:
            node._next = before
            node._previous = before._previous
            if before._previous is not None:
                before._previous._next = node
            else:
                self._first = node
            before._previous = node
        self._count += 1
        self.kinds.add(type(node.op))

    def _unlink(self, node: Node) -> None:
        if node._previous is not None:
            node._previous._next = node._next
        else:
            self._first = node._next
        if node._next is not None:
            node._next._previous = node._previous
        else:
            self._last = node._previous
        node._graph = None
        self._count -= 1
