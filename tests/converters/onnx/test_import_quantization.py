"""Quantized tensors of every opset, and what older targets cannot say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphir.converters.onnx import from_model, to_model
from graphir.errors import UnsupportedOpError
from tests.converters.onnx.versions import Old, assert_comes_back, model, ramp

X = ramp(2, 3, 4)
SCALE, SCALES = np.float32(0.1), np.array([0.1, 0.2, 0.05], np.float32)
ZERO, ZEROS = np.int8(3), np.array([1, 2, 3], np.uint8)
Q = (np.arange(24, dtype=np.uint8) * 10 % 251).reshape(2, 3, 4)
REAL = {"x": X, "s": SCALE, "t": SCALES, "z": ZERO, "o": ZEROS}
BYTES = {"x": Q, "s": SCALE, "t": SCALES, "z": np.uint8(3), "o": ZEROS}
IMAGE = (np.arange(75, dtype=np.uint8) % 11).reshape(1, 3, 5, 5)
FILTERS = (np.arange(54) % 7 - 3).astype(np.int8).reshape(2, 3, 3, 3)
CONV = {
    "x": IMAGE,
    "w": FILTERS,
    "s": SCALE,
    "z": np.uint8(2),
    "o": np.int8(0),
    "u": np.float32(0.5),
    "b": np.array([5, -7], np.int32),
}
ROWS = (np.arange(12) % 9).astype(np.uint8).reshape(3, 4)
MATMUL = {"x": ROWS, "w": ROWS.T, "s": SCALE, "z": np.uint8(2), "u": np.float32(0.02)}

OLD = (
    Old(10, "y = QuantizeLinear(x, s)", REAL),
    Old(10, "y = QuantizeLinear(x, s, z)", REAL, ("s", "z")),
    Old(13, "y = QuantizeLinear(x, t, o)", REAL),
    Old(13, "y = QuantizeLinear <axis: int = -2> (x, t)", REAL),
    Old(19, "y = QuantizeLinear <saturate: int = 0> (x, s, z)", REAL),
    Old(19, "y = QuantizeLinear <saturate: int = 0> (x, s, z)", REAL, target=13),
    Old(21, "y = QuantizeLinear <output_dtype: int = 3> (x, s)", REAL),
    Old(21, "y = QuantizeLinear <output_dtype: int = 3> (x, s)", REAL, target=13),
    Old(21, "y = QuantizeLinear <output_dtype: int = 3> (x, t)", REAL, target=13),
    Old(21, "y = QuantizeLinear <output_dtype: int = 2> (x, s)", REAL, target=17),
    Old(10, "y = DequantizeLinear(x, s)", BYTES),
    Old(10, "y = DequantizeLinear(x, s, z)", BYTES, ("x", "s", "z")),
    Old(13, "y = DequantizeLinear(x, t, o)", BYTES),
    Old(19, "y = DequantizeLinear <axis: int = -2> (x, t, o)", BYTES, target=13),
    Old(11, "a, b, c = DynamicQuantizeLinear(x)", {"x": X}),
    Old(10, "y = QLinearConv(x, s, z, w, s, o, u, z)", CONV),
    Old(10, "y = QLinearConv <pads: ints = [1, 0, 1, 2]> (x, s, z, w, s, o, u, z, b)", CONV, ("w", "b")),
    Old(10, 'y = QLinearConv <auto_pad: string = "SAME_LOWER"> (x, s, z, w, s, o, u, z)', CONV),
    Old(10, "y = ConvInteger <strides: ints = [2, 1]> (x, w, z)", CONV),
    Old(10, "y = QLinearMatMul(x, s, z, w, s, z, u, z)", MATMUL),
    Old(21, "y = QLinearMatMul(x, s, z, w, s, z, u, z)", MATMUL, target=13),
)


@pytest.mark.parametrize("old", OLD, ids=str)
def test_older_versions_come_back(old: Old) -> None:
    assert_comes_back(old)


HALF = {"x": X.astype(np.float16), "s": np.float16(0.1), "z": ZERO}
BEYOND = (
    (21, "y = QuantizeLinear <output_dtype: int = 22> (x, s)", REAL, 19, "of int4 exists from opset 21"),
    (21, "y = QuantizeLinear <output_dtype: int = 17> (x, s)", REAL, 17, "of float8e4m3fn exists from opset 19"),
    (19, "y = QuantizeLinear(x, s, z)", HALF, 13, "float16 exists from opset 19"),
    (23, "y = QuantizeLinear(x, s)", REAL | {"x": HALF["x"]}, 21, "another dtype than x"),
    (23, "y = QuantizeLinear <precision: int = 10> (x, s)", REAL, 21, "the precision"),
    (21, "y = QuantizeLinear <block_size: int = 2, axis: int = 2> (x, c)", REAL | {"c": ramp(2, 3, 2)}, 20, "blocks"),
    (23, "y = DequantizeLinear <output_dtype: int = 10> (x, s)", BYTES, 21, "another dtype than the scale"),
    (21, "y = DequantizeLinear(x, s)", {"x": Q.astype(np.uint16), "s": SCALE}, 20, "uint16 exists from opset 21"),
)


@pytest.mark.parametrize(("opset", "text", "operands", "target", "reason"), BEYOND)
def test_what_an_older_target_cannot_say(
    opset: int, text: str, operands: dict[str, Any], target: int, reason: str
) -> None:
    graph = from_model(model(text, opset, operands))
    with pytest.raises(UnsupportedOpError, match=reason):
        to_model(graph, opset=target)
