"""MobileNet v1 and v2 in TensorFlow's form.

Sources: Howard et al., "MobileNets" (2017); Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks"
(2018); names and padding as in keras.applications, alpha 1.
"""

from __future__ import annotations

from graphir import Graph, Value
from graphir.padding import Explicit
from models.layers import SAME, Network, Weights, seeded

BEHIND = Explicit(((0, 1), (0, 1)))


def mobilenet(
    weights: Weights | None = None, *, size: int | str = 224, batch: int | str = 1, classes: int = 1000
) -> Graph:
    """MobileNet v1 from `input` (batch, 3, size, size) to `probabilities` (batch, classes).

    At stride 2 the depthwise convolutions pad one behind whatever the size, which SAME does for even sizes only.
    """
    net = Network("mobilenet", weights or seeded())
    x = net.input("input", (batch, 3, size, size))
    x = _unit(net, net.conv(x, 32, (3, 3), "conv1", stride=2), "conv1")
    filters = (64, 128, 128, 256, 256, *(512,) * 6, 1024, 1024)
    for block, width in enumerate(filters, 1):
        stride = 2 if block in (2, 4, 6, 12) else 1
        padding = BEHIND if stride == 2 else SAME
        x = net.depthwise_conv(x, (3, 3), f"conv_dw_{block}", stride=stride, padding=padding)
        x = _unit(net, x, f"conv_dw_{block}")
        x = _unit(net, net.conv(x, width, (1, 1), f"conv_pw_{block}"), f"conv_pw_{block}")
    x = net.global_average_pool(x, "global_average_pooling2d")
    x = net.conv(x, classes, (1, 1), "conv_preds", bias=True)
    return net.finish(net.softmax(net.reshape(x, (0, classes), "reshape_2"), "probabilities"))


def _unit(net: Network, x: Value, name: str) -> Value:
    return net.relu6(net.batch_norm(x, f"{name}_bn"), f"{name}_relu")


def mobilenet_v2(
    weights: Weights | None = None, *, size: int | str = 224, batch: int | str = 1, classes: int = 1000
) -> Graph:
    """MobileNet v2 from `input` (batch, 3, size, size) to `probabilities` (batch, classes)."""
    net = Network("mobilenet_v2", weights or seeded())
    x = net.input("input", (batch, 3, size, size))
    x = net.conv(x, 32, (3, 3), "Conv1", stride=2)
    x = net.relu6(net.batch_norm(x, "bn_Conv1"), "Conv1_relu")
    x = _inverted_residual(net, x, 16, 1, 1, "expanded_conv")
    block = 0
    for filters, repeats, stride in ((24, 2, 2), (32, 3, 2), (64, 4, 2), (96, 3, 1), (160, 3, 2), (320, 1, 1)):
        for repeat in range(repeats):
            block += 1
            x = _inverted_residual(net, x, filters, stride if repeat == 0 else 1, 6, f"block_{block}")
    x = net.relu6(net.batch_norm(net.conv(x, 1280, (1, 1), "Conv_1"), "Conv_1_bn"), "out_relu")
    x = net.flatten(net.global_average_pool(x, "global_average"), "global_average_pooling2d")
    return net.finish(net.softmax(net.dense(x, classes, "predictions"), "probabilities"))


def _inverted_residual(net: Network, x: Value, filters: int, stride: int, expansion: int, name: str) -> Value:
    """Expand, filter each channel, project; added to the input where shapes allow."""
    assert x.shape is not None
    channels = x.shape[1]
    assert isinstance(channels, int)
    inner = x
    if expansion > 1:
        inner = net.conv(inner, channels * expansion, (1, 1), f"{name}_expand")
        inner = net.relu6(net.batch_norm(inner, f"{name}_expand_BN"), f"{name}_expand_relu")
    inner = net.depthwise_conv(inner, (3, 3), f"{name}_depthwise", stride=stride)
    inner = net.relu6(net.batch_norm(inner, f"{name}_depthwise_BN"), f"{name}_depthwise_relu")
    inner = net.batch_norm(net.conv(inner, filters, (1, 1), f"{name}_project"), f"{name}_project_BN")
    return net.add(x, inner, f"{name}_add") if stride == 1 and channels == filters else inner
