"""Normalizations as layers."""

from __future__ import annotations

from typing import Any

from graphir.converters.mxnet.mx.gluon.hybrid_block import HybridBlock
from graphir.converters.mxnet.mx.gluon.parameter_dict import ParameterDict


class BatchNorm(HybridBlock):
    """(x - running mean) / sqrt(running variance + epsilon) * gamma + beta, for each entry of `axis`."""

    OPERATOR = "BatchNorm"

    def __init__(
        self,
        axis: int = 1,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        running_mean_initializer: Any = "zeros",
        running_variance_initializer: Any = "ones",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._kwargs = {
            "axis": axis,
            "eps": epsilon,
            "momentum": momentum,
            "fix_gamma": not scale,
            "use_global_stats": use_global_stats,
        }
        self._in_channels = in_channels

        def made(name: str, init: Any, trained: bool) -> Any:
            return self.params.get(
                name,
                grad_req="write" if trained else "null",
                shape=(in_channels,),
                init=init,
                allow_deferred_init=True,
                differentiable=trained,
            )

        self.gamma = made("gamma", gamma_initializer, scale)
        self.beta = made("beta", beta_initializer, center)
        self.running_mean = made("running_mean", running_mean_initializer, False)
        self.running_var = made("running_var", running_variance_initializer, False)

    def hybrid_forward(self, F: Any, x: Any, gamma: Any, beta: Any, running_mean: Any, running_var: Any) -> Any:
        """The normalized x."""
        function = getattr(F.contrib if self.OPERATOR != "BatchNorm" else F, self.OPERATOR)
        return function(x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs)

    def cast(self, dtype: Any) -> None:
        """Change the dtype of the parameters; for float16 they stay float32, as the operator wants."""
        super().cast("float32" if str(dtype) == "float16" else dtype)

    def __repr__(self) -> str:
        held = ", ".join(f"{key}={value!r}" for key, value in self._kwargs.items())
        return f"{type(self).__name__}({held}, in_channels={self.gamma.shape[0] or None})"


class BatchNormReLU(BatchNorm):
    """BatchNorm, then max(x, 0)."""

    OPERATOR = "BatchNormWithReLU"


class _Scaled(HybridBlock):
    """A normalization with gamma and beta alone."""

    gamma: Any
    beta: Any

    def _make(self, size: int, scale: bool, center: bool, inits: tuple[Any, Any]) -> None:
        for name, asked, init in (("gamma", scale, inits[0]), ("beta", center, inits[1])):
            grad = "write" if asked else "null"
            made = self.params.get(name, grad_req=grad, shape=(size,), init=init, allow_deferred_init=True)
            setattr(self, name, made)


class LayerNorm(_Scaled):
    """Zero mean and unit variance along `axis`, times gamma, plus beta."""

    def __init__(
        self,
        axis: int = -1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        in_channels: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._kwargs = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        self._axis, self._epsilon = axis, epsilon
        self._make(in_channels, scale, center, (gamma_initializer, beta_initializer))

    def hybrid_forward(self, F: Any, x: Any, gamma: Any, beta: Any) -> Any:
        """The normalized x."""
        return F.LayerNorm(x, gamma=gamma, beta=beta, axis=self._axis, eps=self._epsilon)

    def __repr__(self) -> str:
        held = ", ".join(f"{key}={value!r}" for key, value in self._kwargs.items())
        return f"LayerNorm({held}, in_channels={self.gamma.shape[0]})"


class GroupNorm(_Scaled):
    """Zero mean and unit variance of each group of channels, times gamma, plus beta, both one for a group."""

    def __init__(
        self,
        num_groups: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._kwargs = {"eps": epsilon, "num_groups": num_groups, "center": center, "scale": scale}
        self._num_groups, self._epsilon = num_groups, epsilon
        self._make(num_groups, scale, center, (gamma_initializer, beta_initializer))

    def hybrid_forward(self, F: Any, data: Any, gamma: Any, beta: Any) -> Any:
        """The normalized data."""
        return F.GroupNorm(data, gamma=gamma, beta=beta, num_groups=self._num_groups, eps=self._epsilon)

    def __repr__(self) -> str:
        return f"GroupNorm({', '.join(f'{key}={value!r}' for key, value in self._kwargs.items())})"


class InstanceNorm(_Scaled):
    """Zero mean and unit variance of each channel of each sample, times gamma, plus beta."""

    def __init__(
        self,
        axis: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = False,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._kwargs = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        self._axis, self._epsilon = axis, epsilon
        self._make(in_channels, scale, center, (gamma_initializer, beta_initializer))

    def hybrid_forward(self, F: Any, x: Any, gamma: Any, beta: Any) -> Any:
        """The normalized x."""
        if self._axis == 1:
            return F.InstanceNorm(x, gamma, beta, name="fwd", eps=self._epsilon)
        swapped = x.swapaxes(1, self._axis)
        return F.InstanceNorm(swapped, gamma, beta, name="fwd", eps=self._epsilon).swapaxes(1, self._axis)

    def __repr__(self) -> str:
        held = ", ".join(f"{key}={value!r}" for key, value in self._kwargs.items())
        return f"InstanceNorm({held}, in_channels={self.gamma.shape[0]})"


__all__ = ["BatchNorm", "BatchNormReLU", "GroupNorm", "InstanceNorm", "LayerNorm"]
