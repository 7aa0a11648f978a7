"""One difference between two graphs, and how the elements of two weights differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from graphir.analysis.fingerprint import Fingerprints, fingerprint
from graphir.tensor import Tensor

CHUNK = 1 << 20


@dataclass(frozen=True)
class GraphDifference:
    """One difference: its kind (operator, attribute, weight, operand, type, structure) and a sentence, or what gives
    the difference with its sentence, which is asked where somebody reads it.

    Where both models have a `subject` and it differs, `both` is what it is in each, in the sentence's words; of weights
    of one element that differ `numbers` are these. `end` follows in the sentence.
    """

    kind: str
    sentence: str | Callable[[], GraphDifference]
    subject: str = ""
    both: tuple[str, str] | None = None
    numbers: tuple[str, str] | None = None
    end: str = ""

    @cached_property
    def text(self) -> str:
        """The sentence."""
        return self.sentence if isinstance(self.sentence, str) else self.sentence().text

    @property
    def short_text(self) -> str:
        """The sentence, as what became what where both models have something there."""
        if self.both is None or self.end:
            return self.text
        return f"{self.subject} {self.both[0]} -> {self.both[1]}"


def differing(kind: str, subject: str, left: object, right: object, *, end: str = "") -> GraphDifference:
    """Return the change of what both models have."""
    text = f"{subject} is {left} in the first, {right} in the second{end}"
    return GraphDifference(kind, text, subject, (str(left), str(right)), end=end)


def weight_changes(name: str, left: Tensor, right: Tensor, prints: Fingerprints) -> Iterator[GraphDifference]:
    """Yield what differs between two weights, if anything does."""
    if left.type == right.type:
        if not prints.same(left, right):
            change = partial(_elements_change, name, left, right)
            yield change() if left.size == 1 else GraphDifference("weight", change, name)
        return
    is_same = left.dtype is right.dtype and fingerprint(left) == fingerprint(right)
    yield differing("weight", name, left.type, right.type, end=": the same elements" if is_same else "")


def _elements_change(name: str, left: Tensor, right: Tensor) -> GraphDifference:
    """Return how many elements differ, by how much, and the first of them."""
    import numpy as np

    ours, theirs = left.numpy().reshape(-1), right.numpy().reshape(-1)
    count, first, most = 0, -1, 0.0
    for start in range(0, left.size, CHUNK):
        part, other = ours[start : start + CHUNK], theirs[start : start + CHUNK]
        where = part != other
        if left.dtype.is_float:
            numbers, others = part.astype(np.float64), other.astype(np.float64)
            where &= ~(np.isnan(numbers) & np.isnan(others))
            if where.any():
                distances = np.abs(numbers[where] - others[where])
                most = max(most, float(np.nan_to_num(distances, nan=np.inf).max()))
        if first < 0 and where.any():
            first = start + int(where.argmax())
        count += int(where.sum())
    if count == 0:
        return GraphDifference("weight", f"{name}: the same numbers, not the same bits (-0 and 0, or another NaN)")
    position = ", ".join(str(int(axis)) for axis in np.unravel_index(first, left.shape or (1,)))
    numbers_there = _number(ours[first], left), _number(theirs[first], left)
    noun = "element differs" if left.size == 1 else "elements differ"
    text = f"{name}: {count:,} of {left.size:,} {noun}, at [{position}] they are {' and '.join(numbers_there)}"
    text += f"; by {most:.3g} at most" if left.dtype.is_float and count > 1 else ""
    return GraphDifference("weight", text, name, numbers=numbers_there if left.size == 1 else None)


def _number(element: Any, tensor: Tensor) -> str:
    """Return an element of a tensor, a float in as many digits as single precision has."""
    return f"{float(element):.7g}" if tensor.dtype.is_float else str(element)
