"""What operators lose by rounding that no moved operand shows, relative to the largest number of their results."""

from __future__ import annotations

import math
from collections.abc import Iterable

from graphir.types import Shape

from .activation import LogSoftmax, Softmax
from .base import Operator
from .traits import Rounding

# Places between elements are rounded to units in the last place of the farthest, on both sides, and up to twice the
# largest number lies between two neighbours.
PLACE = 2.0**-22
# Half a unit in the last place of float32: what one addition loses at most.
LOST_BY_ADDING = 2.0**-24
# onnxruntime computes a spectrum of n places as a convolution with exp(i pi k**2 / n) in float32, whose angles go up to
# pi n: half a unit in the last place of that is pi n 2**-24 of a term.
TURNED = math.pi * 2.0**-24


def lost_unmoved(operator: type[Operator], shape: Shape, read: Shape = (), terms: object = 0) -> float:
    """Return what an operator loses in a result of this `shape`, of what it has `read` and added up, so many `terms`.

    A resize reads at places, which are rounded as the farthest one is, in what it reads and gives. A spectrum of n
    places, half of which may be left out, turns terms by angles up to pi n, but where n is a power of 2. A softmax adds
    up terms; one after the other, each loses half a unit in the last place of the sum, always in the same direction
    where they are about alike.
    """
    if issubclass(operator, Softmax | LogSoftmax):
        return terms * LOST_BY_ADDING if isinstance(terms, int) else 0.0
    if operator.rounding is Rounding.PLACES:
        return max((size for size in (*shape[2:], *read[2:]) if isinstance(size, int)), default=0) * PLACE
    places = shape[-2] if operator.rounding is Rounding.SPECTRA and len(shape) > 1 else 0
    if isinstance(places, int) and all(n & (n - 1) for n in (places, 2 * places - 2)):
        return 2 * places * TURNED
    return 0.0


def lost_by_sums(terms: Iterable[int]) -> float:
    """Return what sums of so many terms, one behind the other, lose in float32.

    Each addition rounds by up to half a unit in the last place, 2**-24, up or down: after n of them, of all sums, that
    is about the square root of n (Higham and Mary, A New Approach to Probabilistic Rounding Error Analysis, 2019).
    """
    return math.sqrt(sum(terms)) * LOST_BY_ADDING
