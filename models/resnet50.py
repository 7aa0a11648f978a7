"""ResNet-50 v1 in TensorFlow's form.

Source: He et al., "Deep Residual Learning for Image Recognition" (2015); names and padding as in
keras.applications.ResNet50, whose stride is on the first 1x1 convolution of a block.
"""

from __future__ import annotations

from graphir import Graph, Value
from models.layers import Network, Weights, explicit, seeded

EPSILON = 1.001e-5


def resnet50(
    weights: Weights | None = None, *, size: int | str = 224, batch: int | str = 1, classes: int = 1000
) -> Graph:
    """ResNet-50 v1 from `input` (batch, 3, size, size) to `probabilities` (batch, classes)."""
    net = Network("resnet50", weights or seeded())
    x = net.input("input", (batch, 3, size, size))
    x = net.conv(x, 64, (7, 7), "conv1_conv", stride=2, padding=explicit(3), bias=True)
    x = net.relu(net.batch_norm(x, "conv1_bn", epsilon=EPSILON), "conv1_relu")
    x = net.max_pool(x, 3, 2, "pool1_pool", padding=explicit(1))
    for stage, (filters, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3)), 2):
        for block in range(1, blocks + 1):
            stride = 2 if block == 1 and stage > 2 else 1
            x = _block(net, x, filters, stride, f"conv{stage}_block{block}", project=block == 1)
    x = net.flatten(net.global_average_pool(x, "global_average"), "avg_pool")
    return net.finish(net.softmax(net.dense(x, classes, "predictions"), "probabilities"))


def _block(net: Network, x: Value, filters: int, stride: int, name: str, *, project: bool) -> Value:
    """1x1, 3x3, 1x1, added to the input or to its projection."""
    shortcut = x
    if project:
        shortcut = net.conv(x, 4 * filters, (1, 1), f"{name}_0_conv", stride=stride, bias=True)
        shortcut = net.batch_norm(shortcut, f"{name}_0_bn", epsilon=EPSILON)
    x = net.conv(x, filters, (1, 1), f"{name}_1_conv", stride=stride, bias=True)
    x = net.relu(net.batch_norm(x, f"{name}_1_bn", epsilon=EPSILON), f"{name}_1_relu")
    x = net.conv(x, filters, (3, 3), f"{name}_2_conv", bias=True)
    x = net.relu(net.batch_norm(x, f"{name}_2_bn", epsilon=EPSILON), f"{name}_2_relu")
    x = net.conv(x, 4 * filters, (1, 1), f"{name}_3_conv", bias=True)
    x = net.batch_norm(x, f"{name}_3_bn", epsilon=EPSILON)
    return net.relu(net.add(shortcut, x, f"{name}_add"), f"{name}_out")
