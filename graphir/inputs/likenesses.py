"""Other numbers in place of those of an array: of its range, often equal, larger, between two, beside constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphir.arrays import Array

# As many different numbers where some are to be equal, and by how much the usual range is exceeded.
LEVELS = 3
# Three binary digits beyond the range: past 6 and other usual bounds for numbers that are drawn as normal ones.
STRETCH = 8.0
# e to the power of 89 overflows in float32, to the power of 12 in float16.
STEEP = 128.0


@dataclass(frozen=True)
class Between:
    """Real numbers between two."""

    low: float
    high: float

    def __call__(self, generator: np.random.Generator, array: Array) -> Array:
        return generator.uniform(self.low, self.high, array.shape) if array.dtype.kind in "fV" else array


@dataclass(frozen=True)
class Beside:
    """Numbers at constants and on both sides of them, real or whole, among those that an array has."""

    real: Sequence[float]
    whole: Sequence[float]

    def __call__(self, generator: np.random.Generator, array: Array) -> Array:
        is_real = array.dtype.kind in "fV"
        ends = np.asarray(self.real if is_real else self.whole)
        if not ends.size or array.dtype.kind not in "fiuV":
            return array
        step = np.maximum(np.abs(ends) / 2, 1.0) if is_real else np.ones(1)
        near = np.concatenate([ends - step, ends, ends + step])
        if not is_real:
            near = np.clip(near, np.iinfo(array.dtype).min, np.iinfo(array.dtype).max)
        return np.where(generator.integers(0, 2, array.shape) == 1, generator.choice(near, array.shape), array)


def unchanged(generator: np.random.Generator, array: Array) -> Array:
    """Return the same numbers."""
    return array


def evenly(generator: np.random.Generator, array: Array) -> Array:
    """Return numbers of an array's range, each as likely."""
    return generator.integers(0, 2, array.shape) if array.dtype.kind == "b" else _drawn(generator, array, _range(array))


def in_levels(generator: np.random.Generator, array: Array) -> Array:
    """Return the same with few different numbers, so that many are equal; of booleans the opposite ones."""
    if array.dtype.kind == "b":
        return ~array
    low, high = _range(array)
    levels = np.linspace(low, high, LEVELS)
    return generator.choice(np.round(levels) if _is_whole(array) else levels, array.shape)


def in_sizes(generator: np.random.Generator, array: Array) -> Array:
    """Return numbers of three sizes. Boxes made of them often overlap by about half: 128 of 200 draws of nine boxes
    told corners from centers, 56 of numbers drawn evenly."""
    return generator.choice([0.1, 0.3, 1.0], array.shape) if array.dtype.kind in "fV" else array


def steep(generator: np.random.Generator, array: Array) -> Array:
    """Return numbers of the signs that an array has, as large as what float32 has no room for e to the power of."""
    if array.dtype.kind != "f":
        return array
    low, high = _range(array)
    return generator.uniform(-STEEP if low < 0 else low, STEEP if high > 0 else high, array.shape)


def beyond(generator: np.random.Generator, array: Array) -> Array:
    """Return numbers of both signs, most of them larger than those of the array."""
    if array.dtype.kind not in "iufV":
        return array
    size = STRETCH * (max(abs(float(number)) for number in _range(array)) or 1.0)
    return _drawn(generator, array, (-size, size))


def farther(generator: np.random.Generator, array: Array) -> Array:
    """Return numbers some times as large as an array's, of the signs that it has."""
    if array.dtype.kind not in "fV":
        return array
    low, high = _range(array)
    return _drawn(generator, array, (STRETCH * low if low < 0 else low, STRETCH * high if high > 0 else high))


def _drawn(generator: np.random.Generator, array: Array, ends: tuple[float, float]) -> Array:
    """Return numbers between two, each as likely, as far as the array's type reaches; whole ones where its are."""
    if array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        low, high = max(ends[0], limits.min), min(ends[1], limits.max)
        return generator.integers(int(low), int(high), array.shape, endpoint=True)
    drawn = generator.uniform(*ends, array.shape)
    return np.round(drawn) if _is_whole(array) else drawn


def _range(array: Array) -> tuple[float, float]:
    wide = array if array.dtype.kind in "iub" else array.astype(np.float64)
    finite = wide[np.isfinite(wide)] if wide.dtype.kind == "f" else wide
    return (finite.min(), finite.max()) if finite.size else (0.0, 1.0)


def _is_whole(array: Array) -> bool:
    """Return whether all are whole numbers, as indices that were made real are."""
    if array.dtype.kind in "iub":
        return True
    wide = array.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    return bool(finite.size) and bool((finite == np.round(finite)).all()) and float(np.ptp(finite)) > 1
