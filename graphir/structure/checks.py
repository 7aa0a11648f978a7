"""The rules that keep a graph valid: those of one change, and all of them checked at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphir.errors import GraphError

if TYPE_CHECKING:
    from graphir.graph import Graph
    from graphir.node import Node, Value
    from graphir.ops.base import Operator

    Uses = dict[Value, set[tuple[Node, int]]]


def check_operands(graph: Graph, shown: str, op: Operator, operands: Sequence[Value | None]) -> None:
    """Raise GraphError unless these are operands that a node of `graph` can have; `shown` is its name."""
    count = len(operands)
    if count < op.least_inputs or (op.most_inputs is not None and count > op.most_inputs):
        raise GraphError(f"{shown}: {op.name} takes {', '.join(op.inputs) or 'none'}, found {count} operands")
    values = graph._values
    for slot, value in enumerate(operands):
        if value is None:
            declared = op.inputs[min(slot, len(op.inputs) - 1)]
            if not declared.endswith("?") and not op.may_leave_gaps:
                raise GraphError(f"{shown}: {op.name} cannot do without operand {slot} ({declared})")
        elif values.get(value._name) is not value and not graph.can_use(value):
            raise GraphError(f"{shown}: operand {slot} ({value.name}) belongs to another graph or was erased")


def check_output_names(graph: Graph, shown: str, op: Operator, names: Sequence[str], count: int) -> None:
    """Raise GraphError unless these can name the `count` results of a new node of `graph`."""
    if len(names) != count:
        raise GraphError(f"{shown}: {op.name} has {count} results, found {len(names)} names")
    if count == 1 and names[0] and names[0] not in graph._values:
        return
    taken: set[str] = set()
    for name in names:
        if not name:
            raise GraphError(f"{shown}: a value needs a name")
        if name in graph or name in taken:
            raise GraphError(f"{shown}: a value called {name!r} exists already")
        taken.add(name)


def check_graph(graph: Graph) -> None:
    """Raise GraphError unless names, order, use lists and ownership agree. Linear in the graph's size."""
    uses: Uses = {}
    values: list[Value] = []
    _check_nodes(graph, set(), uses, values)
    for value in values:
        if set(value.uses) != uses.get(value, set()):
            raise GraphError(f"the use list of {value.name} disagrees with the nodes")


def _check_nodes(graph: Graph, visible: set[Value], uses: Uses, values: list[Value]) -> None:
    """Check a graph and the subgraphs in it, all but the use lists; gathers uses and values.

    `visible` holds what the graphs around have produced so far, and while this graph is walked also its own values.
    """
    sources = [*graph.inputs, *graph.parameters]
    for value in sources:
        if value.producer is not None or not graph.holds(value):
            raise GraphError(f"{value.name} is an input or parameter and cannot have a producer")
    visible.update(sources)
    count = 0
    for node in graph.nodes:
        count += 1
        if node.graph is not graph:
            raise GraphError(f"node {node.name} stands in {graph.name} but says that it does not")
        _check_operands(node, visible, uses)
        for inner in node.subgraphs:
            if inner.parent is not graph:
                raise GraphError(f"a subgraph of node {node.name} has another parent")
            _check_nodes(inner, visible, uses, values)
        _check_results(node, graph)
        visible.update(node.outputs)
        sources.extend(node.outputs)
    if count != len(graph):
        raise GraphError(f"the graph says it has {len(graph)} nodes, found {count}")
    produced = set(sources)
    for value in graph.values:
        if value not in produced:
            raise GraphError(f"{value.name} is neither an input, a parameter nor a result")
    for value in graph.outputs:
        if value not in visible:
            raise GraphError(f"output {value.name} is not produced")
    visible -= produced
    values.extend(sources)


def _check_operands(node: Node, visible: set[Value], uses: Uses) -> None:
    for slot, operand in enumerate(node.inputs):
        if operand is None:
            continue
        if operand not in visible:
            raise GraphError(f"node {node.name} uses {operand.name}, which is not produced before it")
        uses.setdefault(operand, set()).add((node, slot))


def _check_results(node: Node, graph: Graph) -> None:
    for index, value in enumerate(node.outputs):
        if value.producer is not node or value.index != index or not graph.holds(value):
            raise GraphError(f"{value.name} is not what node {node.name} says it produces")
