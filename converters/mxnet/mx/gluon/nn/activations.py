"""Activations as layers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from graphir.converters.mxnet.mx import initializer
from graphir.converters.mxnet.mx.gluon.hybrid_block import ArgumentBlock, HybridBlock


class Activation(HybridBlock):
    """`relu`, `sigmoid`, `softrelu`, `softsign` or `tanh`, element by element."""

    def __init__(self, activation: str, **kwargs: Any) -> None:
        self._act_type = activation
        super().__init__(**kwargs)

    def _alias(self) -> str:
        return self._act_type

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.Activation(x, act_type=self._act_type, name="fwd")

    def __repr__(self) -> str:
        return f"Activation({self._act_type})"


class LeakyReLU(HybridBlock):
    """x where it is positive, else alpha * x. Raises AssertionError for a negative alpha."""

    def __init__(self, alpha: float, **kwargs: Any) -> None:
        if alpha < 0:
            raise AssertionError("LeakyReLU: alpha is negative, expected 0 or more")
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.LeakyReLU(x, act_type="leaky", slope=self._alpha, name="fwd")

    def __repr__(self) -> str:
        return f"LeakyReLU({self._alpha})"


class PReLU(ArgumentBlock):
    """x where it is positive, else alpha * x, with one learned alpha, or one for each of `in_channels`."""

    ARGUMENTS = {"alpha_initializer": initializer.Constant(0.25), "in_channels": 1}

    def _build(self, arguments: SimpleNamespace) -> None:
        with self.name_scope():
            shape, init = (arguments.in_channels,), arguments.alpha_initializer
            self.alpha = self.params.get("alpha", shape=shape, init=init)

    def hybrid_forward(self, F: Any, x: Any, alpha: Any) -> Any:
        return F.LeakyReLU(x, gamma=alpha, act_type="prelu", name="fwd")


class ELU(HybridBlock):
    """x where it is positive, else alpha * (exp(x) - 1)."""

    def __init__(self, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.LeakyReLU(x, act_type="elu", slope=self._alpha)


class SELU(HybridBlock):
    """The scaled exponential linear unit (arXiv:1706.02515)."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.LeakyReLU(x, act_type="selu", name="fwd")


class GELU(HybridBlock):
    """The Gaussian error linear unit (arXiv:1606.08415)."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.LeakyReLU(x, act_type="gelu", name="fwd")


class Swish(HybridBlock):
    """x * sigmoid(beta * x) (arXiv:1710.05941)."""

    def __init__(self, beta: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._beta = beta

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return x * F.sigmoid(self._beta * x, name="fwd")


__all__ = ["ELU", "GELU", "SELU", "Activation", "LeakyReLU", "PReLU", "Swish"]
