"""Image networks: plain, mobile, residual, segmentation, NHWC with SAME padding, one in float16, one quantized."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from tests.faults.builder import Builder, Draw, Feeds, Generator, Network, normal

SOME_STEPS = 0.06
"""Some steps of 8 bits: each is 1/127 of the largest magnitude, and rounding moves a number by one of them."""


def cnn(seed: int) -> onnx.ModelProto:
    """Convolutions with BatchNormalization, LRN, InstanceNormalization, pooling of both kinds, a classifier."""
    net = Builder("cnn", seed)
    x = net.input("data", "N", 3, "H", "W")
    x = net.op("Relu", net.norm(net.conv(x, 3, 8, 3, pads=[1, 1, 1, 1], bias=False), 8), name="relu0")
    x = net.op("LRN", x, name="lrn0", size=3, alpha=0.3, beta=0.75, bias=1.0)
    x = net.op("MaxPool", x, name="maxpool0", kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 1, 1])
    x = net.op("Relu", net.norm(net.conv(x, 8, 8, [3, 5], pads=[1, 2, 1, 2]), 8, 1e-5), name="relu1")
    x = net.op(
        "AveragePool", x, name="avgpool0", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], count_include_pad=0,
    )  # fmt: skip
    x = net.conv(x, 8, 8, 3, pads=[2, 2, 2, 2], dilations=[2, 2])
    x = net.op(
        "InstanceNormalization", x, net.positive("in_scale", 8), net.normal("in_bias", 8, scale=0.3), name="in0",
        epsilon=1e-3,
    )  # fmt: skip
    x = net.op("LeakyRelu", x, name="leaky0", alpha=0.1)
    x = net.op("GlobalAveragePool", net.conv(x, 8, 12, 1), name="gap0")
    x = net.op("Flatten", x, name="flatten0", axis=1)
    x = net.op("Dropout", x, name="dropout0")
    x = net.op("Relu", net.dense(x, 12, 12), name="relu2")
    net.output(net.op("Softmax", net.dense(x, 12, 10), name="softmax0", axis=1), "N", 10)
    return net.build()


def mobile(seed: int) -> onnx.ModelProto:
    """Depthwise convolutions, Clip(0, 6), squeeze and excitation with HardSigmoid, HardSwish, group convolution."""
    net = Builder("mobile", seed)
    low, high = net.const("zero", 0.0), net.const("six", 6.0)
    x = net.input("image", "N", 3, "H", "W")
    x = net.norm(net.conv(x, 3, 8, 3, strides=[2, 2], pads=[0, 0, 1, 1], bias=False), 8)
    x = net.op("Clip", x, low, high, name="relu6_0")
    for block in range(2):
        start = x
        x = net.norm(net.conv(x, 8, 16, 1, bias=False), 16)
        x = net.op("Clip", x, low, high, name=f"relu6_{block + 1}")
        x = net.norm(net.conv(x, 16, 16, 3, group=16, pads=[1, 1, 1, 1], bias=False), 16)
        x = net.op("HardSwish", x, name=f"hardswish{block}")
        squeezed = net.op("GlobalAveragePool", x, name=f"squeeze{block}")
        squeezed = net.op("Relu", net.conv(squeezed, 16, 4, 1), name=f"excite{block}")
        gate = net.op("HardSigmoid", net.conv(squeezed, 4, 16, 1), name=f"gate{block}", alpha=1 / 6, beta=0.5)
        x = net.op("Mul", x, gate, name=f"scale{block}")
        x = net.norm(net.conv(x, 16, 8, 1, bias=False), 8)
        x = net.op("Add", start, x, name=f"shortcut{block}")
    x = net.conv(x, 8, 8, 3, group=4, pads=[1, 1, 1, 1])
    x = net.op("ReduceMean", net.op("Relu", x, name="last_relu"), name="mean0", axes=[2, 3], keepdims=0)
    net.output(net.dense(x, 8, 6), "N", 6)
    return net.build()


def residual(seed: int) -> onnx.ModelProto:
    """Residual blocks, PRelu, Elu and concatenated branches; two inputs and two outputs."""
    net = Builder("residual", seed)
    left, right = net.input("left", "N", 4, 12, 10), net.input("right", "N", 4, 12, 10)
    joined = net.op("Concat", left, right, name="concat0", axis=1)
    x = net.op("PRelu", net.conv(joined, 8, 8, 3, pads=[1, 1, 1, 1]), net.positive("slope", 8, 1, 1), name="prelu0")
    for block in range(2):
        inner = net.op("Elu", net.conv(x, 8, 8, 3, pads=[1, 1, 1, 1]), name=f"elu{block}", alpha=1.0)
        inner = net.norm(net.conv(inner, 8, 8, 3, pads=[1, 1, 1, 1], bias=False), 8)
        x = net.op("Relu", net.op("Add", inner, x, name=f"residual{block}"), name=f"relu{block}")
    branches = [net.conv(x, 8, 4, 1), net.conv(x, 8, 4, 3, pads=[1, 1, 1, 1])]
    branches.append(net.op("MaxPool", x, name="maxpool0", kernel_shape=[3, 3], pads=[1, 1, 1, 1]))
    x = net.op("Concat", *branches, name="concat1", axis=1)
    first = net.op("Sub", net.conv(x, 16, 8, 1), net.conv(left, 4, 8, 1), name="difference")
    pooled = net.op("MaxPool", first, name="maxpool1", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    flat = net.op("Reshape", pooled, net.const("to_rows", [0, -1]), name="rows0")
    flat = net.op("Mul", flat, net.const("calm", 0.02), name="calm0")
    net.output(net.op("Tanh", net.dense(flat, 8 * 6 * 5, 8), name="tanh0"), "N", 8)
    net.output(net.op("GlobalMaxPool", first, name="gmp0"), "N", 8, 1, 1)
    return net.build()


def segmentation(seed: int) -> onnx.ModelProto:
    """A U-net of two levels: deconvolution, bilinear and nearest Resize, DepthToSpace, Pad, a map of classes."""
    net = Builder("segmentation", seed)
    image = net.input("image", "N", 3, 12, 16)
    top = net.op("Relu", net.conv(image, 3, 8, 3, pads=[1, 1, 1, 1]), name="relu0")
    down = net.op("MaxPool", top, name="maxpool0", kernel_shape=[2, 2], strides=[2, 2])
    low = net.op("Relu", net.conv(down, 8, 8, 3, pads=[1, 1, 1, 1]), name="relu1")
    up = net.conv(low, 8, 8, 3, kind="ConvTranspose", strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1])
    bilinear = net.op(
        "Resize", low, "", net.const("twice", [1.0, 1.0, 2.0, 2.0]), name="resize0", mode="linear",
        coordinate_transformation_mode="half_pixel",
    )  # fmt: skip
    nearest = net.op(
        "Resize", down, "", net.const("by_scales", [1.0, 1.0, 2.0, 2.0]), name="resize1", mode="nearest",
        coordinate_transformation_mode="half_pixel", nearest_mode="round_prefer_floor",
    )  # fmt: skip
    shuffled = net.op("DepthToSpace", net.conv(low, 8, 16, 1), name="shuffle0", blocksize=2, mode="CRD")
    x = net.op("Concat", top, up, bilinear, nearest, shuffled, name="concat0", axis=1)
    x = net.op("Pad", x, net.const("border", [0, 0, 1, 1, 0, 0, 1, 1]), name="pad0", mode="reflect")
    scores = net.conv(net.op("Relu", net.conv(x, 36, 8, 3), name="relu2"), 8, 5, 1)
    net.output(net.op("LogSoftmax", scores, name="logsoftmax0", axis=1), "N", 5, 12, 16)
    net.output(net.op("ArgMax", scores, name="argmax0", axis=1, keepdims=0), "N", 12, 16, kind=TensorProto.INT64)
    return net.build()


def same_padding(seed: int) -> onnx.ModelProto:
    """What comes of TensorFlow: NHWC at the border, SAME padding with strides, means over axes, Squeeze, ArgMax."""
    net = Builder("same_padding", seed)
    x = net.op("Transpose", net.input("image", "N", 15, 13, 3), name="to_nchw", perm=[0, 3, 1, 2])
    x = net.op(
        "Relu", net.norm(net.conv(x, 3, 8, 3, strides=[2, 2], auto_pad="SAME_UPPER", bias=False), 8), name="relu0"
    )
    x = net.op("MaxPool", x, name="maxpool0", kernel_shape=[2, 2], strides=[2, 2], auto_pad="SAME_UPPER")
    x = net.conv(x, 8, 8, 3, group=8, auto_pad="SAME_UPPER")
    x = net.op("Selu", net.conv(x, 8, 12, 2, auto_pad="SAME_UPPER"), name="selu0")
    x = net.op("AveragePool", x, name="avgpool0", kernel_shape=[2, 2], strides=[2, 2], auto_pad="SAME_UPPER")
    x = net.op("Transpose", x, name="to_nhwc", perm=[0, 2, 3, 1])
    x = net.op("ReduceMean", x, name="mean0", axes=[1], keepdims=1)
    x = net.op("ReduceSum", x, net.const("sum_axes", [2]), name="sum0", keepdims=1)
    x = net.op("Squeeze", x, net.const("squeezed", [1, 2]), name="squeeze0")
    x = net.op("Relu", net.linear(x, 12, 12), name="relu1")
    x = net.linear(x, 12, 7)
    net.output(net.op("ArgMax", x, name="argmax0", axis=1, keepdims=0), "N", kind=TensorProto.INT64)
    net.output(net.op("Softmax", x, name="softmax0", axis=-1), "N", 7)
    return net.build()


def half(seed: int) -> onnx.ModelProto:
    """A classifier that computes in float16 between two casts, as mixed precision leaves it."""
    net = Builder("half", seed)
    x = net.op("Cast", net.input("image", "N", 3, 16, 12), name="to_half", to=TensorProto.FLOAT16)
    x = net.op("Relu", net.norm(net.conv(x, 3, 8, 3, pads=[1, 1, 1, 1]), 8), name="relu0")
    x = net.op("MaxPool", x, name="maxpool0", kernel_shape=[2, 2], strides=[2, 2])
    x = net.op("Relu", net.conv(x, 8, 8, 3, pads=[1, 1, 1, 1]), name="relu1")
    x = net.op("Flatten", net.op("GlobalAveragePool", x, name="gap0"), name="flatten0")
    x = net.op("Sigmoid", net.dense(x, 8, 8), name="sigmoid0")
    x = net.op("Cast", net.dense(x, 8, 6), name="to_single", to=TensorProto.FLOAT)
    net.output(net.op("Softmax", x, name="softmax0", axis=-1), "N", 6)
    for tensor in net.weights:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float16), tensor.name))
    return net.build()


def quantized(seed: int) -> onnx.ModelProto:
    """Two quantized convolutions and a dense layer in QDQ form, weights per channel."""
    net = Builder("quantized", seed)

    def rounded(x: str, scale: float, zero: int, name: str) -> str:
        step, point = net.const(f"{name}_scale", scale), net.const(f"{name}_zero", np.uint8(zero), np.uint8)
        whole = net.op("QuantizeLinear", x, step, point, name=f"{name}_quantize")
        return net.op("DequantizeLinear", whole, step, point, name=f"{name}_dequantize")

    def weights(name: str, *shape: int) -> str:
        spread = np.sqrt(2.0 / np.prod(shape[1:]))
        real = spread * net.generator.standard_normal(shape) * (
            0.3 + net.generator.random((shape[0], *[1] * (len(shape) - 1)))
        )
        steps = np.abs(real).reshape(shape[0], -1).max(1) / 127
        whole = np.round(real / steps.reshape(-1, *[1] * (len(shape) - 1))).astype(np.int8)
        return net.op(
            "DequantizeLinear", net.const(f"{name}_whole", whole, np.int8),
            net.const(f"{name}_steps", steps.astype(np.float32)),
            net.const(f"{name}_zeros", np.zeros(shape[0], np.int8), np.int8),
            name=f"{name}_dequantize", axis=0,
        )  # fmt: skip

    x = rounded(net.input("image", "N", 3, 14, 12), 0.03, 128, "input")
    x = net.op("Conv", x, weights("conv0", 8, 3, 3, 3), net.normal("conv0_bias", 8, scale=0.3), name="conv0",
               kernel_shape=[3, 3], pads=[1, 1, 1, 1])  # fmt: skip
    x = rounded(net.op("Relu", x, name="relu0"), 0.03, 0, "first")
    x = net.op("MaxPool", x, name="maxpool0", kernel_shape=[2, 2], strides=[2, 2])
    x = net.op("Conv", x, weights("conv1", 8, 8, 3, 3), name="conv1", kernel_shape=[3, 3],
               pads=[1, 1, 1, 1])  # fmt: skip
    x = rounded(x, 0.05, 120, "second")
    x = net.op("Flatten", net.op("GlobalAveragePool", x, name="gap0"), name="flatten0")
    x = rounded(x, 0.02, 128, "third")
    net.output(
        net.op("Gemm", x, weights("fc0", 6, 8), net.normal("fc0_bias", 6, scale=0.3), name="fc0", transB=1), "N", 6
    )
    return net.build()


def sizes(generator: Generator) -> tuple[int, int]:
    """A height and a width, never the same."""
    height, width = generator.choice([16, 19, 21, 24, 28], 2, replace=False)
    return int(height), int(width)


def open_image(name: str) -> Draw:
    """Draws for one image input of open height and width."""

    def draw(generator: Generator, batch: int, scale: float) -> Feeds:
        return {name: normal(generator, scale, batch, 3, *sizes(generator))}

    return draw


def image(name: str, *shape: int) -> Draw:
    """Draws for one image input of a known size."""

    def draw(generator: Generator, batch: int, scale: float) -> Feeds:
        return {name: normal(generator, scale, batch, *shape)}

    return draw


def both(generator: Generator, batch: int, scale: float) -> Feeds:
    """Draws for the residual network."""
    return {side: normal(generator, scale, batch, 4, 12, 10) for side in ("left", "right")}


NETWORKS = (
    Network("cnn", "CNN with BatchNormalization", cnn, open_image("data")),
    Network("mobile", "mobile", mobile, open_image("image")),
    Network("residual", "residual, two inputs and outputs", residual, both),
    Network("segmentation", "segmentation", segmentation, image("image", 3, 12, 16)),
    Network("same_padding", "TensorFlow with SAME", same_padding, image("image", 15, 13, 3)),
    Network("half", "float16", half, image("image", 3, 16, 12)),
    Network("quantized", "quantized (QDQ)", quantized, image("image", 3, 14, 12), SOME_STEPS),
)

__all__ = ["NETWORKS"]
