"""Operators on bits and CastLike, of every opset."""

from __future__ import annotations

import numpy as np
import pytest

from graphir.converters.onnx import from_model, to_model
from graphir.errors import UnsupportedOpError
from tests.converters.onnx.versions import Old, assert_comes_back, model, ramp

BITS = {"x": np.array([1, 2, 200], np.uint8), "n": np.array([1, 3, 2], np.uint8)}
SIGNED = {"x": np.array([1, -2, 20], np.int32), "n": np.array([6, 3, 2], np.int32)}

OLD = (
    Old(11, 'y = BitShift <direction: string = "RIGHT"> (x, n)', BITS),
    Old(11, 'y = BitShift <direction: string = "LEFT"> (x, n)', BITS),
    Old(18, "y = BitwiseAnd(x, n)", SIGNED),
    Old(18, "y = BitwiseOr(x, n)", SIGNED),
    Old(18, "y = BitwiseXor(x, n)", BITS),
    Old(18, "y = BitwiseNot(x)", SIGNED),
    Old(15, "y = CastLike(x, t)", {"x": ramp(2, 3), "t": np.zeros(1, np.int32)}),
    Old(15, "y = CastLike(x, t)", {"x": ramp(2, 3), "t": np.zeros(1, np.float64)}, ("t",), target=13),
    Old(19, "y = CastLike <saturate: int = 1> (x, t)", {"x": ramp(2, 3), "t": np.zeros(1, np.int32)}, target=15),
)


@pytest.mark.parametrize("old", OLD, ids=str)
def test_older_versions_come_back(old: Old) -> None:
    assert_comes_back(old)


BEYOND = (
    (19, "z = Cast <to: int = 17> (x); y = CastLike(x, z)", 18, "float8e4m3fn exist from opset 19"),
    (18, "y = BitwiseAnd(x, n)", 17, "BitwiseAnd exists from opset 18"),
    (28, 'y = BitShift <direction: string = "LEFT"> (x, n)', 27, "signed int32 exists from opset 28"),
    (26, "y = BitCast <to: int = 1> (x)", 25, "BitCast exists from opset 26"),
)


@pytest.mark.parametrize(("opset", "text", "target", "reason"), BEYOND)
def test_what_an_older_target_cannot_say(opset: int, text: str, target: int, reason: str) -> None:
    graph = from_model(model(text, opset, SIGNED))
    with pytest.raises(UnsupportedOpError, match=reason):
        to_model(graph, opset=target)
