"""Maps and sequences, which classifiers give, as arrays that are compared like any others: key by key."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.errors import VerificationError

Keys = tuple[object, ...]


def as_arrays(results: Mapping[str, Any], keys: MutableMapping[str, Keys]) -> dict[str, NDArray[Any]]:
    """Return the results by name, a map or sequence as an array. `keys` gets what its elements belong to.

    A sequence of maps with the same keys becomes a matrix: one row a map, one column a key, in the keys' order. Other
    sequences become vectors of all elements, their keys those of each map or the shape of each tensor.
    """
    found: dict[str, NDArray[Any]] = {}
    for name, value in results.items():
        if isinstance(value, Mapping | list):
            found[name], keys[name] = _as_array(value if isinstance(value, list) else [value])
        else:
            found[name] = value
    return found


def _as_array(values: Sequence[Any]) -> tuple[NDArray[Any], Keys]:
    if not all(isinstance(value, Mapping) for value in values):
        arrays = [np.asarray(value) for value in values]
        return np.concatenate([array.ravel() for array in arrays]), tuple(array.shape for array in arrays)
    rows = [sorted(value) for value in values]
    elements = [[value[key] for key in row] for value, row in zip(values, rows, strict=True)]
    if all(row == rows[0] for row in rows):
        return np.array(elements), tuple(rows[0]) if rows else ()
    return np.concatenate([np.array(row) for row in elements]), tuple(map(tuple, rows))


def check_keys(
    pairs: Sequence[tuple[str, str]], reference: Mapping[str, Keys], candidate: Mapping[str, Keys]
) -> None:
    """Raise VerificationError for outputs of the two models whose maps have other keys."""
    for source, name in pairs:
        expected, found = reference.get(source), candidate.get(name)
        if expected is not None and found is not None and expected != found:
            raise VerificationError(
                f"the models differ: the maps of output {source} have the keys {expected}, the candidate's {found}"
            )


__all__ = ["as_arrays", "check_keys"]
