"""Operators that join tensors, take parts of them, or trade parts between axes, of every opset."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphir.converters.onnx import from_model
from graphir.errors import UnsupportedOpError
from tests.converters.onnx.versions import Old, assert_comes_back, model, ramp

X: dict[str, Any] = {"x": ramp(4, 6)}
TWO = {"a": ramp(2, 3), "b": ramp(2, 3)}
IMAGE = {"x": ramp(2, 8, 4, 6)}
BOUNDS = X | {
    "s": np.array([1, -5], np.int64),
    "e": np.array([3, 6], np.int64),
    "a": np.array([0, 1], np.int64),
    "t": np.array([1, 2], np.int64),
}
PARTS = "p = Constant <value_ints: ints = [1, 3]> (); y, z = Split(x, p)"
# b*b*c + ... in the order CRD: each channel is an image of its own.
CRD = (
    "f = Constant <value_ints: ints = [2, 8, 2, 2, 3, 2]> (); r = Reshape(x, f); "
    "t = Transpose <perm: ints = [0, 1, 3, 5, 2, 4]> (r); h = Constant <value_ints: ints = [2, 32, 2, 3]> (); "
    "y = Reshape(t, h)"
)

OLD = (
    Old(1, "y = Concat(a, b)", TWO, means="y = Concat <axis: int = 1> (a, b)"),
    Old(1, "y = Concat <axis: int = 0> (a, b)", TWO, means="y = Concat <axis: int = 0> (a, b)"),
    Old(4, "y = Concat <axis: int = 1> (a, b)", TWO),
    Old(11, "y = Concat <axis: int = -2> (a, b)", TWO),
    Old(1, "y, z = Split <axis: int = 0, split: ints = [1, 3]> (x)", X, means=PARTS),
    Old(
        1,
        "y, z = Split <axis: int = 0> (x, p)",
        X | {"p": np.array([1, 3], np.float32)},
        ("p",),
        means="q = Cast <to: int = 7> (p); y, z = Split(x, q)",
    ),
    Old(2, "y, z = Split(x)", X),
    Old(2, "y, z = Split <axis: int = 1, split: ints = [1, 5]> (x)", X),
    Old(11, "y, z = Split <axis: int = -1> (x)", X),
    Old(13, "y, z = Split(x, p)", X | {"p": np.array([1, 3], np.int64)}, ("p",)),
    Old(13, "y, z = Split(x, p)", X | {"p": np.array([1, 3], np.int64)}),
    Old(18, "y, z, w = Split <axis: int = 1, num_outputs: int = 3> (x)", X),
    Old(18, "y, z, w = Split <num_outputs: int = 3> (x)", {"x": ramp(5, 2)}),
    Old(1, "y = Slice <starts: ints = [1], ends: ints = [3]> (x)", X),
    Old(1, "y = Slice <starts: ints = [0, -3], ends: ints = [3, 1000], axes: ints = [0, 1]> (x)", X),
    Old(10, "y = Slice(x, s, e, a, t)", BOUNDS, ("s", "e", "a", "t")),
    Old(10, "y = Slice(x, s, e)", BOUNDS),
    Old(11, "y = Slice(x, s, e, , t)", BOUNDS, ("s", "e", "t")),
    Old(14, "y = Trilu <upper: int = 0> (x, k)", X | {"k": np.int64(1)}, ("k",)),
    Old(10, "y = ReverseSequence(x, n)", {"x": ramp(4, 3), "n": np.array([1, 4, 2], np.int64)}),
    Old(1, "y = DepthToSpace <blocksize: int = 2> (x)", IMAGE),
    Old(11, 'y = DepthToSpace <blocksize: int = 2, mode: string = "CRD"> (x)', IMAGE),
    Old(1, "y = SpaceToDepth <blocksize: int = 2> (x)", IMAGE),
    Old(28, 'y = SpaceToDepth <blocksize: int = 2, mode: string = "CRD"> (x)', IMAGE, means=CRD, target=17),
)


@pytest.mark.parametrize("old", OLD, ids=str)
def test_older_versions_come_back(old: Old) -> None:
    assert_comes_back(old)


def test_a_split_that_states_no_axis_at_opset_1_is_refused() -> None:
    with pytest.raises(UnsupportedOpError, match="the attribute axis is missing"):
        from_model(model("y, z = Split(x)", 1, X))
