"""Adds nodes to a graph with few words: for compositions of many nodes, and of loops, going in or out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from graphir.converters.kernel.importing import BaseImportNode
from graphir.graph import Graph, Value
from graphir.ops import elementwise as ew
from graphir.ops.base import Operator
from graphir.ops.control import Loop
from graphir.tensor import Tensor
from graphir.types import DType, TensorType

Naming = Callable[[str], str]


class Iteration(NamedTuple):
    """What an iteration gives: the next states, a row of each stacked result, and whether another one follows (None:
    it does)."""

    states: Sequence[Value]
    rows: Sequence[Value] = ()
    condition: Value | None = None


class Maker:
    """Adds nodes to a graph, all of whose names `name` gives. `dtype` is that of its numbers."""

    def __init__(self, graph: Graph, dtype: DType, name: Naming, outer: Maker | None = None) -> None:
        self.graph = graph
        self.dtype = dtype
        self._name = name
        self._outer = outer
        self._constants: dict[object, Value] = {}

    def __call__(self, op: Operator, *values: Value | float) -> Value:
        """Add an operator and return its first result; numbers become constants."""
        return self.all(op, *(value if isinstance(value, Value) else self.number(value) for value in values))[0]

    def add(self, left: Value | float, right: Value | float) -> Value:
        """Return left + right."""
        return self(ew.Add(), left, right)

    def sub(self, left: Value | float, right: Value | float) -> Value:
        """Return left - right."""
        return self(ew.Sub(), left, right)

    def mul(self, left: Value | float, right: Value | float) -> Value:
        """Return left times right."""
        return self(ew.Mul(), left, right)

    def div(self, left: Value | float, right: Value | float) -> Value:
        """Return left / right."""
        return self(ew.Div(), left, right)

    def all(self, op: Operator, *values: Value | None, subgraphs: Sequence[Graph] = ()) -> tuple[Value, ...]:
        """Add an operator; its results."""
        names = [self._name(op.name.lower()) for _ in range(op.output_count)]
        return self.graph.add_node(op, values, name=names[0], output_names=names, subgraphs=subgraphs).outputs

    def of(self, dtype: DType) -> Maker:
        """Return the same with numbers of another dtype."""
        return Maker(self.graph, dtype, self._name, self)

    def constant(self, elements: object, dtype: DType) -> Value:
        """Return a constant, one for all equal ones."""
        if self._outer is not None:
            return self._outer.constant(elements, dtype)
        tensor = Tensor.of(elements, dtype)
        key = (tensor.dtype, tensor.shape, tensor.numpy().tobytes())
        if key not in self._constants:
            self._constants[key] = self.graph.add_parameter(self._name("const"), tensor)
        return self._constants[key]

    def number(self, number: float) -> Value:
        """Return a scalar of the composition's dtype."""
        return self.constant(number, self.dtype)

    def vector(self, *numbers: int) -> Value:
        """Return a vector of int64."""
        return self.constant(list(numbers), DType.INT64)

    def loop(
        self, count: int, starts: Sequence[Value], step: Callable[[Maker, Value, Sequence[Value]], Iteration]
    ) -> Sequence[Value]:
        """Up to `count` iterations: the last states, then the rows of all iterations, stacked along a new first axis.

        `step` gets what makes nodes of the body, the iteration's number (an int64 scalar) and the states.
        """
        body = Graph(self._name("body"), parent=self.graph)
        inner = Maker(body, self.dtype, self._name, self)
        number = body.add_input(self._name("number"), TensorType(DType.INT64, ()))
        running = body.add_input(self._name("running"), TensorType(DType.BOOL, ()))
        states = [body.add_input(self._name("state"), start.type) for start in starts]
        result = step(inner, number, states)
        condition = inner(ew.Identity(), running) if result.condition is None else result.condition
        body.set_outputs([condition, *result.states, *result.rows])
        op = Loop(len(result.states) + len(result.rows))
        return self.all(op, self.constant(count, DType.INT64), None, *starts, subgraphs=[body])


class NodeMaker(Maker):
    """Adds nodes on the way to the result of a node that is imported, whose constants the whole graph shares."""

    def __init__(self, node: BaseImportNode, dtype: DType) -> None:
        super().__init__(node.graph, dtype, lambda suffix: node.fresh_name(f"{node.name}_{suffix}"))
        self.node = node

    def constant(self, elements: object, dtype: DType) -> Value:
        """Return a constant."""
        return self.node.constant(elements, dtype)
