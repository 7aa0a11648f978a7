"""Convolutions: plain, depthwise and transposed, over two and three spatial axes.

TensorFlow's filters are (spatial..., in, out); the IR's weights follow from them by a Transpose of the parameter, which
simplification folds without reading it. Source of the paddings: `tf.nn.convolution`, `tf.nn.conv2d_transpose`.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphir.converters.tensorflow.importing.context import ImportFunction, ImportNode
from graphir.converters.tensorflow.importing.dilated import paddings_left
from graphir.converters.tensorflow.importing.layout import (
    Layout,
    channels_first,
    cut_before,
    finish,
    layout_of,
    padding_of,
    unless_all_one,
)
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops.convolution import Conv, ConvTranspose
from graphir.ops.elementwise import Add, Div, Identity, Max, Sub
from graphir.ops.indexing import Gather
from graphir.ops.shape import Reshape, Shape, Transpose
from graphir.ops.slicing import Slice
from graphir.padding import Explicit, Padding, SameMode, extent, split_same
from graphir.passes.explicit_padding import KIND
from graphir.types import UNKNOWN, Dim, TensorType, format_shape


def _filter(node: ImportNode, slot: int, layout: Layout) -> tuple[Value, tuple[int, ...]]:
    """Return the filter (K..., in, out), its rank checked, and its spatial sizes."""
    value = node.input(slot)
    rank = layout.spatial + 2
    node.graph.refine(value, TensorType(None, (UNKNOWN,) * rank))
    kernel = node.sizes(value, range(layout.spatial))
    return value, kernel


def _per_axis(node: ImportNode, layout: Layout, name: str) -> tuple[int, ...]:
    """Return the spatial entries of an attribute; 1 on every axis where TensorFlow has no such attribute."""
    return layout.spatial_of(node, name, node.attrs.get(name) or (1,) * layout.spatial)


def _padding(
    node: ImportNode,
    layout: Layout,
    data: Value,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> Padding:
    """Return the padding that the node states, or for a group that `dilated` made one, its paddings without its
    crops."""
    pads = paddings_left(node, layout.spatial)
    if pads is None:
        return padding_of(node, layout, data, kernel, strides, dilations)
    return Explicit(pads) if any(map(any, pads)) else Explicit()


def _swapped(spatial: int) -> tuple[int, ...]:
    """Return the order of axes that makes (out, in, K...) of (K..., in, out)."""
    return (spatial + 1, spatial, *range(spatial))


def import_conv(node: ImportNode, spatial: int) -> Value:
    """Return a convolution over that many axes."""
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
    """Return how many groups the channels are in: a filter may take a part of the input's channels only."""
    channel_axis = layout.spatial + 1 if layout.channels_last else 1
    channels = None if data.shape is None or len(data.shape) <= channel_axis else data.shape[channel_axis]
    taken = weight.shape[layout.spatial] if weight.shape is not None else None
    if not isinstance(channels, int) or not isinstance(taken, int) or taken == 0:
        node.decide(
            DecisionKind.GROUPS, f"the channels of {data.name} are not known; the filter was taken to reach over all"
        )
        return 1
    if channels % taken:
        node.refuse(f"the input has {channels} channels, which is no multiple of the filter's {taken}")
    return channels // taken


def import_depthwise_conv(node: ImportNode, spatial: int) -> Value:
    """Return a filter (K..., C, M) gives M results for each of C channels."""
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
    """Import the gradient of a convolution by its input, which is how TensorFlow states a transposed convolution.

    Inputs: the result's shape, a filter (K..., out, in) and the data.
    """
    layout = layout_of(node, spatial)
    weight, kernel = _filter(node, 1, layout)
    data = node.input(2)
    strides, dilations = _per_axis(node, layout, "strides"), _per_axis(node, layout, "dilations")
    transposed_padding = _transposed_padding(node, layout, kernel)
    padding, extra = transposed_padding or (Explicit(), tuple(stride - 1 for stride in strides))
    op = ConvTranspose(
        kernel_shape=kernel,
        strides=unless_all_one(strides),
        dilations=unless_all_one(dilations),
        padding=padding,
        output_padding=extra if any(extra) else (),
    )
    first = channels_first(node, layout, data)
    turned = node.step(Transpose(_swapped(spatial)), weight, suffix="weight")
    if transposed_padding is not None:
        return finish(node, layout, op, first, turned)
    whole = node.step(op, first, turned, suffix="whole")
    cut = _cut_to_size(node, layout, whole, strides)
    return node.emit(Transpose(layout.to_last), cut) if layout.channels_last else node.emit(Identity(), cut)


def _transposed_padding(
    node: ImportNode, layout: Layout, kernel: Sequence[int]
) -> tuple[Explicit, tuple[int, ...]] | None:
    """Return what is cut off before and after, and what is added behind, so that the result has the stated size; None
    where that depends on sizes that are known at run time only."""
    strides, dilations = _per_axis(node, layout, "strides"), _per_axis(node, layout, "dilations")
    sizes = _stated_sizes(node, layout)
    shape = node.input(2).shape
    if sizes is None or (shape is not None and len(shape) != layout.spatial + 2):
        return None
    inner = [UNKNOWN] * layout.spatial if shape is None else [shape[axis] for axis in layout.spatial_axes]
    stated = node.attrs["padding"]
    given = ((0, 0),) * layout.spatial
    if stated == "EXPLICIT":
        explicit = padding_of(node, layout, node.input(2), kernel, strides, dilations)
        assert isinstance(explicit, Explicit)
        given = explicit.pads or given
    pads, extra = [], []
    for axis, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        span = extent(kernel[axis], dilations[axis])
        if isinstance(size, int) and not isinstance(inner[axis], int):
            # how many elements of the data give `size` elements
            inner[axis] = -(-size // stride) if stated == "SAME" else (size + sum(given[axis]) - span) // stride + 1
        too_many = (inner[axis] - 1) * stride + span - size
        if not isinstance(too_many, int):
            return None
        pair = split_same(max(too_many, 0), SameMode.UPPER) if stated == "SAME" else given[axis]
        pads.append(pair)
        extra.append(sum(pair) - too_many)
    if any(number < 0 for number in extra):
        shown = [str(size) for size in sizes]
        node.refuse(f"the stated sizes {shown} are smaller than what the data of sizes {inner} give")
    if stated == "SAME":
        target = ", ".join(map(str, sizes))
        node.decide(KIND, f"SAME of a transposed convolution to [{target}] cuts {pads} and adds {extra} behind")
    zero = not any(map(any, pads))
    return Explicit() if zero else Explicit(tuple(pads)), tuple(extra)


def _stated_sizes(node: ImportNode, layout: Layout) -> list[Dim] | None:
    """Return the result's spatial sizes as far as the first input states them: of all axes or the spatial ones."""
    known, shape = node.input(0).known, node.input(0).shape
    count = shape[0] if shape is not None and len(shape) == 1 else UNKNOWN
    if shape is not None and (len(shape) != 1 or (isinstance(count, int) and count - layout.spatial not in (0, 2))):
        node.refuse(
            f"its result's sizes are of the shape {format_shape(shape)}, expected {layout.spatial + 2} of them, "
            f"or the {layout.spatial} spatial ones"
        )
    if known is None:
        return None
    sizes = known.dims()
    return [sizes[axis] for axis in layout.spatial_axes] if len(sizes) == layout.spatial + 2 else list(sizes)


def _cut_to_size(node: ImportNode, layout: Layout, whole: Value, strides: Sequence[int]) -> Value:
    """Return the part of the result, channels first, that TensorFlow gives, by the sizes that the model computes.

    `whole` has `stride - 1` elements of zeros more behind than the data give: the most that a stated size can add.
    """
    sizes, spatial = node.int64(node.input(0)), layout.spatial
    if sizes.shape is None or sizes.shape[0] != spatial:
        chosen = node.vector(list(layout.spatial_axes))
        sizes = node.step(Gather(0), sizes, chosen, suffix="sizes")
    begin = node.vector([0] * spatial)
    if node.attrs["padding"] == "SAME":
        actual = node.step(Shape(start=2), whole, suffix="made")
        natural = node.step(Sub(), actual, node.vector([stride - 1 for stride in strides]), suffix="natural")
        too_many = node.step(Max(), node.step(Sub(), natural, sizes, suffix="more"), begin, suffix="too_many")
        begin = node.step(Div(), too_many, node.vector([2] * spatial), suffix="begin")
    elif node.attrs["padding"] == "EXPLICIT":
        pads = padding_of(node, layout, node.input(2), (), (), ())
        assert isinstance(pads, Explicit)
        begin = node.vector([before for before, _ in pads.pads or ((0, 0),) * spatial])
    end = node.step(Add(), begin, sizes, suffix="end")
    node.decide(DecisionKind.TRANSPOSED_CONVOLUTION, "the size of its result is computed by the model, which cuts it")
    return node.step(Slice(), whole, begin, end, node.vector(list(range(2, spatial + 2))), suffix="cut")


IMPORTS: dict[str, ImportFunction] = {
    "Conv2D": lambda node: import_conv(node, 2),
    "Conv2DBackpropInput": lambda node: _import_transposed(node, 2),
    "Conv3D": lambda node: import_conv(node, 3),
    "Conv3DBackpropInputV2": lambda node: _import_transposed(node, 3),
    "DepthwiseConv2dNative": lambda node: import_depthwise_conv(node, 2),
}
