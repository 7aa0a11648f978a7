"""Elementwise operators at older opsets through ONNX -> graph -> ONNX, judged by onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest

from tests.converters.onnx.versions import Old, assert_comes_back

NARROW = ("int8", "int16", "uint8", "uint16")
OPERATORS = ("Add", "Sub", "Mul", "Div")


def extremes(dtype: str) -> dict[str, np.ndarray]:
    """The largest and smallest numbers with such that wrap around."""
    held = np.iinfo(dtype)
    left = np.array([held.min, held.max, held.max, 7, 100, held.max // 3], dtype)
    return {"a": left, "b": np.array([1, 2, held.max, 2, 3, 5], dtype)}


# Arithmetic of narrow integers is new in opset 14.
OLD = [
    Old(14, f"y = {operator}(a, b)", extremes(dtype), target=target)
    for operator in OPERATORS
    for dtype in NARROW
    for target in (13, 14)
]


@pytest.mark.parametrize("old", OLD, ids=lambda old: f"{old}-{old.operands['a'].dtype}-at-{old.target}")
def test_what_it_means_comes_back(old: Old) -> None:
    assert_comes_back(old)
