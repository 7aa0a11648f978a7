"""How far rounding alone moves a model's results, measured on the model itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from .candidate import OnnxCandidate
from .compare import relative_change

Array = NDArray[Any]


def noise_floors(
    candidate: OnnxCandidate,
    feeds: Mapping[str, Array],
    moved: Sequence[Mapping[str, Array] | None],
    found: Mapping[str, Array],
) -> dict[str, float]:
    """For each output the relative change that rounding the inputs or another order of computation causes at most."""
    floors = dict.fromkeys(found, 0.0)
    for step in moved:
        floors |= {name: max(floors[name], change) for name, change in perturbation(candidate, step, found).items()}
    with candidate.twin() as twin:
        for name, array in twin.run(feeds, list(found)).items():
            floors[name] = max(floors[name], relative_change(found[name], array))
    return floors


def perturbation(
    candidate: OnnxCandidate, moved: Mapping[str, Array] | None, found: Mapping[str, Array]
) -> dict[str, float]:
    """For each value the relative change that the moved feeds cause; nothing without such feeds."""
    if moved is None:
        return {}
    again = candidate.run(moved, list(found))
    return {name: relative_change(array, again[name]) for name, array in found.items()}


__all__ = ["noise_floors", "perturbation"]
