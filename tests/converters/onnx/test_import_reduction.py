"""Reductions, positions of extremes and TopK of every opset."""

from __future__ import annotations

import numpy as np
import pytest

from tests.converters.onnx.versions import Old, assert_comes_back, ramp

X = {"x": np.abs(ramp(2, 3, 4)) + 0.1}
REDUCTIONS = (
    *("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum"),
    *("ReduceLogSumExp", "ReduceSumSquare"),
)
OPERAND = X | {"a": np.array([1], np.int64)}
EMPTY = X | {"a": np.array([], np.int64)}

OLD = (
    *(Old(1, f"y = {name} <axes: ints = [0, 2], keepdims: int = 0> (x)", X) for name in REDUCTIONS),
    *(Old(11, f"y = {name} <axes: ints = [-1]> (x)", X) for name in REDUCTIONS),
    *(Old(12, f"y = {name}(x)", X) for name in REDUCTIONS),
    *(Old(18, f"y = {name}(x, a)", OPERAND, ("a",)) for name in REDUCTIONS),
    *(Old(18, f"y = {name} <noop_with_empty_axes: int = 1> (x)", X) for name in REDUCTIONS),
    Old(13, "y = ReduceSum <keepdims: int = 0> (x, a)", OPERAND),
    Old(13, "y = ReduceSum <noop_with_empty_axes: int = 1> (x, a)", EMPTY, ("a",)),
    Old(1, "y = ArgMax(x)", X),
    Old(11, "y = ArgMin <axis: int = -1, keepdims: int = 0> (x)", X),
    Old(12, "y = ArgMax <axis: int = 1, select_last_index: int = 1> (x)", {"x": np.ones((2, 3), np.float32)}),
    Old(1, "y, i = TopK <k: int = 2> (x)", X),
    Old(1, "y, i = TopK <k: int = 2, axis: int = 1> (x)", X),
    Old(10, "y, i = TopK(x, k)", X | {"k": np.array([2], np.int64)}, ("k",)),
    Old(11, "y, i = TopK <largest: int = 0> (x, k)", X | {"k": np.array([2], np.int64)}),
)


@pytest.mark.parametrize("old", OLD, ids=str)
def test_older_versions_come_back(old: Old) -> None:
    assert_comes_back(old)
