"""Inputs and outputs with channels first, where the source has them last."""

from __future__ import annotations

from graphir.decisions import DecisionKind
from graphir.graph import Graph, Value
from graphir.ops.shape import Transpose
from graphir.passes.clone import clone
from graphir.passes.simplify import simplify
from graphir.passes.transposes import inverse, move_transposes
from graphir.types import TensorType

Order = tuple[int, ...]
# Tensors with one to three axes besides batch and channels.
RANKS = range(3, 6)


def move_borders(graph: Graph) -> tuple[Graph, dict[str, Order]]:
    """Return a copy of the graph whose inputs and outputs have channels first, and the orders of the source's axes in
    them by name: of those where that saves the graph a Transpose. Each is a decision."""
    graph, orders = clone(graph), dict[str, Order]()
    for name, rank in [(value.name, value.rank) for value in (*graph.inputs, *graph.outputs)]:
        if rank not in RANKS or rank is None:
            continue
        order: Order = (0, rank - 1, *range(1, rank - 1))
        copy = clone(graph)
        stated = f"{copy[name].type} in the source"
        move = _move_input if copy[name].producer is None else _move_output
        move(copy, copy[name], order)
        move_transposes(copy)
        simplify(copy)
        if _count_turns(copy) < _count_turns(graph):
            graph, orders[name] = copy, order
            graph.decide(DecisionKind.LAYOUT, name, f"channels come first, as was asked for: it is {stated}")
    return graph, orders


def _count_turns(graph: Graph) -> int:
    return sum(isinstance(node.op, Transpose) for node in graph.nodes)


def _move_input(graph: Graph, value: Value, order: Order) -> None:
    """Put an input in another order in the place of one; its readers get it back."""
    names, name = [given.name for given in graph.inputs], value.name
    shape = None if value.shape is None else tuple(value.shape[axis] for axis in order)
    new = graph.add_input(graph.fresh_name(name), TensorType(value.dtype, shape))
    first = next(iter(graph.nodes), None)
    back = graph.add(Transpose(inverse(order)), new, name=graph.fresh_name(f"{name}_channels_last"), before=first)
    graph.replace_uses(value, back)
    graph.erase_value(value)
    graph.rename(new, name)
    graph.order_inputs([graph[given] for given in names])


def _move_output(graph: Graph, value: Value, order: Order) -> None:
    """Have an output be given in another order."""
    name = value.name
    graph.rename(value, graph.fresh_name(f"{name}_channels_last"))
    new = graph.add(Transpose(order), value, name=graph.fresh_name(f"{name}_channels_first"), output=name)
    graph.set_outputs([new if output is value else output for output in graph.outputs])
