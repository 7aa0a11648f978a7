"""Layers behind each other, normalizations, and the plainest ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from graphir.converters.mxnet.mx import ndarray, symbol
from graphir.converters.mxnet.mx.gluon.block import Block
from graphir.converters.mxnet.mx.gluon.hybrid_block import REQUIRED, ArgumentBlock, HybridBlock
from graphir.converters.mxnet.mx.gluon.nn.activations import Activation
from graphir.converters.mxnet.mx.gluon.parameter_dict import ParameterDict


class _NumberedBlocks:
    """What both kinds of sequences share: blocks by number."""

    is_layer = False
    _children: Any

    def add(self, *blocks: Any) -> None:
        """Put blocks behind those that are here."""
        for block in blocks:
            self.register_child(block)

    def register_child(self, block: Any, name: str | None = None) -> None:
        """Make a block one of this block's."""
        raise NotImplementedError(f"{type(self).__name__} does not define register_child")

    def __repr__(self) -> str:
        rows = "\n".join(
            f"  ({key}): " + repr(block).replace("\n", "\n  ") for key, block in self._children.items()
        )
        return f"{type(self).__name__}(\n{rows}\n)"

    def __getitem__(self, key: int | slice) -> Any:
        layers = list(self._children.values())[key]
        if not isinstance(layers, list):
            return layers
        part = type(self)(prefix=self.prefix)  # type: ignore[call-arg,attr-defined]
        with part.name_scope():  # type: ignore[attr-defined]
            part.add(*layers)
        return part

    def __len__(self) -> int:
        return len(self._children)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._children.values())


class Sequential(_NumberedBlocks, Block):
    """Blocks behind each other."""

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        Block.__init__(self, prefix, params)

    def register_child(self, block: Any, name: str | None = None) -> None:
        Block.register_child(self, block, name)

    def forward(self, x: Any, *args: Any) -> Any:
        """Return what the last block gives, each given what the one before it gives."""
        for block in self._children.values():
            x = block(x, *args)
            args, x = _split(x)
        return [x, *args] if args else x


class HybridSequential(_NumberedBlocks, HybridBlock):
    """Hybrid blocks behind each other."""

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        HybridBlock.__init__(self, prefix, params)

    def register_child(self, block: Any, name: str | None = None) -> None:
        """Make a hybrid block one of this block's. Raises ValueError for any other."""
        HybridBlock.register_child(self, block, name)

    def hybrid_forward(self, F: Any, x: Any, *args: Any) -> Any:
        for block in self._children.values():
            x = block(x, *args)
            args, x = _split(x)
        return [x, *args] if args else x


def _split(result: Any) -> tuple[tuple[Any, ...], Any]:
    return (tuple(result[1:]), result[0]) if isinstance(result, list | tuple) else ((), result)


class Dense(ArgumentBlock):
    """A fully connected layer: x W^T + b, then an activation. `flatten` makes rows of all axes but the first."""

    ARGUMENTS = {
        "units": REQUIRED,
        "activation": None,
        "use_bias": True,
        "flatten": True,
        "dtype": "float32",
        "weight_initializer": None,
        "bias_initializer": "zeros",
        "in_units": 0,
    }

    def _build(self, arguments: SimpleNamespace) -> None:
        self._flatten = arguments.flatten
        self._units, self._in_units = units, in_units = arguments.units, arguments.in_units
        options: dict[str, Any] = {"dtype": arguments.dtype, "allow_deferred_init": True}
        with self.name_scope():
            init = arguments.weight_initializer
            self.weight = self.params.get("weight", shape=(units, in_units), init=init, **options)
            self.bias = self.act = None
            if arguments.use_bias:
                self.bias = self.params.get("bias", shape=(units,), init=arguments.bias_initializer, **options)
            if arguments.activation is not None:
                self.act = Activation(arguments.activation, prefix=arguments.activation + "_")

    def hybrid_forward(self, F: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        result = F.FullyConnected(
            *(operand for operand in (x, weight, bias) if operand is not None),
            no_bias=bias is None,
            num_hidden=self._units,
            flatten=self._flatten,
            name="fwd",
        )
        return result if self.act is None else self.act(result)

    def __repr__(self) -> str:
        shape = self.weight.shape
        return f"Dense({shape[1] or None} -> {shape[0]}, {self.act or 'linear'})"


class Dropout(HybridBlock):
    """Nothing at inference; with rate 0 nothing at all."""

    def __init__(self, rate: float, axes: tuple[int, ...] = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._rate = rate
        self._axes = axes

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """x, in MXNet's graph behind a Dropout."""
        if self._rate > 0:
            return F.Dropout(x, p=self._rate, axes=self._axes, name="fwd", cudnn_off=False)
        return F.identity(x)

    def __repr__(self) -> str:
        return f"Dropout(p = {self._rate}, axes={self._axes})"


class Embedding(ArgumentBlock):
    """A row of the weight for each integer. [...] -> [..., output_dim]."""

    ARGUMENTS = {
        "input_dim": REQUIRED,
        "output_dim": REQUIRED,
        "dtype": "float32",
        "weight_initializer": None,
        "sparse_grad": False,
    }

    def _build(self, arguments: SimpleNamespace) -> None:
        self._kwargs = {name: getattr(arguments, name) for name in self.ARGUMENTS if name != "weight_initializer"}
        options: dict[str, Any] = {"init": arguments.weight_initializer, "dtype": arguments.dtype}
        shape = (arguments.input_dim, arguments.output_dim)
        with self.name_scope():
            self.weight = self.params.get("weight", shape=shape, allow_deferred_init=True, **options)

    def hybrid_forward(self, F: Any, x: Any, weight: Any) -> Any:
        return F.Embedding(x, weight, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        return "Embedding({input_dim} -> {output_dim}, {dtype})".format(**self._kwargs)


class Flatten(HybridBlock):
    """All axes but the first in one."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.Flatten(x)

    def __repr__(self) -> str:
        return "Flatten"


class Lambda(Block):
    """A function of arrays as a block: itself, or the name of one of `mx.nd`."""

    def __init__(self, function: str | Callable[..., Any], prefix: str | None = None) -> None:
        super().__init__(prefix)
        self._func_impl = _function(function, (ndarray,))[0] if isinstance(function, str) else function
        self._func_name = function if isinstance(function, str) else function.__name__

    def forward(self, *args: Any) -> Any:
        """Return what the function gives."""
        return self._func_impl(*args)

    def __repr__(self) -> str:
        return f"Lambda({self._func_name})"


class HybridLambda(HybridBlock):
    """A function `f(F, x, ...)` as a hybrid block, or the name of one that `mx.nd` and `mx.sym` have."""

    def __init__(self, function: str | Callable[..., Any], prefix: str | None = None) -> None:
        super().__init__(prefix)
        self._func_name = function if isinstance(function, str) else function.__name__
        if isinstance(function, str):
            _function(function, (ndarray, symbol))
            self._func: Callable[..., Any] = lambda F, *args: getattr(F, self._func_name)(*args)
        else:
            self._func = function

    def hybrid_forward(self, F: Any, x: Any, *args: Any) -> Any:
        return self._func(F, x, *args)

    def __repr__(self) -> str:
        return f"HybridLambda({self._func_name})"


def _function(name: str, modules: tuple[Any, ...]) -> list[Callable[..., Any]]:
    lacking = next((module for module in modules if not hasattr(module, name)), None)
    if lacking is not None:
        raise AssertionError(f"mx.{lacking.__name__.rpartition('.')[2]} has no function {name}")
    return [getattr(module, name) for module in modules]


class BatchNorm(ArgumentBlock):
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


class _GammaAndBeta(ArgumentBlock):
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


class LayerNorm(_GammaAndBeta):
    """Zero mean and unit variance along `axis`, times gamma, plus beta."""

    ARGUMENTS = {"axis": -1, **SCALED, "in_channels": 0}

    def hybrid_forward(self, F: Any, x: Any, gamma: Any, beta: Any) -> Any:
        return F.LayerNorm(x, gamma=gamma, beta=beta, axis=self._kwargs["axis"], eps=self._kwargs["eps"])


class GroupNorm(_GammaAndBeta):
    """Zero mean and unit variance of each group of channels, times gamma, plus beta, both one for a group."""

    ARGUMENTS = {"num_groups": 1, **SCALED}
    SIZE = CHOICE = "num_groups"

    def hybrid_forward(self, F: Any, data: Any, gamma: Any, beta: Any) -> Any:
        groups, epsilon = self._kwargs["num_groups"], self._kwargs["eps"]
        return F.GroupNorm(data, gamma=gamma, beta=beta, num_groups=groups, eps=epsilon)


class InstanceNorm(_GammaAndBeta):
    """Zero mean and unit variance of each channel of each sample, times gamma, plus beta."""

    ARGUMENTS = {"axis": 1, **SCALED, "scale": False, "in_channels": 0}

    def hybrid_forward(self, F: Any, x: Any, gamma: Any, beta: Any) -> Any:
        axis, epsilon = self._kwargs["axis"], self._kwargs["eps"]
        if axis == 1:
            return F.InstanceNorm(x, gamma, beta, name="fwd", eps=epsilon)
        return F.InstanceNorm(x.swapaxes(1, axis), gamma, beta, name="fwd", eps=epsilon).swapaxes(1, axis)

__all__ = [
    "BatchNorm", "BatchNormReLU", "Dense", "Dropout", "Embedding", "Flatten", "GroupNorm", "HybridLambda",
    "HybridSequential", "InstanceNorm", "Lambda", "LayerNorm", "Sequential",
]  # fmt: skip
