"""`mx.gluon.contrib.cnn`: convolutions that read beside their windows, by offsets that another convolution computes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

from graphir.converters.mxnet.mx.gluon.hybrid_block import REQUIRED, ArgumentBlock
from graphir.converters.mxnet.mx.gluon.nn.activations import Activation


class DeformableConvolution(ArgumentBlock):
    """A convolution whose offsets are those of a second one (arXiv:1703.06211)."""

    _ALIAS = "deformable_conv"
    OPERATOR: ClassVar[str] = "DeformableConvolution"
    PLACES: ClassVar[int] = 2
    ORDER: ClassVar[tuple[str, ...]] = (
        "offset_weight", "offset_bias", "deformable_conv_weight", "deformable_conv_bias",
    )  # fmt: skip
    """The parameters as MXNet lists them."""

    ARGUMENTS: ClassVar[dict[str, Any]] = {
        "channels": REQUIRED, "kernel_size": (1, 1), "strides": (1, 1), "padding": (0, 0), "dilation": (1, 1),
        "groups": 1, "num_deformable_group": 1, "layout": "NCHW", "use_bias": True, "in_channels": 0,
        "activation": None, "weight_initializer": None, "bias_initializer": "zeros",
        "offset_weight_initializer": "zeros", "offset_bias_initializer": "zeros", "offset_use_bias": True,
        "op_name": OPERATOR, "adj": None,
    }  # fmt: skip
    act: Any

    def _build(self, arguments: SimpleNamespace) -> None:
        if arguments.layout not in ("NCHW", "NHWC"):
            raise AssertionError("Only supports 'NCHW' and 'NHWC' layout for now")
        sizes = (arguments.kernel_size, arguments.strides, arguments.padding, arguments.dilation)
        kernel, stride, pad, dilate = ((size, size) if isinstance(size, int) else tuple(size) for size in sizes)
        channels, groups, inputs = arguments.channels, arguments.groups, arguments.in_channels
        self._in_channels, self._deformable = inputs, arguments.num_deformable_group * kernel[0] * kernel[1]
        shared = {"kernel": kernel, "stride": stride, "dilate": dilate, "pad": pad, "num_group": groups,
                  "layout": arguments.layout, **({"adj": arguments.adj} if arguments.adj else {})}  # fmt: skip
        offsets = self._deformable * self.PLACES
        self._offset = {"num_filter": offsets, "no_bias": not arguments.offset_use_bias, **shared}
        self._kwargs = {"num_filter": channels, "no_bias": not arguments.use_bias,
                        "num_deformable_group": arguments.num_deformable_group, **shared}  # fmt: skip
        read = inputs // groups
        shape = (offsets, read, *kernel) if arguments.layout == "NCHW" else (offsets, *kernel, read)
        rows = {
            "offset_weight": (shape, arguments.offset_weight_initializer, True),
            "offset_bias": ((offsets,), arguments.offset_bias_initializer, arguments.offset_use_bias),
            "deformable_conv_weight": ((channels, 0, *kernel), arguments.weight_initializer, True),
            "deformable_conv_bias": ((channels,), arguments.bias_initializer, arguments.use_bias),
        }
        with self.name_scope():
            for name in self.ORDER:
                wanted, init, is_there = rows[name]
                parameter = None
                if is_there:
                    parameter = self.params.get(name, shape=wanted, init=init, allow_deferred_init=True)
                setattr(self, name, parameter)
            self.act = None
            if arguments.activation:
                self.act = Activation(arguments.activation, prefix=f"{arguments.activation}_")

    def hybrid_forward(self, F: Any, x: Any, **parameters: Any) -> Any:
        """Return the convolution at the places that the offsets name."""
        biases = [parameters["offset_bias"]] if "offset_bias" in parameters else []
        offset = F.Convolution(x, parameters["offset_weight"], *biases, cudnn_off=True, **self._offset)
        named = {"bias": parameters["deformable_conv_bias"]} if "deformable_conv_bias" in parameters else {}
        result = getattr(F.contrib, self.OPERATOR)(
            data=x, weight=parameters["deformable_conv_weight"], name="fwd", **self._read(F, offset), **named,
            **self._kwargs,
        )  # fmt: skip
        return result if self.act is None else self.act(result)

    def _read(self, F: Any, offset: Any) -> dict[str, Any]:
        """Return what the operator reads beside data and weights."""
        return {"offset": offset}


class ModulatedDeformableConvolution(DeformableConvolution):
    """A deformable convolution that weighs each place as well (arXiv:1811.11168)."""

    _ALIAS = "modulated_deformable_conv"
    OPERATOR = "ModulatedDeformableConvolution"
    PLACES = 3
    ORDER = (*DeformableConvolution.ORDER[2:], *DeformableConvolution.ORDER[:2])
    ARGUMENTS: ClassVar[dict[str, Any]] = {**DeformableConvolution.ARGUMENTS, "op_name": OPERATOR}

    def _read(self, F: Any, offset: Any) -> dict[str, Any]:
        places = 2 * self._deformable
        mask = F.sigmoid(F.slice_axis(offset, axis=1, begin=places, end=None)) * 2
        return {"offset": F.slice_axis(offset, axis=1, begin=0, end=places), "mask": mask}


__all__ = ["DeformableConvolution", "ModulatedDeformableConvolution"]
