"""Checks of gradients that a graph may hold: whether all elements are finite, and sums of squares."""

from __future__ import annotations

import math

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.graph import Value
from graphir.ops import elementwise as ir
from graphir.ops.reduction import ReduceMin, ReduceSum
from graphir.ops.shape import Reshape
from graphir.ops.shape_parts import Concat
from graphir.types import DType, TensorType

SINGLE = DType.FLOAT32
BEYOND_HALF = 65520.0  # the least number that float16 rounds to infinity


def _operands(node: ImportNode) -> tuple[Value, ...]:
    """Return the operands, which are floats of one dtype. Refuses others, as MXNet does, and a wrong count."""
    values = node.inputs
    if not values or node.attrs.get("num_arrays", len(values)) != len(values):
        node.refuse(f"{len(values)} operands, num_arrays {node.attrs.get('num_arrays')}")
    for value in values:
        if value.dtype is None:
            node.graph.refine(value, TensorType(values[0].dtype))
        if value.dtype is None or not value.dtype.is_float or value.dtype is not values[0].dtype:
            node.refuse(f"{value.name} is {value.type}, expected floats of one dtype")
    return values


def import_all_finite(node: ImportNode) -> Value:
    """Return 1 as float32 (1,) if no element of any operand is infinite or NaN, else 0."""
    if not node.attrs["init_output"]:
        node.refuse("init_output False: the result depends on what its memory held before")
    parts = []
    for value in _operands(node):
        difference = node.step(ir.Sub(), value, value, suffix="difference")  # 0, or NaN where the element is not finite
        finite = node.cast(node.step(ir.Equal(), difference, difference, suffix="finite"), SINGLE)
        parts.append(node.step(Reshape(), finite, node.vector([-1]), suffix="flat"))
    elements = parts[0] if len(parts) == 1 else node.step(Concat(axis=0), *parts, suffix="elements")
    return node.emit(ReduceMin(keepdims=True), elements)


def _square(node: ImportNode, value: Value) -> Value:
    """Return the squares as float32; those of float16 are infinite beyond float16's range, as in MXNet."""
    if value.dtype is not DType.FLOAT16:
        square = node.step(ir.Mul(), value, value, suffix="square")
        return square if value.dtype is SINGLE else node.cast(square, SINGLE, suffix="single")
    wide = node.cast(value, SINGLE, suffix="single")
    square = node.step(ir.Mul(), wide, wide, suffix="square")
    beyond = node.step(ir.GreaterOrEqual(), square, node.constant(BEYOND_HALF, SINGLE), suffix="beyond")
    return node.step(ir.Where(), beyond, node.constant(math.inf, SINGLE), square, suffix="limited")


def import_sums_of_squares(node: ImportNode) -> Value:
    """Return the sum of the squares of each operand, as float32 (operands,)."""
    totals = []
    for value in _operands(node):
        total = node.step(ReduceSum(keepdims=False), _square(node, value), suffix="total")
        totals.append(node.step(Reshape(), total, node.vector([1]), suffix="entry"))
    return node.emit(Concat(axis=0), *totals)


IMPORTS: dict[str, ImportFunction] = {
    "all_finite": import_all_finite,
    "multi_all_finite": import_all_finite,
    "multi_sum_sq": import_sums_of_squares,
}
