"""Convolutions and their transposes as layers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from graphir.converters.mxnet.mx.gluon.hybrid_block import HybridBlock
from graphir.converters.mxnet.mx.gluon.layer import REQUIRED
from graphir.converters.mxnet.mx.gluon.nn.activations import Activation
from graphir.converters.mxnet.mx.gluon.nn.windows import LAYOUTS, Sizes, Windowed, each_axis


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
        """Return the layer's result."""
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
        """Return the larger data."""
        return F.pad(x, mode="reflect", pad_width=self._padding)
