"""How far rounding alone moves a model's results, measured on the model itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .candidate import OnnxCandidate
from .compare import relative_change

Array = NDArray[Any]
NARROW = ("float16", "bfloat16")


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
    for name, array in candidate.twin.run(feeds, list(found)).items():
        floors[name] = max(floors[name], relative_change(found[name], array))
    return floors


def infinite_values(candidate: OnnxCandidate, feeds: Mapping[str, Array]) -> Iterator[str]:
    """The inner values of a narrow type in which there is an infinity or NaN; a few values at a time are held."""
    for names in candidate.slices(candidate.structure.producers, feeds, candidate.memory // 2):
        for name, array in candidate.run(feeds, names).items():
            is_narrow = isinstance(array, np.ndarray) and array.dtype.name in NARROW
            if is_narrow and not np.isfinite(array.astype(np.float32)).all():
                yield name


def perturbation(
    candidate: OnnxCandidate, moved: Mapping[str, Array] | None, found: Mapping[str, Array]
) -> dict[str, float]:
    """For each value the relative change that the moved feeds cause; nothing without such feeds."""
    if moved is None:
        return {}
    again = candidate.run(moved, list(found))
    return {name: relative_change(array, again[name]) for name, array in found.items()}


__all__ = ["noise_floors", "perturbation"]
