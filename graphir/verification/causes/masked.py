"""A layer that differs and does not show: what follows takes no notice of it with these inputs, and does with others.

The reference's own part behind such a layer is fed with the numbers of either model. Where it gives the same for both
with what it has beside them here, and not with what it could have (a condition that goes the other way), the difference
waits for inputs that nobody tried. Where it gives the same for all, as a softmax does for a number that is added to all
of its scores, it is none; where it differs here too, the other model makes up for the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.errors import GraphirError
from graphir.graph import Value
from graphir.verification.grading.compare import Floor
from graphir.verification.running.candidate import OnnxCandidate

from .known import Bench, Known
from .segments import compared_inside, laid_as
from .walks import Walks

Array = NDArray[Any]
Way = Callable[[np.random.Generator, Array], Array]


def waits(bench: Bench, known: Known, walks: Walks, value: Value, ways: Iterable[Way]) -> bool:
    """Whether a layer that differs shows in what is behind it for other numbers beside it, and not for those here."""
    behind = walks.behind(value, stop=lambda held: held is not value and known.agrees(held))
    return any(
        _waits_at(bench, known, walks, value, target, list(ways))
        for target in walks.ordered(behind)
        if target is not value and known.agrees(target)
    )


def _waits_at(bench: Bench, known: Known, walks: Walks, value: Value, target: Value, ways: Iterable[Way]) -> bool:
    part = walks.behind(value, stop=lambda held: held is target)
    edges, _ = walks.region(target, lambda held: held is value or (held in known.names and held not in part))
    inner = [edge for edge in edges if edge.producer is not None]
    if value not in inner or any(edge not in known.names for edge in inner):
        return False
    ours = known.expected(dict.fromkeys(inner))
    fed = {edge.name: ours[edge] if edge in ours else bench.feeds[edge.name] for edge in edges}
    beside = [edge.name for edge in edges if edge is not value and fed[edge.name].dtype.kind in "fiubV"]
    if not beside:
        return False
    theirs = laid_as(known.found([value])[value], ours[value], value)
    try:
        with OnnxCandidate(value.graph.extract([target], inner), optimize=False) as under_test:
            shows = _Shows(under_test, bench, known.names[target], value.name, theirs)
            if shows.differs(fed):
                return False
            for turn, way in enumerate(ways):
                generator = np.random.Generator(np.random.PCG64(turn))
                drawn = {name: way(generator, fed[name]).astype(fed[name].dtype) for name in beside}
                if shows.differs(fed | drawn):
                    return True
    except GraphirError:
        return False
    return False


class _Shows:
    """The reference's part behind a value, run with that value of either model."""

    def __init__(self, part: OnnxCandidate, bench: Bench, title: str, name: str, theirs: Array) -> None:
        self._part, self._bench, self._title, self._name, self._theirs = part, bench, title, name, theirs

    def differs(self, fed: Mapping[str, Array]) -> bool:
        """Whether the two differ by more than what order of a sum explains."""
        try:
            first, second = (self._run(numbers) for numbers in (fed, {**fed, self._name: self._theirs}))
        except GraphirError:
            return False
        return compared_inside(self._title, first, second, Floor(), self._bench.limits).verdict.differs

    def _run(self, fed: Mapping[str, Array]) -> Array:
        (found,) = self._part.run({name: fed[name] for name in self._part.session.inputs}).values()
        return found


__all__ = ["waits"]
