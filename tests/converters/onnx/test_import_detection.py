"""NonMaxSuppression and RoiAlign of every opset."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.converters.onnx.versions import Old, assert_comes_back, ramp

BOXES: dict[str, Any] = {
    "b": np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 10, 1, 11]]], np.float32),
    "s": np.array([[[0.9, 0.75, 0.6]]], np.float32),
    "n": np.array([2], np.int64),
    "t": np.array([0.5], np.float32),
}
REGIONS = {
    "x": ramp(2, 3, 8, 8),
    "r": np.array([[0, 0, 5, 5], [1, 2, 7, 6]], np.float32),
    "i": np.array([0, 1], np.int64),
}
CELLS = "output_height: int = 2, output_width: int = 3, sampling_ratio: int = 2, spatial_scale: float = 0.5"

OLD = (
    Old(10, "y = NonMaxSuppression(b, s, n, t)", BOXES),
    Old(11, "y = NonMaxSuppression <center_point_box: int = 1> (b, s, n, t)", BOXES, ("n", "t")),
    Old(10, f"y = RoiAlign <{CELLS}> (x, r, i)", REGIONS),
    Old(16, f"y = RoiAlign <{CELLS}> (x, r, i)", REGIONS),
    Old(
        16,
        'y = RoiAlign <sampling_ratio: int = 1, mode: string = "max", '
        'coordinate_transformation_mode: string = "output_half_pixel"> (x, r, i)',
        REGIONS,
    ),
)


@pytest.mark.parametrize("old", OLD, ids=str)
def test_older_versions_come_back(old: Old) -> None:
    assert_comes_back(old)
