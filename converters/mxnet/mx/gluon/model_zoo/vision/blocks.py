"""What the networks share: blocks behind each other, and a classifier of features."""

from __future__ import annotations

from typing import Any

from graphir.converters.mxnet.mx.gluon import nn
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
        """Return the classes' scores."""
        return self.output(self.features(x))
