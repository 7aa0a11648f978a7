"""Convolution and Deconvolution."""

from __future__ import annotations

from graphir.converters.mxnet.importing.context import ImportNode
from graphir.converters.mxnet.importing.layout import channels_first, finish, is_channels_first, layout_of
from graphir.converters.mxnet.schema.upgrade import FIRST_OF_TWO
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops.convolution import Conv, ConvTranspose
from graphir.ops.shape import Transpose
from graphir.padding import Explicit, symmetric
from graphir.types import UNKNOWN, Dim, Shape


def convolution_operator(node: ImportNode) -> Conv:
    """The convolution that the attributes state, of data with the channels in front."""
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
    """Whether the spatial sizes are numbers."""
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


IMPORTS = {
    "Convolution": import_convolution,
    "Convolution_v1": import_convolution,
    "Deconvolution": import_deconvolution,
}
