"""Values that break kernels: not-a-number, infinities, negative zero, the ends of every dtype's range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.equivalence.case import Input

FLOATS = ("float32", "float16", "float64")
INTEGERS = ("int32", "int64", "int8", "uint8")
DTYPES = (*FLOATS, *INTEGERS, "bool")

_FLOAT_SPECIALS = (np.nan, np.inf, -np.inf, -0.0, 0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1.0, -1.0)
_FLOAT_EXTREMES = (1e30, -1e30, 1e-30, 6e4, -6e4, 88.0, -104.0, 1e-6, 3e9, -3e9)
_INTEGER_SPECIALS = (0, 1, -1, 2, 3, 7, 100, -100, 127, 16777217)

SCALARS = (
    "0", "-0.0", "0.5", "-0.5", "1", "-1", "2", "3", "1.5", "-2.5", "2.7", "1e-5", "1e30", "-1e30", "inf", "-inf",
    "nan", "7", "127", "128", "200", "255", "256", "-129", "300.5", "65536", "2147483647", "2147483648", "-2147483649",
    "16777217",
)  # fmt: skip
RANGE_SCALARS = ("0", "0.5", "-0.5", "1", "-1", "2", "3", "1.5", "-2.5", "0.1", "7", "100", "300.5", "nan", "inf")
TAME_SCALARS = ("0", "0.5", "-0.5", "1", "-1", "2", "3", "1.5", "-2.5", "0.1", "0.9", "1e-5", "7", "100")


@dataclass(frozen=True)
class Mood:
    """How an input's values are drawn: `special` is the chance that an element is a special value, `without` numbers
    that MXNet's process does not survive (a divisor of 0)."""

    special: float = 0.0
    extreme: bool = False
    without: tuple[float, ...] = ()


def draw_values(source: Input, mood: Mood, generator: np.random.Generator) -> NDArray[Any]:
    """The values of an input, of its dtype."""
    found = _plain(source, generator)
    if mood.special and source.kind.split(":")[0] not in ("indices", "bits"):
        chosen = generator.random(source.shape) < mood.special
        found = np.where(chosen, _specials(found.dtype, mood, source.shape, generator), found)
    for number in mood.without:
        found = np.where(found == number, np.ones_like(found), found)
    return np.asarray(found).astype(source.dtype)


def _plain(source: Input, generator: np.random.Generator) -> NDArray[Any]:
    kind, dtype = source.kind.split(":")[0], np.dtype(source.dtype)
    if source.values is not None:
        with np.errstate(all="ignore"):
            numbers = np.resize(np.array(source.values, np.float64), source.shape)
            return (np.clip(np.nan_to_num(numbers), -100, 100) if dtype.kind in "iu" else numbers).astype(dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, source.shape).astype(dtype)
    if kind == "distinct" and dtype.kind in "iu":
        count = int(np.prod(source.shape))
        distinct = generator.permutation(count) - (count // 2 if dtype.kind == "i" else 0)
        return distinct.reshape(source.shape).astype(dtype)
    if dtype.kind == "u" and kind in ("normal", "scale", "halves", "unit"):
        return generator.integers(0, 9, source.shape).astype(dtype)
    if dtype.kind in "iu" and kind in ("positive", "unit", "scale"):
        low = 1 if kind == "positive" else -8
        return generator.integers(low, 9, source.shape).astype(dtype)
    with np.errstate(all="ignore"):
        return source.draw(generator)


def _specials(
    dtype: np.dtype[Any], mood: Mood, shape: tuple[int, ...], generator: np.random.Generator
) -> NDArray[Any]:
    if dtype.kind == "b":
        return generator.integers(0, 2, shape).astype(dtype)
    if dtype.kind == "f":
        pool = (*_FLOAT_SPECIALS, *(_FLOAT_EXTREMES if mood.extreme else ()))
        with np.errstate(all="ignore"):
            return generator.choice(np.array(pool, np.float64).astype(dtype), shape)
    limits = np.iinfo(dtype)
    pool = tuple(number for number in _INTEGER_SPECIALS if limits.min <= number <= limits.max)
    if mood.extreme:
        pool = (*pool, int(limits.min), int(limits.max), int(limits.max) - 1)
    return generator.choice(np.array(pool, dtype), shape)
