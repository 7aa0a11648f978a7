"""Random networks: a copy differs in nothing, and one change is found as one difference."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from graphir.analysis.diff import Status, compare
from graphir.graph import Graph
from graphir.ops.activation import LeakyRelu, Relu, Sigmoid, Tanh
from graphir.ops.convolution import Conv
from graphir.ops.elementwise import Add, Mul, Sub
from graphir.ops.shape_parts import Concat
from graphir.tensor import Tensor
from graphir.types import DType, TensorType

SEEDS = range(40)
NODES = 30


def network(seed: int, *, weights: bool = True) -> Graph:
    """Convolutions, activations and joins of the last few values; without `weights` all elements are 1."""
    draw, numbers = random.Random(seed), np.random.default_rng(seed)
    graph = Graph()
    values = [graph.add_input("x", TensorType(DType.FLOAT32, (1, 4, 5, 5)))]

    def convolved(place: int, channels: int) -> Tensor:
        shape = (4, channels, 1, 1)
        return Tensor.of((numbers.standard_normal(shape) if weights else np.ones(shape)).astype(np.float32))

    for place in range(NODES):
        one, other = draw.choice(values[-4:]), draw.choice(values[-4:])
        kind = draw.random()
        if kind < 0.3:
            weight = graph.add_parameter(f"w{place}", convolved(place, 4))
            made = graph.add(Conv(), one, weight, name=f"n{place}")
        elif kind < 0.55:
            made = graph.add(draw.choice([Relu(), Sigmoid(), Tanh()]), one, name=f"n{place}")
        elif kind < 0.8:
            made = graph.add(draw.choice([Add(), Mul(), Sub()]), one, other, name=f"n{place}")
        else:
            joined = graph.add(Concat(1), one, other, name=f"j{place}")
            made = graph.add(Conv(), joined, graph.add_parameter(f"w{place}", convolved(place, 8)), name=f"n{place}")
        values.append(made)
    graph.set_outputs([value for value in values[1:] if not value.uses])
    return graph


def reordered(graph: Graph, seed: int) -> Graph:
    """A copy with other names, its nodes in another order."""
    copy, draw = Graph("copy"), random.Random(seed)
    values = {value: copy.add_input(f"i{place}", value.type) for place, value in enumerate(graph.inputs)}
    for place, value in enumerate(graph.parameters):
        values[value] = copy.add_parameter(f"p{place}", value.tensor)
    waiting = list(graph.nodes)
    while waiting:
        node = draw.choice([node for node in waiting if all(value in values for value in node.inputs)])
        waiting.remove(node)
        made = copy.add_node(node.op, [values[value] for value in node.inputs if value is not None])
        values.update(zip(node.outputs, made.outputs, strict=True))
    copy.set_outputs([values[value] for value in graph.outputs])
    return copy


def change_a_weight(graph: Graph, draw: random.Random) -> None:
    chosen = draw.choice(graph.parameters)
    assert chosen.tensor is not None
    elements = np.array(chosen.tensor.numpy())
    elements.flat[1] += 1
    graph.set_tensor(chosen, Tensor.of(elements))


def insert_a_node(graph: Graph, draw: random.Random) -> None:
    node = draw.choice(list(graph.nodes))
    value = node.outputs[0]
    made = graph.add(LeakyRelu(alpha=0.3), value, name="inserted", before=node.following)
    for user, slot in [(user, slot) for user, slot in value.uses if user is not made.producer]:
        graph.replace_input(user, slot, made)
    graph.set_outputs([made if output is value else output for output in graph.outputs])


def replace_a_node(graph: Graph, draw: random.Random) -> None:
    node = draw.choice([node for node in graph.nodes if isinstance(node.op, Relu | Sigmoid | Tanh)])
    made = graph.add(LeakyRelu(alpha=0.3), node.inputs[0], name="replaced", before=node)
    graph.replace_uses(node.outputs[0], made)
    graph.erase(node)


CHANGES = [(change_a_weight, Status.CHANGED), (insert_a_node, Status.SECOND), (replace_a_node, Status.CHANGED)]


@pytest.mark.parametrize("weights", [True, False], ids=["weights", "alike"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_copy_is_no_difference(seed: int, weights: bool) -> None:
    graph = network(seed, weights=weights)
    assert compare(graph, reordered(graph, seed + 1)).is_equal


@pytest.mark.parametrize(("change", "status"), CHANGES)
@pytest.mark.parametrize("seed", SEEDS)
def test_one_change_is_one_difference(seed: int, change: Callable[..., None], status: Status) -> None:
    graph = network(seed)
    copy = reordered(graph, seed + 1)
    change(copy, random.Random(seed))
    found = compare(graph, copy)
    assert found.ends == ()
    assert [row.status for row in found.rows if row.status is not Status.SAME] == [status]
