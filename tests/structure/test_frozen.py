"""A frozen graph refuses each change, leaves graphs that are none of its own alone, and stays as it is."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest

from graphir.decisions import DecisionKind
from graphir.graph import Graph
from graphir.ops.activation import Relu
from graphir.ops.control import If
from graphir.ops.elementwise import Identity, Neg
from graphir.passes.clone import on_copy
from graphir.structure.frozen import FrozenGraphError, frozen
from graphir.tensor import Tensor
from graphir.types import DType, TensorType

VECTOR = TensorType(DType.FLOAT32, (2,))


def example() -> Graph:
    """y = Relu(x), a Neg that nothing uses, a parameter, and a branch that holds a graph of its own."""
    graph = Graph("example")
    x = graph.add_input("x", VECTOR)
    graph.add_parameter("w", Tensor.of(np.ones(2, np.float32)))
    graph.add(Neg(), x, name="unused")
    condition = graph.constant(True, name="condition")
    bodies = [Graph(name, parent=graph) for name in ("then", "else")]
    for body in bodies:
        body.set_outputs([body.add(Identity(), x, name=f"{body.name}_y")])
    graph.add_node(If(), [condition], name="branch", subgraphs=bodies)
    graph.set_outputs([graph.add(Relu(), x, name="y")])
    return graph


def inner(graph: Graph) -> Graph:
    """The graph of the first branch."""
    return graph.node("branch").subgraphs[0]


CHANGES: dict[str, Callable[[Graph], object]] = {
    "add_input": lambda graph: graph.add_input("z"),
    "order_inputs": lambda graph: graph.order_inputs(graph.inputs),
    "add_parameter": lambda graph: graph.add_parameter("v"),
    "constant": lambda graph: graph.constant(2.0),
    "add": lambda graph: graph.add(Relu(), graph["x"]),
    "set_outputs": lambda graph: graph.set_outputs(["x"]),
    "rename": lambda graph: graph.rename(graph["y"], "z"),
    "replace_uses": lambda graph: graph.replace_uses(graph["x"], graph["w"]),
    "replace_input": lambda graph: graph.replace_input(graph.node("y"), 0, graph["w"]),
    "replace": lambda graph: graph.replace(graph.node("y"), Neg()),
    "erase": lambda graph: graph.erase(graph.node("unused")),
    "erase_value": lambda graph: graph.erase_value(graph["w"]),
    "set_tensor": lambda graph: graph.set_tensor(graph["w"], None),
    "refine": lambda graph: graph.refine(graph["y"], VECTOR),
    "retype": lambda graph: graph.retype(graph["y"], VECTOR),
    "fresh_name": lambda graph: graph.fresh_name("y"),
    "decide": lambda graph: graph.decide(DecisionKind.LAYOUT, "y", "it is so"),
    "a node inside": lambda graph: inner(graph).add(Relu(), graph["x"]),
    "outputs inside": lambda graph: inner(graph).set_outputs([graph["x"]]),
}


def shown(graph: Graph) -> tuple[str, object, object]:
    """What a graph holds, what was decided about it, and which numbers its next names have."""
    return str(graph), list(graph.decisions), dict(graph._counters)


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_refused_before_anything_is_changed(name: str) -> None:
    graph = example()
    before = shown(graph)
    with frozen(graph), pytest.raises(FrozenGraphError):
        CHANGES[name](graph)
    assert shown(graph) == before
    CHANGES[name](graph)


def test_other_graphs_and_other_threads_are_free() -> None:
    graph, other = example(), example()
    with frozen(graph):
        other.add(Relu(), other["x"], name="more")
        thread = threading.Thread(target=lambda: graph.add(Relu(), graph["x"], name="more"))
        thread.start()
        thread.join()
    assert "more" in other
    assert "more" in graph


def test_work_that_changes_nothing_is_done_on_the_graph_itself_and_other_work_begins_again_on_a_copy() -> None:
    graph, calls = example(), []

    def change(given: Graph) -> str:
        calls.append(given)
        given.erase(given.node("unused"))
        return "changed"

    assert on_copy(graph, len) == (graph, 3)
    copy, result = on_copy(graph, change)
    assert (calls, result) == ([graph, copy], "changed")
    assert "unused" in graph
    assert "unused" not in copy
