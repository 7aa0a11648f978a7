"""Version 3's convolutions, poolings and operations on images (`keras.ops.conv`, `keras.ops.image`), as a table.

They are what the layers of the same names do with the settings that the operation states.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from graphir.converters.kernel.refusals import Refusal
from graphir.converters.tensorflow.files.records import Endpoint
from graphir.converters.tensorflow.importing.context import Imported, ImportNode
from graphir.converters.tensorflow.keras import spatial
from graphir.converters.tensorflow.keras.arguments import first_argument, operand, stated_shape, tensor_argument
from graphir.converters.tensorflow.keras.config import Settings
from graphir.converters.tensorflow.keras.context import LayerCall
from graphir.ops.shape import Pad
from graphir.ops.slicing import Slice
from graphir.safety.limits import charge_elements

Build = Callable[[LayerCall], Any]
# What the layers call the settings of windows; an operation's other arguments are read by its row.
_SETTINGS = (
    "antialias", "crop_to_aspect_ratio", "data_format", "dilation_rate", "height", "interpolation",
    "pad_to_aspect_ratio", "padding", "pool_size", "strides", "width",
)  # fmt: skip


def _to_layer(layer: LayerCall, **more: Any) -> LayerCall:
    """Return the call as one of a layer with these settings."""
    stated = {key: layer.kwargs[key] for key in _SETTINGS if key in layer.kwargs}
    return replace(layer, config=Settings({**stated, **more}, layer.name), args=[first_argument(layer)])


def _make_window_row(build: Callable[[LayerCall, int, LayerCall], Endpoint], most: int = 3) -> Build:
    """Return an operation over all axes between batch and channels: on the layer, their number and the operation's
    call."""

    def windowed(layer: LayerCall) -> Endpoint:
        axes = len(stated_shape(layer)) - 2
        if not 1 <= axes <= most:
            raise Refusal(f"{axes} axes between batch and channels, expected 1 to {most}")
        return build(_to_layer(layer), axes, layer)

    return windowed


def resize(layer: LayerCall) -> Endpoint:
    """Resize images (N, H, W, C)."""
    size = layer.kwargs["size"]
    if len(stated_shape(layer)) != 4 or not isinstance(size, list) or len(size) != 2:
        raise Refusal(f"a size {str(size)[:40]} of a value with {len(stated_shape(layer))} axes, expected images")
    for name in ("fill_mode", "fill_value"):  # of a border that only a refused setting makes
        layer.kwargs.get(name)
    return spatial.resizing(_to_layer(layer, height=size[0], width=size[1]))


def _image_axes(layer: LayerCall) -> tuple[int, int]:
    """Return where height and width are, counted from the end."""
    return (-2, -1) if layer.kwargs.get("data_format") == "channels_first" else (-3, -2)


def _make_margins(layer: LayerCall, kind: str) -> Callable[[ImportNode], list[tuple[int, int]]]:
    """Return a function that gives (before, after) of height and width; a size that is to result may stand for one."""
    stated = [
        (*(layer.kwargs.get(f"{side}_{kind}") for side in sides), layer.kwargs.get(f"target_{name}"))
        for sides, name in ((("top", "bottom"), "height"), (("left", "right"), "width"))
    ]
    axes, sign = _image_axes(layer), 1 if kind == "padding" else -1

    def margins(node: ImportNode) -> list[tuple[int, int]]:
        sides: list[tuple[int, int]] = []
        for axis, (before, after, target) in zip(axes, stated, strict=True):
            if before is None or after is None:
                if target is None:
                    node.refuse(f"no {kind} on one side, and no size that is to result")
                (size,) = node.sizes(node.input(0), (axis,))
                rest = sign * (target - size) - (before or after or 0)
                before, after = (rest if before is None else before), (rest if after is None else after)
            sides.append((before, after))
        return sides

    return margins


def pad_images(layer: LayerCall) -> Endpoint:
    """Return images with a border of zeros."""
    margins, axes = _make_margins(layer, "padding"), _image_axes(layer)

    def import_padded(node: ImportNode) -> Imported:
        before, after = zip(*margins(node), strict=True)
        rank = node.rank(node.input(0))
        pads = [[0] * rank, [0] * rank]
        for axis, first, last in zip(axes, before, after, strict=True):
            pads[0][axis], pads[1][axis] = first, last
        return node.emit(Pad(), node.input(0), node.vector([*pads[0], *pads[1]]))

    return layer.apply(import_padded, "value", [tensor_argument(layer)])


def crop_images(layer: LayerCall) -> Endpoint:
    """Return images without a border."""
    margins, axes = _make_margins(layer, "cropping"), _image_axes(layer)

    def import_cropped(node: ImportNode) -> Imported:
        before, after = zip(*margins(node), strict=True)
        sizes = node.sizes(node.input(0), axes)
        ends = [size - last for size, last in zip(sizes, after, strict=True)]
        return node.emit(Slice(), node.input(0), *map(node.vector, (before, ends, axes)))

    return layer.apply(import_cropped, "value", [tensor_argument(layer)])


def _count_channels(layer: LayerCall) -> int:
    """Return how many channels images with channels last have. Raises Refusal for others, and where it is not
    stated."""
    count = stated_shape(layer)[-1]
    if layer.kwargs.get("data_format") == "channels_first" or count is None:
        raise Refusal("channels that come first, or whose number is not stated")
    return count


def grayscale(layer: LayerCall) -> Endpoint:
    """Return red, green and blue in one channel."""
    if _count_channels(layer) == 1:
        return layer.add("Identity", "value", [tensor_argument(layer)])
    shares = layer.constant("shares", [0.2989, 0.5870, 0.1140], np.float32)
    parts = layer.add("Mul", "parts", [tensor_argument(layer), shares])
    return layer.add("Sum", "value", [parts, layer.constant("last", [-1])], keep_dims=True)


def _make_colour_row(op: str) -> Build:
    def of_colours(layer: LayerCall) -> Endpoint:
        if _count_channels(layer) != 3:
            raise Refusal(f"{_count_channels(layer)} channels, expected 3")
        return layer.add(op, "value", [tensor_argument(layer)])

    return of_colours


def _numbers(stated: Any, axes: int) -> list[int]:
    return [stated] * axes if isinstance(stated, int) else list(stated)


def patches(layer: LayerCall) -> Endpoint:
    """Return the elements of each window as one vector."""
    _count_channels(layer)
    axes = len(stated_shape(layer)) - 2
    stated = layer.kwargs["size"]
    if axes != (len(stated) if isinstance(stated, list) else 2):
        raise Refusal(f"windows of the size {stated} of a value with {axes + 2} axes")
    size, rates = _numbers(stated, axes), _numbers(layer.kwargs.get("dilation_rate", 1), axes)
    strides = _numbers(layer.kwargs.get("strides") or size, axes)
    attrs: dict[str, Any] = {"rates": (1, *rates, 1)} if axes == 2 else {}
    if axes == 3 and rates != [1, 1, 1]:
        raise Refusal(f"the dilation {rates} of volumes")
    return layer.add(
        {2: "ExtractImagePatches", 3: "ExtractVolumePatches"}[axes], "value", [tensor_argument(layer)],
        ksizes=(1, *size, 1), strides=(1, *strides, 1), padding=str(layer.kwargs.get("padding", "valid")).upper(),
        **attrs,
    )  # fmt: skip


def gaussian_blur(layer: LayerCall) -> Endpoint:
    """Return a convolution of each channel with a bell in both axes."""
    channels = _count_channels(layer)
    if len(stated_shape(layer)) != 4:
        raise Refusal("the blur of one image without a batch")
    size = _numbers(layer.kwargs.get("kernel_size", [3, 3]), 2)
    charge_elements(math.prod(size) * channels, f"the kernel of {layer.name}")
    sigmas = layer.kwargs.get("sigma", [1.0, 1.0])
    bells = [_bell_weights(count, sigma) for count, sigma in zip(size, sigmas, strict=True)]
    kernel = np.outer(bells[1], bells[0]).reshape(*size, 1, 1)  # as Keras has it, also where they are not square
    weight = layer.constant("bell", np.tile(kernel, (1, 1, channels, 1)), np.float32)
    settings = Settings({"padding": "same"}, layer.name)
    return spatial.convolve_depthwise(replace(layer, config=settings), 2, weight)


def _bell_weights(count: int, sigma: float) -> np.ndarray[Any, Any]:
    away = np.arange(count, dtype=np.float32) - (count - 1) / 2
    heights: np.ndarray[Any, Any] = np.exp(-0.5 * (away / np.float32(sigma)) ** 2)
    return np.divide(heights, heights.sum())


WINDOW_ROWS: Mapping[str, Build] = {
    "AveragePool": _make_window_row(lambda layer, axes, _: spatial.pool(layer, axes, "Avg")),
    "Conv": _make_window_row(lambda layer, axes, call: spatial.convolve(layer, axes, operand(call, 1, "kernel"))),
    "CropImages": crop_images,
    "DepthwiseConv": _make_window_row(
        lambda layer, axes, call: spatial.convolve_depthwise(layer, axes, operand(call, 1, "kernel")), 2
    ),
    "ExtractPatches": patches,
    "GaussianBlur": gaussian_blur,
    "HSVToRGB": _make_colour_row("HSVToRGB"),
    "MaxPool": _make_window_row(lambda layer, axes, _: spatial.pool(layer, axes, "Max")),
    "PadImages": pad_images,
    "RGBToGrayscale": grayscale,
    "RGBToHSV": _make_colour_row("RGBToHSV"),
    "Resize": resize,
    "SeparableConv": _make_window_row(
        lambda layer, axes, call: spatial.convolve_separably(
            layer, axes, operand(call, 1, "depthwise_kernel"), operand(call, 2, "pointwise_kernel")
        ), 2,
    ),
}
