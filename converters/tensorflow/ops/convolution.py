"""Convolutions: plain, depthwise and transposed, over two and three spatial axes.

TensorFlow's filters are (spatial..., in, out); the IR's weights follow from them by a Transpose of the parameter, which
simplification folds without reading it. Source of the paddings: `tf.nn.convolution`, `tf.nn.conv2d_transpose`.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphir.converters.tensorflow.context import ImportFunction, ImportNode
from graphir.converters.tensorflow.dilated import paddings_left
from graphir.converters.tensorflow.layout import (
    Layout,
    channels_first,
    cut_before,
    finish,
    layout_of,
    padding_of,
    unless_all_one,
)
from graphir.graph import Value
from graphir.ops.convolution import Conv, ConvTranspose
from graphir.ops.shape import Reshape, Transpose
from graphir.padding import Explicit, Padding, SameMode, extent, same_total, split_same
from graphir.passes.explicit_padding import KIND
from graphir.types import UNKNOWN, TensorType


def _filter(node: ImportNode, slot: int, layout: Layout) -> tuple[Value, tuple[int, ...]]:
    """The filter (K..., in, out), its rank checked, and its spatial sizes."""
    value = node.input(slot)
    rank = layout.spatial + 2
    node.graph.refine(value, TensorType(None, (UNKNOWN,) * rank))
    kernel = node.sizes(value, range(layout.spatial))
    return value, kernel


def _per_axis(node: ImportNode, layout: Layout, name: str) -> tuple[int, ...]:
    """The spatial entries of an attribute; 1 on every axis where TensorFlow has no such attribute."""
    return layout.spatial_of(node, name, node.attrs.get(name) or (1,) * layout.spatial)


def _padding(
    node: ImportNode,
    layout: Layout,
    data: Value,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> Padding:
    """The padding that the node states, or for a group that `dilated` made one, its paddings without its crops."""
    pads = paddings_left(node, layout.spatial)
    if pads is None:
        return padding_of(node, layout, data, kernel, strides, dilations)
    return Explicit(pads) if any(map(any, pads)) else Explicit()


def _swapped(spatial: int) -> tuple[int, ...]:
    """The order of axes that makes (out, in, K...) of (K..., in, out)."""
    return (spatial + 1, spatial, *range(spatial))


def import_conv(node: ImportNode, spatial: int) -> Value:
    """A convolution over that many axes."""
    layout = layout_of(node, spatial)
    data = node.input(0)
    weight, kernel = _filter(node, 1, layout)
    strides, dilations = _per_axis(node, layout, "strides"), _per_axis(node, layout, "dilations")
    op = Conv(
        kernel_shape=kernel,
        strides=unless_all_one(strides),
        dilations=unless_all_one(dilations),
        padding=_padding(node, layout, data, kernel, strides, dilations),
        group=_groups(node, layout, data, weight),
    )
    first = cut_before(node, layout, channels_first(node, layout, data), kernel, strides)
    return finish(node, layout, op, first, node.step(Transpose(_swapped(spatial)), weight, suffix="weight"))


def _groups(node: ImportNode, layout: Layout, data: Value, weight: Value) -> int:
    """How many groups the channels are in: a filter may take a part of the input's channels only."""
    channel_axis = layout.spatial + 1 if layout.channels_last else 1
    channels = None if data.shape is None or len(data.shape) <= channel_axis else data.shape[channel_axis]
    taken = weight.shape[layout.spatial] if weight.shape is not None else None
    if not isinstance(channels, int) or not isinstance(taken, int) or taken == 0:
        node.decide("groups", f"the channels of {data.name} are not known; the filter was taken to reach over all")
        return 1
    if channels % taken:
        node.refuse(f"the input has {channels} channels, which is no multiple of the filter's {taken}")
    return channels // taken


def import_conv_2d(node: ImportNode) -> Value:
    """Conv2D."""
    return import_conv(node, 2)


def import_conv_3d(node: ImportNode) -> Value:
    """Conv3D."""
    return import_conv(node, 3)


def import_depthwise(node: ImportNode) -> Value:
    """DepthwiseConv2dNative."""
    return import_depthwise_conv(node, 2)


def import_depthwise_conv(node: ImportNode, spatial: int) -> Value:
    """A filter (K..., C, M) gives M results for each of C channels."""
    layout = layout_of(node, spatial)
    data = node.input(0)
    weight, kernel = _filter(node, 1, layout)
    channels, multiplier = node.sizes(weight, (spatial, spatial + 1))
    strides, dilations = _per_axis(node, layout, "strides"), _per_axis(node, layout, "dilations")
    op = Conv(
        kernel_shape=kernel,
        strides=unless_all_one(strides),
        dilations=unless_all_one(dilations),
        padding=_padding(node, layout, data, kernel, strides, dilations),
        group=channels,
    )
    weight = node.step(Transpose((spatial, spatial + 1, *range(spatial))), weight, suffix="weight")
    if multiplier != 1:
        weight = node.step(Reshape(), weight, node.vector([channels * multiplier, 1, *kernel]), suffix="weight_flat")
    return finish(node, layout, op, channels_first(node, layout, data), weight)


def _import_transposed(node: ImportNode, spatial: int) -> Value:
    """The gradient of a convolution by its input, which is how TensorFlow states a transposed convolution.

    Inputs: the result's shape, a filter (K..., out, in) and the data.
    """
    layout = layout_of(node, spatial)
    weight, kernel = _filter(node, 1, layout)
    data = node.input(2)
    strides, dilations = _per_axis(node, layout, "strides"), _per_axis(node, layout, "dilations")
    padding, extra = _transposed_padding(node, layout, kernel, strides, dilations)
    op = ConvTranspose(
        kernel_shape=kernel,
        strides=unless_all_one(strides),
        dilations=unless_all_one(dilations),
        padding=padding,
        output_padding=extra if any(extra) else (),
    )
    first = channels_first(node, layout, data)
    return finish(node, layout, op, first, node.step(Transpose(_swapped(spatial)), weight, suffix="weight"))


def _transposed_padding(
    node: ImportNode, layout: Layout, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> tuple[Padding, tuple[int, ...]]:
    """What is cut off before and after, and what is added behind, so that the result has the stated size."""
    sizes = _stated_sizes(node, layout)
    spans = [extent(width, dilation) for width, dilation in zip(kernel, dilations, strict=True)]
    stated = node.attrs["padding"]
    if sizes is None:
        return _open_padding(node, layout, stated, spans, strides)
    given = padding_of(node, layout, node.input(2), kernel, strides, dilations) if stated == "EXPLICIT" else None
    inner = node.sizes_if_known(node.input(2), tuple(layout.spatial_axes))
    pads, extra = [], []
    for axis, (size, span, stride) in enumerate(zip(sizes, spans, strides, strict=True)):
        if isinstance(given, Explicit):
            pair = given.pads[axis] if given.pads else (0, 0)
        elif stated == "SAME":
            total = same_total(size, kernel[axis], stride, dilations[axis])
            assert isinstance(total, int)
            pair = split_same(total, SameMode.UPPER)
        else:
            pair = (0, 0)
        pads.append(pair)
        windows = inner[axis] if inner is not None else _windows(size, sum(pair), span, stride, stated)
        extra.append(size - ((windows - 1) * stride + span - sum(pair)))
    if any(number < 0 for number in extra):
        node.refuse(f"the stated sizes {list(sizes)} are smaller than what the data of sizes {inner} give")
    if stated == "SAME":
        node.decide(KIND, f"SAME of a transposed convolution to {list(sizes)} cuts {pads} and adds {extra} behind")
    zero = not any(map(any, pads))
    return Explicit() if zero else Explicit(tuple(pads)), tuple(extra)


def _windows(size: int, padded: int, span: int, stride: int, stated: str) -> int:
    """How many elements of the data give `size` elements."""
    return -(-size // stride) if stated == "SAME" else (size + padded - span) // stride + 1


def _stated_sizes(node: ImportNode, layout: Layout) -> tuple[int, ...] | None:
    """The result's spatial sizes as far as the first input states them as numbers: of all axes or the spatial ones."""
    known = node.input(0).known
    if known is None:
        return None
    whole = len(known.elements) == layout.spatial + 2
    chosen = [known.elements[axis] for axis in layout.spatial_axes] if whole else list(known.elements)
    numbers = tuple(size for size in chosen if isinstance(size, int))
    return numbers if len(numbers) == layout.spatial == len(chosen) else None


def _open_padding(
    node: ImportNode, layout: Layout, stated: str, spans: Sequence[int], strides: Sequence[int]
) -> tuple[Padding, tuple[int, ...]]:
    """For a size that is computed: exact where the result has the usual size, which is what is assumed.

    SAME gives size * stride elements: then span - stride are cut off, or stride - span added behind.
    """
    if stated == "EXPLICIT":
        node.refuse(f"its sizes ({node.input(0).name}) are computed; give the shapes of the inputs as numbers")
    node.decide(
        "transposed convolution",
        "the size of the result is computed by the model; it was taken to be "
        + ("size * stride" if stated == "SAME" else "the smallest that the data can have come from"),
    )
    if stated == "VALID":
        return Explicit(), (0,) * layout.spatial
    pads = tuple(
        split_same(max(span - stride, 0), SameMode.UPPER) for span, stride in zip(spans, strides, strict=True)
    )
    extra = tuple(max(stride - span, 0) for span, stride in zip(spans, strides, strict=True))
    return Explicit(pads), extra


def import_transposed_2d(node: ImportNode) -> Value:
    """Conv2DBackpropInput."""
    return _import_transposed(node, 2)


def import_transposed_3d(node: ImportNode) -> Value:
    """Conv3DBackpropInputV2."""
    return _import_transposed(node, 3)


IMPORTS: dict[str, ImportFunction] = {
    "Conv2D": import_conv_2d,
    "Conv2DBackpropInput": import_transposed_2d,
    "Conv3D": import_conv_3d,
    "Conv3DBackpropInputV2": import_transposed_3d,
    "DepthwiseConv2dNative": import_depthwise,
}

__all__ = ["IMPORTS", "import_conv", "import_depthwise_conv"]
