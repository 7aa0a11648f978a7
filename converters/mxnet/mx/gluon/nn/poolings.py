"""Poolings as layers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from graphir.converters.mxnet.mx.gluon.nn.windows import LAYOUTS, Windowed, each_axis


def _window(axes: int) -> dict[str, Any]:
    return {"pool_size": each_axis(axes, 2), "strides": None, "padding": 0}


def _layout(axes: int) -> dict[str, Any]:
    return {"layout": LAYOUTS[axes]}


class _Pooling(Windowed):
    """A maximum or mean over windows, which move by their own size unless `strides` are given.

    With `ceil_mode` a last window that is not full counts too. Means count padding as zeros with `count_include_pad`.
    """

    TYPE = "max"
    IS_GLOBAL = False

    def _build(self, arguments: SimpleNamespace) -> None:
        size = self._sizes("pool_size", arguments.pool_size)
        self._kwargs: dict[str, Any] = {
            "kernel": size,
            "stride": size if arguments.strides is None else self._sizes("strides", arguments.strides),
            "pad": self._sizes("padding", arguments.padding),
            "global_pool": self.IS_GLOBAL,
            "pool_type": self.TYPE,
            "pooling_convention": "full" if arguments.ceil_mode else "valid",
            "layout": arguments.layout,
        }
        if getattr(arguments, "count_include_pad", None) is not None:
            self._kwargs["count_include_pad"] = arguments.count_include_pad

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Return the windows' maxima or means."""
        return F.Pooling(x, name="fwd", **self._kwargs)

    def _alias(self) -> str:
        return "pool"

    def __repr__(self) -> str:
        kwargs = self._kwargs
        return (
            f"{type(self).__name__}(size={kwargs['kernel']}, stride={kwargs['stride']}, padding={kwargs['pad']}, "
            f"ceil_mode={kwargs['pooling_convention'] == 'full'}, global_pool={kwargs['global_pool']}, "
            f"pool_type={kwargs['pool_type']}, layout={kwargs['layout']})"
        )


class MaxPool1D(_Pooling):
    """Maxima over windows of [N, C, W]."""

    AXES, ARGUMENTS = 1, _window(1) | {"layout": "NCW", "ceil_mode": False}


class MaxPool2D(_Pooling):
    """Maxima over windows of [N, C, H, W]."""

    AXES, ARGUMENTS = 2, _window(2) | {"layout": "NCHW", "ceil_mode": False}


class MaxPool3D(_Pooling):
    """Maxima over windows of [N, C, D, H, W]."""

    AXES, ARGUMENTS = 3, _window(3) | {"ceil_mode": False, "layout": "NCDHW"}


class AvgPool1D(_Pooling):
    """Means over windows of [N, C, W]."""

    AXES, TYPE = 1, "avg"
    ARGUMENTS = _window(1) | {"layout": "NCW", "ceil_mode": False, "count_include_pad": True}


class AvgPool2D(_Pooling):
    """Means over windows of [N, C, H, W]."""

    AXES, TYPE = 2, "avg"
    ARGUMENTS = _window(2) | {"ceil_mode": False, "layout": "NCHW", "count_include_pad": True}


class AvgPool3D(_Pooling):
    """Means over windows of [N, C, D, H, W]."""

    AXES, TYPE = 3, "avg"
    ARGUMENTS = _window(3) | {"ceil_mode": False, "layout": "NCDHW", "count_include_pad": True}


class _Global(_Pooling):
    """The maximum or mean of each channel."""

    IS_GLOBAL = True

    def _prepare(self, arguments: SimpleNamespace) -> None:
        arguments.pool_size, arguments.strides, arguments.padding, arguments.ceil_mode = 1, None, 0, True
        super()._prepare(arguments)


class GlobalMaxPool1D(_Global):
    """The maximum of each channel of [N, C, W]."""

    AXES, ARGUMENTS = 1, _layout(1)


class GlobalMaxPool2D(_Global):
    """The maximum of each channel of [N, C, H, W]."""

    AXES, ARGUMENTS = 2, _layout(2)


class GlobalMaxPool3D(_Global):
    """The maximum of each channel of [N, C, D, H, W]."""

    AXES, ARGUMENTS = 3, _layout(3)


class GlobalAvgPool1D(_Global):
    """The mean of each channel of [N, C, W]."""

    AXES, TYPE, ARGUMENTS = 1, "avg", _layout(1)


class GlobalAvgPool2D(_Global):
    """The mean of each channel of [N, C, H, W]."""

    AXES, TYPE, ARGUMENTS = 2, "avg", _layout(2)


class GlobalAvgPool3D(_Global):
    """The mean of each channel of [N, C, D, H, W]."""

    AXES, TYPE, ARGUMENTS = 3, "avg", _layout(3)
