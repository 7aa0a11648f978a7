"""Networks of layers behind and beside each other: AlexNet, VGG, DenseNet, SqueezeNet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphir.converters.mxnet.mx import initializer
from graphir.converters.mxnet.mx.gluon import nn
from graphir.converters.mxnet.mx.gluon.contrib.nn import HybridConcurrent, Identity
from graphir.converters.mxnet.mx.gluon.hybrid_block import HybridBlock

Sizes = int | tuple[int, int]


def chain(*blocks: Any, prefix: str | None = "") -> nn.HybridSequential:
    """Return blocks behind each other."""
    sequence = nn.HybridSequential(prefix=prefix)
    sequence.add(*blocks)
    return sequence


def relu() -> nn.Activation:
    """Return max(x, 0)."""
    return nn.Activation("relu")


def conv_bn(channels: int, kernel: Sizes = 1, stride: int = 1, pad: Sizes = 0, **kwargs: Any) -> list[Any]:
    """Return a convolution without bias and a batch normalization; `groups` and `epsilon` by name."""
    epsilon = kwargs.pop("epsilon", 1e-5)
    conv = nn.Conv2D(channels, kernel, stride, pad, use_bias=False, **kwargs)
    return [conv, nn.BatchNorm(epsilon=epsilon)]


class Classifier(HybridBlock):
    """`features` of an image, and the `output` made of them."""

    features: Any
    output: Any

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.output(self.features(x))


class AlexNet(Classifier):
    """Five convolutions, three dense layers (arXiv 1404.5997)."""

    def __init__(self, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)

        def conv(channels: int, kernel: int, stride: int, pad: int) -> Any:
            return nn.Conv2D(channels, kernel, stride, pad, activation="relu")

        with self.name_scope():
            self.features = chain(conv(64, 11, 4, 2), nn.MaxPool2D(3, 2), conv(192, 5, 1, 2), nn.MaxPool2D(3, 2))
            self.features.add(*(conv(channels, 3, 1, 1) for channels in (384, 256, 256)), nn.MaxPool2D(3, 2))
            self.features.add(nn.Flatten())
            for _ in range(2):
                self.features.add(nn.Dense(4096, activation="relu"), nn.Dropout(0.5))
            self.output = nn.Dense(classes)


class VGG(Classifier):
    """Blocks of 3x3 convolutions, each before a pooling (arXiv 1409.1556)."""

    def __init__(
        self,
        layers: Sequence[int],
        filters: Sequence[int],
        classes: int = 1000,
        batch_norm: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        xavier = initializer.Xavier(rnd_type="gaussian", factor_type="out", magnitude=2)
        with self.name_scope():
            self.features = chain()
            for count, channels in zip(layers, filters, strict=True):
                for _ in range(count):
                    self.features.add(nn.Conv2D(channels, 3, padding=1, weight_initializer=xavier))
                    self.features.add(*([nn.BatchNorm()] if batch_norm else []), relu())
                self.features.add(nn.MaxPool2D(strides=2))
            for _ in range(2):
                dense = nn.Dense(4096, activation="relu", weight_initializer="normal")
                self.features.add(dense, nn.Dropout(rate=0.5))
            self.output = nn.Dense(classes, weight_initializer="normal")


class DenseNet(Classifier):
    """Blocks of layers that each see all before them (arXiv 1608.06993)."""

    def __init__(
        self,
        num_init_features: int,
        growth_rate: int,
        block_config: Sequence[int],
        bn_size: int = 4,
        dropout: float = 0,
        classes: int = 1000,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)

        def layer() -> HybridConcurrent:
            new = chain(nn.BatchNorm(), relu(), nn.Conv2D(bn_size * growth_rate, 1, use_bias=False))
            new.add(nn.BatchNorm(), relu(), nn.Conv2D(growth_rate, 3, padding=1, use_bias=False))
            new.add(*([nn.Dropout(dropout)] if dropout else []))
            beside = HybridConcurrent(axis=1, prefix="")
            beside.add(Identity(), new)
            return beside

        with self.name_scope():
            self.features = chain(*conv_bn(num_init_features, 7, 2, 3), relu(), nn.MaxPool2D(3, 2, 1))
            channels = num_init_features
            for number, count in enumerate(block_config, 1):
                stage = nn.HybridSequential(prefix=f"stage{number}_")
                with stage.name_scope():
                    stage.add(*(layer() for _ in range(count)))
                self.features.add(stage)
                channels += count * growth_rate
                if number < len(block_config):
                    channels //= 2
                    halved = nn.BatchNorm(), relu(), nn.Conv2D(channels, 1, use_bias=False), nn.AvgPool2D(2, 2)
                    self.features.add(chain(*halved))
            self.features.add(nn.BatchNorm(), relu(), nn.AvgPool2D(7), nn.Flatten())
            self.output = nn.Dense(classes)


FIRES: dict[str, tuple[Any, ...]] = {
    "1.0": ((96, 7), "pool", 16, 16, 32, "pool", 32, 48, 48, 64, "pool", 64),
    "1.1": ((64, 3), "pool", 16, 16, "pool", 32, 32, "pool", 48, 48, 64, 64),
}
"""The first convolution, then squeezed channels; each is expanded to four times as many by 1x1 and by 3x3."""


class SqueezeNet(Classifier):
    """Modules that squeeze the channels and expand them (arXiv 1602.07360)."""

    def __init__(self, version: str, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if version not in FIRES:
            raise AssertionError(f"Unsupported SqueezeNet version {version}:1.0 or 1.1 expected")

        def conv(channels: int, kernel: int, pad: int = 0) -> nn.HybridSequential:
            return chain(nn.Conv2D(channels, kernel, padding=pad), relu())

        def fire(squeezed: int) -> nn.HybridSequential:
            first, expanded = conv(squeezed, 1), HybridConcurrent(axis=1, prefix="")
            expanded.add(conv(4 * squeezed, 1), conv(4 * squeezed, 3, 1))
            return chain(first, expanded)

        with self.name_scope():
            (channels, kernel), *rows = FIRES[version]
            self.features = chain(nn.Conv2D(channels, kernel, strides=2), relu())
            for row in rows:
                self.features.add(nn.MaxPool2D(3, 2, ceil_mode=True) if row == "pool" else fire(row))
            self.features.add(nn.Dropout(0.5))
            self.output = chain(nn.Conv2D(classes, 1), relu(), nn.AvgPool2D(13), nn.Flatten())
