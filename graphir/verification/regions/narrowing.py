"""Parts that the candidate computes in a type of fewer digits than the reference."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from graphir.graph import Node
from graphir.types import DType
from graphir.verification.numbers.compare import relative_step
from graphir.verification.pairs.sides import Sides

from .parts import Walks


def narrower_type(sides: Sides) -> str:
    """Return in which type the candidate computes what the reference computes in one of more digits, as a clause; ""
    if it does so nowhere.

    The type of a part, between values that both know, is the one of fewest digits among its real results: a Cast back
    at the end gives no digits back.
    """
    first, second = map(Walks, sides.both)
    partners, said = set(sides.values.values()), dict[str, None]()
    for value, other in sides.values.items():
        ours = _coarsest(first.region(value, sides.values.__contains__)[1])
        theirs = _coarsest(second.region(other, partners.__contains__)[1])
        if ours is not None and theirs is not None and _step(theirs) > _step(ours):
            said[f"computed in {theirs.value} where the reference computes in {ours.value}"] = None
    return "; ".join(said)


def _coarsest(nodes: Iterable[Node]) -> DType | None:
    """Return the real type of fewest digits that these nodes give results in, None if they give none."""
    types = {value.dtype for node in nodes for value in node.outputs}
    return max((dtype for dtype in types if dtype is not None and dtype.is_float), key=_step, default=None)


def _step(dtype: DType) -> float:
    return relative_step(np.zeros(0, dtype.numpy()))
