"""Triangles, diagonals and reversed sequences written for MXNet."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.converters.mxnet.exporting import row
from tests.typed import untyped

RANDOM = np.random.default_rng(17)
DTYPES = ("float16", "float64", "int8", "uint8", "int32", "int64")


def normal(*shape: int, dtype: str = "float32") -> np.ndarray[Any, Any]:
    """Numbers of a normal distribution, times ten."""
    return (RANDOM.standard_normal(shape) * 10).astype(dtype)


TRIANGLES = (
    *(row(f"{shape} {k} {upper}", "Trilu", normal(*shape), *([] if k is None else [np.int64(k)]), upper=upper)
      for shape in ((3, 4), (4, 3), (2, 3, 3), (2, 2, 1, 5)) for k in (None, 0, 1, -2, 7, -7) for upper in (0, 1)),
    row("infinite", "Trilu", np.full((3, 3), -np.inf, np.float32)),
    *(row(f"{dtype}", "Trilu", normal(3, 4, dtype=dtype), np.int64(1), upper=0)
      for dtype in ("float64", "int32", "int64")),
)  # fmt: skip
DIAGONALS = tuple(
    row(f"{shape} {attributes}", "EyeLike", normal(*shape, dtype=dtype), **untyped(attributes))
    for shape, dtype, attributes in (
        ((3, 4), "float32", {}), ((4, 3), "float64", {"k": 1}), ((4, 3), "int32", {"k": -2}),
        ((2, 2), "int64", {"k": 9}),
        ((3, 3), "float32", {"dtype": 7}), ((3, 3), "float32", {"dtype": 11, "k": -9}),
    )
)  # fmt: skip
REVERSED = tuple(
    row(f"{shape} {attributes}", "ReverseSequence", normal(*shape), np.array(lengths, np.int64), **untyped(attributes))
    for shape, lengths, attributes in (
        ((4, 3), (1, 4, 2), {"time_axis": 0, "batch_axis": 1}), ((3, 4), (1, 4, 2), {"time_axis": 1, "batch_axis": 0}),
        ((4, 3, 2, 2), (1, 4, 2), {"time_axis": 0, "batch_axis": 1}),
        ((3, 4, 2), (1, 4, 2), {"time_axis": 1, "batch_axis": 0}),
    )
) + tuple(
    row(f"{dtype}", "ReverseSequence", normal(4, 3, 2, dtype=dtype), np.array([2, 1, 4], np.int64))
    for dtype in ("float64", "int32", "int64", "int8", "uint8")
)  # fmt: skip
ROWS = (*TRIANGLES, *DIAGONALS, *REVERSED)
