"""Operators that make tensors out of sizes and numbers, of every opset."""

from __future__ import annotations

import numpy as np
import pytest

from tests.converters.onnx.versions import Old, assert_comes_back, ramp

S = {"s": np.array([2, 3], np.int64)}


def numbers(dtype: str) -> dict[str, object]:
    """start, limit and delta of a Range."""
    return {name: np.array(number, dtype) for name, number in (("a", 1), ("b", 9), ("c", 3))}


OLD = (
    Old(9, "y = ConstantOfShape(s)", S),
    Old(9, "y = ConstantOfShape <value = int64[1] {7}> (s)", S, ("s",)),
    Old(9, "y = ConstantOfShape <value = float[1] {-0.5}> (s)", S),
    Old(20, "y = ConstantOfShape <value = int64[1] {9007199254740993}> (s)", S),
    Old(9, "y = ConstantOfShape <value = bool[1] {1}> (s)", S),
    Old(11, "y = Range(a, b, c)", numbers("float32")),
    Old(11, "y = Range(a, b, c)", numbers("int32"), ("a", "b", "c")),
    Old(
        27,
        "y = Range(a, b, c)",
        numbers("float16"),
        means="d = Cast <to: int = 1> (a); e = Cast <to: int = 1> (b); f = Cast <to: int = 1> (c); g = Range(d, e, f); "
        "y = Cast <to: int = 10> (g)",
        target=17,
    ),
    Old(9, "y = EyeLike(x)", {"x": ramp(3, 4)}),
    Old(9, "y = EyeLike <k: int = 1, dtype: int = 7> (x)", {"x": ramp(3, 4)}),
)


@pytest.mark.parametrize("old", OLD, ids=str)
def test_older_versions_come_back(old: Old) -> None:
    assert_comes_back(old)
