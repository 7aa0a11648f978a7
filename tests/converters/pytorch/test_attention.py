"""Caches of keys and values in torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphir.ops.attention import TensorScatter, WriteMode
from tests.converters.pytorch.cases import Case, Check, Constant, uniform


def written(cache: Any, update: Any, starts: Any, axis: int = -2) -> list[Any]:
    """The cache with an update, element by element."""
    found = np.moveaxis(cache.copy(), axis, 1)
    part = np.moveaxis(update, axis, 1)
    for row in range(len(cache)):
        for place in range(part.shape[1]):
            found[row, (starts[row] + place) % found.shape[1]] = part[row, place]
    return [np.moveaxis(found, 1, axis)]


C4, U4 = uniform(3, 2, 5, 4), uniform(3, 2, 3, 4, seed=1)
C3, U3 = uniform(2, 7, 3, dtype="int32"), uniform(2, 2, 3, seed=1, dtype="int32")
STARTS, LATE = np.array([0, 2, 1]), np.array([4, 2, 3])

CASES = [
    Case(TensorScatter(), C4, U4, STARTS, batch=True, expected=written(C4, U4, STARTS),
         text="write_to_cache(in0, in1, in2)"),
    Case(TensorScatter(mode=WriteMode.CIRCULAR), C4, U4, Constant(LATE), expected=written(C4, U4, LATE)),
    Case(TensorScatter(), C4, U4, expected=written(C4, U4, [0, 0, 0])),
    Case(TensorScatter(axis=1), C3, U3, np.array([5, 1]), expected=written(C3, U3, [5, 1], 1)),
    Case(TensorScatter(axis=-1), C3, C3[:, :, :2], np.array([1, 0]), expected=written(C3, C3[:, :, :2], [1, 0], -1),
         text="axis=-1"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_numbers_and_text(case: Case, check: Check) -> None:
    check(case)
