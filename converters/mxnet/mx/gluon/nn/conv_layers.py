"""Layers with a window over some axes: convolutions, their transposes and poolings."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from graphir.converters.mxnet.mx.gluon.hybrid_block import REQUIRED, HybridBlock, Layer
from graphir.converters.mxnet.mx.gluon.nn.activations import Activation

Sizes = int | Sequence[int]
LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


class Windowed(Layer):
    """A layer with a window over `AXES` axes, channels behind the batch (`NCHW`) or last (`NHWC`)."""

    AXES = 0

    def _prepare(self, arguments: SimpleNamespace) -> None:
        plain = LAYOUTS[self.AXES]
        last = plain[0] + plain[2:] + "C"
        if arguments.layout not in (plain, last):
            raise AssertionError(f"the layout is {arguments.layout!r}, expected {plain!r} or {last!r}")

    def _sizes(self, name: str, value: Sizes) -> tuple[int, ...]:
        """Return one size for each axis. Raises AssertionError for another number of them."""
        sizes = (value,) * self.AXES if isinstance(value, int) else tuple(value)
        if len(sizes) != self.AXES:
            raise AssertionError(f"{name} must be a number, or a list of {self.AXES} ints, found {value!r}")
        return sizes


def each_axis(axes: int, size: int) -> Any:
    """Return MXNet's default for a size along each axis: a number for one axis, else a tuple."""
    return size if axes == 1 else (size,) * axes


def _arguments(axes: int, transposed: bool = False) -> dict[str, Any]:
    one, zero = each_axis(axes, 1), each_axis(axes, 0)
    return {
        "channels": REQUIRED,
        "kernel_size": REQUIRED,
        "strides": one,
        "padding": zero,
        **({"output_padding": zero} if transposed else {}),
        "dilation": one,
        "groups": 1,
        "layout": LAYOUTS[axes],
        "activation": None,
        "use_bias": True,
        "weight_initializer": None,
        "bias_initializer": "zeros",
        "in_channels": 0,
    }


class _Conv(Windowed):
    """A convolution over as many axes as the window has."""

    OPERATOR = "Convolution"

    def _build(self, arguments: SimpleNamespace) -> None:
        channels, groups, layout = arguments.channels, arguments.groups, arguments.layout
        self._channels, self._in_channels = channels, arguments.in_channels
        kernel = self._sizes("kernel_size", arguments.kernel_size)
        self._kwargs: dict[str, Any] = {
            "kernel": kernel,
            "stride": self._sizes("strides", arguments.strides),
            "dilate": self._sizes("dilation", arguments.dilation),
            "pad": self._sizes("padding", arguments.padding),
            "num_filter": channels,
            "num_group": groups,
            "no_bias": not arguments.use_bias,
            "layout": layout,
        }
        if self.OPERATOR == "Deconvolution":
            self.outpad = self._kwargs["adj"] = self._sizes("output_padding", arguments.output_padding)
        with self.name_scope():
            shape, init = self._weight_shape(kernel, groups, layout), arguments.weight_initializer
            self.weight = self.params.get("weight", shape=shape, init=init, allow_deferred_init=True)
            self.bias = self.act = None
            if arguments.use_bias:
                init = arguments.bias_initializer
                self.bias = self.params.get("bias", shape=(channels,), init=init, allow_deferred_init=True)
            if arguments.activation is not None:
                self.act = Activation(arguments.activation, prefix=arguments.activation + "_")

    def hybrid_forward(self, F: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        operands = [operand for operand in (x, weight, bias) if operand is not None]
        result = getattr(F, self.OPERATOR)(*operands, name="fwd", **self._kwargs)
        return result if self.act is None else self.act(result)

    def _alias(self) -> str:
        return "conv"

    def _weight_shape(self, kernel: tuple[int, ...], groups: int, layout: str) -> tuple[int, ...]:
        """Filters, channels of a group, and the window; with channels last in data they are last here too."""
        first, second = self._channels, self._in_channels // groups
        if self.OPERATOR == "Deconvolution":
            first, second = self._in_channels, self._channels // groups
        return (first, second, *kernel) if layout.find("C") == 1 else (first, *kernel, second)

    def __repr__(self) -> str:
        kwargs = self._kwargs
        shape = self.weight.shape
        ends = f"{shape[1] or None} -> {shape[0]}, kernel_size={kwargs['kernel']}, stride={kwargs['stride']}"
        more = [
            f"padding={kwargs['pad']}" if kwargs["pad"] != (0,) * self.AXES else "",
            f"dilation={kwargs['dilate']}" if kwargs["dilate"] != (1,) * self.AXES else "",
            f"groups={kwargs['num_group']}" if kwargs["num_group"] != 1 else "",
            "bias=False" if self.bias is None else "",
            str(self.act) if self.act is not None else "",
        ]
        return f"{type(self).__name__}({', '.join([ends, *(part for part in more if part)])})"


class _Transpose(_Conv):
    OPERATOR = "Deconvolution"


class Conv1D(_Conv):
    """A convolution of [N, C, W], then an activation."""

    AXES, ARGUMENTS = 1, _arguments(1)


class Conv2D(_Conv):
    """A convolution of [N, C, H, W], then an activation."""

    AXES, ARGUMENTS = 2, _arguments(2)


class Conv3D(_Conv):
    """A convolution of [N, C, D, H, W], then an activation."""

    AXES, ARGUMENTS = 3, _arguments(3)


class Conv1DTranspose(_Transpose):
    """A transposed convolution of [N, C, W], then an activation."""

    AXES, ARGUMENTS = 1, _arguments(1, transposed=True)


class Conv2DTranspose(_Transpose):
    """A transposed convolution of [N, C, H, W], then an activation."""

    AXES, ARGUMENTS = 2, _arguments(2, transposed=True)


class Conv3DTranspose(_Transpose):
    """A transposed convolution of [N, C, D, H, W], then an activation."""

    AXES, ARGUMENTS = 3, _arguments(3, transposed=True)


class ReflectionPad2D(HybridBlock):
    """Data [N, C, H, W] continued by its own reflection, so many rows and columns on every side."""

    def __init__(self, padding: Sizes = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._padding = (0, 0, 0, 0, *((padding,) * 4)) if isinstance(padding, int) else tuple(padding)
        if len(self._padding) != 8:
            raise AssertionError(f"padding is a number or 8 of them, found {padding!r}")

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.pad(x, mode="reflect", pad_width=self._padding)


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

__all__ = [
    "AvgPool1D", "AvgPool2D", "AvgPool3D", "Conv1D", "Conv1DTranspose", "Conv2D", "Conv2DTranspose", "Conv3D",
    "Conv3DTranspose", "GlobalAvgPool1D", "GlobalAvgPool2D", "GlobalAvgPool3D", "GlobalMaxPool1D", "GlobalMaxPool2D",
    "GlobalMaxPool3D", "MaxPool1D", "MaxPool2D", "MaxPool3D", "ReflectionPad2D",
]  # fmt: skip
