"""Quantized convolution and dense layers of int32, and what they stand for.

The integers' product is what MXNet gives; the same layer of real numbers stands beside it (`Importer.reals`), for the
quantization that follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.ops.convolution import convolution_operator
from graphir.converters.mxnet.importing.ranges import (
    LARGEST,
    SPANS,
    Known,
    apply,
    as_end,
    byte_dtype,
    cut,
    end,
    held,
    known,
    magnitude,
    real,
    single,
    step_of,
    stored,
)
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops.elementwise import Add, Div, Mul
from graphir.ops.linear import Gemm, MatMul, MatMulInteger
from graphir.ops.quantization import ConvInteger
from graphir.ops.shape import Flatten, Reshape, Transpose
from graphir.types import UNKNOWN, Dim, DType, product

WIDEST = 2147483647.0


def product_ends(node: ImportNode, step: Known) -> list[Value]:
    """Return the range of int32 numbers of which one unit stands for `step`."""
    low, high = single(-(2.0**31)), single(WIDEST)
    return [as_end(node, apply(node, Mul(), step, low)), as_end(node, apply(node, Mul(), step, high))]


def as_int32(node: ImportNode, total: Value, bias: Known | None, axes: int) -> Value:
    """Return the sum of an integer product and a bias of int32, whose entries go along the axis with `axes` behind
    it."""
    if bias is None:
        return total
    if isinstance(bias, Value):
        shaped = node.step(Reshape(), bias, node.vector([-1, *(1,) * axes]), suffix="bias") if axes else bias
    else:
        shaped = node.constant(bias.reshape(-1, *(1,) * axes), DType.INT32)
    return node.step(Add(), total, shaped, suffix="total")


def real_bias(node: ImportNode, bias: Known | None, step: Known) -> list[Value]:
    """Return what a bias of int32 stands for."""
    return [] if bias is None else [real(node, held(node, bias, DType.INT32), DType.INT32, step, 0, "bias")]


def import_quantized_conv(node: ImportNode) -> Sequence[Value]:
    """Convolution of uint8 by int8, as int32. Its range is that of int8 data, and its bias is added as it stands."""
    attrs = node.attrs
    if attrs["num_group"] != 1 or len(attrs["kernel"]) != 2 or attrs["layout"] not in (None, "NCHW"):
        node.refuse("MXNet has it for one group, two axes and the layout NCHW")
    byte_dtype(node, 0, DType.UINT8)
    byte_dtype(node, 1, DType.INT8)
    filters = attrs["num_filter"]
    shape = (filters, UNKNOWN, *attrs["kernel"])
    data, weight = node.input(0), node.shaped(1, shape, stated=shape)
    bias: Known | None = None
    first = 2
    if not attrs["no_bias"]:
        byte_dtype(node, 2, DType.INT8)
        node.decide(DecisionKind.QUANTIZATION, "MXNet adds the quantized bias as it is, whatever its range; so it is")
        bias, first = _widened(node, node.shaped(2, (filters,), stated=(filters,))), 3
    steps = [_largest_step(node, slot, DType.INT8) for slot in (first, first + 2)]
    step = apply(node, Mul(), *steps)
    op = convolution_operator(node)
    total = node.step(integer_convolution(node), data, weight, suffix="integers")
    whole = as_int32(node, total, bias, 2)
    if isinstance(step, Value):
        node.importer.reals[whole] = real(node, whole, DType.INT32, step)
    else:
        left = real(node, data, DType.UINT8, steps[0], suffix="data")
        right = real(node, weight, DType.INT8, steps[1], 0, suffix="weight")
        node.importer.reals[whole] = node.step(op, left, right, *real_bias(node, bias, step), suffix="real")
    return [whole, *product_ends(node, step)]


def integer_convolution(node: ImportNode) -> ConvInteger:
    """Return the convolution of integers that the attributes state."""
    op = convolution_operator(node)
    return ConvInteger(op.kernel_shape, op.strides, op.dilations, op.padding, op.group)


def _widened(node: ImportNode, value: Value) -> Known:
    result = known(value)
    return node.cast(value, DType.INT32) if isinstance(result, Value) else result.astype(np.int32)


def _largest_step(node: ImportNode, slot: int, dtype: DType) -> Known:
    """Return a step as MXNet computes the ranges of products: over the largest integer."""
    reach = magnitude(node, end(node, node.input(slot)), end(node, node.input(slot + 1)))
    return step_of(node, reach, LARGEST[dtype])


def import_quantized_fully_connected(node: ImportNode) -> Sequence[Value]:
    """Product of int8 or uint8 by int8, as int32; the bias is rescaled to the product's range and cut."""
    attrs = node.attrs
    dtype = byte_dtype(node)
    byte_dtype(node, 1, DType.INT8)
    first = 2 if attrs["no_bias"] else 3
    steps = [_largest_step(node, first, dtype), _largest_step(node, first + 2, DType.INT8)]
    step = apply(node, Mul(), *steps)
    bias: Known | None = None
    if not attrs["no_bias"]:
        byte_dtype(node, 2, DType.INT8)
        bias = _rescaled_bias(node, dtype)
    weight = stated_weight(node, attrs)
    whole, stands = fully_connected(node, attrs, weight, (dtype, steps[0], steps[1], step), bias)
    node.importer.reals[whole] = stands
    return [whole, *product_ends(node, step)]


def _rescaled_bias(node: ImportNode, dtype: DType) -> Known:
    hidden = node.attrs["num_hidden"]
    result = known(node.shaped(2, (hidden,), stated=(hidden,)))
    numbers = node.cast(result, DType.FLOAT32) if isinstance(result, Value) else result.astype(np.float32)
    reaches = [magnitude(node, end(node, node.input(slot)), end(node, node.input(slot + 1))) for slot in (3, 5, 7)]
    spans = (single(SPANS[dtype]), single(SPANS[DType.INT8]))
    factors = [apply(node, Div(), span, reach) for span, reach in zip(spans, reaches[:2], strict=True)]
    rescale = apply(node, Mul(), apply(node, Mul(), *factors), reaches[2])
    rescale = apply(node, Div(), rescale, single(SPANS[DType.INT8]))
    return cut(node, apply(node, Mul(), numbers, rescale), rounded=False)


def stated_weight(node: ImportNode, attrs: Any) -> Value:
    """Return the weight (operand 1) of a dense layer with these attributes, of the shape that they and the data say."""
    data = node.input(0)
    features: Dim = UNKNOWN
    if data.shape:
        result = product(data.shape[1:]) if attrs["flatten"] else data.shape[-1]
        features = result if isinstance(result, int) else UNKNOWN
    return node.shaped(1, (attrs["num_hidden"], features), stated=(attrs["num_hidden"], UNKNOWN))


def fully_connected(
    node: ImportNode, attrs: Any, weight: Value, how: tuple[DType, Known, Known, Known], bias: Known | None
) -> tuple[Value, Value]:
    """Return a dense layer of quantized data (operand 0) and weight: as int32, and what that stands for.

    `attrs` are those of FullyConnected, `how` the data's dtype, the steps of data and weight (one, or one a row) and
    that of the product, `bias` is of int32.
    """
    dtype, data_step, weight_step, step = how
    data, flat = node.input(0), attrs["flatten"]
    if flat and data.rank != 2:
        data = node.step(Flatten(), data, suffix="flatten")
    turned = _turned(node, weight)
    whole = as_int32(node, node.step(MatMulInteger(), data, turned, suffix="integers"), bias, 0)
    if isinstance(data_step, Value):
        return whole, real_product(node, whole, step)
    operand = real(node, data, dtype, data_step, suffix="data")
    biases = real_bias(node, bias, step)
    if flat or data.rank == 2:
        factor = real(node, weight, DType.INT8, weight_step, 0, suffix="weight")
        return whole, node.step(Gemm(transB=True), operand, factor, *biases, suffix="real")
    stands = node.step(MatMul(), operand, real(node, turned, DType.INT8, weight_step, 1, "weight"), suffix="real")
    return whole, node.step(Add(), stands, *biases, suffix="biased") if biases else stands


def real_product(node: ImportNode, whole: Value, step: Known) -> Value:
    """Return what an integer product stands for, where onnxruntime makes no integer kernel of the real layer (the
    data's step is found at run time). There is one step, or one for each entry of the last axis."""
    counts = node.cast(whole, DType.FLOAT32, suffix="counts")
    return node.step(Mul(), counts, held(node, step), suffix="real")


def _turned(node: ImportNode, weight: Value) -> Value:
    result = known(weight)
    if isinstance(result, Value):
        return node.step(Transpose((1, 0)), weight, suffix="turned")
    return stored(node, np.ascontiguousarray(result.T), DType.INT8, weight)


IMPORTS: dict[str, ImportFunction] = {
    "_contrib_quantized_conv": import_quantized_conv,
    "_contrib_quantized_fully_connected": import_quantized_fully_connected,
}
