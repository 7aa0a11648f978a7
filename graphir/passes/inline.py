"""What passes share that put the nodes of one graph into another: the copy, its names, and taking a node's place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from graphir.errors import ShapeError
from graphir.graph import Graph, Node, Value
from graphir.ops.base import Operator
from graphir.ops.elementwise import Identity
from graphir.structure import names as all_names
from graphir.types import ANYTHING, TensorType, unify

from .clone import Images, clone_into


class GraphNames(all_names.Names):
    """The names of all values of a graph, of the graphs inside it and around it.

    `ancestors` says for nodes that `InlinedGraph` made what they were made for.
    """

    def __init__(self, graph: Graph) -> None:
        while graph.parent is not None:
            graph = graph.parent
        super().__init__(all_names.value_names(graph))
        self.ancestors: dict[Node, Node] = {}


class InlinedGraph:
    """A graph whose nodes are put into `target`, as often as wanted; its parameters come with them, once."""

    def __init__(self, body: Graph, target: Graph, names: GraphNames, prefix: str) -> None:
        self.body = body
        self.target = target
        self.names = names
        self.prefix = prefix
        self.parameters: Images = {}
        self.new_nodes: list[Node] = []
        self._held = target.parameter_count

    def copy(self, bindings: Mapping[Value, Value], before: Node, *, turn: int | None = None) -> list[Value]:
        """Put the nodes before a node of the target, and give the images of the body's outputs.

        That node is the one that they are made for. `bindings` says what stands for the body's inputs. Types are
        inferred anew from the operands at hand. Raises what `add_node` raises, and ShapeError if a type contradicts
        what the body states of it.
        """
        prefix = self.prefix if turn is None else f"{self.prefix}_{turn}"
        images = dict(bindings)
        for parameter in self.body.parameters:
            if parameter not in images and parameter.is_needed:
                images[parameter] = self._parameter(parameter)
        for node in self.body.nodes:
            self._copy_node(node, images, before, prefix)
        return [images.get(value, value) for value in self.body.outputs]

    def add(self, op: Operator, operands: Sequence[Value | None], before: Node, suffix: str) -> Node:
        """Return a node of its own beside those of the body."""
        outputs = [self.names.fresh(f"{self.prefix}_{suffix}") for _ in range(op.output_count)]
        node = self.target.add_node(op, operands, name=outputs[0], output_names=outputs, before=before)
        self._note(node, before)
        return node

    def _note(self, node: Node, before: Node) -> None:
        self.new_nodes.append(node)
        self.names.ancestors[node] = before

    def take_back(self) -> None:
        """Erase all nodes that were made, and the parameters that were added since."""
        for node in reversed(self.new_nodes):
            self.target.erase(node)
        for parameter in self.target.parameters[self._held :]:
            if not parameter.is_needed:
                self.target.erase_value(parameter)
        self.new_nodes.clear()
        self.parameters.clear()

    def _parameter(self, value: Value) -> Value:
        if value not in self.parameters:
            name = self.names.fresh(f"{self.prefix}_{value.name}")
            self.parameters[value] = self.target.add_parameter(name, value.tensor, value.type)
        return self.parameters[value]

    def _copy_node(self, node: Node, images: Images, before: Node, prefix: str) -> None:
        fresh = self.names.fresh
        subgraphs = [
            clone_into(inner, self.target, images, lambda name: fresh(f"{prefix}_{name}"))
            for inner in node.subgraphs
        ]
        copy = self.target.add_node(
            node.op,
            [None if value is None else images.get(value, value) for value in node.inputs],
            name=f"{prefix}_{node.name}",
            output_names=[fresh(f"{prefix}_{value.name}") for value in node.outputs],
            before=before,
            subgraphs=subgraphs,
        )
        self._note(copy, before)
        for old, new in zip(node.outputs, copy.outputs, strict=True):
            images[old] = new
            if not isinstance(new.type, TensorType) or not new.type.is_static:
                _refine(self.target, new, old)


def _refine(graph: Graph, value: Value, stated: Value) -> None:
    """Add what the body knows of a value; where no rule tells the type, that is its declaration."""
    if value.type == ANYTHING:
        value.declared = stated.type
    graph.refine(value, stated.type)


def take_place(graph: Graph, node: Node, values: Sequence[Value], nodes: Iterable[Node]) -> None:
    """Let `values` stand for the node's results and erase it. Results of `nodes`, which replace it, take their names.

    The names of the graph's outputs stay: a value that cannot take such a name gets an Identity that does. Raises
    ShapeError, with nothing changed, if a value contradicts what is known of the result.
    """
    needed = [(old, new) for old, new in zip(node.outputs, values, strict=True) if old.is_needed]
    for old, new in needed:
        try:
            unify(old.type, new.type)
        except ShapeError as error:
            raise ShapeError(f"{old.name} is {old.type}, but what takes its place is {new.type}: {error}") from None
    free = {value for new in nodes if new.graph is graph for value in new.outputs}
    renamed: list[tuple[Value, str]] = []
    for old, value in needed:
        new = value
        if graph.is_output(old) and (new not in free or graph.is_output(new)):
            new = graph.add(Identity(), new, name=old.name, output=graph.fresh_name(f"{old.name}_copy"), before=node)
            free.add(new)
        graph.replace_uses(old, new)
        if new.graph is graph:
            graph.refine(new, old.type)
        if new in free:
            free.discard(new)
            renamed.append((new, old.name))
    graph.erase(node)
    for new, name in renamed:
        graph.rename(new, name)
