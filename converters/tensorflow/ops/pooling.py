"""Pooling over windows. TensorFlow's average never counts padding."""

from __future__ import annotations

from collections.abc import Sequence

from graphir.converters.tensorflow.context import ImportFunction, ImportNode
from graphir.converters.tensorflow.layout import channels_first, finish, layout_of, padding_of, unless_all_one
from graphir.graph import Value
from graphir.ops.pooling import AveragePool, MaxPool


def _import_pool(
    node: ImportNode, spatial: int, maximum: bool, ksize: Sequence[int], stated_strides: Sequence[int]
) -> Value:
    layout = layout_of(node, spatial)
    data = node.input(0)
    kernel = layout.spatial_of(node, "ksize", ksize)
    strides = layout.spatial_of(node, "strides", stated_strides)
    padding = padding_of(node, layout, data, kernel, strides, (1,) * spatial)
    cls: type[MaxPool] | type[AveragePool] = MaxPool if maximum else AveragePool
    op = cls(kernel_shape=kernel, strides=unless_all_one(strides), padding=padding)
    return finish(node, layout, op, channels_first(node, layout, data))


def _windowed(spatial: int, maximum: bool) -> ImportFunction:
    """The import function of a pooling whose windows are attributes."""

    def import_pool(node: ImportNode) -> Value:
        return _import_pool(node, spatial, maximum, node.attrs["ksize"], node.attrs["strides"])

    return import_pool


def import_max_pool_v2(node: ImportNode) -> Value:
    """MaxPoolV2, whose window and strides are inputs."""
    return _import_pool(node, 2, True, node.integers(1, "ksize"), node.integers(2, "strides"))


IMPORTS: dict[str, ImportFunction] = {
    "AvgPool": _windowed(2, maximum=False),
    "AvgPool3D": _windowed(3, maximum=False),
    "MaxPool": _windowed(2, maximum=True),
    "MaxPool3D": _windowed(3, maximum=True),
    "MaxPoolV2": import_max_pool_v2,
}

__all__ = ["IMPORTS"]
