"""Operators on images, MaxUnpool and DeformConv, of every opset."""

from __future__ import annotations

import numpy as np
import pytest

from tests.converters.onnx.versions import Old, assert_comes_back, ramp

SIZES = {"x": ramp(5, 8), "s": np.array([3, 11]), "w": np.array([6])}
BLOCKS = {"x": ramp(1, 8, 25), "i": np.array([5, 5]), "b": np.array([2, 2])}
POOLED = {"x": ramp(1, 1, 2, 2), "i": np.array([[[[5, 7], [13, 10]]]]), "o": np.array([1, 1, 5, 5])}
MOVED = {"x": ramp(1, 2, 4, 4), "w": ramp(3, 2, 2, 2), "o": ramp(1, 8, 3, 3), "b": ramp(3), "m": ramp(1, 4, 3, 3)}
WINDOW = "kernel_shape: ints = [2, 2], strides: ints = [2, 2]"

OLD = (
    Old(18, "y = CenterCropPad(x, s)", SIZES),
    Old(18, "y = CenterCropPad <axes: ints = [-1]> (x, w)", SIZES, ("w",)),
    Old(18, "y = Col2Im <pads: ints = [0, 0, 1, 1]> (x, i, b)", BLOCKS, ("i", "b")),
    Old(18, "y = Col2Im <pads: ints = [0, 1, 1, 0]> (x, i, b)", BLOCKS),
    Old(9, f"y = MaxUnpool <{WINDOW}> (x, i)", POOLED),
    Old(11, f"y = MaxUnpool <{WINDOW}> (x, i)", POOLED),
    Old(11, f"y = MaxUnpool <{WINDOW}> (x, i, o)", POOLED, ("o",)),
    Old(19, "y = DeformConv(x, w, o)", MOVED),
    Old(19, "y = DeformConv <kernel_shape: ints = [2, 2]> (x, w, o, b, m)", MOVED, ("w", "b")),
    Old(9, "y = Shrink <lambd: float = 0.2, bias: float = 0.1> (x)", SIZES),
    Old(26, "y = CumProd <exclusive: int = 1> (x, a)", {"x": ramp(2, 3), "a": np.int64(1)}),
)


@pytest.mark.parametrize("old", OLD, ids=str)
def test_older_versions_come_back(old: Old) -> None:
    assert_comes_back(old)
