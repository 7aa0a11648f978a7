"""`mx.random`: random arrays, drawn by numpy's PCG64.

A seed repeats them; they are not the numbers that MXNet draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphir.converters.mxnet.mx.context import Context
from graphir.converters.mxnet.mx.ndarray.array import NDArray, numpy_dtype

Shape = int | Sequence[int] | None


class _Drawn:
    """The generator that everything random here draws from."""

    generator = np.random.default_rng()


def seed(seed_state: int, ctx: object = "all") -> None:
    """Make what is drawn from here on repeatable."""
    _Drawn.generator = np.random.default_rng(int(seed_state))


def generator() -> np.random.Generator:
    """What initializers and the functions of this module draw from."""
    return _Drawn.generator


def uniform(
    low: float = 0,
    high: float = 1,
    shape: Shape = None,
    dtype: object = None,
    ctx: Context | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Numbers from `low` to below `high`, all equally likely."""
    return _held(generator().uniform(low, high, _sizes(shape, out)), dtype, ctx, out)


def normal(
    loc: float = 0,
    scale: float = 1,
    shape: Shape = None,
    dtype: object = None,
    ctx: Context | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Normally distributed numbers around `loc` with the standard deviation `scale`."""
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
    """Integers from `low` to below `high`, int32 without a `dtype`."""
    return _held(generator().integers(low, high, _sizes(shape, out)), dtype or np.int32, ctx, out)


def shuffle(data: NDArray, **kwargs: Any) -> NDArray:
    """The rows of an array in a random order."""
    return NDArray(generator().permutation(data.asnumpy()), data.context)


def _sizes(shape: Shape, out: NDArray | None) -> int | Sequence[int]:
    if out is not None:
        return out.shape
    return (1,) if shape is None else shape


def _held(drawn: Any, dtype: object, ctx: Context | None, out: NDArray | None) -> NDArray:
    if out is not None:
        out[:] = drawn
        return out
    return NDArray(np.asarray(drawn).astype(numpy_dtype(dtype or np.float32)), ctx)


__all__ = ["generator", "normal", "randint", "randn", "seed", "shuffle", "uniform"]
