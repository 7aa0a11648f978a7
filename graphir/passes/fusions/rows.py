"""Layers over the last axis of tensors are put on matrices of rows, so that a product and its shift are one Gemm.

A tensor (..., K) is a matrix (rows, K) of the same elements in the same order. What acts on each row or element alone
gives the same rows, so that only where such a part begins and ends a Reshape is needed; one that is there already
takes over its work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from graphir.graph import Graph, Node, Value
from graphir.ops import normalization as norm
from graphir.ops.activation import LogSoftmax, Softmax
from graphir.ops.base import Operator
from graphir.ops.elementwise import Add
from graphir.ops.linear import Gemm, MatMul
from graphir.ops.shape import Reshape
from graphir.ops.shape_parts import Split
from graphir.ops.traits import Elementwise
from graphir.structure.record import mutable_record
from graphir.types import DType, Shape, product

from ..dead_code import remove_dead_code
from ..known_sizes import shape_constant
from ..outcome import Outcome
from .fusion import decide

ALONG_LAST = (Softmax, LogSoftmax, Split, norm.LayerNormalization, norm.RMSNormalization)
FLOATS = (DType.FLOAT16, DType.FLOAT32, DType.FLOAT64)
WHY = "products and shifts of all rows are one Gemm"


def flatten_products(graph: Graph) -> Outcome:
    """Make a Gemm of each MatMul with a shift in parts of the graph that act on rows, where that leaves fewer nodes.

    Gemm adds the shift in another order, which is a decision. Each look at the graph is linear in nodes. What a
    rewritten part touches is looked at anew, at most half of the parts each time.
    """
    outcome, is_new = Outcome(), True
    while is_new:
        is_new = False
        for part in _parts(graph):
            if part.is_current() and part.gain() > part.cost():
                part.put_on_matrices()
                outcome.note(part.nodes[0].name, WHY)
                decide(graph, part.nodes[0], WHY)
                is_new = True
        if is_new:
            outcome |= remove_dead_code(graph)
    return outcome


def _leading(value: Value | None) -> Shape:
    """Return the sizes in front of the last axis of a tensor of 3 axes or more that can be written as a matrix and
    back; () for others."""
    shape = None if value is None else value.shape
    if value is None or shape is None or len(shape) < 3 or not isinstance(shape[-1], int):
        return ()
    matrix = _matrix(value)
    return shape[:-1] if shape_constant(shape, matrix) and shape_constant(matrix, shape) else ()


def _matrix(value: Value) -> Shape:
    """Return the shape of the matrix of a tensor's rows."""
    assert value.shape
    return product(value.shape[:-1]), value.shape[-1]


def _is_constant_row(value: Value | None) -> bool:
    """Return whether an operand is absent, or a constant that is one row, or one number."""
    return value is None or (value.producer is None and value.tensor is not None and len(value.tensor.shape) <= 1)


def _rows_read(node: Node) -> list[Value]:
    """Return the operands whose rows a node acts on, each row alone; none for other nodes."""
    op, leading = node.op, _leading(node.outputs[0])
    if not leading or node.subgraphs or any(_leading(value) != leading for value in node.outputs if value.is_needed):
        return []
    if isinstance(op, MatMul):
        others = [value is not None and value.rank == 2 for value in node.inputs[1:]]
    elif isinstance(op, ALONG_LAST):
        others = [_is_constant_row(value) for value in node.inputs[1:]] if op.axis in (-1, len(leading)) else [False]
    elif op.elementwise is not Elementwise.NO and len(node.outputs) == 1:
        computed = [value for value in node.inputs if value is not None and value.tensor is None]
        rows = [value for value in computed if _leading(value) == leading]
        return rows if all(value in rows or _is_constant_row(value) for value in node.inputs) else []
    else:
        return []
    first = node.inputs[0]
    return [first] if first is not None and _leading(first) == leading and all(others) else []


def _parts(graph: Graph) -> list[RowPart]:
    """Return the connected parts of nodes that act on rows, without those of which none is a product."""
    read = {node: rows for node in graph.nodes if (rows := _rows_read(node))}
    heads: dict[Value, Value] = {}

    def head(value: Value) -> Value:
        while heads.setdefault(value, value) is not value:
            heads[value] = heads[heads[value]]
            value = heads[value]
        return value

    for node, rows in read.items():
        for value in (*rows, *node.outputs):
            heads[head(value)] = head(rows[0])
    nodes: dict[Value, list[Node]] = {}
    for node, rows in read.items():
        nodes.setdefault(head(rows[0]), []).append(node)
    parts = [RowPart(graph, members, {node: read[node] for node in members}) for members in nodes.values()]
    return [part for part in parts if any(isinstance(node.op, MatMul) for node in part.nodes)]


@mutable_record
class RowPart:
    """Nodes of a graph, in order, that act on rows and are connected by the values that they read."""

    graph: Graph
    nodes: list[Node]
    read: Mapping[Node, list[Value]]

    def is_current(self) -> bool:
        """Return whether its nodes still read what they did: a part beside it may have been rewritten since."""
        return all(value in node.inputs for node in self.nodes for value in self.read[node])

    def gain(self) -> int:
        """Return how many nodes fewer there are, without Reshapes."""
        return sum(self._shift(node) is not None for node in self.nodes)

    def cost(self) -> int:
        """Return how many Reshapes are put in, less those that are left out."""
        entries = {value for node in self.nodes for value in self.read[node] if value.producer not in self.read}
        exits = [value for node in self.nodes for value in node.outputs if not self._is_inside(value)]
        return sum(not self._joins(value) for value in entries) + len(exits)

    def _shift(self, node: Node) -> tuple[Node, Value] | None:
        """Return the Add of a constant row that alone reads a MatMul, and the row."""
        result = node.outputs[0]
        uses = list(result.uses)
        if not isinstance(node.op, MatMul) or len(uses) != 1 or result.is_held or result.dtype not in FLOATS:
            return None
        (user, slot), columns = uses[0], _matrix(result)[1]
        row = user.inputs[1 - slot] if isinstance(user.op, Add) else None
        return (user, row) if user in self.read and row is not None and row.shape == (columns,) else None

    def _joins(self, entry: Value) -> bool:
        """Return whether an entry is the result of a Reshape that only this part reads."""
        maker = entry.producer
        if maker is None or not isinstance(maker.op, Reshape) or maker.graph is not self.graph or entry.is_held:
            return False
        source = maker.inputs[0]
        fits = source is not None and shape_constant(source.shape or (), _matrix(entry)) is not None
        return fits and all(user in self.read for user in entry.users())

    def _is_inside(self, value: Value) -> bool:
        """Return whether only nodes of this part, and Reshapes to known sizes, use the value."""
        return not value.is_held and all(user in self.read or self._reshapes(user) for user in value.users())

    def _reshapes(self, user: Node) -> bool:
        shape, value = user.outputs[0].shape, user.inputs[0]
        if not isinstance(user.op, Reshape) or user.graph is not self.graph or shape is None or value is None:
            return False
        return shape_constant(_matrix(value), shape) is not None

    def put_on_matrices(self) -> None:
        """Put the nodes on matrices in place of those that there are."""
        rows: dict[Value, Value] = {}
        names: dict[Value, str] = {}  # of what takes the place of values
        for node in self.nodes:
            if node.outputs[0] in rows:  # an Add that is part of a Gemm
                continue
            for value in self.read[node]:
                if value not in rows:
                    rows[value] = self._enter(value, node)
            shift = self._shift(node)
            op: Operator = Gemm() if shift is not None else node.op
            op = replace(op, axis=-1) if isinstance(op, ALONG_LAST) else op
            operands = [rows.get(value, value) if value is not None else None for value in node.inputs]
            operands += [] if shift is None else [shift[1]]
            new = self.graph.add_node(op, operands, name=node.name, before=node)
            results = node.outputs if shift is None else shift[0].outputs
            rows.update(zip(results, new.outputs, strict=True))
        for node in self.nodes:
            for value in node.outputs:
                back = self._leave(value, rows[value]) if value in rows else None
                if back is not None:
                    names[back] = value.name
        for node in reversed(self.nodes):
            self.graph.erase(node)
        for value, name in names.items():
            self.graph.rename(value, name)

    def _reshape(self, value: Value, shape: Shape, name: str, before: Node | None) -> Value:
        sizes = shape_constant(value.shape or (), shape)
        target = self.graph.constant(np.array(sizes, np.int64), name=f"{name}_shape")
        return self.graph.add(Reshape(), value, target, name=name, before=before)

    def _enter(self, value: Value, node: Node) -> Value:
        """Return the rows of a value that is made outside, before a node."""
        source = value.producer.inputs[0] if value.producer is not None and self._joins(value) else value
        assert source is not None
        return self._reshape(source, _matrix(value), f"{value.name}_rows", node)

    def _leave(self, value: Value, rows: Value) -> Value | None:
        """Let what uses a value outside use its rows, or what is made of them, which is returned."""
        for user in value.users():
            if user not in self.read and self._reshapes(user):
                sizes = shape_constant(_matrix(value), user.outputs[0].shape or ())
                target = self.graph.constant(np.array(sizes, np.int64), name=f"{user.name}_shape")
                self.graph.replace(user, Reshape(), (rows, target))
        if all(user in self.read for user in value.users()) and not value.is_held:
            return None
        assert rows.producer is not None
        back = self._reshape(rows, value.shape or (), value.name, rows.producer.following)
        back.sources = value.sources
        self.graph.replace_uses(value, back)
        return back
