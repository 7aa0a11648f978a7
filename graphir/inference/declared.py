"""Shapes given from outside, held against what a model declares of its inputs, before anything is inferred."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import permutations

from graphir.errors import ImportFailure
from graphir.safety.foreign_text import listing
from graphir.types import Dim, Shape, format_shape

SHOWN = 8
MOST_AXES = 6  # up to which other orders of the axes are tried, 720 of them


def contradiction(name: str, given: Shape | None, declared: Shape | None) -> str:
    """Return what is wrong with a shape that is given for an input, "" if it fits: a size that is declared as a number
    stays.

    >>> contradiction("data", (1, 3, 8, 9), (1, 8, 9, 3))
    'input data: the model declares [1, 8, 9, 3], given was [1, 3, 8, 9]: the same axes in another order; give 1,8,9,3'
    >>> contradiction("data", (2, 3), (2, 4))
    'input data: the model declares [2, 4], given was [2, 3]; give a shape that fits, or none'
    """
    if given is None or declared is None or _fits(given, declared):
        return ""
    text = f"input {name}: the model declares {format_shape(declared)}, given was {format_shape(given)}"
    order = _order(given, declared)
    if order is None:
        return f"{text}; give a shape that fits, or none"
    meant = ",".join(str(given[axis]) for axis in order)
    return f"{text}: the same axes in another order; give {meant}"


def _fits(given: Iterable[Dim], declared: Iterable[Dim]) -> bool:
    left, right = tuple(given), tuple(declared)
    return len(left) == len(right) and not any(
        isinstance(dim, int) and isinstance(other, int) and dim != other for dim, other in zip(left, right, strict=True)
    )


def _order(given: Shape, declared: Shape) -> tuple[int, ...] | None:
    """Return the order of the given axes that fits what is declared, None if there is none. The first axis stays if it
    can."""
    if len(given) != len(declared) or len(given) > MOST_AXES:
        return None
    orders = permutations(range(len(given)))
    return next((order for order in orders if _fits([given[axis] for axis in order], declared)), None)


def nearest(wanted: str, names: Iterable[str]) -> str:
    """Return names of inputs as the end of a sentence, the one most like `wanted` first.

    >>> nearest("datta", ["mask", "data"]), nearest("x", [])
    ('the inputs are: data, mask', 'there is no input')
    """
    from difflib import SequenceMatcher

    known = sorted(names, key=lambda name: -SequenceMatcher(None, wanted.lower(), name.lower()).ratio())
    if not known:
        return "there is no input"
    return f"the inputs are: {listing(known, SHOWN)}"


def check_given(given: Mapping[str, Shape | None], declared: Mapping[str, Shape | None]) -> None:
    """Raise ImportFailure for the shapes that contradict what is declared, all of them at once."""
    wrong = [contradiction(name, shape, declared.get(name)) for name, shape in given.items()]
    problems = [text for text in wrong if text]
    if len(problems) == 1:
        raise ImportFailure(problems[0])
    if problems:
        raise ImportFailure(f"{len(problems)} shapes contradict the model:\n  " + "\n  ".join(problems))
