"""Quantized operators that MXNet has since 2.0: numbers in another shape, and the int8 products of `intgemm`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.ops import numpy_shape, shape
from graphir.converters.mxnet.importing.ops.numpy_elementwise import as_dtype
from graphir.converters.mxnet.importing.ranges import byte_dtype
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops.indexing import Gather
from graphir.ops.linear import MatMulInteger
from graphir.ops.reduction import ReduceMax
from graphir.ops.shape import Flatten, Reshape, Transpose
from graphir.types import UNKNOWN, DType, TensorType

SINGLE = DType.FLOAT32
LARGEST = 127.0


def rearranged(function: ImportFunction, node: ImportNode) -> Sequence[Value]:
    """Return the numbers as another operator rearranges them, in the same range."""
    byte_dtype(node)
    result = function(node)
    assert isinstance(result, Value)
    return [result, *node.inputs[1:]]


def _floats(node: ImportNode, slot: int) -> Value:
    value = node.input(slot)
    if value.dtype not in (None, SINGLE):
        node.refuse(f"{value.name} is {value.dtype}; MXNet takes float32 only")
    return value


def _number(node: ImportNode, slot: int) -> Value:
    value = _floats(node, slot)
    node.graph.refine(value, TensorType(SINGLE, (1,)))
    return value


def _largest(node: ImportNode, data: Value) -> Value:
    """Return the largest magnitude, one element on one axis."""
    flat = node.step(Reshape(), node.step(ew.Abs(), data), node.vector([-1]), suffix="flat")
    return node.step(ReduceMax(keepdims=True), flat, node.vector([0]), suffix="largest")


def _rounded(node: ImportNode, data: Value, largest: Value) -> Value:
    """Floats as int8 of -127 to 127; what no int32 holds becomes -127, as in the processor's conversion."""
    factor = node.step(ew.Div(), node.constant(LARGEST, SINGLE), largest, suffix="factor")
    scaled = node.step(ew.Mul(), data, factor, suffix="scaled")
    low, high = node.constant(-LARGEST, SINGLE), node.constant(LARGEST, SINGLE)
    whole = node.step(ew.Clip(), node.step(ew.Round(), scaled), low, high, suffix="whole")
    stored = node.step(ew.Less(), node.step(ew.Abs(), scaled), node.constant(2.0**31, SINGLE), suffix="held")
    return node.cast(node.step(ew.Where(), stored, whole, low), DType.INT8, suffix="int8")


def prepared(node: ImportNode) -> Value:
    """Floats as int8, `maxabs` as 127."""
    return node.emit(ew.Identity(), _rounded(node, _floats(node, 0), _number(node, 1)))


def import_prepare_weight(node: ImportNode) -> Value:
    """Return a weight as int8 in plain order: MXNet's own order is that of a processor, and only `intgemm` reads it."""
    node.decide(
        DecisionKind.WEIGHT_ORDER, "int8 weights stay in plain order, where MXNet has that of a processor"
    )
    if node.attrs["already_quantized"]:
        byte_dtype(node, 0, DType.INT8)
        return node.emit(ew.Identity(), node.input(0))
    return prepared(node)


def _weight(node: ImportNode, slot: int) -> Value:
    """Return a weight that the graph prepares. Refuses one that comes prepared: its order is that of a processor."""
    weight = node.input(slot)
    if weight.producer is None:
        node.refuse(
            f"{weight.name} is stored as intgemm had prepared it on one processor, in an order that the file does not "
            "tell; keep _contrib_intgemm_prepare_weight in the graph"
        )
    return weight


def import_take_weight(node: ImportNode) -> Value:
    """Rows of a prepared weight."""
    return node.emit(Gather(0), _weight(node, 0), as_dtype(node, node.input(1), DType.INT64))


def import_fully_connected(node: ImportNode) -> Value:
    """data W^T of int8 as int32, or times `scaling` as float32; floats are quantized by their largest magnitude."""
    attrs, data, weight = node.attrs, node.input(0), _weight(node, 1)
    floats = attrs["out_type"] == "float32"
    operands = [node.input(slot) for slot in range(2, len(node))]
    if len(operands) != floats + (not attrs["no_bias"]):
        node.refuse(f"{len(node)} inputs for out_type {attrs['out_type']} and no_bias {attrs['no_bias']}")
    node.graph.refine(weight, TensorType(DType.INT8, (attrs["num_hidden"], UNKNOWN)))
    largest = None
    if data.dtype is not DType.INT8:
        largest = _largest(node, _floats(node, 0))
        data = _rounded(node, data, largest)
    if attrs["flatten"] and data.rank != 2:
        data = node.step(Flatten(), data, suffix="flatten")
    turned = node.step(Transpose((1, 0)), weight, suffix="weight")
    total = node.step(MatMulInteger(), data, turned, suffix="integers")
    if floats:
        scale = operands.pop(0)
        if largest is not None:
            factor = node.step(ew.Div(), largest, node.constant(LARGEST, SINGLE), suffix="step")
            scale = node.step(ew.Mul(), scale, factor, suffix="scale")
        total = node.step(ew.Mul(), node.cast(total, SINGLE), scale, suffix="real")
    return node.emit(ew.Add(), total, operands[0]) if operands else node.emit(ew.Identity(), total)


IMPORTS: dict[str, ImportFunction] = {
    "_contrib_intgemm_fully_connected": import_fully_connected,
    "_contrib_intgemm_maxabsolute": lambda node: node.emit(ew.Identity(), _largest(node, _floats(node, 0))),
    "_contrib_intgemm_prepare_data": prepared,
    "_contrib_intgemm_prepare_weight": import_prepare_weight,
    "_contrib_intgemm_take_weight": import_take_weight,
    "_contrib_quantized_reshape": partial(rearranged, shape.import_reshape),
    "_contrib_quantized_transpose": partial(rearranged, shape.import_transpose),
    "_npx_quantized_reshape": partial(rearranged, numpy_shape.import_reshape),
    "_npx_quantized_transpose": partial(rearranged, numpy_shape.import_transpose),
}
