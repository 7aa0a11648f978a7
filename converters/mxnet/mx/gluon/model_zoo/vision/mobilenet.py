"""MobileNets of both versions."""

from __future__ import annotations

from typing import Any

from graphir.converters.mxnet.mx.gluon import nn
from graphir.converters.mxnet.mx.gluon.hybrid_block import HybridBlock
from graphir.converters.mxnet.mx.gluon.model_zoo.vision.plain import Classifier, chain, conv_bn, relu


class RELU6(HybridBlock):
    """min(max(x, 0), 6)."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.clip(x, 0, 6, name="relu6")


class MobileNet(Classifier):
    """Convolutions of each channel, then of all channels at each pixel (arXiv 1704.04861)."""

    def __init__(self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        sizes = [int(size * multiplier) for size in (32, 64, 128, 128, 256, 256, *[512] * 6, 1024, 1024)]
        strides = [1, 2, 1, 2, 1, 2, *[1] * 5, 2, 1]
        with self.name_scope():
            self.features = chain(*conv_bn(sizes[0], 3, 2, 1), relu())
            for before, after, stride in zip(sizes, sizes[1:], strides, strict=False):
                self.features.add(*conv_bn(before, 3, stride, 1, groups=before), relu())
                self.features.add(*conv_bn(after), relu())
            self.features.add(nn.GlobalAvgPool2D(), nn.Flatten())
            self.output = nn.Dense(classes)


class LinearBottleneck(HybridBlock):
    """Channels times t, a convolution of each, and fewer channels again; x is added where its sizes stay."""

    def __init__(self, in_channels: int, channels: int, t: int, stride: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_shortcut = stride == 1 and in_channels == channels
        wide = in_channels * t
        with self.name_scope():
            self.out = nn.HybridSequential()
            self.out.add(*conv_bn(wide), RELU6(), *conv_bn(wide, 3, stride, 1, groups=wide), RELU6())
            self.out.add(*conv_bn(channels))

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.elemwise_add(self.out(x), x) if self.use_shortcut else self.out(x)


BOTTLENECKS = ((16, 1, 1), (24, 2, 2), (32, 3, 2), (64, 4, 2), (96, 3, 1), (160, 3, 2), (320, 1, 1))
"""Channels, how many blocks, and the stride of the first."""


class MobileNetV2(HybridBlock):
    """Inverted residuals and linear bottlenecks (arXiv 1801.04381)."""

    def __init__(self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="features_")
            before = int(32 * multiplier)
            with self.features.name_scope():
                self.features.add(*conv_bn(before, 3, 2, 1), RELU6())
                for size, count, first in BOTTLENECKS:
                    for number in range(count):
                        after, expansion = int(size * multiplier), 1 if size == 16 else 6
                        self.features.add(LinearBottleneck(before, after, expansion, 1 if number else first))
                        before = after
                self.features.add(*conv_bn(int(1280 * max(multiplier, 1.0))), RELU6(), nn.GlobalAvgPool2D())
            self.output = nn.HybridSequential(prefix="output_")
            with self.output.name_scope():
                self.output.add(nn.Conv2D(classes, 1, use_bias=False, prefix="pred_"), nn.Flatten())

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.output(self.features(x))
