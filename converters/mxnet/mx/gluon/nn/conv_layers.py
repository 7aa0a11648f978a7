"""Layers with a window over some axes: convolutions, their transposes and poolings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

from graphir.converters.mxnet.mx.gluon.hybrid_block import REQUIRED, ArgumentBlock, HybridBlock
from graphir.converters.mxnet.mx.gluon.nn.activations import Activation

Sizes = int | Sequence[int]
LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


class WindowLayer(ArgumentBlock):
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


def over_axes(
    base: type[ArgumentBlock], name: str, summary: str, arguments: Callable[[int], Mapping[str, Any]], **fields: Any
) -> list[type[Any]]:
    """Return the layers of one, two and three axes that `base` describes but for its `fields` and its arguments.

    `name` has a place for the number of axes, `summary` one for the axes of the data.
    """
    return [
        type(
            name.format(axes),
            (base,),
            {
                "__doc__": summary.format(f"[{', '.join(layout)}]"),
                "__module__": base.__module__,
                "AXES": axes,
                "ARGUMENTS": arguments(axes),
                **fields,
            },
        )
        for axes, layout in LAYOUTS.items()
    ]


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


class _Conv(WindowLayer):
    """A convolution over as many axes as the window has."""

    _ALIAS = "conv"
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


Conv1D, Conv2D, Conv3D = over_axes(_Conv, "Conv{}D", "A convolution of {}, then an activation.", _arguments)
Conv1DTranspose, Conv2DTranspose, Conv3DTranspose = over_axes(
    _Conv,
    "Conv{}DTranspose",
    "A transposed convolution of {}, then an activation.",
    partial(_arguments, transposed=True),
    OPERATOR="Deconvolution",
)


class ReflectionPad2D(HybridBlock):
    """Data [N, C, H, W] continued by its own reflection, so many rows and columns on every side."""

    def __init__(self, padding: Sizes = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._padding = (0, 0, 0, 0, *((padding,) * 4)) if isinstance(padding, int) else tuple(padding)
        if len(self._padding) != 8:
            raise AssertionError(f"padding is a number or 8 of them, found {padding!r}")

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.pad(x, mode="reflect", pad_width=self._padding)


class _Pooling(WindowLayer):
    """A maximum or mean over windows, which move by their own size unless `strides` are given.

    With `ceil_mode` a last window that is not full counts too. Means count padding as zeros with `count_include_pad`.
    """

    _ALIAS = "pool"
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

    def __repr__(self) -> str:
        kwargs = self._kwargs
        return (
            f"{type(self).__name__}(size={kwargs['kernel']}, stride={kwargs['stride']}, padding={kwargs['pad']}, "
            f"ceil_mode={kwargs['pooling_convention'] == 'full'}, global_pool={kwargs['global_pool']}, "
            f"pool_type={kwargs['pool_type']}, layout={kwargs['layout']})"
        )


def _windows(axes: int, mean: bool = False) -> dict[str, Any]:
    """Return the arguments of a pooling. MXNet has `ceil_mode` before `layout` from 3 axes on, of means from 2."""
    last = [("layout", LAYOUTS[axes]), ("ceil_mode", False)]
    ordered = reversed(last) if axes + mean >= 3 else last
    counted = {"count_include_pad": True} if mean else {}
    return {"pool_size": each_axis(axes, 2), "strides": None, "padding": 0, **dict(ordered), **counted}


MaxPool1D, MaxPool2D, MaxPool3D = over_axes(_Pooling, "MaxPool{}D", "Maxima over windows of {}.", _windows)
AvgPool1D, AvgPool2D, AvgPool3D = over_axes(
    _Pooling, "AvgPool{}D", "Means over windows of {}.", partial(_windows, mean=True), TYPE="avg"
)


class _Global(_Pooling):
    """The maximum or mean of each channel."""

    IS_GLOBAL = True

    def _prepare(self, arguments: SimpleNamespace) -> None:
        arguments.pool_size, arguments.strides, arguments.padding, arguments.ceil_mode = 1, None, 0, True
        super()._prepare(arguments)


def _layout(axes: int) -> dict[str, Any]:
    return {"layout": LAYOUTS[axes]}


GlobalMaxPool1D, GlobalMaxPool2D, GlobalMaxPool3D = over_axes(
    _Global, "GlobalMaxPool{}D", "The maximum of each channel of {}.", _layout
)
GlobalAvgPool1D, GlobalAvgPool2D, GlobalAvgPool3D = over_axes(
    _Global, "GlobalAvgPool{}D", "The mean of each channel of {}.", _layout, TYPE="avg"
)

__all__ = [
    "AvgPool1D", "AvgPool2D", "AvgPool3D", "Conv1D", "Conv1DTranspose", "Conv2D", "Conv2DTranspose", "Conv3D",
    "Conv3DTranspose", "GlobalAvgPool1D", "GlobalAvgPool2D", "GlobalAvgPool3D", "GlobalMaxPool1D", "GlobalMaxPool2D",
    "GlobalMaxPool3D", "MaxPool1D", "MaxPool2D", "MaxPool3D", "ReflectionPad2D",
]  # fmt: skip
