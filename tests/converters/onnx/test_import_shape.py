"""Operators that rearrange elements, of every opset."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphir.converters.onnx import from_model, to_model
from graphir.errors import ExportFailure
from tests.converters.onnx.versions import Old, assert_comes_back, model, ramp

X: dict[str, Any] = {"x": ramp(2, 3, 4)}
ONES = {"x": ramp(1, 3, 1, 4)}


def with_vector(*numbers: int) -> dict[str, Any]:
    """X with the int64 vector s."""
    return X | {"s": np.array(numbers, np.int64)}


OLD = (
    Old(1, "y = Transpose(x)", X),
    Old(1, "y = Transpose <perm: ints = [1, 0, 2]> (x)", X),
    Old(1, "y = Reshape <shape: ints = [0, -1]> (x)", X, means="s = Constant <value_ints: ints = [0, -1]> (); "
        "y = Reshape(x, s)"),
    Old(5, "y = Reshape(x, s)", with_vector(4, 0, -1), ("s",)),
    Old(5, "y = Reshape(x, s)", with_vector(4, 6)),
    Old(14, "y = Reshape <allowzero: int = 1> (x, s)", {"x": ramp(0, 3), "s": np.array([3, 0], np.int64)}, ("s",)),
    Old(14, "y = Reshape <allowzero: int = 1> (x, s)", with_vector(4, -1), ("s",), target=13),
    Old(1, "y = Shape(x)", X),
    Old(15, "y = Shape <start: int = -2, end: int = 3> (x)", X),
    Old(1, "y = Size(x)", X),
    Old(8, "y = Expand(x, s)", with_vector(5, 1, 1, 4), ("s",)),
    Old(1, "y = Flatten(x)", X),
    Old(9, "y = Flatten <axis: int = 0> (x)", X),
    Old(11, "y = Flatten <axis: int = -1> (x)", X),
    Old(1, "y = Squeeze <axes: ints = [0, 2]> (x)", ONES),
    Old(1, "y = Squeeze(x)", ONES),
    Old(11, "y = Squeeze <axes: ints = [-2]> (x)", ONES),
    Old(13, "y = Squeeze(x, s)", ONES | {"s": np.array([0], np.int64)}, ("s",)),
    Old(1, "y = Unsqueeze <axes: ints = [0, 2]> (x)", X),
    Old(11, "y = Unsqueeze <axes: ints = [-1]> (x)", X),
    Old(13, "y = Unsqueeze(x, s)", with_vector(1), ("s",)),
    Old(
        1,
        "y = Tile(x, t, a)",
        X | {"t": np.float32(3), "a": np.float32(1)},
        means="s = Constant <value_ints: ints = [1, 3, 1]> (); y = Tile(x, s)",
    ),
    Old(6, "y = Tile(x, s)", with_vector(1, 2, 3), ("s",)),
    Old(
        1,
        "y = Pad <paddings: ints = [0, 1, 0, 0, 0, 2], value: float = 0.5> (x)",
        X,
        means="s = Constant <value_ints: ints = [0, 1, 0, 0, 0, 2]> (); v = Constant <value_float: float = 0.5> (); "
        "y = Pad(x, s, v)",
    ),
    Old(2, "y = Pad <pads: ints = [0, 1, 0, 0, 0, 2], value: float = 0.5> (x)", X),
    Old(2, 'y = Pad <pads: ints = [0, 1, 0, 0, 0, 2], mode: string = "reflect"> (x)', X),
    Old(2, "y = Pad <pads: ints = [0, -1, 0, 0, 0, 2]> (x)", X),
    Old(11, "y = Pad(x, s, v)", with_vector(0, 1, 0, 0, 0, 2) | {"v": np.float32(7)}, ("s", "v")),
    Old(11, 'y = Pad <mode: string = "edge"> (x, s)', with_vector(0, 1, 0, 0, 0, 2)),
    Old(18, "y = Pad(x, s, , a)", with_vector(1, 2) | {"a": np.array([-1], np.int64)}, ("s", "a")),
    Old(19, 'y = Pad <mode: string = "wrap"> (x, s)', with_vector(0, 1, 0, 0, 0, 2), ("s",)),
)


@pytest.mark.parametrize("old", OLD, ids=str)
def test_older_versions_come_back(old: Old) -> None:
    assert_comes_back(old)


def test_wrapping_pads_are_refused_below_opset_19() -> None:
    graph = from_model(model('y = Pad <mode: string = "wrap"> (x, s)', 19, with_vector(0, 1, 0, 0, 0, 2)))
    with pytest.raises(ExportFailure, match="wrap exists from opset 19 on"):
        to_model(graph, opset=18)
