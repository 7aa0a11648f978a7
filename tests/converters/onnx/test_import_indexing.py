"""Operators that look up, place or find elements by index, of every opset."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphir.converters.onnx import from_model
from graphir.errors import UnsupportedOpError
from tests.converters.onnx.versions import Old, assert_comes_back, model, ramp

X: dict[str, Any] = {"x": ramp(3, 4)}
ROWS = X | {"i": np.array([[0, 2], [1, 0]], np.int64)}
UPDATES = X | {"i": np.array([[0, 2, 1, 0]], np.int64), "u": ramp(1, 4)}
POINTS = X | {"i": np.array([[0], [2]], np.int64), "u": ramp(2, 4)}
HOT = {"i": np.array([[0, 2], [1, 3]], np.int64), "d": np.array([4], np.int64), "v": np.array([2, 5], np.float32)}
NEGATIVE = HOT | {"i": np.array([[0, -1], [1, 7]], np.int64)}
OUTSIDE = "z = Constant <value_ints: ints = [0]> (); l = Less(i, z); b = Where(l, d, i); y = OneHot(b, d, v)"

OLD = (
    Old(1, "y = Gather <axis: int = 1> (x, i)", ROWS),
    Old(11, "y = Gather <axis: int = -1> (x, i)", ROWS | {"i": np.array([-1, 0], np.int32)}),
    Old(11, "y = GatherElements <axis: int = 1> (x, i)", ROWS),
    Old(11, "y = GatherND(x, i)", ROWS),
    Old(12, "y = GatherND <batch_dims: int = 1> (x, i)", {"x": ramp(2, 4), "i": np.array([[1], [3]], np.int64)}),
    Old(9, "y = Scatter(x, i, u)", UPDATES),
    Old(9, "y = Scatter <axis: int = 1> (x, i, u)", UPDATES),
    Old(11, "y = ScatterElements(x, i, u)", UPDATES),
    Old(16, 'y = ScatterElements <reduction: string = "add"> (x, i, u)', UPDATES),
    Old(18, 'y = ScatterElements <reduction: string = "max"> (x, i, u)', UPDATES),
    Old(11, "y = ScatterND(x, i, u)", POINTS),
    Old(16, 'y = ScatterND <reduction: string = "mul"> (x, i, u)', POINTS),
    Old(18, 'y = ScatterND <reduction: string = "min"> (x, i, u)', POINTS),
    Old(9, "y = OneHot(i, d, v)", HOT),
    Old(9, "y = OneHot <axis: int = 0> (i, d, v)", HOT, ("i", "d")),
    Old(9, "y = OneHot(i, d, v)", HOT | {"i": np.array([1, 3], np.float32), "d": np.array([4], np.float32)}),
    Old(9, "y = OneHot(i, d, v)", NEGATIVE, means=OUTSIDE),
    Old(9, "y = OneHot(i, d, v)", NEGATIVE, ("i",), means=OUTSIDE),
    Old(11, "y = OneHot(i, d, v)", NEGATIVE),
    Old(9, "y = Compress(x, c)", X | {"c": np.array([True, False, True])}),
    Old(11, "y = Compress <axis: int = -1> (x, c)", X | {"c": np.array([True, False, True])}),
    Old(9, "y = NonZero(x)", {"x": np.array([[1, 0], [0, 2]], np.float32)}),
    Old(11, "y, i, j, n = Unique(x)", {"x": np.array([3, 1, 3, 2], np.float32)}),
    Old(11, "y, , j = Unique <sorted: int = 0> (x)", {"x": np.array([3, 1, 3, 2], np.float32)}),
    Old(11, "y = Unique <axis: int = 0> (x)", {"x": np.array([[3, 1], [3, 1]], np.float32)}),
    Old(11, "y = CumSum <exclusive: int = 1> (x, a)", X | {"a": np.int64(1)}, ("a",)),
    Old(14, "y = CumSum <reverse: int = 1> (x, a)", X | {"a": np.int32(0)}),
)


@pytest.mark.parametrize("old", OLD, ids=str)
def test_older_versions_come_back(old: Old) -> None:
    assert_comes_back(old)


def test_scatter_ended_with_opset_10() -> None:
    with pytest.raises(UnsupportedOpError, match="ScatterElements replaces it"):
        from_model(model("y = Scatter(x, i, u)", 11, UPDATES))
