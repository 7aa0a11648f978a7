"""Convolution, Deconvolution, and convolution at learned offsets.

The modulated one is ONNX's DeformConv. The plain one reads 0 outside of [0, size) and the last element beyond it, where
the other interpolates with zeros: its offsets are limited to the last element, and a mask says what is outside.
"""

from __future__ import annotations

import itertools

import numpy as np

from graphir.arrays import Array
from graphir.converters.mxnet.importing.context import ImportNode
from graphir.converters.mxnet.importing.layout import channels_first, finish, is_channels_first, layout_of
from graphir.converters.mxnet.schema.upgrade import FIRST_OF_TWO
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops.convolution import Conv, ConvTranspose, DeformConv
from graphir.ops.elementwise import Add, And, GreaterOrEqual, Less, Min, Sub
from graphir.ops.reduction import ReduceMin
from graphir.ops.shape import Reshape, Transpose
from graphir.padding import Explicit, symmetric
from graphir.types import UNKNOWN, Dim, DType, Shape


def convolution_operator(node: ImportNode) -> Conv:
    """Return the convolution that the attributes state, of data with the channels in front."""
    attrs = node.attrs
    kernel = attrs["kernel"]
    rank = len(kernel)
    return Conv(
        kernel_shape=kernel,
        strides=attrs["stride"] or (1,) * rank,
        dilations=attrs["dilate"] or (1,) * rank,
        padding=symmetric(attrs["pad"] or (0,) * rank),
        group=attrs["num_group"],
    )


def import_convolution(node: ImportNode) -> Value:
    """Convolution: data (N, C, D...), weight (num_filter, C/group, K...), bias (num_filter)."""
    attrs = node.attrs
    kernel = attrs["kernel"]
    rank = len(kernel)
    layout = layout_of(node, rank)
    filters = attrs["num_filter"]
    weight_shape: tuple[Dim, ...] = (filters, UNKNOWN, *kernel)
    op = convolution_operator(node)
    bias = None if attrs["no_bias"] else node.shaped(2, (filters,), stated=(filters,))
    if is_channels_first(layout):
        weight = node.shaped(1, weight_shape, stated=weight_shape)
        return node.emit(op, node.input(0), weight, *([] if bias is None else [bias]))
    data = channels_first(node, node.input(0), layout)
    weight = _channels_first_weight(node, layout, weight_shape)
    result = node.step(op, data, weight, *([] if bias is None else [bias]), suffix="conv")
    return finish(node, result, layout)


def _channels_first_weight(node: ImportNode, layout: str, shape: tuple[Dim, ...]) -> Value:
    """MXNet lays a weight out as it lays out the data, with the filters in place of the batch."""
    letters = "NC" + "".join(letter for letter in layout if letter not in "NC")
    stored = tuple(shape[letters.index(letter)] for letter in layout)
    weight = node.shaped(1, stored, stated=stored)
    return node.step(Transpose(tuple(layout.index(letter) for letter in letters)), weight, suffix="weight")


def import_deconvolution(node: ImportNode) -> Value:
    """Deconvolution: data (N, C, D...), weight (C, num_filter/group, K...), bias (num_filter).

    With `target_shape` MXNet derives pad and adj from it: the total padding is what the full output has too much, and
    an odd total becomes an output padding of 1.
    """
    attrs = node.attrs
    kernel = attrs["kernel"]
    rank = len(kernel)
    layout = layout_of(node, rank)
    filters, group = attrs["num_filter"], attrs["num_group"]
    strides = attrs["stride"] or (1,) * rank
    dilations = attrs["dilate"] or (1,) * rank
    data = channels_first(node, node.input(0), layout)
    pads, extra = attrs["pad"] or (0,) * rank, attrs["adj"] or (0,) * rank
    target = attrs["target_shape"]
    fixed: tuple[int, ...] = ()
    if target and any(target) and not node.settles and not _is_known(data.shape, rank):
        fixed, extra = target, (0,) * rank  # for inference alone
    elif target and any(target):
        pads, extra = _target_padding(node, data, strides, dilations)
    if any(more >= stride for more, stride in zip(extra, strides, strict=True)):
        node.refuse(f"adj {list(extra)} must be smaller than the stride {list(strides)}")
    op = ConvTranspose(
        kernel_shape=kernel,
        strides=strides,
        dilations=dilations,
        padding=Explicit(tuple((pad, pad) for pad in pads)),
        group=group,
        output_padding=extra if any(extra) else (),
        output_shape=fixed,
    )
    shape: tuple[Dim, ...] = (UNKNOWN, filters // group, *kernel)
    bias = [] if attrs["no_bias"] else [node.shaped(2, (filters,), stated=(filters,))]
    if is_channels_first(layout):
        return node.emit(op, data, node.shaped(1, shape, stated=shape), *bias)
    weight = _channels_first_weight(node, layout, shape)
    return finish(node, node.step(op, data, weight, *bias, suffix="deconv"), layout)


def _is_known(shape: Shape | None, rank: int) -> bool:
    """Return whether the spatial sizes are numbers."""
    return shape is not None and all(isinstance(size, int) for size in shape[2 : 2 + rank])


def _target_padding(
    node: ImportNode, data: Value, strides: tuple[int, ...], dilations: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    target, kernel = node.attrs["target_shape"], node.attrs["kernel"]
    sizes = node.sizes(data, range(2, 2 + len(kernel)))
    pads, extra = [], []
    for axis, wanted in enumerate(target):
        full = strides[axis] * (sizes[axis] - 1) + (kernel[axis] - 1) * dilations[axis] + 1
        total = full - wanted
        if total < 0:
            node.refuse(f"target_shape {list(target)} is larger than the full output {full} on spatial axis {axis}")
        pads.append((total + 1) // 2)
        extra.append(total % 2)
    text = f"target_shape {list(target)} at input size {list(sizes)} became pad {pads} and output padding {extra}"
    if node.importer.source.version >= FIRST_OF_TWO:
        text += ", as in MXNet 1.9.1; 2.0 refuses it with oneDNN and gives other numbers without"
    node.decide(DecisionKind.DECONVOLUTION_TARGET, text)
    return tuple(pads), tuple(extra)


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


IMPORTS = {
    "Convolution": import_convolution,
    "Convolution_v1": import_convolution,
    "Deconvolution": import_deconvolution,
    "_contrib_DeformableConvolution": import_plain,
    "_contrib_ModulatedDeformableConvolution": import_modulated,
}
