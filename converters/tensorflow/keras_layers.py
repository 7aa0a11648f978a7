"""Keras's layers as nodes of TensorFlow's, which the importer knows: what each layer computes at inference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphir.converters.tensorflow.records import Endpoint, TFNode
from graphir.errors import FormatError, GraphirError
from graphir.tensor import Tensor
from graphir.types import DType


class LayerRefusal(GraphirError):
    """A layer cannot be expressed; the reader gathers all of them."""


@dataclass
class Layer:
    """One call of a layer: its configuration, weights and operands, and the nodes that are made for it."""

    name: str
    config: Mapping[str, Any]
    weights: Sequence[Tensor]
    inputs: Sequence[Endpoint]
    keras: int = 3
    nodes: list[TFNode] = field(default_factory=list)

    def constant(self, suffix: str, value: object, dtype: type = np.int32) -> Endpoint:
        """A constant node; tensors stay where they lie."""
        tensor = value if isinstance(value, Tensor) else Tensor.of(np.array(value, dtype))
        return self.add("Const", suffix, (), value=tensor, dtype=tensor.dtype)

    def weight(self, slot: int) -> Endpoint:
        """A weight. Raises FormatError if the file holds fewer."""
        if slot >= len(self.weights):
            raise FormatError(f"layer {self.name} has {len(self.weights)} weights, expected {slot + 1} or more")
        return self.constant(f"weight_{slot}", self.weights[slot])

    def add(self, op: str, suffix: str, inputs: Sequence[Endpoint], **attrs: Any) -> Endpoint:
        """A node."""
        name = f"{self.name}/{suffix}"
        self.nodes.append(TFNode(name, op, tuple(inputs), (), attrs))
        return Endpoint(name)

    @property
    def data(self) -> Endpoint:
        """The first operand."""
        return self.inputs[0]

    def pair(self, key: str, default: int = 1) -> list[int]:
        """A number for each of two spatial axes."""
        held = self.config.get(key, default)
        return [held] * 2 if isinstance(held, int) else list(held)

    @property
    def data_format(self) -> str:
        """TensorFlow's name of the layout. Refuses others than Keras's two."""
        return "NCHW" if self.config.get("data_format") == "channels_first" else "NHWC"

    def whole(self, numbers: Sequence[int]) -> tuple[int, ...]:
        """Numbers of spatial axes with 1 for batch and channels."""
        return (1, 1, *numbers) if self.data_format == "NCHW" else (1, *numbers, 1)

    def padding(self) -> str:
        """TensorFlow's padding."""
        held = self.config.get("padding", "valid")
        if held not in ("same", "valid"):
            raise LayerRefusal(f"padding {held!r}")
        return str(held).upper()

    def activated(self, value: Endpoint) -> Endpoint:
        """The value behind the layer's activation."""
        held = self.config.get("activation", "linear")
        if isinstance(held, Mapping):
            held = held.get("config", held) if isinstance(held.get("config"), str) else held.get("class_name")
        return activation(self, str(held or "linear"), value)


_PLAIN = {
    "relu": "Relu", "relu6": "Relu6", "softmax": "Softmax", "sigmoid": "Sigmoid", "tanh": "Tanh", "elu": "Elu",
    "selu": "Selu", "softplus": "Softplus", "softsign": "Softsign", "exponential": "Exp", "log_softmax": "LogSoftmax",
}  # fmt: skip


def activation(layer: Layer, name: str, value: Endpoint) -> Endpoint:
    """An activation function by its name. Refuses unknown ones."""
    if name == "linear":
        return value
    if name in _PLAIN:
        return layer.add(_PLAIN[name], name, [value])
    if name in ("swish", "silu"):
        return layer.add("Mul", name, [value, layer.add("Sigmoid", "sigmoid", [value])])
    if name in ("hard_sigmoid", "hard_swish", "hard_silu") and layer.keras >= 3:
        shifted = layer.add("AddV2", "shifted", [value, layer.constant("three", 3.0, np.float32)])
        limited = layer.add("Relu6", "limited", [shifted])
        gate = layer.add("Mul", "gate", [limited, layer.constant("sixth", 1.0 / 6.0, np.float32)])
        return gate if name == "hard_sigmoid" else layer.add("Mul", name, [value, gate])
    raise LayerRefusal(f"the activation {name!r}")


def _biased(layer: Layer, value: Endpoint, slot: int) -> Endpoint:
    if layer.config.get("use_bias", True):
        value = layer.add("BiasAdd", "bias_add", [value, layer.weight(slot)], data_format=layer.data_format)
    return layer.activated(value)


def _convolution(op: str) -> Callable[[Layer], Endpoint]:
    def convolution(layer: Layer) -> Endpoint:
        attrs = {
            "strides": layer.whole(layer.pair("strides")),
            "dilations": layer.whole(layer.pair("dilation_rate")),
            "padding": layer.padding(),
            "data_format": layer.data_format,
        }
        return _biased(layer, layer.add(op, "convolution", [layer.data, layer.weight(0)], **attrs), 1)

    return convolution


def separable(layer: Layer) -> Endpoint:
    """A depthwise convolution and one of 1 by 1."""
    form = {"data_format": layer.data_format}
    attrs = {"strides": layer.whole(layer.pair("strides")), "dilations": layer.whole(layer.pair("dilation_rate"))}
    deep = layer.add(
        "DepthwiseConv2dNative", "depthwise", [layer.data, layer.weight(0)], padding=layer.padding(), **attrs, **form
    )
    ones = {"strides": (1, 1, 1, 1), "padding": "VALID"}
    return _biased(layer, layer.add("Conv2D", "pointwise", [deep, layer.weight(1)], **ones, **form), 2)


def dense(layer: Layer) -> Endpoint:
    """x W + b over the last axis."""
    product = layer.add("MatMul", "product", [layer.data, layer.weight(0)], transpose_a=False, transpose_b=False)
    if layer.config.get("use_bias", True):
        product = layer.add("AddV2", "bias_add", [product, layer.weight(1)])
    return layer.activated(product)


def batch_normalization(layer: Layer) -> Endpoint:
    """With the moving statistics; gamma and beta may be left out."""
    axis = layer.config.get("axis", -1)
    axis = axis[0] if isinstance(axis, list) else axis
    if axis not in (-1, 3):
        raise LayerRefusal(f"axis {axis}: only the last axis of four is read")
    count = layer.config.get("scale", True) + layer.config.get("center", True)
    mean, variance = layer.weight(count), layer.weight(count + 1)
    size = layer.weights[count].shape
    scale = layer.weight(0) if layer.config.get("scale", True) else layer.constant("ones", np.ones(size), np.float32)
    place = count - 1
    centered = layer.config.get("center", True)
    offset = layer.weight(place) if centered else layer.constant("zeros", np.zeros(size), np.float32)
    epsilon = layer.constant("epsilon", layer.config.get("epsilon", 1e-3), np.float32)
    deviation = layer.add("Rsqrt", "deviation", [layer.add("AddV2", "stable", [variance, epsilon])])
    factor = layer.add("Mul", "factor", [deviation, scale])
    scaled = layer.add("Mul", "scaled", [layer.data, factor])
    shift = layer.add("Sub", "shift", [offset, layer.add("Mul", "moved", [mean, factor])])
    return layer.add("AddV2", "normalized", [scaled, shift])


def _pooling(op: str) -> Callable[[Layer], Endpoint]:
    def pooling(layer: Layer) -> Endpoint:
        size = layer.pair("pool_size", 2)
        strides = size if layer.config.get("strides") is None else layer.pair("strides")
        return layer.add(
            op, "pool", [layer.data], ksize=layer.whole(size), strides=layer.whole(strides), padding=layer.padding(),
            data_format=layer.data_format,
        )  # fmt: skip

    return pooling


def _global_pooling(op: str) -> Callable[[Layer], Endpoint]:
    def pooling(layer: Layer) -> Endpoint:
        axes = layer.constant("axes", [2, 3] if layer.data_format == "NCHW" else [1, 2])
        return layer.add(op, "pool", [layer.data, axes], keep_dims=bool(layer.config.get("keepdims", False)))

    return pooling


def _paired(layer: Layer, key: str) -> list[list[int]]:
    """(before, after) of the two spatial axes, from one number, two, or two pairs."""
    held = layer.config[key]
    if isinstance(held, int):
        return [[held, held]] * 2
    return [[side, side] if isinstance(side, int) else list(side) for side in held]


def zero_padding(layer: Layer) -> Endpoint:
    """Zeros around the spatial axes."""
    pads = _paired(layer, "padding")
    rows = [[0, 0], [0, 0], *pads] if layer.data_format == "NCHW" else [[0, 0], *pads, [0, 0]]
    return layer.add("Pad", "pad", [layer.data, layer.constant("pads", rows)])


def cropping(layer: Layer) -> Endpoint:
    """The spatial axes without their margins."""
    (top, bottom), (left, right) = _paired(layer, "cropping")
    if layer.data_format == "NCHW":
        raise LayerRefusal("channels_first")
    far = [0, -bottom, -right, 0]
    mask = 9 | (0 if bottom else 2) | (0 if right else 4)
    begin = layer.constant("begin", [0, top, left, 0])
    return layer.add(
        "StridedSlice", "cut", [layer.data, begin, layer.constant("end", far), layer.constant("steps", [1, 1, 1, 1])],
        begin_mask=9, end_mask=mask, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0,
    )  # fmt: skip


def _batch(layer: Layer) -> Endpoint:
    shape = layer.add("Shape", "sizes", [layer.data], out_type=DType.INT32)
    places = [layer.constant(name, [number]) for name, number in (("first", 0), ("second", 1), ("step", 1))]
    return layer.add(
        "StridedSlice", "batch", [shape, *places], begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0,
        shrink_axis_mask=1,
    )  # fmt: skip


def _reshaped(layer: Layer, sizes: Sequence[int]) -> Endpoint:
    parts = [_batch(layer), *(layer.constant(f"size_{place}", size) for place, size in enumerate(sizes))]
    return layer.add("Reshape", "reshape", [layer.data, layer.add("Pack", "shape", parts, axis=0, N=len(parts))])


def flatten(layer: Layer) -> Endpoint:
    """Everything behind the batch in one axis."""
    if layer.data_format == "NCHW":
        raise LayerRefusal("channels_first, which it brings behind the others first")
    return _reshaped(layer, [-1])


def reshape(layer: Layer) -> Endpoint:
    """Other sizes behind the batch."""
    return _reshaped(layer, layer.config["target_shape"])


def permute(layer: Layer) -> Endpoint:
    """Another order of the axes behind the batch."""
    return layer.add("Transpose", "permuted", [layer.data, layer.constant("order", [0, *layer.config["dims"]])])


def _folded(op: str) -> Callable[[Layer], Endpoint]:
    def folded(layer: Layer) -> Endpoint:
        value = layer.data
        for place, other in enumerate(layer.inputs[1:]):
            value = layer.add(op, f"step_{place}", [value, other])
        return value

    return folded


def average(layer: Layer) -> Endpoint:
    """The mean of the operands."""
    factor = layer.constant("factor", 1.0 / len(layer.inputs), np.float32)
    return layer.add("Mul", "average", [_folded("AddV2")(layer), factor])


def concatenate(layer: Layer) -> Endpoint:
    """The operands along an axis."""
    axis = layer.constant("axis", layer.config.get("axis", -1))
    return layer.add("ConcatV2", "concat", [*layer.inputs, axis], N=len(layer.inputs))


def re_lu(layer: Layer) -> Endpoint:
    """ReLU, with a limit of 6 or none."""
    most = layer.config.get("max_value")
    if layer.config.get("negative_slope") or layer.config.get("threshold") or most not in (None, 6, 6.0):
        raise LayerRefusal("a slope, a threshold or another limit than 6")
    return layer.add("Relu" if most is None else "Relu6", "relu", [layer.data])


def leaky_re_lu(layer: Layer) -> Endpoint:
    """x, below zero times a slope: 0.3 unless stated."""
    slope = layer.config.get("negative_slope", layer.config.get("alpha", 0.3))
    return layer.add("LeakyRelu", "relu", [layer.data], alpha=float(slope))


def softmax(layer: Layer) -> Endpoint:
    """Softmax over the last axis."""
    if layer.config.get("axis", -1) != -1:
        raise LayerRefusal(f"axis {layer.config['axis']}: only the last one is read")
    return layer.add("Softmax", "softmax", [layer.data])


def rescaling(layer: Layer) -> Endpoint:
    """x times a scale and an offset."""
    scaled = layer.add("Mul", "scaled", [layer.data, layer.constant("scale", layer.config["scale"], np.float32)])
    return layer.add("AddV2", "shifted", [scaled, layer.constant("offset", layer.config.get("offset", 0), np.float32)])


def same(layer: Layer) -> Endpoint:
    """What does nothing at inference."""
    return layer.data


LAYERS: dict[str, Callable[[Layer], Endpoint]] = {
    "Activation": lambda layer: layer.activated(layer.data),
    "ActivityRegularization": same,
    "Add": _folded("AddV2"),
    "AlphaDropout": same,
    "Average": average,
    "AveragePooling2D": _pooling("AvgPool"),
    "BatchNormalization": batch_normalization,
    "Concatenate": concatenate,
    "Conv2D": _convolution("Conv2D"),
    "Cropping2D": cropping,
    "Dense": dense,
    "DepthwiseConv2D": _convolution("DepthwiseConv2dNative"),
    "Dropout": same,
    "Flatten": flatten,
    "GaussianDropout": same,
    "GaussianNoise": same,
    "GlobalAveragePooling2D": _global_pooling("Mean"),
    "GlobalMaxPooling2D": _global_pooling("Max"),
    "LeakyReLU": leaky_re_lu,
    "MaxPooling2D": _pooling("MaxPool"),
    "Maximum": _folded("Maximum"),
    "Minimum": _folded("Minimum"),
    "Multiply": _folded("Mul"),
    "Permute": permute,
    "ReLU": re_lu,
    "Rescaling": rescaling,
    "Reshape": reshape,
    "SeparableConv2D": separable,
    "Softmax": softmax,
    "SpatialDropout2D": same,
    "Subtract": _folded("Sub"),
    "ZeroPadding2D": zero_padding,
}

__all__ = ["LAYERS", "Layer", "LayerRefusal"]
