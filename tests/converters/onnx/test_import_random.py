"""Random numbers, of every opset, where the distribution leaves one value."""

from __future__ import annotations

import numpy as np
import pytest

from tests.converters.onnx.versions import Old, assert_comes_back, ramp

X = {"x": ramp(2, 3)}
SURE = {"p": np.array([0, 1, 1, 0], np.float32)}
NORMAL, UNIFORM = "mean: float = 2.0, scale: float = 1e-20", "low: float = 3.0, high: float = 3.0"

OLD = (
    Old(1, f"y = RandomNormal <shape: ints = [2, 3], {NORMAL}> ()", {}),
    Old(1, f"y = RandomNormal <shape: ints = [2, 3], dtype: int = 11, seed: float = 4.0, {NORMAL}> ()", {}),
    Old(1, f"y = RandomUniform <shape: ints = [4], {UNIFORM}> ()", {}),
    Old(1, f"y = RandomNormalLike <{NORMAL}> (x)", X),
    Old(1, f"y = RandomUniformLike <dtype: int = 11, {UNIFORM}> (x)", X),
    Old(15, "y = Bernoulli(p)", SURE),
    Old(15, "y = Bernoulli <dtype: int = 7, seed: float = 2.0> (p)", SURE),
    Old(15, "y = Bernoulli(p)", SURE, means="y = Identity(p)", target=13),
    Old(15, "y = Bernoulli <dtype: int = 9> (p)", SURE, means="y = Cast <to: int = 9> (p)", target=13),
    Old(7, "y = Multinomial <sample_size: int = 4> (l)", {"l": np.array([[0, -1e9], [-1e9, 0]], np.float32)}),
    Old(7, "y = Multinomial <dtype: int = 7> (l)", {"l": np.array([[0, -1e9], [-1e9, 0]], np.float32)}),
)


@pytest.mark.parametrize("old", OLD, ids=str)
def test_older_versions_come_back(old: Old) -> None:
    assert_comes_back(old)
