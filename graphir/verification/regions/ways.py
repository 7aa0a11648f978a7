"""Other numbers for the edge of a part that is run by itself: of its range, often equal, larger, between two."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from graphir.analysis.diff import Row, Status
from graphir.arrays import Array
from graphir.graph import Value
from graphir.inputs.roles import MOST_MET, compared_constants
from graphir.ops.traits import Saturation
from graphir.verification.numbers.compare import Comparison

from .parts import Segment

# As many different numbers where some are to be equal, and by how much the usual range is exceeded.
LEVELS = 3
# Three binary digits beyond the range: past 6 and other usual bounds for numbers that are drawn as normal ones.
STRETCH = 8.0
# e to the power of 89 overflows in float32, to the power of 12 in float16.
STEEP = 128.0
# Of few numbers behind a product, one draw in four or so has none beyond a threshold.
DRAWS_BEYOND = 4
HERE = "on these very inputs"
ELSEWHERE = "for numbers that these inputs did not lead to"
STEEPLY = "for numbers so large that e to the power of them overflows"


@dataclass(frozen=True)
class Way:
    """A way to draw numbers like those of an array; two `turns` of it draw others. `is_steep` says that only infinities
    on one side count as a difference, `where` what is said of it."""

    draw: Callable[[np.random.Generator, Array], Array]
    turn: int = 0
    where: str = ELSEWHERE
    is_steep: bool = False

    def __call__(self, generator: np.random.Generator, array: Array) -> Array:
        return self.draw(generator, array)

    def shows(self, found: Comparison) -> bool:
        """Return whether a comparison on such numbers shows a difference."""
        return math.isinf(found.relative) if self.is_steep else found.verdict.differs


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


def ways_for(segment: Segment, rows: Sequence[Row], free: Sequence[Value]) -> list[Way]:
    """Return the ways to draw numbers for the free edges of a part with these rows of the diff.

    Beyond the range, of any sign, where each node stands for one of the other model; where operators were exchanged,
    of the signs that numbers have, and not beyond what is bounded.
    """
    ways = [Way(evenly), Way(in_levels)]
    nodes = [node for side in segment.nodes for node in side]
    real, whole = ([*held[: MOST_MET // 2], *held[-MOST_MET // 2 :]] for held in
                   (compared_constants(nodes), compared_constants(nodes, whole=True)))  # fmt: skip
    ways += [Way(Beside(real, whole))] if real or whole else []
    is_bound = any(map(is_bounded, free))
    is_alike = len(set(map(len, segment.nodes))) == 1 and all(row.status is Status.CHANGED for row in rows)
    if is_alike:
        ends = [pair for row in rows for pair in constants(row)]
        ways += [Way(beyond), *(Way(Between(min(pair), max(pair))) for pair in ends)]
    elif not is_bound:
        ways.append(Way(farther))
        threshold = max(map(abs, real), default=0.0)
        turns = range(DRAWS_BEYOND if threshold else 0)
        ways += [Way(Between(-2 * threshold, 2 * threshold), turn) for turn in turns]
    if not is_bound and _raises_alone(segment):
        ways.append(Way(steep, where=STEEPLY, is_steep=True))
    return ways


def _raises_alone(segment: Segment) -> bool:
    """Whether one model alone takes e to the power of something: by parts, which may overflow where one operator that
    does so inside takes the largest off first."""
    ours, theirs = (any(node.op.name == "Exp" for node in nodes) for nodes in segment.nodes)
    return ours != theirs


def unchanged(generator: np.random.Generator, array: Array) -> Array:
    """The same numbers."""
    return array


OWN = Way(unchanged, where=HERE)


def evenly(generator: np.random.Generator, array: Array) -> Array:
    """Return numbers of an array's range, each as likely."""
    return generator.integers(0, 2, array.shape) if array.dtype.kind == "b" else _drawn(generator, array, _range(array))


def in_levels(generator: np.random.Generator, array: Array) -> Array:
    """Return the same with few different numbers, so that many are equal."""
    low, high = _range(array)
    levels = np.linspace(low, high, LEVELS)
    return generator.choice(np.round(levels) if _is_whole(array) else levels, array.shape)


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


def is_bounded(value: Value) -> bool:
    """Whether a value is made by an operator that gives no numbers beyond some: what cuts these off changes nothing."""
    return value.producer is not None and value.producer.op.saturates >= Saturation.BOUNDED


def constants(row: Row) -> Iterator[tuple[float, float]]:
    """The real numbers, operands and attributes, in which two nodes differ."""
    left, right = row.left, row.right
    if left is None or right is None:
        return
    for one, other in zip(left.inputs, right.inputs, strict=False):
        held = [value.tensor.numpy() for value in (one, other) if value is not None and value.tensor is not None]
        if len(held) > 1 and all(array.size == 1 and array.dtype.kind == "f" for array in held):
            ends = tuple(float(array.reshape(-1)[0]) for array in held)
            yield from [(ends[0], ends[1])] if ends[0] != ends[1] else []
    if type(left.op) is type(right.op):
        for name in left.op.field_names:
            first, second = (getattr(node.op, name) for node in (left, right))
            if isinstance(first, float) and isinstance(second, float) and first != second:
                yield first, second


def _range(array: Array) -> tuple[float, float]:
    wide = array if array.dtype.kind in "iub" else array.astype(np.float64)
    finite = wide[np.isfinite(wide)] if wide.dtype.kind == "f" else wide
    return (finite.min(), finite.max()) if finite.size else (0.0, 1.0)


def _is_whole(array: Array) -> bool:
    """Whether all are whole numbers, as indices that were made real are."""
    if array.dtype.kind in "iub":
        return True
    wide = array.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    return bool(finite.size) and bool((finite == np.round(finite)).all()) and float(np.ptp(finite)) > 1
