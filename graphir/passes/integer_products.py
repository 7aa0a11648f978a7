"""Products of quantized numbers in terms of products of floats, which hold the sums of integers exactly."""

from __future__ import annotations

from collections.abc import Callable

from graphir.errors import GraphError, GraphirError
from graphir.graph import Graph, Node, Value
from graphir.ops.base import Operator
from graphir.ops.elementwise import Cast, Mul, Sub
from graphir.ops.linear import MatMul, MatMulInteger
from graphir.ops.quantization import ConvInteger, QLinearConv, QLinearMatMul, QuantizeLinear
from graphir.ops.shape import Unsqueeze
from graphir.types import Dim, DType, product

from .inline import GraphNames, InlinedGraph, take_place

EXACT = 1 << 24
"""Up to which float32 holds every integer."""
LARGEST_PRODUCT = 255 * 255
"""Of two integers of 8 bits less their zero points."""


class _Floats:
    """The nodes made for one node, whose operands they read as floats."""

    def __init__(self, graph: Graph, node: Node, names: GraphNames) -> None:
        self.node = node
        self.body = InlinedGraph(graph, graph, names, node.name)

    def operand(self, slot: int) -> Value:
        """Return the operand in a slot."""
        value = self.node.operand(slot)
        assert value is not None
        return value

    def add(self, op: Operator, *operands: Value | None, suffix: str) -> Value:
        """Return a node's result."""
        return self.body.add(op, operands, self.node, suffix).output

    def cast(self, value: Value, dtype: DType) -> Value:
        """Return a value in another dtype, itself if it has that."""
        return value if value.dtype is dtype else self.add(Cast(dtype), value, suffix=dtype.value)

    def spread(self, value: Value, axes: int) -> Value:
        """Return a vector with so many axes behind its own; one number as it is."""
        if value.rank in (0, None) or value.shape == (1,) or not axes:
            return value
        assert value.rank is not None
        indices = self.body.target.constant(list(range(value.rank, value.rank + axes)), DType.INT64)
        return self.add(Unsqueeze(), value, indices, suffix="apart")

    def centred(self, slot: int, zero: int, dtype: DType, axes: int = 0) -> Value:
        """Return an operand less its zero point, which has so many axes fewer behind its own if it is a vector."""
        product, offset = self.cast(self.operand(slot), dtype), self.node.operand(zero)
        if offset is None or _is_zero(offset):
            return product
        return self.add(Sub(), product, self.cast(self.spread(offset, axes), dtype), suffix=f"centred{slot}")

    def requantized(self, sums: Value, scales: tuple[Value, Value], slots: tuple[int, int], axis: int) -> Value:
        """Return the sums times both scales, quantized by the scale and the zero point in two slots, along an axis."""
        result = self.cast(sums, DType.FLOAT32)
        for scale in scales:
            result = self.add(Mul(), result, self.cast(scale, DType.FLOAT32), suffix="scaled")
        scale, zero = (self.operand(slot) for slot in slots)
        return self.add(QuantizeLinear(axis), result, self.cast(scale, DType.FLOAT32), zero, suffix="quantized")


def _is_zero(value: Value) -> bool:
    return value.tensor is not None and value.tensor.size <= 1 << 16 and not value.tensor.numpy().any()


def _dtype(terms: Dim) -> DType:
    """Return the dtype in which sums of so many products are exact."""
    return DType.FLOAT32 if isinstance(terms, int) and terms * LARGEST_PRODUCT < EXACT else DType.FLOAT64


def _convolve(floats: _Floats, weight: int, zeros: tuple[int, int], bias: int | None) -> Value:
    """Return the convolution of the operands in slot 0 and `weight` less their zero points, and the bias."""
    op, shape = floats.node.op, floats.operand(weight).shape
    assert isinstance(op, ConvInteger | QLinearConv)
    if shape is None:
        raise GraphError(f"the shape of {floats.operand(weight).name} is unknown")
    dtype = _dtype(product(shape[1:]))
    addend = None if bias is None else floats.node.operand(bias)
    operands = (
        floats.centred(0, zeros[0], dtype),
        floats.centred(weight, zeros[1], dtype, len(shape) - 1),
        *([] if addend is None else [floats.cast(addend, dtype)]),
    )
    return floats.add(op.conv(), *operands, suffix="sums")


def _multiply(floats: _Floats, right: int, zeros: tuple[int, int]) -> Value:
    """Return the product of the matrices in slot 0 and `right` less their zero points, those of the left one a row
    each."""
    columns = floats.operand(0).shape
    dtype = _dtype(columns[-1]) if columns else DType.FLOAT64
    left = floats.centred(0, zeros[0], dtype, 1)
    return floats.add(MatMul(), left, floats.centred(right, zeros[1], dtype), suffix="sums")


def _quantized_conv(floats: _Floats) -> Value:
    sums = _convolve(floats, 3, (2, 5), 8)
    scales = floats.operand(1), floats.spread(floats.operand(4), (floats.operand(3).rank or 2) - 2)
    return floats.requantized(sums, scales, (6, 7), 1)


def _quantized_matmul(floats: _Floats) -> Value:
    wanted = floats.operand(7).dtype
    if wanted not in (DType.INT8, DType.UINT8):
        raise GraphError(f"its result is {wanted}; integers of 8 bits can be said in floats")
    sums = _multiply(floats, 3, (2, 5))
    return floats.requantized(sums, (floats.spread(floats.operand(1), 1), floats.operand(4)), (6, 7), -2)


INTEGER_PRODUCTS: dict[type[Operator], Callable[[_Floats], Value]] = {
    ConvInteger: lambda floats: floats.cast(_convolve(floats, 1, (2, 3), None), DType.INT32),
    MatMulInteger: lambda floats: floats.cast(_multiply(floats, 1, (2, 3)), DType.INT32),
    QLinearConv: _quantized_conv,
    QLinearMatMul: _quantized_matmul,
}


def write_in_floats(graph: Graph, node: Node, names: GraphNames) -> list[Node]:
    """Put the product of floats in the place of one of INTEGER_PRODUCTS; the new nodes. Raises GraphirError, with
    nothing changed, where the sums have no such form."""
    floats = _Floats(graph, node, names)
    try:
        take_place(graph, node, [INTEGER_PRODUCTS[type(node.op)](floats)], floats.body.new_nodes)
    except GraphirError:
        floats.body.take_back()
        raise
    return floats.body.new_nodes
