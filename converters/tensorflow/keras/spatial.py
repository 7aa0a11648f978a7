"""Keras's layers over one to three spatial axes: convolutions, pooling, borders, sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphir.converters.kernel.refusals import Refusal
from graphir.converters.tensorflow.files.records import Endpoint
from graphir.converters.tensorflow.importing.context import Imported, ImportFunction, ImportNode
from graphir.converters.tensorflow.importing.layout import Layout, channels_first, finish, unless_all_one
from graphir.converters.tensorflow.importing.ops.convolution import import_conv, import_depthwise_conv
from graphir.converters.tensorflow.importing.ops.pooling import import_pool
from graphir.converters.tensorflow.keras.activations import activated
from graphir.converters.tensorflow.keras.context import LayerCall
from graphir.errors import FormatError
from graphir.graph import Value
from graphir.ops.convolution import ConvTranspose
from graphir.ops.resize import Coordinates, NearestMode, Resize, ResizeMode
from graphir.ops.shape import Transpose
from graphir.padding import Explicit, SameMode, split_same

CONVOLUTIONS = {2: "Conv2D", 3: "Conv3D"}
POOLS = {("Max", 2): "MaxPool", ("Max", 3): "MaxPool3D", ("Avg", 2): "AvgPool", ("Avg", 3): "AvgPool3D"}


def _add_bias(layer: LayerCall, value: Endpoint, slot: int) -> Endpoint:
    """Return the value with the layer's bias, behind its activation."""
    if layer.config.get("use_bias", True):
        form = "NCHW" if layer.channels_first else "NHWC"
        value = layer.add("BiasAdd", "bias_add", [value, layer.weight(slot, "bias")], data_format=form)
    return activated(layer, value)


def _window(layer: LayerCall, axes: int) -> dict[str, Any]:
    """Return the attributes of a convolution. `causal` pads in front so that no result sees what comes after it."""
    strides, dilations = (layer.numbers(key, axes) for key in ("strides", "dilation_rate"))
    attrs: dict[str, Any] = {
        "strides": layer.whole(strides),
        "dilations": layer.whole(dilations),
        "data_format": layer.data_format(axes),
    }
    if layer.config.get("padding") != "causal":
        return {**attrs, "padding": layer.padding()}
    front = dilations[0] * (layer.numbers("kernel_size", axes)[0] - 1)
    pads = [(0, 0), (0, 0), (front, 0)] if layer.channels_first else [(0, 0), (front, 0), (0, 0)]
    return {**attrs, "padding": "EXPLICIT", "explicit_paddings": tuple(side for pair in pads for side in pair)}


def convolve(layer: LayerCall, axes: int, kernel: Endpoint) -> Endpoint:
    """Return a convolution with a kernel (K..., in, out)."""
    attrs = _window(layer, axes)
    if axes == 1:
        return layer.apply(_on_one_axis(import_conv), "convolution", [layer.data, kernel], **attrs)
    return layer.add(CONVOLUTIONS[axes], "convolution", [layer.data, kernel], **attrs)


def _make_convolution(axes: int) -> Callable[[LayerCall], Endpoint]:
    return lambda layer: _add_bias(layer, convolve(layer, axes, layer.weight(0, "kernel")), 1)


def _on_one_axis(function: Callable[[ImportNode, int], Value]) -> ImportFunction:
    return lambda node: function(node, 1)


def convolve_depthwise(layer: LayerCall, axes: int, kernel: Endpoint) -> Endpoint:
    """Return a convolution of each channel by itself, with a kernel (K..., channels, results of each)."""
    if axes == 1:
        return layer.apply(_on_one_axis(import_depthwise_conv), "depthwise", [layer.data, kernel], **_window(layer, 1))
    return layer.add("DepthwiseConv2dNative", "depthwise", [layer.data, kernel], **_window(layer, 2))


def _make_depthwise(axes: int) -> Callable[[LayerCall], Endpoint]:
    return lambda layer: _add_bias(layer, convolve_depthwise(layer, axes, layer.weight(0, "kernel")), 1)


def convolve_separably(layer: LayerCall, axes: int, deep: Endpoint, pointwise: Endpoint) -> Endpoint:
    """Return a depthwise convolution and one with windows of one element."""
    first = convolve_depthwise(layer, axes, deep)
    ones = {"strides": (1,) * (axes + 2), "padding": "VALID", "data_format": layer.data_format(axes)}
    if axes == 1:
        return layer.apply(_on_one_axis(import_conv), "pointwise", [first, pointwise], **ones)
    return layer.add("Conv2D", "pointwise", [first, pointwise], **ones)


def _make_separable(axes: int) -> Callable[[LayerCall], Endpoint]:


    def separable(layer: LayerCall) -> Endpoint:
        kernels = layer.weight(0, "depthwise_kernel"), layer.weight(1, "pointwise_kernel")
        return _add_bias(layer, convolve_separably(layer, axes, *kernels), 2)

    return separable


def _make_transposed(axes: int) -> Callable[[LayerCall], Endpoint]:
    def transposed(layer: LayerCall) -> Endpoint:
        strides, kernel, dilations = (layer.numbers(key, axes) for key in ("strides", "kernel_size", "dilation_rate"))
        if max(dilations) > 1 and (max(strides) > 1 or layer.config.get("output_padding") is not None):
            raise Refusal("a transposed convolution with dilation and stride, which Keras does not define alike")
        spans = [(width - 1) * dilation + 1 for width, dilation in zip(kernel, dilations, strict=True)]
        stated = layer.config.get("output_padding")
        cuts, extra = [], []
        for index, (span, stride) in enumerate(zip(spans, strides, strict=True)):
            if stated is not None:
                half = span // 2 if layer.padding() == "SAME" else 0
                total = 2 * half - layer.numbers("output_padding", axes)[index]
            else:
                total = span - stride if layer.padding() == "SAME" else -max(stride - span, 0)
            cuts.append(split_same(max(total, 0), SameMode.UPPER))
            extra.append(max(-total, 0))
        op = ConvTranspose(
            kernel_shape=tuple(kernel),
            strides=unless_all_one(tuple(strides)),
            dilations=unless_all_one(tuple(dilations)),
            padding=Explicit(tuple(cuts)) if any(map(any, cuts)) else Explicit(),
            output_padding=tuple(extra) if any(extra) else (),
        )
        layout = Layout(axes, not layer.channels_first)
        value = layer.apply(_import_transposed(op, layout), "convolution", [layer.data, layer.weight(0, "kernel")])
        return _add_bias(layer, value, 1)

    return transposed


def _import_transposed(op: ConvTranspose, layout: Layout) -> ImportFunction:
    """Return the import function of a transposed convolution; the filter is (K..., out, in)."""

    def import_transposed(node: ImportNode) -> Imported:
        order = (layout.spatial + 1, layout.spatial, *range(layout.spatial))
        weight = node.step(Transpose(order), node.input(1), suffix="weight")
        return finish(node, layout, op, channels_first(node, layout, node.input(0)), weight)

    return import_transposed


def pool(layer: LayerCall, axes: int, kind: str) -> Endpoint:
    """Return the largest ("Max") or the mean ("Avg") of each window."""
    size = layer.numbers("pool_size", axes, 2)
    strides = size if layer.config.get("strides") is None else layer.numbers("strides", axes)
    attrs = {
        "ksize": layer.whole(size),
        "strides": layer.whole(strides),
        "padding": layer.padding(),
        "data_format": layer.data_format(axes),
    }
    if axes > 1:
        return layer.add(POOLS[kind, axes], "pool", [layer.data], **attrs)

    def import_one_axis(node: ImportNode) -> Imported:
        return import_pool(node, 1, kind == "Max", node.attrs["ksize"], node.attrs["strides"])

    return layer.apply(import_one_axis, "pool", [layer.data], **attrs)


def _make_pooling(kind: str, axes: int) -> Callable[[LayerCall], Endpoint]:
    return lambda layer: pool(layer, axes, kind)


def _make_global_pooling(op: str, axes: int) -> Callable[[LayerCall], Endpoint]:
    def pooling(layer: LayerCall) -> Endpoint:
        first = 2 if layer.channels_first else 1
        spatial = layer.constant("axes", list(range(first, first + axes)))
        keep = bool(layer.config.get("keepdims", False))
        mask = layer.stated_mask() if op == "Mean" and axes == 1 else None
        if mask is None:
            return layer.add(op, "pool", [layer.data, spatial], keep_dims=keep)
        last = 1 if layer.channels_first else 2
        kept = layer.add("Cast", "kept", [mask], DstT=layer.dtype)
        kept = layer.add("ExpandDims", "kept_steps", [kept, layer.constant("last", last)])
        total = layer.add("Sum", "total", [layer.add("Mul", "masked", [layer.data, kept]), spatial], keep_dims=keep)
        return layer.add("RealDiv", "pool", [total, layer.add("Sum", "count", [kept, spatial], keep_dims=keep)])

    return pooling


def _read_pairs(layer: LayerCall, key: str, axes: int) -> list[list[int]]:
    """Return (before, after) of the spatial axes, from one number, one for each, or pairs."""
    setting = layer.config[key]
    if isinstance(setting, int):
        return [[setting, setting]] * axes
    if axes == 1 and len(setting) == 2 and isinstance(setting[0], int):
        return [list(setting)]
    if isinstance(setting, str) or len(setting) != axes:
        raise FormatError(f"layer {layer.name}: {key} is {str(setting)[:60]}, expected one or two for each of {axes}")
    return [[side, side] if isinstance(side, int) else list(side) for side in setting]


def _make_zero_padding(axes: int) -> Callable[[LayerCall], Endpoint]:
    def zero_padding(layer: LayerCall) -> Endpoint:
        pads = _read_pairs(layer, "padding", axes)
        rows = [[0, 0], [0, 0], *pads] if layer.channels_first else [[0, 0], *pads, [0, 0]]
        return layer.add("Pad", "pad", [layer.data, layer.constant("pads", rows)])

    return zero_padding


def _make_cropping(axes: int) -> Callable[[LayerCall], Endpoint]:
    def cropping(layer: LayerCall) -> Endpoint:
        margins = _read_pairs(layer, "cropping", axes)
        first = 2 if layer.channels_first else 1
        begin, end, open_ends = [0] * (axes + 2), [0] * (axes + 2), (1 << (axes + 2)) - 1
        for axis, (before, after) in enumerate(margins, first):
            begin[axis], end[axis] = before, -after
            open_ends &= ~(1 << axis) if after else -1
        parts = [layer.constant(name, numbers) for name, numbers in (("begin", begin), ("end", end))]
        return layer.add(
            "StridedSlice", "cut", [layer.data, *parts, layer.constant("steps", [1] * (axes + 2))],
            begin_mask=0, end_mask=open_ends, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0,
        )  # fmt: skip

    return cropping


MODES = {"nearest": (ResizeMode.NEAREST, NearestMode.FLOOR), "bilinear": (ResizeMode.LINEAR, NearestMode.FLOOR)}


def _make_up_sampling(axes: int) -> Callable[[LayerCall], Endpoint]:
    def up_sampling(layer: LayerCall) -> Endpoint:
        factors = tuple(float(number) for number in layer.numbers("size", axes, 2))
        stated = layer.config.get("interpolation", "nearest")
        if stated not in MODES:
            raise Refusal(f"the interpolation {stated!r}; nearest and bilinear are read")
        mode, nearest = MODES[stated]
        coordinates = Coordinates.ASYMMETRIC if stated == "nearest" else Coordinates.HALF_PIXEL
        op = Resize(mode, coordinates, nearest, factors=factors, axes=tuple(range(2, axes + 2)))
        layout = Layout(axes, not layer.channels_first)

        def import_resize(node: ImportNode) -> Imported:
            return finish(node, layout, op, channels_first(node, layout, node.input(0)))

        return layer.apply(import_resize, "resized", [layer.data])

    return up_sampling


RESIZERS = {"bilinear": "ResizeBilinear", "nearest": "ResizeNearestNeighbor", "bicubic": "ResizeBicubic"}


def resizing(layer: LayerCall) -> Endpoint:
    """Resize images (N, H, W, C)."""
    stated = layer.config.get("interpolation", "bilinear")
    odd = [key for key in ("crop_to_aspect_ratio", "pad_to_aspect_ratio", "antialias") if layer.config.get(key)]
    if odd:
        raise Refusal(f"{', '.join(odd)}")
    if stated not in RESIZERS:
        raise Refusal(f"the interpolation {stated!r}; {', '.join(RESIZERS)} are read")
    data = layer.data
    if layer.channels_first:
        data = layer.add("Transpose", "to_last", [data, layer.constant("last", [0, 2, 3, 1])])
    size = layer.constant("size", [layer.config["height"], layer.config["width"]])
    value = layer.add(RESIZERS[stated], "resized", [data, size], align_corners=False, half_pixel_centers=True)
    if layer.channels_first:
        value = layer.add("Transpose", "to_first", [value, layer.constant("first", [0, 3, 1, 2])])
    return value


def center_crop(layer: LayerCall) -> Endpoint:
    """Return the middle of images (N, H, W, C) that are large enough."""
    wanted = (layer.config["height"], layer.config["width"])
    first = 2 if layer.channels_first else 1

    def import_crop(node: ImportNode) -> Imported:
        from graphir.ops.slicing import Slice

        sizes = node.sizes(node.input(0), (first, first + 1))
        if any(size < least for size, least in zip(sizes, wanted, strict=True)):
            node.refuse(f"a center crop to {list(wanted)} of smaller images {list(sizes)}, which Keras enlarges first")
        begins = [(size - least) // 2 for size, least in zip(sizes, wanted, strict=True)]
        ends = [begin + least for begin, least in zip(begins, wanted, strict=True)]
        return node.emit(
            Slice(), node.input(0), node.vector(begins), node.vector(ends), node.vector([first, first + 1])
        )

    return layer.apply(import_crop, "crop", [layer.data])


def _name_by_axes(
    name: str, build: Callable[[int], Callable[[LayerCall], Endpoint]], axes: Sequence[int] = (1, 2, 3)
) -> Mapping[str, Callable[[LayerCall], Any]]:
    return {name.format(count): build(count) for count in axes}


LAYERS: Mapping[str, Callable[[LayerCall], Any]] = {
    **_name_by_axes("Conv{}D", _make_convolution),
    **_name_by_axes("Conv{}DTranspose", _make_transposed),
    **_name_by_axes("DepthwiseConv{}D", _make_depthwise, (1, 2)),
    **_name_by_axes("SeparableConv{}D", _make_separable, (1, 2)),
    **_name_by_axes("MaxPooling{}D", lambda axes: _make_pooling("Max", axes)),
    **_name_by_axes("AveragePooling{}D", lambda axes: _make_pooling("Avg", axes)),
    **_name_by_axes("GlobalMaxPooling{}D", lambda axes: _make_global_pooling("Max", axes)),
    **_name_by_axes("GlobalAveragePooling{}D", lambda axes: _make_global_pooling("Mean", axes)),
    **_name_by_axes("ZeroPadding{}D", _make_zero_padding),
    **_name_by_axes("Cropping{}D", _make_cropping),
    **_name_by_axes("UpSampling{}D", _make_up_sampling),
    "CenterCrop": center_crop,
    "Resizing": resizing,
}
