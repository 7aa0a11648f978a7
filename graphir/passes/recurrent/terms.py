"""What a value inside a loop's body is made of: columns of others, parts of weights, sums of products, functions.

Values of a body that are followed here are matrices (batch, features). What cannot be followed raises `Unlike`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphir.graph import Graph, Node, Value
from graphir.ops import activation as act
from graphir.ops import elementwise as ew
from graphir.ops.base import normalize_axis
from graphir.ops.linear import Gemm, MatMul
from graphir.ops.shape_parts import Concat, Slice, Split

from .views import Unlike, View, number_of, offset_of, slice_starts, view_of


@dataclass(frozen=True)
class Columns:
    """The columns [start, start + size) of a matrix."""

    value: Value
    start: int
    size: int


@dataclass(frozen=True)
class Product:
    """A matrix of the body times a part of a weight."""

    left: Columns
    weight: View


@dataclass(frozen=True)
class Scaled:
    """A matrix of the body, each column times an element of a part of a vector."""

    left: Columns
    weight: View


@dataclass(frozen=True)
class Other:
    """What is no product: the result of another operator."""

    columns: Columns


# A bias is the part of a vector, or one number for all columns.
Bias = View | float
Term = Product | Scaled | Other | Bias


@dataclass(frozen=True)
class GateFunction:
    """A function on each element, by the name that ONNX's recurrent operators have for it; None: it has no such."""

    name: str
    alpha: float | None = None
    beta: float | None = None


LINEAR = GateFunction("Affine", 1.0, 0.0)
_PLAIN: dict[type, str] = {
    act.Sigmoid: "Sigmoid", act.Tanh: "Tanh", act.Relu: "Relu", act.Softsign: "Softsign", act.Softplus: "Softplus",
}  # fmt: skip


class BodyReader:
    """The reader of one body."""

    def __init__(self, body: Graph) -> None:
        self.body = body

    def whole(self, value: Value) -> Columns:
        """Return all columns of a matrix. Raises Unlike for what is none, or whose width is not known."""
        shape = value.shape
        if shape is None or len(shape) != 2 or not isinstance(shape[1], int):
            raise Unlike(f"{value.name} is {value.type}, no matrix of known width")
        return Columns(value, 0, shape[1])

    def inside(self, value: Value) -> Node | None:
        """Return the node of the body that computes a value, None for one from around it or an input of it."""
        node = value.producer
        return node if node is not None and node.graph is self.body else None

    def source(self, columns: Columns) -> Columns:
        """Return the columns where they were computed, behind copies, cuts and joins."""
        while True:
            node = self.inside(columns.value)
            source = None if node is None else self._before(node, columns)
            if source is None:
                return columns
            columns = source

    def _before(self, node: Node, columns: Columns) -> Columns | None:
        """Return the same columns of an operand, None if the node computes something."""
        op, value = node.op, node.inputs[0]
        if value is None:
            return None
        if isinstance(op, ew.Identity):
            return Columns(value, columns.start, columns.size)
        if isinstance(op, Split) and normalize_axis(op.axis, 2) == 1:
            return Columns(value, columns.start + offset_of(node, columns.value, 1), columns.size)
        if isinstance(op, Slice):
            ranges = slice_starts(node)
            start = None if ranges is None or set(ranges) - {1} else ranges.get(1, 0)
            return None if start is None else Columns(value, columns.start + start, columns.size)
        if isinstance(op, Concat) and normalize_axis(op.axis, 2) == 1:
            start = columns.start
            for piece in node.inputs:
                assert piece is not None
                width = self.whole(piece).size
                if start < width:
                    return Columns(piece, start, columns.size) if start + columns.size <= width else None
                start -= width
        return None

    def terms(self, columns: Columns) -> list[Term]:
        """Return what the columns are the sum of."""
        columns = self.source(columns)
        node = self.inside(columns.value)
        if node is None:
            return [Other(columns)]
        if isinstance(node.op, ew.Add | ew.Sum):
            return [term for value in node.inputs if value is not None for term in self._addend(value, columns)]
        if isinstance(node.op, MatMul | Gemm):
            return self._product(node, columns)
        scaled = self._scaled(node, columns) if isinstance(node.op, ew.Mul) else None
        return [scaled or Other(columns)]

    def _addend(self, value: Value, columns: Columns) -> list[Term]:
        """Return what an operand of a sum adds to these columns of the sum."""
        bias = self._bias(value, columns)
        if bias is not None:
            return [bias]
        return self.terms(self.operand(value, columns))

    def operand(self, value: Value, columns: Columns) -> Columns:
        """Return the columns of an operand from which an elementwise operator computes these. Raises Unlike if it
        spreads."""
        if self.whole(value).size != self.whole(columns.value).size:
            raise Unlike(f"{value.name} {value.type} is not as wide as {columns.value.name} {columns.value.type}")
        return Columns(value, columns.start, columns.size)

    def _bias(self, value: Value, columns: Columns) -> Bias | None:
        """Return a number or vector that is added to each row, None for what is neither."""
        number = number_of(value)
        if number is not None and value.dtype is not None and value.dtype.is_float and (value.rank or 0) <= 2:
            return number
        shape = value.shape
        if not shape or len(shape) > 2 or shape[-1] != self.whole(columns.value).size or shape[:-1] not in ((), (1,)):
            return None
        return view_of(self.body, value, (columns.start, columns.start + columns.size))

    def _product(self, node: Node, columns: Columns) -> list[Term]:
        left, right = node.inputs[:2]
        assert left is not None
        assert right is not None
        bounds = (columns.start, columns.start + columns.size)
        terms: list[Term] = []
        is_turned = False
        if isinstance(node.op, Gemm):
            op, added = node.op, node.operand(2)
            if op.transA or op.alpha != 1 or (added is not None and op.beta != 1):
                raise Unlike(f"{node.name} is {op}")
            is_turned = op.transB
            terms += [] if added is None else self._addend(added, columns)
        row = 0
        for piece in self._pieces(self.whole(left)):
            rows = (row, row + piece.size)
            view = view_of(self.body, right, bounds, rows) if is_turned else view_of(self.body, right, rows, bounds)
            if view is None:
                raise Unlike(f"{right.name}, by which {node.name} multiplies, changes from step to step")
            if is_turned:
                view = View(view.value, view.ranges, view.axes[::-1], view.dtype)
            terms.append(Product(piece, view))
            row += piece.size
        return terms

    def _pieces(self, columns: Columns) -> list[Columns]:
        """Return the matrices that are joined to this one."""
        columns = self.source(columns)
        node = self.inside(columns.value)
        if node is None or not isinstance(node.op, Concat) or columns != self.whole(columns.value):
            return [columns]
        if normalize_axis(node.op.axis, 2) != 1:
            return [columns]
        return [part for piece in node.inputs if piece is not None for part in self._pieces(self.whole(piece))]

    def _scaled(self, node: Node, columns: Columns) -> Scaled | None:
        for value, other in (node.inputs, node.inputs[::-1]):
            assert value is not None
            assert other is not None
            weight = self._bias(other, columns)
            if isinstance(weight, View):
                return Scaled(self.source(self.operand(value, columns)), weight)
        return None

    def factors(self, columns: Columns) -> list[Columns]:
        """Return the two matrices whose product, element by element, the columns are. Raises Unlike."""
        return self._operands(columns, ew.Mul)

    def addends(self, columns: Columns) -> list[Columns]:
        """Return the two matrices whose sum the columns are. Raises Unlike."""
        return self._operands(columns, ew.Add)

    def _operands(self, columns: Columns, kind: type[ew.Mul | ew.Add]) -> list[Columns]:
        columns = self.source(columns)
        node = self.inside(columns.value)
        if node is None or not isinstance(node.op, kind):
            raise Unlike(f"{columns.value.name} is not computed by {kind.__name__}")
        return [self.source(self.operand(value, columns)) for value in node.inputs if value is not None]

    def one_less(self, columns: Columns) -> Columns:
        """Return z, of columns that are 1 - z. Raises Unlike."""
        columns = self.source(columns)
        node = self.inside(columns.value)
        if node is None or not isinstance(node.op, ew.Sub) or number_of(node.inputs[0]) != 1 or not node.inputs[1]:
            raise Unlike(f"{columns.value.name} is not 1 less a gate")
        return self.source(self.operand(node.inputs[1], columns))

    def function(self, columns: Columns) -> tuple[GateFunction, Columns]:
        """Return the function that gives the columns, and what it takes; without one the linear function."""
        columns = self.source(columns)
        node = self.inside(columns.value)
        if node is None:
            return LINEAR, columns
        op, function = node.op, None
        if type(op) in _PLAIN:
            function = GateFunction(_PLAIN[type(op)])
        elif isinstance(op, act.LeakyRelu | act.Elu):
            function = GateFunction(op.name, op.alpha)
        elif isinstance(op, act.HardSigmoid):
            function = GateFunction(op.name, op.alpha, op.beta)
        if function is None:
            return self._hard_sigmoid(columns) or (LINEAR, columns)
        assert node.inputs[0] is not None
        return function, Columns(node.inputs[0], columns.start, columns.size)

    def _hard_sigmoid(self, columns: Columns) -> tuple[GateFunction, Columns] | None:
        """HardSigmoid as Clip with numbers added and multiplied before and behind it."""
        scale, shift, clipped = self._affine(columns)
        bounds = self._bounds(clipped)
        if bounds is None or shift or bounds[0] != 0 or np.float32(bounds[1]) * np.float32(scale) != 1:
            return None
        slope, added, inner = self._affine(bounds[2])
        return GateFunction("HardSigmoid", scale * slope, scale * added), inner

    def _bounds(self, columns: Columns) -> tuple[float, float, Columns] | None:
        """Return the least and the largest number, and the matrix that is limited to them, by Clip or by Min and
        Max."""
        node = self.inside(columns.value)
        if node is None:
            return None
        if isinstance(node.op, ew.Clip):
            low, high = (number_of(node.inputs[slot]) if slot < len(node.inputs) else None for slot in (1, 2))
            if low is None or high is None or node.inputs[0] is None:
                return None
            return low, high, Columns(node.inputs[0], columns.start, columns.size)
        is_low_last = isinstance(node.op, ew.Max)
        outer = self._bound(columns, ew.Max if is_low_last else ew.Min)
        inner = None if outer is None else self._bound(outer[1], ew.Min if is_low_last else ew.Max)
        if outer is None or inner is None:
            return None
        low, high = (outer[0], inner[0]) if is_low_last else (inner[0], outer[0])
        return (low, high, inner[1]) if low <= high else None

    def _bound(self, columns: Columns, kind: type[ew.Min | ew.Max]) -> tuple[float, Columns] | None:
        columns = self.source(columns)
        node = self.inside(columns.value)
        if node is None or not isinstance(node.op, kind) or len(node.inputs) != 2:
            return None
        for value, other in (node.inputs, node.inputs[::-1]):
            number = number_of(other)
            if value is not None and number is not None and value.rank == 2:
                return number, self.operand(value, columns)
        return None

    def _affine(self, columns: Columns) -> tuple[float, float, Columns]:
        """Scale, shift and matrix: the columns are scale * matrix + shift."""
        scale, shift = 1.0, 0.0
        while True:
            columns = self.source(columns)
            node = self.inside(columns.value)
            if node is None or not isinstance(node.op, ew.Add | ew.Mul | ew.Div) or len(node.inputs) != 2:
                return scale, shift, columns
            left, right = node.inputs
            number = number_of(right)
            if number is None and not isinstance(node.op, ew.Div):
                left, number = right, number_of(left)
            if number is None or left is None or left.rank != 2:
                return scale, shift, columns
            if isinstance(node.op, ew.Add):
                shift += scale * number
            else:
                scale = scale * number if isinstance(node.op, ew.Mul) else scale / number if number else float("nan")
            columns = self.operand(left, columns)
