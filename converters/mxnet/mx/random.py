"""`mx.random`: random arrays, drawn by numpy's PCG64.

A seed repeats them; they are not the numbers that MXNet draws.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphir.converters.mxnet.mx.base import MXNetError
from graphir.converters.mxnet.mx.context import Context
from graphir.converters.mxnet.mx.ndarray.array import NDArray, numpy_dtype
from graphir.converters.mxnet.mx.ndarray.creation import known

Shape = int | Sequence[int] | None
FLOATS = (np.float16, np.float32, np.float64)
INTEGERS = (np.int32, np.int64)


class _Drawn:
    """The generator that everything random here draws from."""

    generator = np.random.default_rng()


def seed(seed_state: int, ctx: object = "all") -> None:
    """Make what is drawn from here on repeatable."""
    _Drawn.generator = np.random.default_rng(int(seed_state))


def generator() -> np.random.Generator:
    """Return what initializers and the functions of this module draw from."""
    return _Drawn.generator


def uniform(
    low: float = 0,
    high: float = 1,
    shape: Shape = None,
    dtype: object = None,
    ctx: Context | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Numbers from `low` to below `high`, all equally likely. Raises MXNetError for a `high` below `low`."""
    _check(low <= high, f"low is {low} and high {high}", dtype, FLOATS)
    return _held(generator().uniform(low, high, _sizes(shape, out)), dtype, ctx, out)


def normal(
    loc: float = 0,
    scale: float = 1,
    shape: Shape = None,
    dtype: object = None,
    ctx: Context | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Normally distributed numbers around `loc`. Raises MXNetError for a deviation `scale` not above 0."""
    _check(scale > 0, f"scale is {scale}, expected a number above 0", dtype, FLOATS)
    return _held(generator().normal(loc, scale, _sizes(shape, out)), dtype, ctx, out)


def randn(*shape: int, **kwargs: Any) -> NDArray:
    """`normal` with the shape as numbers."""
    return normal(kwargs.pop("loc", 0), kwargs.pop("scale", 1), shape or None, **kwargs)


def randint(
    low: int,
    high: int,
    shape: Shape = None,
    dtype: object = None,
    ctx: Context | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Integers from `low` to below `high`, int32 without a `dtype`. Raises MXNetError if there are none."""
    _check(low < high, f"low is {low} and high {high}", dtype, INTEGERS)
    return _held(generator().integers(low, high, _sizes(shape, out)), dtype or np.int32, ctx, out)


def multinomial(
    data: NDArray, shape: Shape = None, get_prob: bool = False, dtype: object = "int32", **kwargs: Any
) -> Any:
    """Class numbers by the probabilities in `data`."""
    return _of_symbols("multinomial")(data, () if shape is None else shape, get_prob, dtype, **kwargs)


def shuffle(data: NDArray, **kwargs: Any) -> NDArray:
    """Return the rows of an array in a random order."""
    return NDArray(generator().permutation(data.asnumpy()), data.context)


def _check(is_right: bool, problem: str, dtype: object, dtypes: tuple[type, ...]) -> None:
    if not is_right:
        raise MXNetError(problem)
    if dtype is not None and numpy_dtype(dtype).type not in dtypes:
        raise MXNetError(f"dtype is {dtype!r}, expected {', '.join(kind.__name__ for kind in dtypes)}")


def _sizes(shape: Shape, out: NDArray | None) -> int | Sequence[int]:
    if out is not None:
        return out.shape
    return (1,) if shape is None else known(shape)


def _held(drawn: Any, dtype: object, ctx: Context | None, out: NDArray | None) -> NDArray:
    if out is not None:
        out[:] = drawn
        return out
    return NDArray(np.asarray(drawn).astype(numpy_dtype(dtype or np.float32)), ctx)


def __getattr__(name: str) -> Any:
    """Return the other distributions, which onnxruntime draws."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _of_symbols(name)


def _of_symbols(name: str) -> Any:
    # by their names: operators are composed of symbols, which have executors, which draw
    operators = importlib.import_module("graphir.converters.mxnet.mx.ndarray.operators")
    return operators.eager(getattr(importlib.import_module("graphir.converters.mxnet.mx.symbol.random"), name))


__all__ = ["generator", "multinomial", "normal", "randint", "randn", "seed", "shuffle", "uniform"]
