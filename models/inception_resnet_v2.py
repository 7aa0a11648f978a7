"""Inception-ResNet-v2, with TensorFlow's SAME and VALID.

Source: Szegedy et al., "Inception-v4, Inception-ResNet and the Impact of Residual Connections on Learning" (2016), in
the form and with the names of keras.applications.InceptionResNetV2: 55,873,736 parameters, input 299x299.
"""

from __future__ import annotations

from graphir import Graph, Value
from graphir.padding import valid
from models.layers import SAME, Network, Weights, seeded

VALID = valid(2)


class _Builder(Network):
    """Counts layers as Keras names them: conv2d, conv2d_1, ..."""

    def __init__(self, weights: Weights) -> None:
        super().__init__("inception_resnet_v2", weights)
        self._units = 0
        self._pools = 0

    def unit(
        self, x: Value, filters: int, kernel: int | tuple[int, int], *, stride: int = 1, same: bool = True
    ) -> Value:
        """Convolution without bias, batch normalization without gamma, ReLU."""
        size = (kernel, kernel) if isinstance(kernel, int) else kernel
        number = f"_{self._units}" if self._units else ""
        self._units += 1
        x = self.conv(x, filters, size, f"conv2d{number}", stride=stride, padding=SAME if same else VALID)
        return self.named_end(x, f"batch_normalization{number}", f"activation{number}")

    def named_end(self, x: Value, normalization: str, activation: str) -> Value:
        """Batch normalization without gamma, and ReLU."""
        return self.relu(self.batch_norm(x, normalization, scale=False), activation)

    def reduce(self, x: Value) -> Value:
        """Max pooling 3x3 at stride 2, VALID."""
        number = f"_{self._pools}" if self._pools else ""
        self._pools += 1
        return self.max_pool(x, 3, 2, f"max_pooling2d{number}")

    def residual(self, x: Value, branches: list[Value], scale: float, name: str, *, activate: bool = True) -> Value:
        """x + scale * projection of the joined branches, and ReLU."""
        mixed = self.concat(branches, f"{name}_mixed")
        assert x.shape is not None
        channels = x.shape[1]
        assert isinstance(channels, int)
        up = self.conv(mixed, channels, (1, 1), f"{name}_conv", bias=True)
        if scale != 1:
            up = self.scaled(up, scale, f"{name}_scaled")
        total = self.add(x, up, name)
        return self.relu(total, f"{name}_ac") if activate else total


def inception_resnet_v2(
    weights: Weights | None = None, *, size: int | str = 299, batch: int | str = 1, classes: int = 1000
) -> Graph:
    """The network from `input_1` (batch, 3, size, size) to `probabilities` (batch, classes).

    `weights` gives each array by Keras's name and layout (see `models.layers`), seeded ones without it; `size` may be a
    name: then SAME stays a policy where it matters.
    """
    net = _Builder(weights or seeded())
    x = net.input("input_1", (batch, 3, size, size))
    x = net.unit(x, 32, 3, stride=2, same=False)
    x = net.unit(x, 32, 3, same=False)
    x = net.unit(x, 64, 3)
    x = net.reduce(x)
    x = net.unit(x, 80, 1, same=False)
    x = net.unit(x, 192, 3, same=False)
    x = net.reduce(x)
    x = _mixed_5b(net, x)
    for block in range(1, 11):
        x = _block35(net, x, f"block35_{block}")
    x = _mixed_6a(net, x)
    for block in range(1, 21):
        x = _block17(net, x, f"block17_{block}")
    x = _mixed_7a(net, x)
    for block in range(1, 10):
        x = _block8(net, x, f"block8_{block}", 0.2)
    x = _block8(net, x, "block8_10", 1.0, activate=False)
    x = net.conv(x, 1536, (1, 1), "conv_7b")
    x = net.named_end(x, "conv_7b_bn", "conv_7b_ac")
    x = net.flatten(net.global_average_pool(x, "global_average"), "avg_pool")
    x = net.dense(x, classes, "predictions")
    return net.finish(net.softmax(x, "probabilities"))


def _mixed_5b(net: _Builder, x: Value) -> Value:
    branches = [net.unit(x, 96, 1)]
    branches += [net.unit(net.unit(x, 48, 1), 64, 5)]
    branches += [net.unit(net.unit(net.unit(x, 64, 1), 96, 3), 96, 3)]
    branches += [net.unit(net.average_pool(x, 3, 1, "average_pooling2d"), 64, 1)]
    return net.concat(branches, "mixed_5b")


def _mixed_6a(net: _Builder, x: Value) -> Value:
    branches = [net.unit(x, 384, 3, stride=2, same=False)]
    branches += [net.unit(net.unit(net.unit(x, 256, 1), 256, 3), 384, 3, stride=2, same=False)]
    return net.concat([*branches, net.reduce(x)], "mixed_6a")


def _mixed_7a(net: _Builder, x: Value) -> Value:
    branches = [net.unit(net.unit(x, 256, 1), 384, 3, stride=2, same=False)]
    branches += [net.unit(net.unit(x, 256, 1), 288, 3, stride=2, same=False)]
    branches += [net.unit(net.unit(net.unit(x, 256, 1), 288, 3), 320, 3, stride=2, same=False)]
    return net.concat([*branches, net.reduce(x)], "mixed_7a")


def _block35(net: _Builder, x: Value, name: str) -> Value:
    branches = [net.unit(x, 32, 1)]
    branches += [net.unit(net.unit(x, 32, 1), 32, 3)]
    branches += [net.unit(net.unit(net.unit(x, 32, 1), 48, 3), 64, 3)]
    return net.residual(x, branches, 0.17, name)


def _block17(net: _Builder, x: Value, name: str) -> Value:
    branches = [net.unit(x, 192, 1)]
    branches += [net.unit(net.unit(net.unit(x, 128, 1), 160, (1, 7)), 192, (7, 1))]
    return net.residual(x, branches, 0.1, name)


def _block8(net: _Builder, x: Value, name: str, scale: float, *, activate: bool = True) -> Value:
    branches = [net.unit(x, 192, 1)]
    branches += [net.unit(net.unit(net.unit(x, 192, 1), 224, (1, 3)), 256, (3, 1))]
    return net.residual(x, branches, scale, name, activate=activate)
