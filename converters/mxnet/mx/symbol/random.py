"""`mx.sym.random`: samples of distributions; their parameters are numbers, or symbols with one an element."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphir.converters.mxnet.mx.base import NotASymbol, _Null
from graphir.converters.mxnet.mx.symbol.creation import internal
from graphir.converters.mxnet.mx.symbol.functions import lookup
from graphir.converters.mxnet.mx.symbol.symbol import Symbol

_operator, _operators = lookup("random", Symbol)


def _sampled(distribution: str, params: Sequence[Any], shape: Any, dtype: Any, kwargs: Mapping[str, Any]) -> Any:
    """Return one distribution for numbers, one an element for symbols. Raises NotASymbol where both are mixed."""
    kinds = {isinstance(value, Symbol) for value in params}
    if len(kinds) > 1:
        raise NotASymbol(f"{distribution}: distribution parameters must all be symbols or all be numbers, got {params}")
    if kinds == {True}:
        return internal(f"_sample_{distribution}")(*params, shape=shape, dtype=dtype, **kwargs)
    if not all(isinstance(value, int | float | np.generic) for value in params):
        raise ValueError(f"{distribution}: distribution parameters must be symbols or numbers, got {params}")
    return internal(f"_random_{distribution}")(*params, shape=shape, dtype=dtype, **kwargs)


def uniform(low: Any = 0, high: Any = 1, shape: Any = _Null, dtype: Any = _Null, **kwargs: Any) -> Any:
    """Samples from `low` to below `high`."""
    return _sampled("uniform", [low, high], shape, dtype, kwargs)


def normal(loc: Any = 0, scale: Any = 1, shape: Any = _Null, dtype: Any = _Null, **kwargs: Any) -> Any:
    """Samples of a normal distribution with the mean `loc` and the standard deviation `scale`."""
    return _sampled("normal", [loc, scale], shape, dtype, kwargs)


def randn(*shape: int, **kwargs: Any) -> Any:
    """Samples of a normal distribution of this shape; `loc`, `scale` and `dtype` by name."""
    loc, scale, dtype = kwargs.pop("loc", 0), kwargs.pop("scale", 1), kwargs.pop("dtype", _Null)
    return _sampled("normal", [loc, scale], shape, dtype, kwargs)


def poisson(lam: Any = 1, shape: Any = _Null, dtype: Any = _Null, **kwargs: Any) -> Any:
    """Samples of a Poisson distribution with the mean `lam`."""
    return _sampled("poisson", [lam], shape, dtype, kwargs)


def exponential(scale: Any = 1, shape: Any = _Null, dtype: Any = _Null, **kwargs: Any) -> Any:
    """Samples of an exponential distribution with the mean `scale`."""
    return _sampled("exponential", [1.0 / scale], shape, dtype, kwargs)


def gamma(alpha: Any = 1, beta: Any = 1, shape: Any = _Null, dtype: Any = _Null, **kwargs: Any) -> Any:
    """Samples of a gamma distribution of the shape `alpha` and the scale `beta`."""
    return _sampled("gamma", [alpha, beta], shape, dtype, kwargs)


def negative_binomial(k: Any = 1, p: Any = 1, shape: Any = _Null, dtype: Any = _Null, **kwargs: Any) -> Any:
    """Return how many failures come before `k` successes of probability `p`."""
    return _sampled("negative_binomial", [k, p], shape, dtype, kwargs)


def generalized_negative_binomial(
    mu: Any = 1, alpha: Any = 1, shape: Any = _Null, dtype: Any = _Null, **kwargs: Any
) -> Any:
    """Samples of a negative binomial distribution with the mean `mu` and the dispersion `alpha`."""
    return _sampled("generalized_negative_binomial", [mu, alpha], shape, dtype, kwargs)


def multinomial(data: Symbol, shape: Any = _Null, get_prob: bool = True, dtype: Any = "int32", **kwargs: Any) -> Any:
    """Class numbers by the probabilities in `data`, with their logarithms if `get_prob`."""
    return internal("_sample_multinomial")(data, shape, get_prob, dtype=dtype, **kwargs)


def shuffle(data: Symbol, **kwargs: Any) -> Any:
    """`data` with its first axis in random order."""
    return internal("_shuffle")(data, **kwargs)


def randint(low: Any, high: Any, shape: Any = _Null, dtype: Any = _Null, **kwargs: Any) -> Any:
    """Integers from `low` to below `high`. Raises ValueError for what are no numbers."""
    if isinstance(low, Symbol) or isinstance(high, Symbol):
        raise ValueError(f"randint takes numbers only, got {low!r} and {high!r}")
    return _sampled("randint", [low, high], shape, dtype, kwargs)


def __getattr__(name: str) -> Any:
    return _operator(name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_operators()})


__all__ = [
    "exponential",
    "gamma",
    "generalized_negative_binomial",
    "multinomial",
    "negative_binomial",
    "normal",
    "poisson",
    "randint",
    "randn",
    "shuffle",
    "uniform",
]
