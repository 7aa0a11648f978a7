"""`mx.gluon.contrib.nn`: layers beside each other, and pixels made of channels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

from graphir.converters.mxnet.mx import ndarray
from graphir.converters.mxnet.mx.gluon.hybrid_block import HybridBlock
from graphir.converters.mxnet.mx.gluon.nn import BatchNorm, HybridSequential, Sequential
from graphir.converters.mxnet.mx.gluon.parameter_dict import ParameterDict
from graphir.converters.mxnet.mx.refusals import refused_name

SparseEmbedding = refused_name("mx.gluon.contrib.nn.SparseEmbedding", "mx.gluon.nn.Embedding computes the same")


class Concurrent(Sequential):
    """Blocks beside each other, whose results are joined along an axis."""

    def __init__(self, axis: int = -1, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix, params)
        self.axis = axis

    def forward(self, x: Any, *args: Any) -> Any:
        return ndarray.concat(*[block(x) for block in self._children.values()], dim=self.axis)


class HybridConcurrent(HybridSequential):
    """Hybrid blocks beside each other, whose results are joined along an axis."""

    def __init__(self, axis: int = -1, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix, params)
        self.axis = axis

    def hybrid_forward(self, F: Any, x: Any, *args: Any) -> Any:
        return F.concat(*[block(x) for block in self._children.values()], dim=self.axis)


class Identity(HybridBlock):
    """What it is given."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return x


class SyncBatchNorm(BatchNorm):
    """BatchNorm, which predicts as that does; training it would average over devices."""

    OPERATOR = "SyncBatchNorm"
    ARGUMENTS = {
        "in_channels": 0, "num_devices": None, "momentum": 0.9, "epsilon": 1e-5, "center": True, "scale": True,
        "use_global_stats": False, "beta_initializer": "zeros", "gamma_initializer": "ones",
        "running_mean_initializer": "zeros", "running_variance_initializer": "ones",
    }  # fmt: skip

    def _build(self, arguments: SimpleNamespace) -> None:
        arguments.axis = 1
        super()._build(arguments)
        del self._kwargs["axis"]
        self._kwargs |= {"ndev": arguments.num_devices or 1, "key": self.prefix}


class _PixelShuffle(HybridBlock):
    """Channels [N, f1 f2 ... C, sizes] as [N, C, sizes times factors]."""

    AXES: ClassVar[int]

    def __init__(self, factor: int | Sequence[int]) -> None:
        super().__init__()
        self._factors = (factor,) * self.AXES if isinstance(factor, int) else tuple(factor)
        if len(self._factors) != self.AXES:
            raise AssertionError(f"factor is a number, or {self.AXES} of them, found {factor!r}")

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        count, factors = self.AXES, self._factors
        x = F.reshape(x, (0, -4, -1, math.prod(factors), *(0,) * count))
        for axis in range(count - 1):
            kept = (0,) * (2 + axis)
            x = F.reshape(x, (*kept, -4, factors[axis], -1, *(0,) * count))
        order = [place for axis in range(count) for place in (2 + count + axis, 2 + axis)]
        x = F.transpose(x, (0, 1, *order))
        return F.reshape(x, (0, 0, *(-3,) * count))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._factors if self.AXES > 1 else self._factors[0]})"


class PixelShuffle1D(_PixelShuffle):
    """[N, f C, W] as [N, C, W f]."""

    AXES = 1


class PixelShuffle2D(_PixelShuffle):
    """[N, f1 f2 C, H, W] as [N, C, H f1, W f2]."""

    AXES = 2


class PixelShuffle3D(_PixelShuffle):
    """[N, f1 f2 f3 C, D, H, W] as [N, C, D f1, H f2, W f3]."""

    AXES = 3


__all__ = [
    "Concurrent", "HybridConcurrent", "Identity", "PixelShuffle1D", "PixelShuffle2D", "PixelShuffle3D",
    "SyncBatchNorm",
]  # fmt: skip
