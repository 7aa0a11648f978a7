"""Losses, of every opset."""

from __future__ import annotations

import numpy as np
import pytest

from tests.converters.onnx.versions import Old, assert_comes_back, ramp

X = {"x": ramp(2, 3, 4), "t": np.array([[0, 2, 1, 1], [2, 2, 0, 1]]), "w": np.array([0.5, 2, 1], np.float32)}

OLD = (
    Old(12, "y = NegativeLogLikelihoodLoss(x, t)", X),
    Old(12, 'y = NegativeLogLikelihoodLoss <reduction: string = "none"> (x, t, w)', X),
    Old(13, "y = NegativeLogLikelihoodLoss <ignore_index: int = 2> (x, t, w)", X),
    Old(12, "y = SoftmaxCrossEntropyLoss(x, t)", X),
    Old(12, 'y, p = SoftmaxCrossEntropyLoss <reduction: string = "sum", ignore_index: int = 0> (x, t, w)', X, ("w",)),
    Old(13, 'y = SoftmaxCrossEntropyLoss <reduction: string = "none"> (x, t)', X),
)


@pytest.mark.parametrize("old", OLD, ids=str)
def test_older_versions_come_back(old: Old) -> None:
    assert_comes_back(old)
