"""Deformable convolutions.

The modulated one is ONNX's DeformConv. The plain one reads 0 outside of [0, size) and the last element beyond it, where
the other interpolates with zeros: its offsets are limited to the last element, and a mask says what is outside.
"""

from __future__ import annotations

import itertools

import numpy as np

from graphir.arrays import Array
from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops.convolution import DeformConv
from graphir.ops.elementwise import Add, And, GreaterOrEqual, Less, Min, Sub
from graphir.ops.reduction import ReduceMin
from graphir.ops.shape import Reshape
from graphir.padding import symmetric
from graphir.types import UNKNOWN, DType


def _operator(node: ImportNode) -> DeformConv:
    attrs = node.attrs
    kernel = attrs["kernel"]
    rank = len(kernel)
    if rank != 2 or attrs["layout"] not in (None, "None", "NCHW"):
        node.refuse(f"kernel {list(kernel)}, layout {attrs['layout']}: MXNet runs images with channels first only")
    return DeformConv(
        kernel_shape=kernel,
        strides=attrs["stride"] or (1,) * rank,
        dilations=attrs["dilate"] or (1,) * rank,
        padding=symmetric(attrs["pad"] or (0,) * rank),
        group=attrs["num_group"],
        offset_group=attrs["num_deformable_group"],
    )


def _weights(node: ImportNode, slot: int) -> tuple[Value, Value | None]:
    attrs = node.attrs
    weight = node.shaped(slot, (attrs["num_filter"], UNKNOWN, *attrs["kernel"]))
    return weight, None if attrs["no_bias"] else node.shaped(slot + 1, (attrs["num_filter"],))


def import_modulated(node: ImportNode) -> Value:
    """_contrib_ModulatedDeformableConvolution: data, offset, mask, weight, bias."""
    weight, bias = _weights(node, 3)
    return node.emit(_operator(node), node.input(0), weight, node.input(1), bias, node.input(2))


def import_plain(node: ImportNode) -> Value:
    """_contrib_DeformableConvolution: data, offset, weight, bias."""
    op = _operator(node)
    weight, bias = _weights(node, 2)
    data, offset = node.input(0), node.input(1)
    sizes = node.sizes(data, (2, 3))
    counts = op.conv().windows(sizes, op.kernel_shape)
    rows, columns = (count for count in counts if isinstance(count, int))
    dtype = data.dtype or DType.FLOAT32
    elements = op.kernel_shape[0] * op.kernel_shape[1] * op.offset_group
    node.charge(elements * 2 * rows * columns, "its positions")
    base = node.constant(_starts(op, rows, columns), dtype)
    last = np.tile(np.array(sizes, np.float64), elements).reshape(1, -1, 1, 1)
    indices = node.step(Add(), offset, base, suffix="places")
    limited = node.step(Min(), indices, node.constant(last - 1, dtype), suffix="limited")
    moved = node.step(Sub(), limited, base, suffix="moved")
    above = node.step(GreaterOrEqual(), indices, node.scalar_like(offset, 0), suffix="above")
    inside = node.step(And(), above, node.step(Less(), indices, node.constant(last, dtype), suffix="below"))
    numbers = node.cast(inside, dtype, suffix="inside")
    pairs = node.step(Reshape(), numbers, node.vector([-1, elements, 2, rows, columns]), suffix="pairs")
    mask = node.step(ReduceMin(keepdims=False), pairs, node.vector([2]), suffix="mask")
    node.decide(
        DecisionKind.DEFORMABLE_BORDER,
        "places beyond the last element read it, those before the first read 0, as MXNet",
    )
    return node.emit(op, data, weight, moved, bias, mask)


def _starts(op: DeformConv, rows: int, columns: int) -> Array:
    """Where the elements of each window lie without offsets: y and x in turn for each, (1, 2 * elements, H, W)."""
    result = []
    for row, column in itertools.product(*map(range, op.kernel_shape)):
        axes = (
            np.arange(count) * stride - before + index * dilation
            for count, stride, (before, _), index, dilation in zip(
                (rows, columns), op.strides, op.padding.pads, (row, column), op.dilations, strict=True
            )
        )
        result.extend(np.meshgrid(*axes, indexing="ij"))
    return np.tile(np.stack(result), (op.offset_group, 1, 1))[None].astype(np.float64)


IMPORTS: dict[str, ImportFunction] = {
    "_contrib_DeformableConvolution": import_plain,
    "_contrib_ModulatedDeformableConvolution": import_modulated,
}
