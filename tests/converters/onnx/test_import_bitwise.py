"""Operators on bits and CastLike, of every opset."""

from __future__ import annotations

import numpy as np
import pytest

from graphir.converters.onnx import from_model, to_model
from graphir.errors import UnsupportedOpError
from tests.converters.onnx.versions import Old, assert_comes_back, model, ramp
from tests.equivalence.test_onnx import run_model

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
    (28, 'y = BitShift <direction: string = "LEFT"> (x, n)', 27, "signed int32 exists from opset 28"),
    (26, "y = BitCast <to: int = 1> (x)", 25, "BitCast exists from opset 26"),
)


@pytest.mark.parametrize(("opset", "text", "target", "reason"), BEYOND)
def test_what_an_older_target_cannot_say(opset: int, text: str, target: int, reason: str) -> None:
    graph = from_model(model(text, opset, SIGNED))
    with pytest.raises(UnsupportedOpError, match=reason):
        to_model(graph, opset=target)


EVERY = np.array([0, 1, -1, 5, -7, 127, -128, 85], np.int8)
OTHER = np.array([6, 3, -2, 255, 1 << 31, -(1 << 40), 1 << 62, -(1 << 63)], np.int64)


@pytest.mark.parametrize("operator", ["BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_bits_below_their_birth_are_composed(operator: str, dtype: str) -> None:
    with np.errstate(all="ignore"):
        feeds = {"x": EVERY.astype(np.int64).astype(dtype)[:, None], "n": OTHER.astype(dtype)}
    text = f"y = {operator}(x{'' if operator == 'BitwiseNot' else ', n'})"
    graph = from_model(model(text, 18, feeds))
    below = to_model(graph, opset=13)
    assert operator not in {node.op_type for node in below.graph.node}
    x, n = feeds.values()
    wanted = {"And": x & n, "Or": x | n, "Xor": x ^ n, "Not": ~x}[operator[7:]]
    kept = {value.name for value in below.graph.input}
    (found,) = run_model(below, {name: array for name, array in feeds.items() if name in kept})
    assert found.dtype == wanted.dtype
    assert np.array_equal(found, wanted)


def test_a_free_opset_is_raised_instead() -> None:
    made = to_model(from_model(model("y = BitwiseAnd(x, n)", 18, SIGNED)))
    assert [node.op_type for node in made.graph.node] == ["BitwiseAnd"]
