"""Convolutions and their transposes as layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphir.converters.mxnet.mx.gluon.hybrid_block import HybridBlock
from graphir.converters.mxnet.mx.gluon.nn.activations import Activation

Sizes = int | Sequence[int]


class _Conv(HybridBlock):
    """A convolution over as many axes as the window has. Subclasses give the axes, the operator and the layout."""

    AXES = 0
    OPERATOR = "Convolution"

    def __init__(
        self,
        channels: int,
        kernel_size: Sizes,
        strides: Sizes,
        padding: Sizes,
        dilation: Sizes,
        groups: int,
        layout: str,
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        output_padding: Sizes | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._channels, self._in_channels = channels, in_channels
        kernel = self._sizes("kernel_size", kernel_size)
        self._kwargs: dict[str, Any] = {
            "kernel": kernel,
            "stride": self._sizes("strides", strides),
            "dilate": self._sizes("dilation", dilation),
            "pad": self._sizes("padding", padding),
            "num_filter": channels,
            "num_group": groups,
            "no_bias": not use_bias,
            "layout": layout,
        }
        if output_padding is not None:
            self._kwargs["adj"] = self._sizes("output_padding", output_padding)
        with self.name_scope():
            shape = self._weight_shape(kernel, groups, layout)
            self.weight = self.params.get("weight", shape=shape, init=weight_initializer, allow_deferred_init=True)
            self.bias = (
                self.params.get("bias", shape=(channels,), init=bias_initializer, allow_deferred_init=True)
                if use_bias
                else None
            )
            self.act = Activation(activation, prefix=activation + "_") if activation is not None else None

    def hybrid_forward(self, F: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        """The layer's result."""
        operands = [held for held in (x, weight, bias) if held is not None]
        found = getattr(F, self.OPERATOR)(*operands, name="fwd", **self._kwargs)
        return found if self.act is None else self.act(found)

    def _alias(self) -> str:
        return "conv"

    def _sizes(self, what: str, given: Sizes) -> tuple[int, ...]:
        found = (given,) * self.AXES if isinstance(given, int) else tuple(given)
        if len(found) != self.AXES:
            raise AssertionError(f"{what} must be a number, or a list of {self.AXES} ints, found {given!r}")
        return found

    def _weight_shape(self, kernel: tuple[int, ...], groups: int, layout: str) -> tuple[int, ...]:
        """Filters, channels of a group, and the window; with channels last in data they are last here too."""
        first, second = self._channels, self._in_channels // groups
        if self.OPERATOR == "Deconvolution":
            first, second = self._in_channels, self._channels // groups
        return (first, second, *kernel) if layout.find("C") == 1 else (first, *kernel, second)

    def __repr__(self) -> str:
        held = self._kwargs
        shape = self.weight.shape
        ends = f"{shape[1] or None} -> {shape[0]}, kernel_size={held['kernel']}, stride={held['stride']}"
        more = [
            f"padding={held['pad']}" if held["pad"] != (0,) * self.AXES else "",
            f"dilation={held['dilate']}" if held["dilate"] != (1,) * self.AXES else "",
            f"groups={held['num_group']}" if held["num_group"] != 1 else "",
            "bias=False" if self.bias is None else "",
            str(self.act) if self.act is not None else "",
        ]
        return f"{type(self).__name__}({', '.join([ends, *(part for part in more if part)])})"


def _convolution(axes: int, plain: str) -> type[_Conv]:
    """The layer over so many axes; `plain` is the layout that it has by itself."""
    one, none = (1 if axes == 1 else (1,) * axes), (0 if axes == 1 else (0,) * axes)

    class Conv(_Conv):
        AXES = axes

        def __init__(
            self,
            channels: int,
            kernel_size: Sizes,
            strides: Sizes = one,
            padding: Sizes = none,
            dilation: Sizes = one,
            groups: int = 1,
            layout: str = plain,
            activation: str | None = None,
            use_bias: bool = True,
            weight_initializer: Any = None,
            bias_initializer: Any = "zeros",
            in_channels: int = 0,
            **kwargs: Any,
        ) -> None:
            _check_layout(layout, plain)
            super().__init__(
                channels,
                kernel_size,
                strides,
                padding,
                dilation,
                groups,
                layout,
                activation,
                use_bias,
                weight_initializer,
                bias_initializer,
                in_channels,
                **kwargs,
            )

    return _named(Conv, f"Conv{axes}D", f"A convolution over {axes} axes, `{plain}` by default, then an activation.")


def _transpose(axes: int, plain: str) -> type[_Conv]:
    one, none = (1 if axes == 1 else (1,) * axes), (0 if axes == 1 else (0,) * axes)

    class Transpose(_Conv):
        AXES = axes
        OPERATOR = "Deconvolution"

        def __init__(
            self,
            channels: int,
            kernel_size: Sizes,
            strides: Sizes = one,
            padding: Sizes = none,
            output_padding: Sizes = none,
            dilation: Sizes = one,
            groups: int = 1,
            layout: str = plain,
            activation: str | None = None,
            use_bias: bool = True,
            weight_initializer: Any = None,
            bias_initializer: Any = "zeros",
            in_channels: int = 0,
            **kwargs: Any,
        ) -> None:
            _check_layout(layout, plain)
            super().__init__(
                channels,
                kernel_size,
                strides,
                padding,
                dilation,
                groups,
                layout,
                activation,
                use_bias,
                weight_initializer,
                bias_initializer,
                in_channels,
                output_padding=output_padding,
                **kwargs,
            )
            self.outpad = self._kwargs["adj"]

    return _named(
        Transpose,
        f"Conv{axes}DTranspose",
        f"A transposed convolution over {axes} axes, `{plain}` by default, then an activation.",
    )


def _check_layout(layout: str, plain: str) -> None:
    last = plain[0] + plain[2:] + "C"
    if layout not in (plain, last):
        raise AssertionError(f"the layout is {layout!r}, expected {plain!r} or {last!r}")


def _named(made: type[_Conv], name: str, text: str) -> type[_Conv]:
    made.__name__ = made.__qualname__ = name
    made.__doc__ = text
    return made


Conv1D: Any = _convolution(1, "NCW")
Conv2D: Any = _convolution(2, "NCHW")
Conv3D: Any = _convolution(3, "NCDHW")
Conv1DTranspose: Any = _transpose(1, "NCW")
Conv2DTranspose: Any = _transpose(2, "NCHW")
Conv3DTranspose: Any = _transpose(3, "NCDHW")


class ReflectionPad2D(HybridBlock):
    """Data [N, C, H, W] continued by its own reflection, so many rows and columns on every side."""

    def __init__(self, padding: Sizes = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._padding = (0, 0, 0, 0, *((padding,) * 4)) if isinstance(padding, int) else tuple(padding)
        if len(self._padding) != 8:
            raise AssertionError(f"padding is a number or 8 of them, found {padding!r}")

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """The larger data."""
        return F.pad(x, mode="reflect", pad_width=self._padding)


__all__ = [
    "Conv1D",
    "Conv1DTranspose",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Conv3DTranspose",
    "ReflectionPad2D",
]
