"""Pooling over windows. TensorFlow's average never counts padding."""

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
from graphir.converters.tensorflow.importing.windows import windows_of
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops.pooling import AveragePool, MaxPool
from graphir.ops.reduction import ReduceMax
from graphir.ops.shape import Pad, Reshape, Transpose
from graphir.types import DType


def import_pool(
    node: ImportNode, spatial: int, maximum: bool, ksize: Sequence[int], stated_strides: Sequence[int]
) -> Value:
    """Return the largest or the mean of each window over that many axes."""
    layout = layout_of(node, spatial)
    data = node.input(0)
    kernel = layout.spatial_of(node, "ksize", ksize)
    strides = layout.spatial_of(node, "strides", stated_strides)
    cls: type[MaxPool] | type[AveragePool] = MaxPool if maximum else AveragePool
    zeros = paddings_left(node, spatial)
    if zeros is None:
        padding = padding_of(node, layout, data, kernel, strides, (1,) * spatial)
        op = cls(kernel_shape=kernel, strides=unless_all_one(strides), padding=padding)
        return finish(node, layout, op, cut_before(node, layout, channels_first(node, layout, data), kernel, strides))
    first = channels_first(node, layout, data)
    if any(map(any, zeros)):  # the windows see them: they are data, not padding
        before, after = ((0, 0, *numbers) for numbers in zip(*zeros, strict=True))
        first = node.step(Pad(), first, node.vector([*before, *after]), suffix="padded")
    dilations = layout.spatial_of(node, "dilations", node.attrs["dilations"])
    return finish(node, layout, cls(kernel_shape=kernel, dilations=unless_all_one(dilations)), first)


def _make_pooling(spatial: int, maximum: bool) -> ImportFunction:
    """Return the import function of a pooling whose windows are attributes."""

    def import_windowed(node: ImportNode) -> Value:
        return import_pool(node, spatial, maximum, node.attrs["ksize"], node.attrs["strides"])

    return import_windowed


def import_max_pool_v2(node: ImportNode) -> Value:
    """MaxPoolV2, whose window and strides are inputs."""
    ksize, strides = node.integers(1, "ksize"), node.integers(2, "strides")
    for what, numbers in (("ksize", ksize), ("strides", strides)):
        if len(numbers) != 4 or min(numbers) < 1:
            node.refuse(f"{what} {list(numbers)}, expected four numbers of at least 1")
    return import_pool(node, 2, True, ksize, strides)


def import_max_pool_with_argmax(node: ImportNode) -> Value | tuple[Value, ...]:
    """MaxPoolWithArgmax: also where the maxima stand in the data (N, H, W, C), row-major, in a sample or the batch.

    MaxPool counts in (N, C, H, W); an index there, less those of the channels before, is row and column of one channel.
    """
    ksize, stated_strides = node.attrs["ksize"], node.attrs["strides"]
    if not node.used(1):
        return import_pool(node, 2, True, ksize, stated_strides)
    layout = Layout(2, channels_last=True)
    data = node.input(0)
    height, width, channels = node.sizes(data, (1, 2, 3))
    kernel = layout.spatial_of(node, "ksize", ksize)
    strides = layout.spatial_of(node, "strides", stated_strides)
    padding = padding_of(node, layout, data, kernel, strides, (1, 1))
    op = MaxPool(kernel_shape=kernel, strides=unless_all_one(strides), padding=padding)
    largest, indices = node.steps(op, channels_first(node, layout, data), suffix="nchw")
    area = node.constant(height * width, DType.INT64)
    count = node.constant(channels, DType.INT64)
    argmax = node.step(ew.Mul(), node.step(ew.Mod(), indices, area), count, suffix="pixel")
    node.charge_table(channels)
    each = node.constant([[[channel]] for channel in range(channels)], DType.INT64)
    argmax = node.step(ew.Add(), argmax, each, suffix="place")
    if node.attrs["include_batch_in_index"]:
        whole = node.constant(height * width * channels, DType.INT64)
        sample = node.step(ew.Mul(), node.step(ew.Div(), indices, whole, suffix="sample"), whole, suffix="sample_first")
        argmax = node.step(ew.Add(), argmax, sample, suffix="place_in_batch")
    wanted = node.attrs["Targmax"]
    if wanted is not DType.INT64:
        argmax = node.cast(argmax, wanted, suffix="argmax")
    return tuple(node.step(Transpose(layout.to_last), value, suffix="nhwc") for value in (largest, argmax))


def import_dilation(node: ImportNode) -> Value:
    """Dilation2D: the largest of each window (N, H, W, C) plus a filter (K_h, K_w, C); padding never counts."""
    layout = Layout(2, channels_last=True)
    data, weight = node.input(0), node.input(1)
    kernel = node.sizes(weight, (0, 1))
    strides, rates = (layout.spatial_of(node, name, node.attrs[name]) for name in ("strides", "rates"))
    dtype = node.dtype()
    if not dtype.is_float:
        node.refuse(f"a dilation of {dtype}; only floats have a number below all others for the padding")
    windows = windows_of(node, layout, data, kernel, strides, rates, float("-inf"))
    shape = node.vector([1, kernel[0], 1, kernel[1], -1])
    moved = node.step(ew.Add(), windows, node.step(Reshape(), weight, shape, suffix="filter"), suffix="moved")
    return node.emit(ReduceMax(keepdims=False), moved, node.vector([2, 4]))


IMPORTS: dict[str, ImportFunction] = {
    "AvgPool": _make_pooling(2, maximum=False),
    "AvgPool3D": _make_pooling(3, maximum=False),
    "Dilation2D": import_dilation,
    "MaxPool": _make_pooling(2, maximum=True),
    "MaxPool3D": _make_pooling(3, maximum=True),
    "MaxPoolV2": import_max_pool_v2,
    "MaxPoolWithArgmax": import_max_pool_with_argmax,
}
