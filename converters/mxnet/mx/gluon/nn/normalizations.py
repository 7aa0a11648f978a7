"""Normalizations as layers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from graphir.converters.mxnet.mx.gluon.layer import Layer


class BatchNorm(Layer):
    """(x - running mean) / sqrt(running variance + epsilon) * gamma + beta, for each entry of `axis`."""

    OPERATOR = "BatchNorm"
    ARGUMENTS = {
        "axis": 1,
        "momentum": 0.9,
        "epsilon": 1e-5,
        "center": True,
        "scale": True,
        "use_global_stats": False,
        "beta_initializer": "zeros",
        "gamma_initializer": "ones",
        "running_mean_initializer": "zeros",
        "running_variance_initializer": "ones",
        "in_channels": 0,
    }

    def _build(self, arguments: SimpleNamespace) -> None:
        self._kwargs = {
            "axis": arguments.axis,
            "eps": arguments.epsilon,
            "momentum": arguments.momentum,
            "fix_gamma": not arguments.scale,
            "use_global_stats": arguments.use_global_stats,
        }
        self._in_channels = arguments.in_channels

        def parameter(name: str, init: Any, trained: bool) -> Any:
            grad_req, shape = "write" if trained else "null", (arguments.in_channels,)
            options = {"init": init, "allow_deferred_init": True, "differentiable": trained}
            return self.params.get(name, grad_req=grad_req, shape=shape, **options)

        self.gamma = parameter("gamma", arguments.gamma_initializer, arguments.scale)
        self.beta = parameter("beta", arguments.beta_initializer, arguments.center)
        self.running_mean = parameter("running_mean", arguments.running_mean_initializer, False)
        self.running_var = parameter("running_var", arguments.running_variance_initializer, False)

    def hybrid_forward(self, F: Any, x: Any, gamma: Any, beta: Any, running_mean: Any, running_var: Any) -> Any:
        """Return the normalized x."""
        function = getattr(F.contrib if self.OPERATOR != "BatchNorm" else F, self.OPERATOR)
        return function(x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs)

    def cast(self, dtype: Any) -> None:
        """Change the dtype of the parameters; for float16 they stay float32, as the operator wants."""
        super().cast("float32" if str(dtype) == "float16" else dtype)

    def __repr__(self) -> str:
        shown = ", ".join(f"{key}={value!r}" for key, value in self._kwargs.items())
        return f"{type(self).__name__}({shown}, in_channels={self.gamma.shape[0] or None})"


class BatchNormReLU(BatchNorm):
    """BatchNorm, then max(x, 0)."""

    OPERATOR = "BatchNormWithReLU"


SCALED = {"epsilon": 1e-5, "center": True, "scale": True, "beta_initializer": "zeros", "gamma_initializer": "ones"}


class _Scaled(Layer):
    """A normalization with gamma and beta alone, of as many elements as the argument `SIZE`."""

    SIZE = "in_channels"
    CHOICE = "axis"
    gamma: Any
    beta: Any

    def _build(self, arguments: SimpleNamespace) -> None:
        chosen = getattr(arguments, self.CHOICE)
        self._kwargs = {"eps": arguments.epsilon, self.CHOICE: chosen}
        self._kwargs |= {"center": arguments.center, "scale": arguments.scale}
        shape = (getattr(arguments, self.SIZE),)
        for name, trained in (("gamma", arguments.scale), ("beta", arguments.center)):
            options = {"init": getattr(arguments, f"{name}_initializer"), "allow_deferred_init": True}
            grad_req = "write" if trained else "null"
            setattr(self, name, self.params.get(name, grad_req=grad_req, shape=shape, **options))

    def __repr__(self) -> str:
        shown = [f"{key}={value!r}" for key, value in self._kwargs.items()]
        shown += [f"in_channels={self.gamma.shape[0]}"] if self.SIZE == "in_channels" else []
        return f"{type(self).__name__}({', '.join(shown)})"


class LayerNorm(_Scaled):
    """Zero mean and unit variance along `axis`, times gamma, plus beta."""

    ARGUMENTS = {"axis": -1, **SCALED, "in_channels": 0}

    def hybrid_forward(self, F: Any, x: Any, gamma: Any, beta: Any) -> Any:
        """Return the normalized x."""
        return F.LayerNorm(x, gamma=gamma, beta=beta, axis=self._kwargs["axis"], eps=self._kwargs["eps"])


class GroupNorm(_Scaled):
    """Zero mean and unit variance of each group of channels, times gamma, plus beta, both one for a group."""

    ARGUMENTS = {"num_groups": 1, **SCALED}
    SIZE = CHOICE = "num_groups"

    def hybrid_forward(self, F: Any, data: Any, gamma: Any, beta: Any) -> Any:
        """Return the normalized data."""
        groups, epsilon = self._kwargs["num_groups"], self._kwargs["eps"]
        return F.GroupNorm(data, gamma=gamma, beta=beta, num_groups=groups, eps=epsilon)


class InstanceNorm(_Scaled):
    """Zero mean and unit variance of each channel of each sample, times gamma, plus beta."""

    ARGUMENTS = {"axis": 1, **SCALED, "scale": False, "in_channels": 0}

    def hybrid_forward(self, F: Any, x: Any, gamma: Any, beta: Any) -> Any:
        """Return the normalized x."""
        axis, epsilon = self._kwargs["axis"], self._kwargs["eps"]
        if axis == 1:
            return F.InstanceNorm(x, gamma, beta, name="fwd", eps=epsilon)
        return F.InstanceNorm(x.swapaxes(1, axis), gamma, beta, name="fwd", eps=epsilon).swapaxes(1, axis)
