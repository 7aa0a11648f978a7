"""How a pattern of nodes becomes one node: what must hold besides that the pattern matches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from graphir.decisions import DecisionKind
from graphir.errors import GraphirError
from graphir.graph import Graph, Node, Value
from graphir.ops.base import Operator
from graphir.structure.record import record
from graphir.types import TensorType, Unknown

from ..patterns import Names, Pattern
from ..rewrite import Accepted, Rule, Rules

Operands: TypeAlias = Sequence[Value | None]
# The operator and its operands in place of nodes whose values are known by name; None if it does not compute the same.
Build: TypeAlias = Callable[[Graph, Node, Names], tuple[Operator, Operands] | None]


@record
class Fusion:
    """Nodes that a pattern describes become what `build` makes of them, and why that computes the same.

    Nothing else may use what lies between, nor may it be an output of the graph, and the result's type must stay as it
    is. Unless it is `exact` to the last bit, each replacement is a decision.
    """

    why: str
    pattern: Pattern
    build: Build
    exact: bool = False

    def rewrite(self, graph: Graph, node: Node) -> Accepted:
        """Replace the node, if the pattern and all conditions hold for it."""
        for names in self.pattern.matches(node.outputs[0], {}):
            replacement = self.build(graph, node, names) if are_alone(node, names.values()) else None
            if replacement is not None and put(graph, node, *replacement):
                if not self.exact:
                    decide(graph, node, self.why)
                return True
        return False


def rules(*fusions: Fusion) -> Rules:
    """Return the fusions by the operator whose node they replace."""
    table: dict[type[Operator], list[Rule]] = {}
    for fusion in fusions:
        for root in fusion.pattern.roots:
            needs = tuple([needs for needs in fusion.pattern.needs if root in needs])
            table.setdefault(root, []).append(Rule(fusion.why, fusion.rewrite, needs))
    return table


def decide(graph: Graph, node: Node, why: str) -> None:
    """Record that a node rounds otherwise, in the outermost graph."""
    while graph.parent is not None:
        graph = graph.parent
    graph.decide(DecisionKind.FUSED, node.name, why)


def are_alone(root: Node, bounds: Iterable[Value]) -> bool:
    """Return whether only the root's results are used outside the nodes between it and the values that bound them."""
    outside = set(bounds)
    inside = {root: None}
    frontier = [root]
    while frontier:
        for value in frontier.pop().inputs:
            if value is None or value in outside or value.producer is None or value.producer in inside:
                continue
            inside[value.producer] = None
            frontier.append(value.producer)
    between = [value for node in inside if node is not root for value in node.outputs]
    return all(node.graph is root.graph for node in inside) and not any(
        value.is_held or any(user not in inside for user, _ in value.uses) for value in between
    )


def put(graph: Graph, node: Node, op: Operator, operands: Operands) -> Accepted:
    """Put an operator in a node's place, whose further results nobody needs, if the result's type stays as it is."""
    result = node.outputs[0]
    try:
        new = graph.add_node(op, operands, name=node.name, before=node)
    except GraphirError:  # the operator does not take these operands: nothing to put
        return False
    if not is_same_type(new.outputs[0], result):
        graph.erase(new)
        return False
    take_over(graph, result, new.outputs[0])
    return True


def take_over(graph: Graph, old: Value, new: Value) -> None:
    """Let a node's result stand for that of another node, which is erased, under its name."""
    name, sources, producer = old.name, old.sources, old.producer
    assert producer is not None
    graph.replace_uses(old, new)
    graph.refine(new, old.type)
    graph.erase(producer)
    graph.rename(new, name)
    new.sources = sources


def is_same_type(new: Value, old: Value) -> bool:
    """Return whether two values have one dtype, and one shape in which no size is unknown."""
    if not isinstance(new.type, TensorType) or not isinstance(old.type, TensorType) or new.dtype is not old.dtype:
        return False
    if new.shape is None or old.shape is None:
        return False
    return new.shape == old.shape and not any(isinstance(dim, Unknown) for dim in new.shape)


def axes_of(value: Value | None, rank: int | None) -> tuple[int, ...] | None:
    """Return the axes that an operand names, in order and counted from 0; None if they, or the rank, are not known."""
    numbers = None if value is None else value.integers
    if numbers is None or rank is None:
        return None
    return tuple(sorted(axis % rank for axis in numbers))
