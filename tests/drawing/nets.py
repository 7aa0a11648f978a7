"""Small graphs to draw, made here."""

from __future__ import annotations

import numpy as np

from graphir import DType, Graph, TensorType, Value
from graphir.ops.activation import Relu, Sigmoid, Tanh
from graphir.ops.control import If
from graphir.ops.elementwise import Add, Mul
from graphir.ops.linear import Gemm

FLOATS = TensorType(DType.FLOAT32, (4, 8))


def started(name: str = "net") -> tuple[Graph, Value]:
    """A graph with one input of 4 times 8 numbers."""
    graph = Graph(name)
    return graph, graph.add_input("data", FLOATS)


def residual(graph: Graph, x: Value, name: str) -> Value:
    """A block of four nodes with a way around it."""
    weight = graph.add_parameter(f"{name}_weight", None, TensorType(DType.FLOAT32, (8, 8)))
    weight.sources = (weight.name,)
    made = graph.add(Gemm(), x, weight, name=f"{name}_fc")
    made = graph.add(Tanh(), graph.add(Relu(), made, name=f"{name}_relu"), name=f"{name}_tanh")
    return graph.add(Add(), made, x, name=f"{name}_add")


def residuals(*stages: int) -> Graph:
    """Stages of residual blocks, each behind a product with a sigmoid, in the order of execution."""
    graph, x = started()
    for stage, count in enumerate(stages):
        x = graph.add(Mul(), graph.add(Sigmoid(), x, name=f"stage{stage}_gate"), x, name=f"stage{stage}_mul")
        for block in range(count):
            x = residual(graph, x, f"stage{stage}_block{block}")
    graph.set_outputs([x])
    return graph


def chain(names: list[str]) -> Graph:
    """Activations one behind the other, of three kinds in turn that never repeat for long."""
    graph, x = started()
    kinds = [Relu, Tanh, Sigmoid]
    state = 1
    for name in names:
        state = (state * 1103515245 + 12345) % (1 << 31)
        x = graph.add(kinds[(state >> 16) % 3](), x, name=name)
    graph.set_outputs([x])
    return graph


def branching() -> Graph:
    """An If whose branches use a value around them."""
    graph, x = started()
    hot = graph.add(Relu(), x, name="hot")
    condition = graph.constant(np.array(True))
    branches = []
    for op, name in ((Tanh(), "then"), (Sigmoid(), "otherwise")):
        inner = Graph(name, parent=graph)
        inner.set_outputs([inner.add(op, hot, name=f"{name}_op")])
        branches.append(inner)
    node = graph.add_node(If(results=1), (condition,), name="choice", subgraphs=branches)
    graph.set_outputs([node.output])
    return graph
