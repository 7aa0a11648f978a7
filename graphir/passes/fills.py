"""Constants whose sizes followed from their users become parameters, or tensors made from the inputs' sizes."""

from __future__ import annotations

import math

import numpy as np

from graphir.decisions import DecisionKind
from graphir.errors import ImportFailure
from graphir.graph import Graph, Node, Value
from graphir.ops.base import Operator
from graphir.ops.creation import ConstantOfShape, Fill
from graphir.ops.elementwise import Add, Div, Identity, Mul
from graphir.ops.indexing import Gather
from graphir.ops.shape import Shape
from graphir.ops.shape_parts import Concat
from graphir.symbolic.dims import Call
from graphir.types import Dim, DType, Sym, Unknown, symbol

from .outcome import Outcome

SMALL = 4096


def resolve_fills(graph: Graph) -> Outcome:
    """Replace every Fill.

    With all sizes known it becomes a parameter, with symbolic ones a ConstantOfShape of sizes that are read from the
    graph's inputs. Expects inference to have run. Raises ImportFailure, naming each Fill whose sizes nothing fixes.
    """
    fills = [node for node in graph.nodes if isinstance(node.op, Fill)]
    sizes = _Sizes(graph)
    outcome, problems = Outcome(), []
    for node in fills:
        missing = _resolve(graph, node, sizes)
        outcome.note(node.name, "its sizes follow from its users")
        if missing:
            problems.append(f"{node.name}: {node.output.type}: {missing}")
    if problems:
        wanted = graph.inputs[0].name if graph.inputs else "data"
        raise ImportFailure(
            f"{len(problems)} constant(s) whose sizes nothing in the model fixes; give the shapes of the inputs, as in "
            f"-i {wanted}:1,20:\n  " + "\n  ".join(problems)
        )
    return outcome


def _resolve(graph: Graph, node: Node, sizes: _Sizes) -> str:
    """Replace one Fill, or say what is missing."""
    value, op = node.output, node.op
    assert isinstance(op, Fill)
    shape = value.shape
    is_output = graph.is_output(value)
    unused = not value.uses and not is_output
    if unused and (shape is None or not all(isinstance(size, int) for size in shape)):
        graph.erase(node)
        return ""
    if shape is None:
        return "its number of axes is unknown"
    if any(isinstance(size, Unknown) for size in shape):
        return f"axes {[axis for axis, size in enumerate(shape) if isinstance(size, Unknown)]} are unknown"
    unread = {name for size in shape if isinstance(size, Sym) for name in size.symbols()} - set(sizes.axes)
    if unread:
        return f"no input has an axis {', '.join(sorted(unread))}"
    name = value.name
    if all(isinstance(size, int) for size in shape):
        fill = _make_fill(graph, node, tuple(size for size in shape if isinstance(size, int)))
        graph.decide(DecisionKind.CONSTANT_SIZE, node.name, f"its open sizes follow from its users: {value.type}")
    else:
        vector = sizes.vector(shape, node)
        if any(isinstance(size, Sym) and vector is None for size in shape):
            return f"a size among {value.type} is no sum or product of input sizes"
        assert vector is not None
        fill = sizes.filled(op, shape, vector, node)
        graph.decide(DecisionKind.CONSTANT_SIZE, node.name, f"its open sizes are read from the inputs: {value.type}")
    if is_output:
        fill = graph.add(Identity(), fill, name=node.name, before=node)
    graph.replace_uses(value, fill)
    graph.erase(node)
    if is_output:
        graph.rename(fill, name)
    return ""


def _make_fill(graph: Graph, node: Node, shape: tuple[int, ...]) -> Value:
    """Return a parameter, or what makes one number a tensor where that has many elements."""
    op = node.op
    assert isinstance(op, Fill)
    if math.prod(shape) <= SMALL:
        return graph.constant(np.full(shape, op.value, op.dtype.numpy()), name=f"{node.output.name}_value")
    sizes = graph.constant(list(shape), DType.INT64)
    name = graph.fresh_name(f"{node.output.name}_value")
    return graph.add(ConstantOfShape(op.value, op.dtype), sizes, name=name, output=name, before=node)


class _Sizes:
    """Shape arithmetic over the sizes of a graph's inputs, each piece made once and before all that use it.

    `axes` holds, for each symbol, an input and an axis that is this symbol alone.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.axes: dict[str, tuple[Value, int]] = {}
        self._shapes: dict[Value, Value] = {}
        self._dims: dict[Dim, Value | None] = {}
        self._vectors: dict[tuple[Dim, ...], Value | None] = {}
        self._made: dict[object, Value] = {}
        for value in graph.inputs:
            for axis, dim in enumerate(value.shape or ()):
                if isinstance(dim, Sym) and len(dim.symbols()) == 1:
                    (name,) = dim.symbols()
                    if dim == symbol(name):
                        self.axes.setdefault(name, (value, axis))

    def vector(self, shape: tuple[Dim, ...], before: Node) -> Value | None:
        """Return the shape as an int64 vector; None if a size is an expression that has no arithmetic here."""
        if shape not in self._vectors:
            whole = next((value for value in self.graph.inputs if value.shape == shape), None)
            pieces = [self._dim(dim, before) for dim in shape] if whole is None else []
            if whole is not None:
                self._vectors[shape] = self._shape(whole, before)
            elif any(piece is None for piece in pieces):
                self._vectors[shape] = None
            else:
                self._vectors[shape] = pieces[0] if len(pieces) == 1 else self._add(Concat(0), before, *pieces)
        return self._vectors[shape]

    def filled(self, op: Fill, shape: tuple[Dim, ...], sizes: Value, before: Node) -> Value:
        """Return the ConstantOfShape, one for all fills that are the same."""
        key = (op.value, op.dtype, shape)
        if key not in self._made:
            self._made[key] = self._add(ConstantOfShape(op.value, op.dtype), before, sizes)
        return self._made[key]

    def _dim(self, dim: Dim, before: Node) -> Value | None:
        """Return one size as a vector of one."""
        if dim not in self._dims:
            self._dims[dim] = self._make(dim, before)
        return self._dims[dim]

    def _make(self, dim: Dim, before: Node) -> Value | None:
        if isinstance(dim, int):
            return self.graph.constant([dim], DType.INT64)
        assert isinstance(dim, Sym)
        total: Value | None = None
        for factors, scale in dim.terms:
            product: Value | None = None
            for factor in factors:
                piece = self._atom(factor, before)
                if piece is None:
                    return None
                product = piece if product is None else self._add(Mul(), before, product, piece)
            if product is None or scale != 1:
                number = self.graph.constant([scale], DType.INT64)
                product = number if product is None else self._add(Mul(), before, product, number)
            total = product if total is None else self._add(Add(), before, total, product)
        return total

    def _atom(self, atom: str | Call, before: Node) -> Value | None:
        if isinstance(atom, str):
            value, axis = self.axes[atom]
            index = self.graph.constant([axis], DType.INT64)
            return self._add(Gather(), before, self._shape(value, before), index)
        left, right = self._dim(atom.left, before), self._dim(atom.right, before)
        if atom.function != "floordiv" or left is None or right is None:
            return None
        return self._add(Div(), before, left, right)

    def _shape(self, value: Value, before: Node) -> Value:
        if value not in self._shapes:
            self._shapes[value] = self._add(Shape(), before, value)
        return self._shapes[value]

    def _add(self, op: Operator, before: Node, *operands: Value | None) -> Value:
        name = f"{before.name}_{op.name.lower()}"
        return self.graph.add(op, *operands, name=name, output=self.graph.fresh_name(name), before=before)
