"""`mx.init`: how parameters are filled, by MXNet's rules of names and its formulas.

What is random is drawn by `mx.random` (numpy's PCG64): a seed repeats it, and it is distributed as MXNet's numbers are,
but they are others.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from graphir.converters.mxnet.mx.fused_parameters import FusedParameters
from graphir.converters.mxnet.mx.ndarray import NDArray
from graphir.converters.mxnet.mx.random import generator
from graphir.safety.json_text import read_json

_BY_END = {"gamma": 1.0, "beta": 0.0, "bias": 0.0, "min": 0.0, "max": 0.0, "weight_quantize": 0.0}


class InitDesc(str):
    """A parameter's name with the attributes of its variable, of which `__init__` names an initializer of its own."""

    attrs: dict[str, str]
    global_init: Initializer | None
    """What was called first for it, which an initializer of its own may hand parts on to."""

    def __new__(
        cls, name: str, attrs: Mapping[str, str] | None = None, global_init: Initializer | None = None
    ) -> Self:
        text = super().__new__(cls, name)
        text.attrs = dict(attrs or {})
        text.global_init = global_init
        return text


class Initializer:
    """Fills arrays by their names: biases and betas with 0, gammas with 1, weights as the class says.

    Raises ValueError for a name of no such kind.
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs

    def __call__(self, desc: str, arr: NDArray) -> None:
        stated = ""
        if isinstance(desc, InitDesc):
            stated = desc.attrs.get("__init__", "")
            desc.global_init = desc.global_init or self
        if stated:
            create(stated).fill(desc, arr)
        elif desc.endswith("weight"):
            self.fill(desc, arr)
        else:
            end = next((end for end in _BY_END if desc.endswith(end)), None)
            if end is None:
                self._init_default(desc, arr)
            else:
                arr[:] = _BY_END[end]

    def fill(self, desc: str, arr: NDArray) -> None:
        """Fill an array whatever its name is."""
        self._init_weight(desc, arr)

    def dumps(self) -> str:
        """Return the text that a variable's `__init__` attribute holds: name and parameters."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Initializer) and self._kwargs == other._kwargs

    __hash__ = object.__hash__

    def _init_weight(self, name: str, arr: NDArray) -> None:
        raise NotImplementedError(f"{type(self).__name__} says of no array how it begins: define _init_weight")

    def _init_default(self, name: str, arr: NDArray) -> None:
        raise ValueError(
            f"Unknown initialization pattern for {name}: names that end in weight, bias, gamma and beta are known; "
            "state another with mx.sym.Variable(init=...)"
        )


class Zero(Initializer):
    """Zeros."""

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = 0


class One(Initializer):
    """Ones."""

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = 1


class Constant(Initializer):
    """One number, or the elements of an array."""

    def __init__(self, value: Any = 0.0) -> None:
        super().__init__(value=value)
        self.value = value

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = self.value

    def dumps(self) -> str:
        """Return the text of `__init__`; an array's elements as a list."""
        value = self.value.asnumpy().tolist() if isinstance(self.value, NDArray) else self.value
        return json.dumps(["constant", {"value": value.tolist() if isinstance(value, np.ndarray) else value}])


class Uniform(Initializer):
    """Numbers from -scale to scale."""

    def __init__(self, scale: float = 0.07) -> None:
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = generator().uniform(-self.scale, self.scale, arr.shape)


class Normal(Initializer):
    """Normally distributed numbers with the standard deviation sigma."""

    def __init__(self, sigma: float = 0.01) -> None:
        super().__init__(sigma=sigma)
        self.sigma = sigma

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = generator().normal(0, self.sigma, arr.shape)


class Orthogonal(Initializer):
    """An orthogonal matrix times `scale` (Saxe et al. 2013, arXiv:1312.6120)."""

    def __init__(self, scale: float = 1.414, rand_type: str = "uniform") -> None:
        super().__init__(scale=scale, rand_type=rand_type)
        self.scale, self.rand_type = scale, rand_type

    def _init_weight(self, name: str, arr: NDArray) -> None:
        sizes = (arr.shape[0], math.prod(arr.shape[1:]))
        drawn = generator().uniform(-1, 1, sizes) if self.rand_type == "uniform" else generator().normal(0, 1, sizes)
        left, _, right = np.linalg.svd(drawn, full_matrices=False)
        arr[:] = (self.scale * (left if left.shape == sizes else right)).reshape(arr.shape)


class Xavier(Initializer):
    """Numbers whose spread keeps that of the signal (Glorot and Bengio 2010).

    With `factor` the mean of a layer's inputs and outputs (`avg`), the inputs (`in`) or the outputs (`out`), counted
    with the window's places, the scale is sqrt(magnitude / factor): the bound of `uniform`, the standard deviation of
    `gaussian`.
    """

    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3) -> None:
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        self.rnd_type, self.factor_type, self.magnitude = rnd_type, factor_type, float(magnitude)

    def _init_weight(self, name: str, arr: NDArray) -> None:
        if len(arr.shape) < 2:
            raise ValueError(f"Xavier needs two axes or more, {name} has {len(arr.shape)}")
        places = math.prod(arr.shape[2:])
        outputs, inputs = arr.shape[0] * places, arr.shape[1] * places
        factors = {"avg": (inputs + outputs) / 2, "in": inputs, "out": outputs}
        if self.factor_type not in factors:
            raise ValueError(f"Incorrect factor type {self.factor_type!r}, expected avg, in or out")
        scale = math.sqrt(self.magnitude / factors[self.factor_type])
        if self.rnd_type not in ("uniform", "gaussian"):
            raise ValueError(f"Unknown random type {self.rnd_type!r}, expected uniform or gaussian")
        uniform = self.rnd_type == "uniform"
        arr[:] = (
            generator().uniform(-scale, scale, arr.shape) if uniform else generator().normal(0, scale, arr.shape)
        )


class MSRAPrelu(Xavier):
    """Xavier's for layers behind rectifiers of this slope (He et al. 2015, arXiv:1502.01852)."""

    def __init__(self, factor_type: str = "avg", slope: float = 0.25) -> None:
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope**2))
        self._kwargs = {"factor_type": factor_type, "slope": slope}


class Bilinear(Initializer):
    """The weight of a Deconvolution that upsamples: a pyramid of each window."""

    def _init_weight(self, name: str, arr: NDArray) -> None:
        def rise(size: int) -> Any:
            half = np.ceil(arr.shape[3] / 2.0)
            centre = (2 * half - 1 - half % 2) / (2.0 * half)
            return 1 - np.abs(np.arange(size) / half - centre)

        window = np.outer(rise(arr.shape[2]), rise(arr.shape[3]))
        arr[:] = np.broadcast_to(window, arr.shape)


class LSTMBias(Initializer):
    """Zeros but for the second quarter, the forget gate's, which is `forget_bias`."""

    def __init__(self, forget_bias: float = 1.0) -> None:
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _init_weight(self, name: str, arr: NDArray) -> None:
        count = arr.shape[0] // 4
        arr[:] = 0
        arr[count : 2 * count] = self.forget_bias


class FusedRNN(Initializer):
    """The vector of parameters of `mx.rnn.FusedRNNCell`, each weight and bias by `init`, or by the one for all.

    `init` is an initializer or the text of one. Biases of an LSTM's forget gates are `forget_bias`.
    """

    def __init__(
        self,
        init: str | Initializer | None,
        num_hidden: int,
        num_layers: int,
        mode: str,
        bidirectional: bool = False,
        forget_bias: float = 1.0,
    ) -> None:
        self._init = None if init is None else create(init)
        super().__init__(
            init=None if self._init is None else self._init.dumps(),
            num_hidden=num_hidden,
            num_layers=num_layers,
            mode=mode,
            bidirectional=bidirectional,
            forget_bias=forget_bias,
        )
        self._layers = FusedParameters(num_hidden, num_layers, mode, bidirectional)
        self._forget_bias = forget_bias

    def _init_weight(self, name: str, arr: NDArray) -> None:
        init = self._init or (name.global_init if isinstance(name, InitDesc) else None)
        for part, view in self._layers.parts(arr, self._layers.features(arr.size)):
            if self._layers.mode == "lstm" and part.endswith("_f_bias"):
                view[:] = self._forget_bias
            elif init is None:
                raise ValueError(f"{name}: FusedRNN states no initializer for its weights, and none is given for all")
            else:
                init(InitDesc(part, global_init=init), view)


class Load:
    """The arrays of a mapping or of a file by name; what is not there is filled by `default_init`.

    Raises AssertionError for an array of another shape, and for one that is not there without a default.
    """

    def __init__(self, param: Any, default_init: Initializer | None = None, verbose: bool = False) -> None:
        from graphir.converters.mxnet.mx.ndarray import load

        arrays: Any = load(param) if isinstance(param, str) else param
        self.param = {name[4:] if name.startswith(("arg:", "aux:")) else name: array for name, array in arrays.items()}
        self.default_init = default_init

    def __call__(self, name: str, arr: NDArray) -> None:
        if name in self.param:
            if arr.shape != self.param[name].shape:
                raise AssertionError(f"{name} has the shape {arr.shape}, the loaded one {self.param[name].shape}")
            arr[:] = self.param[name]
        elif self.default_init is None:
            raise AssertionError(f"{name} is not among what was loaded, and there is no default initializer")
        else:
            self.default_init(name, arr)


class Mixed:
    """The first initializer whose pattern is found in the name. Raises ValueError if none is."""

    def __init__(self, patterns: Sequence[str], initializers: Sequence[Initializer]) -> None:
        if len(patterns) != len(initializers):
            raise AssertionError(f"{len(patterns)} patterns for {len(initializers)} initializers")
        self.map = [(re.compile(pattern), init) for pattern, init in zip(patterns, initializers, strict=True)]

    def __call__(self, name: str, arr: NDArray) -> None:
        for pattern, initializer in self.map:
            if pattern.match(name):
                initializer(name, arr)
                return
        raise ValueError(f'no pattern fits {name}; add ".*" as the last one')


_KINDS: dict[str, type[Initializer]] = {
    kind.__name__.lower(): kind
    for kind in (Zero, One, Constant, Uniform, Normal, Orthogonal, Xavier, MSRAPrelu, Bilinear, LSTMBias, FusedRNN)
}
_KINDS.update(zeros=Zero, ones=One, gaussian=Normal)


def create(init: str | Initializer, **kwargs: Any) -> Initializer:
    """Return the initializer of a name (`xavier`, `zeros`) or of the text of `__init__`. Raises AssertionError for
    none."""
    if isinstance(init, Initializer):
        return init
    name: Any = init
    if init.startswith("["):
        name, kwargs = read_json(init)
    kind = _KINDS.get(str(name).lower())
    if kind is None:
        raise AssertionError(f"{name} is not registered; initializers are {', '.join(sorted(_KINDS))}")
    return kind(**kwargs)


def register(klass: type[Initializer]) -> type[Initializer]:
    """Make a class of one's own known to `create` by its name."""
    _KINDS[klass.__name__.lower()] = klass
    return klass


__all__ = [
    "Bilinear",
    "Constant",
    "FusedRNN",
    "InitDesc",
    "Initializer",
    "LSTMBias",
    "Load",
    "MSRAPrelu",
    "Mixed",
    "Normal",
    "One",
    "Orthogonal",
    "Uniform",
    "Xavier",
    "Zero",
    "create",
    "register",
]
