"""Rules are tried where a graph has what they need, also where it has that only since another one changed it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from graphir import Graph, TensorType, Value
from graphir.graph import Node
from graphir.ops.activation import Relu, Sigmoid, Tanh
from graphir.ops.elementwise import Abs, Mul
from graphir.passes.rewrite import Accepted, Rule, Rules, apply_rules
from graphir.types import DType

Rewrite = Callable[[Graph, Node], Accepted]


def to_sigmoid(graph: Graph, node: Node) -> Accepted:
    graph.replace(node, Sigmoid(), node.inputs)
    return True


def to_product(graph: Graph, node: Node) -> Accepted:
    graph.replace(node, Mul(), (node.inputs[0], graph.constant(2.0, dtype=DType.FLOAT32)))
    return True


def to_abs(graph: Graph, node: Node) -> Accepted:
    graph.replace(node, Abs(), node.inputs)
    return True


@pytest.mark.parametrize(("first", "needed"), [(to_sigmoid, Sigmoid), (to_product, Mul), (to_product, float)])
@pytest.mark.parametrize("is_changed", [True, False])
def test_a_change_makes_a_rule_possible(first: Rewrite, needed: type, is_changed: bool) -> None:
    graph = Graph("net")
    value: Value = graph.add_input("x", TensorType(DType.FLOAT32, (2, 3)))
    for op in (Relu() if is_changed else Abs(), Tanh()):
        value = graph.add(op, value)
    graph.set_outputs([value])
    rules: Rules = {
        Relu: (Rule("first", first),),
        Tanh: (Rule("second", to_abs, (frozenset({needed}),)),),
    }

    changes = apply_rules(graph, rules=rules).changes

    assert [change.why for change in changes] == (["first", "second"] if is_changed else [])
