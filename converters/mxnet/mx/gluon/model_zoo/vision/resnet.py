"""Residual networks of both versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphir.converters.mxnet.mx.gluon import nn
from graphir.converters.mxnet.mx.gluon.hybrid_block import HybridBlock
from graphir.converters.mxnet.mx.gluon.model_zoo.vision.plain import Classifier, chain, conv_bn, relu


def conv3x3(channels: int, stride: int, in_channels: int) -> Any:
    """Return a 3x3 convolution without bias that keeps the size at stride 1."""
    return nn.Conv2D(channels, 3, stride, 1, use_bias=False, in_channels=in_channels)


class _ResidualV1(HybridBlock):
    """max(x + body(x), 0), x projected where its sizes change."""

    def __init__(
        self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.body = chain(*self._layers(channels, stride, in_channels))
        self.downsample = chain(*conv_bn(channels, 1, stride, in_channels=in_channels)) if downsample else None

    def _layers(self, channels: int, stride: int, in_channels: int) -> list[Any]:
        raise NotImplementedError(f"{type(self).__name__} does not define _layers")

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        residual = x if self.downsample is None else self.downsample(x)
        return F.Activation(residual + self.body(x), act_type="relu")


class BasicBlockV1(_ResidualV1):
    """Two 3x3 convolutions (arXiv 1512.03385)."""

    def _layers(self, channels: int, stride: int, in_channels: int) -> list[Any]:
        first, second = conv3x3(channels, stride, in_channels), conv3x3(channels, 1, channels)
        return [first, nn.BatchNorm(), relu(), second, nn.BatchNorm()]


class BottleneckV1(_ResidualV1):
    """A 3x3 convolution between two of 1x1."""

    def _layers(self, channels: int, stride: int, in_channels: int) -> list[Any]:
        narrow = channels // 4
        first, second = nn.Conv2D(narrow, 1, stride), conv3x3(narrow, 1, narrow)
        third = nn.Conv2D(channels, 1, 1)
        return [first, nn.BatchNorm(), relu(), second, nn.BatchNorm(), relu(), third, nn.BatchNorm()]


class _ResidualV2(HybridBlock):
    """x + convolutions, each behind a normalization and max(x, 0) (arXiv 1603.05027)."""

    def __init__(
        self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        convolutions = self._convolutions(channels, stride, in_channels)
        self._count = len(convolutions)
        for number, convolution in enumerate(convolutions, 1):
            setattr(self, f"bn{number}", nn.BatchNorm())
            setattr(self, f"conv{number}", convolution())
        self.downsample = (
            nn.Conv2D(channels, 1, stride, use_bias=False, in_channels=in_channels) if downsample else None
        )

    def _convolutions(self, channels: int, stride: int, in_channels: int) -> list[Callable[[], Any]]:
        raise NotImplementedError(f"{type(self).__name__} does not define _convolutions")

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        residual = x
        for number in range(1, self._count + 1):
            x = F.Activation(getattr(self, f"bn{number}")(x), act_type="relu")
            if number == 1 and self.downsample is not None:
                residual = self.downsample(x)
            x = getattr(self, f"conv{number}")(x)
        return x + residual


class BasicBlockV2(_ResidualV2):
    """Two 3x3 convolutions."""

    def _convolutions(self, channels: int, stride: int, in_channels: int) -> list[Callable[[], Any]]:
        return [lambda: conv3x3(channels, stride, in_channels), lambda: conv3x3(channels, 1, channels)]


class BottleneckV2(_ResidualV2):
    """A 3x3 convolution between two of 1x1."""

    def _convolutions(self, channels: int, stride: int, in_channels: int) -> list[Callable[[], Any]]:
        narrow = channels // 4
        return [
            lambda: nn.Conv2D(narrow, 1, 1, use_bias=False),
            lambda: conv3x3(narrow, stride, narrow),
            lambda: nn.Conv2D(channels, 1, 1, use_bias=False),
        ]


class _ResNet(Classifier):
    """Four stages of residual blocks; of a `thumbnail` the first layers keep the size."""

    VERSION = 1

    def __init__(
        self,
        block: Callable[..., Any],
        layers: Sequence[int],
        channels: Sequence[int],
        classes: int = 1000,
        thumbnail: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if len(layers) != len(channels) - 1:
            raise AssertionError(f"{len(channels)} numbers of channels for {len(layers)} stages, expected one more")
        with self.name_scope():
            is_second = self.VERSION == 2
            self.features = chain(*([nn.BatchNorm(scale=False, center=False)] if is_second else []))
            if thumbnail:
                self.features.add(conv3x3(channels[0], 1, 0))
            else:
                self.features.add(*conv_bn(channels[0], 7, 2, 3), relu(), nn.MaxPool2D(3, 2, 1))
            for number, count in enumerate(layers, 1):
                before, after = channels[number - 1 : number + 1]
                stage = nn.HybridSequential(prefix=f"stage{number}_")
                with stage.name_scope():
                    stride = 1 if number == 1 else 2
                    stage.add(block(after, stride, after != before, in_channels=before, prefix=""))
                    stage.add(*(block(after, 1, False, in_channels=after, prefix="") for _ in range(count - 1)))
                self.features.add(stage)
            if is_second:
                self.features.add(nn.BatchNorm(), relu(), nn.GlobalAvgPool2D(), nn.Flatten())
            else:
                self.features.add(nn.GlobalAvgPool2D())
            self.output = nn.Dense(classes, in_units=channels[-1])


class ResNetV1(_ResNet):
    """Deep residual learning (arXiv 1512.03385)."""


class ResNetV2(_ResNet):
    """Identity mappings in deep residual networks (arXiv 1603.05027)."""

    VERSION = 2


resnet_spec = {
    18: ("basic_block", [2, 2, 2, 2], [64, 64, 128, 256, 512]),
    34: ("basic_block", [3, 4, 6, 3], [64, 64, 128, 256, 512]),
    50: ("bottle_neck", [3, 4, 6, 3], [64, 256, 512, 1024, 2048]),
    101: ("bottle_neck", [3, 4, 23, 3], [64, 256, 512, 1024, 2048]),
    152: ("bottle_neck", [3, 8, 36, 3], [64, 256, 512, 1024, 2048]),
}
resnet_net_versions = [ResNetV1, ResNetV2]
resnet_block_versions: list[dict[str, Any]] = [
    {"basic_block": BasicBlockV1, "bottle_neck": BottleneckV1},
    {"basic_block": BasicBlockV2, "bottle_neck": BottleneckV2},
]
