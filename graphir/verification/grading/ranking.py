"""Whether two classifiers choose the same: the best class of each row, and the best five.

What people ask of a classifier is what it chooses. The figures stand beside the verdict and do not make it: numbers
that agree up to rounding may choose otherwise between two classes that are equal up to rounding.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from graphir.arrays import Array
from graphir.ops import traits_of
from graphir.ops.traits import Elementwise, Rounding, Saturation
from graphir.verification.numbers.compare import Comparison
from graphir.verification.running.heads import is_shiftless, passes_on

if TYPE_CHECKING:
    from graphir.converters.onnx.files.structure import Structure
    from graphir.verification.running.bench import Asked, Bench

# What is usually counted of classifiers: top-1 and top-5.
FEW, MANY = 1, 5
# What a softmax gives are scores of classes; what a product gives are if there are as many as small data sets have.
OF_SOFTMAX, OF_PRODUCT = 2, 10


@dataclass(frozen=True)
class Ranking:
    """How many of an output's rows have the same best class (`top1`) and the same best five (`top5`, None where there
    are no more classes than that); `near1` and `near5` of those that have not are near-ties: what changed places is
    equal up to what the two results may differ by."""

    name: str
    rows: int
    top1: int
    near1: int
    top5: int | None = None
    near5: int = 0

    def with_more(self, other: Ranking) -> Ranking:
        """With the rows of another set of inputs."""
        top5 = None if self.top5 is None or other.top5 is None else self.top5 + other.top5
        return Ranking(
            self.name, self.rows + other.rows, self.top1 + other.top1, self.near1 + other.near1, top5,
            self.near5 + other.near5,
        )  # fmt: skip

    def __str__(self) -> str:
        parts = [_said(f"top-{FEW}", self.top1, self.near1, self.rows)]
        if self.top5 is not None:
            parts.append(_said(f"top-{MANY}", self.top5, self.near5, self.rows))
        return f"{self.name}: {', '.join(parts)}"


def _said(what: str, same: int, near: int, rows: int) -> str:
    left = rows - same
    ties = f" ({near} of the other {left} by near-ties)"
    if near in (0, left):
        ties = "" if not left else f" (the rest {'' if near else 'no '}near-ties)"
    return f"{what} the same in {same} of {rows} rows{ties}"


def rankings(
    bench: Bench,
    outputs: Sequence[Asked],
    results: tuple[Mapping[str, Array], Mapping[str, Array]],
    graded: Iterable[Comparison],
) -> list[Ranking]:
    """Return the rankings of outputs that hold scores of classes; `results` are of reference and candidate."""
    allowed = {one.name: one.limit * one.scale for one in graded if np.isfinite(one.limit * one.scale)}
    found = []
    for one in outputs:
        least = least_classes(bench.candidate.structure, one.name)
        if least is None or one.title not in allowed:
            continue
        pair = bench.pair(one, *results)
        if pair is None or pair.expected.ndim < 2 or pair.expected.shape[1] < least:
            continue
        ranking = ranked(one.title, pair.expected, pair.found, allowed[one.title])
        found += [] if ranking is None else [ranking]
    return found


def least_classes(structure: Structure, output: str) -> int | None:
    """Return how many columns an output has at least if it holds scores of classes, None if it does not: it comes of a
    softmax, or of a product of matrices and what is usual behind one: a bias, a factor, a function one to one."""
    name = output
    while name in structure.producers:
        operator, operands = structure.producers[name]
        if is_shiftless(operator):
            return OF_SOFTMAX
        traits = traits_of(operator)
        if traits.rounding is Rounding.PRODUCTS:
            return OF_PRODUCT
        is_affine = traits.elementwise is Elementwise.BROADCAST and traits.rounding is Rounding.ROUNDS
        if not (is_affine or traits.saturates is Saturation.ONE_TO_ONE or passes_on(operator)):
            return None
        name = next((operand for operand in operands if operand in structure.producers), "")
    return None


def ranked(name: str, expected: Array, found: Array, allowed: float) -> Ranking | None:
    """Return the ranking of an array of (rows, classes), further axes of size 1; None for others, and for numbers that
    are not finite. `allowed` is by how much a number may differ: two classes that changed places are a near-tie up to
    twice that.

    >>> ranked("scores", np.array([[0.1, 0.9], [0.4, 0.4]]), np.array([[0.2, 0.8], [0.4, 0.41]]), 0.01)
    Ranking(name='scores', rows=2, top1=1, near1=1, top5=None, near5=0)
    """
    if expected.shape != found.shape or expected.ndim < 2 or expected.dtype.kind not in "fV":
        return None
    if any(size != 1 for size in expected.shape[2:]) or not expected.size:
        return None
    first, second = (array.reshape(len(array), -1).astype(np.float64) for array in (expected, found))
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        return None
    top1, near1 = _agreeing(first, second, FEW, 2 * allowed)
    if first.shape[1] <= MANY:
        return Ranking(name, len(first), top1, near1)
    return Ranking(name, len(first), top1, near1, *_agreeing(first, second, MANY, 2 * allowed))


def _agreeing(first: Array, second: Array, count: int, tie: float) -> tuple[int, int]:
    """Return how many rows have the same best classes, and in how many of the others the first result's numbers for
    what left and what came are equal up to `tie`."""
    same = near = 0
    for left, right in zip(first, second, strict=True):
        best, other = (set(np.argsort(-row, kind="stable")[:count].tolist()) for row in (left, right))
        if best == other:
            same += 1
        else:
            near += bool(max(left[list(best - other)]) - min(left[list(other - best)]) <= tie)
    return same, near


def joined(held: Sequence[Ranking], more: Sequence[Ranking]) -> list[Ranking]:
    """Return the rankings of one set of inputs with those of another."""
    found = {one.name: one for one in held}
    for one in more:
        found[one.name] = found[one.name].with_more(one) if one.name in found else one
    return list(found.values())
