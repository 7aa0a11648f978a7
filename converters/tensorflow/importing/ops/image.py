"""Patches of images (N, H, W, C), and their colours: (..., 3) in red, green and blue or hue, saturation and value.

All of hue, saturation and value are shares of 1. Source: `tf.image.rgb_to_hsv`, `tf.image.extract_patches` and others.
"""

from __future__ import annotations

from math import prod

from graphir.converters.tensorflow.importing.context import ImportFunction, ImportNode
from graphir.converters.tensorflow.importing.layout import Layout
from graphir.converters.tensorflow.importing.sizes import as_vector, size_at
from graphir.converters.tensorflow.importing.windows import windows_of
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops.reduction import ReduceMax, ReduceMean, ReduceMin
from graphir.ops.shape import Reshape, Transpose
from graphir.ops.shape_parts import Concat, Split
from graphir.types import DType

SINGLES = frozenset({DType.FLOAT32, DType.FLOAT64})


def _to_computing_dtype(node: ImportNode) -> Value:
    """Return the images in float32 at least, as TensorFlow computes with them."""
    data = node.input(0)
    return data if node.dtype() in SINGLES else node.cast(data, DType.FLOAT32, suffix="float")


def _emit_result(node: ImportNode, op: ew.Add | ew.Sub | ew.Mul | Concat, *operands: Value) -> Value:
    """Return the node's result, of the images' dtype."""
    if node.dtype() in SINGLES:
        return node.emit(op, *operands)
    return node.emit(ew.Cast(node.dtype()), node.step(op, *operands, suffix="result"))


def import_adjust_contrast(node: ImportNode) -> Value:
    """AdjustContrastv2: (x - mean) * factor + mean, by the mean of each channel of each image."""
    data = _to_computing_dtype(node)
    mean = node.step(ReduceMean(), data, node.vector([-3, -2]), suffix="mean")
    apart = node.step(ew.Mul(), node.step(ew.Sub(), data, mean), node.input(1), suffix="apart")
    return _emit_result(node, ew.Add(), apart, mean)


class _Colours:
    """The hue of images (..., 3), their largest channel and how far the smallest is from it, each (..., 1)."""

    def __init__(self, node: ImportNode, data: Value) -> None:
        last = node.vector([-1])
        red, green, blue = node.steps(Split(3, axis=-1), data, suffix="channels")
        zero = node.scalar_like(data, 0)
        self.top = node.step(ReduceMax(), data, last, suffix="top")
        self.spread = node.step(ew.Sub(), self.top, node.step(ReduceMin(), data, last), suffix="spread")

        def turned(left: Value, right: Value, thirds: float) -> Value:
            part = node.step(ew.Sub(), left, right, suffix="part")
            sixth = node.step(ew.Mul(), self.spread, node.scalar_like(data, 6), suffix="sixth")
            share = node.step(ew.Div(), part, sixth, suffix="share")
            return node.step(ew.Add(), share, node.scalar_like(data, thirds / 3), suffix="turned") if thirds else share

        hue = node.step(
            ew.Where(),
            node.step(ew.Equal(), green, self.top),
            turned(blue, red, 1),
            turned(red, green, 2),
        )
        hue = node.step(ew.Where(), node.step(ew.Equal(), red, self.top), turned(green, blue, 0), hue, suffix="hue")
        hue = node.step(ew.Where(), node.step(ew.Greater(), self.spread, zero), hue, zero, suffix="hue")
        above = node.step(ew.Add(), hue, node.scalar_like(data, 1), suffix="above")
        self.hue = node.step(ew.Where(), node.step(ew.Less(), hue, zero), above, hue, suffix="hue")
        self.zero = zero

    def saturation(self, node: ImportNode) -> Value:
        """Return spread / top, 0 where that is not above 0."""
        share = node.step(ew.Div(), self.spread, self.top, suffix="share")
        positive = node.step(ew.Greater(), self.top, self.zero)
        return node.step(ew.Where(), positive, share, self.zero, suffix="saturation")


def _mix_channels(node: ImportNode, hue: Value, spread: Value, top: Value) -> Value:
    """Return red, green and blue: top less the spread times what the hue takes of each channel.

    Red has all of it at a hue of 1/2, green and blue at those that are a third away: 1 - clip(|6 h - 3| - 1), and
    1 - clip(2 - |6 h - 2|), 1 - clip(2 - |6 h - 4|).
    """
    dtype = hue.dtype or DType.FLOAT32
    angle = node.step(ew.Mul(), hue, node.scalar_like(hue, 6), suffix="angle")
    away = node.step(ew.Abs(), node.step(ew.Sub(), angle, node.constant([3, 2, 4], dtype)), suffix="away")
    away = node.step(ew.Mul(), away, node.constant([1, -1, -1], dtype), suffix="signed")
    given = node.step(ew.Add(), away, node.constant([-1, 2, 2], dtype), suffix="given")
    given = node.step(ew.Clip(), given, node.scalar_like(hue, 0), node.scalar_like(hue, 1), suffix="given")
    taken = node.step(ew.Mul(), spread, node.step(ew.Sub(), node.scalar_like(hue, 1), given), suffix="taken")
    return _emit_result(node, ew.Sub(), top, taken)


def import_rgb_to_hsv(node: ImportNode) -> Value:
    """RGBToHSV."""
    colours = _Colours(node, _to_computing_dtype(node))
    return _emit_result(node, Concat(axis=-1), colours.hue, colours.saturation(node), colours.top)


def import_hsv_to_rgb(node: ImportNode) -> Value:
    """HSVToRGB."""
    hue, saturation, top = node.steps(Split(3, axis=-1), _to_computing_dtype(node), suffix="channels")
    return _mix_channels(node, hue, node.step(ew.Mul(), saturation, top, suffix="spread"), top)


def import_adjust_hue(node: ImportNode) -> Value:
    """AdjustHue: `delta` is added to the hue, in turns."""
    colours = _Colours(node, _to_computing_dtype(node))
    hue = node.step(ew.Add(), colours.hue, node.input(1), suffix="moved")
    hue = node.step(ew.Sub(), hue, node.step(ew.Floor(), hue), suffix="moved")
    return _mix_channels(node, hue, colours.spread, colours.top)


def import_adjust_saturation(node: ImportNode) -> Value:
    """AdjustSaturation: the saturation times `scale`, limited to 0 and 1."""
    colours = _Colours(node, _to_computing_dtype(node))
    saturation = node.step(ew.Mul(), colours.saturation(node), node.input(1), suffix="scaled")
    limits = colours.zero, node.scalar_like(saturation, 1)
    saturation = node.step(ew.Clip(), saturation, *limits, suffix="limited")
    return _mix_channels(node, colours.hue, node.step(ew.Mul(), saturation, colours.top, suffix="spread"), colours.top)


def _import_patches(node: ImportNode, spatial: int) -> Value:
    """Return patches (N, windows..., K... * C) of (N, D..., C)."""
    layout = Layout(spatial, channels_last=True)
    data = node.input(0)
    kernel = layout.spatial_of(node, "ksizes", node.attrs["ksizes"])
    strides = layout.spatial_of(node, "strides", node.attrs["strides"])
    rates = layout.spatial_of(node, "rates", node.attrs.get("rates") or (1,) * spatial)
    patches = windows_of(node, layout, data, kernel, strides, rates)
    windows, inside = range(1, 2 * spatial, 2), range(2, 2 * spatial + 1, 2)
    patches = node.step(Transpose((0, *windows, *inside, 2 * spatial + 1)), patches, suffix="patches")
    sizes = [size_at(node, patches, axis) for axis in range(spatial + 1)]
    length = prod([*kernel, *node.sizes(data, (-1,))])
    return node.emit(Reshape(), patches, as_vector(node, [*sizes, length]))


IMPORTS: dict[str, ImportFunction] = {
    "AdjustContrastv2": import_adjust_contrast,
    "AdjustHue": import_adjust_hue,
    "AdjustSaturation": import_adjust_saturation,
    "ExtractImagePatches": lambda node: _import_patches(node, 2),
    "ExtractVolumePatches": lambda node: _import_patches(node, 3),
    "HSVToRGB": import_hsv_to_rgb,
    "RGBToHSV": import_rgb_to_hsv,
}
