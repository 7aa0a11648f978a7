"""EfficientNet-B0 in TensorFlow's form.

Source: Tan and Le, "EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks" (2019); names, padding
and the scaling of the input as in keras.applications.EfficientNetB0.
"""

from __future__ import annotations

import numpy as np

from graphir import Graph, Value
from graphir.ops.elementwise import Div, Sub
from models.layers import Network, Weights, seeded

BLOCKS = (  # kernel, repeats, output filters, expansion, stride
    (3, 1, 16, 1, 1),
    (3, 2, 24, 6, 2),
    (5, 2, 40, 6, 2),
    (3, 3, 80, 6, 2),
    (5, 3, 112, 6, 1),
    (5, 4, 192, 6, 2),
    (3, 1, 320, 6, 1),
)


def efficientnet_b0(
    weights: Weights | None = None, *, size: int | str = 224, batch: int | str = 1, classes: int = 1000
) -> Graph:
    """EfficientNet-B0 from `input` (batch, 3, size, size), 0 to 255, to `probabilities` (batch, classes)."""
    net = Network("efficientnet_b0", weights or seeded())
    x = _normalized(net, net.input("input", (batch, 3, size, size)), weights)
    x = _unit(net, net.conv(x, 32, (3, 3), "stem_conv", stride=2), "stem")
    for stage, (kernel, repeats, filters, expansion, stride) in enumerate(BLOCKS, 1):
        for repeat in range(repeats):
            name = f"block{stage}{chr(ord('a') + repeat)}_"
            x = _block(net, x, kernel, filters, expansion, stride if repeat == 0 else 1, name)
    x = _unit(net, net.conv(x, 1280, (1, 1), "top_conv"), "top")
    x = net.flatten(net.global_average_pool(x, "global_average"), "avg_pool")
    return net.finish(net.softmax(net.dense(x, classes, "predictions"), "probabilities"))


def _normalized(net: Network, x: Value, weights: Weights | None) -> Value:
    """Pixels scaled to 0..1, then brought to mean 0 and variance 1 if the weights say whose."""
    x = net.scaled(x, 1 / 255, "rescaling")
    if weights is None:
        return x
    mean, variance = (weights(f"normalization/{kind}", (3,)).reshape(1, 3, 1, 1) for kind in ("mean", "variance"))
    x = net.graph.add(Sub(), x, net.graph.constant(mean, name="normalization/mean"), name="normalization/centred")
    deviation = np.maximum(np.sqrt(variance), np.float32(1e-7))
    return net.graph.add(Div(), x, net.graph.constant(deviation, name="normalization/deviation"), name="normalization")


def _unit(net: Network, x: Value, name: str) -> Value:
    return net.swish(net.batch_norm(x, f"{name}_bn"), f"{name}_activation")


def _block(net: Network, x: Value, kernel: int, filters: int, expansion: int, stride: int, name: str) -> Value:
    """Expand, filter each channel, weigh the channels, project; added to the input where shapes allow."""
    assert x.shape is not None
    channels = x.shape[1]
    assert isinstance(channels, int)
    wide, inner = channels * expansion, x
    if expansion > 1:
        inner = _unit(net, net.conv(inner, wide, (1, 1), f"{name}expand_conv"), f"{name}expand")
    inner = net.depthwise_conv(inner, (kernel, kernel), f"{name}dwconv", stride=stride)
    inner = net.swish(net.batch_norm(inner, f"{name}bn"), f"{name}activation")
    squeezed = net.global_average_pool(inner, f"{name}se_squeeze")
    squeezed = net.conv(squeezed, max(1, channels // 4), (1, 1), f"{name}se_reduce", bias=True)
    squeezed = net.swish(squeezed, f"{name}se_reduce_activation")
    excited = net.sigmoid(net.conv(squeezed, wide, (1, 1), f"{name}se_expand", bias=True), f"{name}se_weights")
    inner = net.multiply(inner, excited, f"{name}se_excite")
    inner = net.batch_norm(net.conv(inner, filters, (1, 1), f"{name}project_conv"), f"{name}project_bn")
    return net.add(inner, x, f"{name}add") if stride == 1 and channels == filters else inner
