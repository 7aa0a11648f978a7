"""Elementwise operators at older opsets through ONNX -> graph -> ONNX, judged by onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

from graphir.converters.onnx import from_model, to_model
from tests.building import parse_model
from tests.converters.onnx.versions import Old, assert_comes_back

NARROW = ("int8", "int16", "uint8", "uint16")
OPERATORS = ("Add", "Sub", "Mul", "Div")


def extremes(dtype: str) -> dict[str, NDArray[Any]]:
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


INF, NAN = np.inf, np.nan
RESTS = [(0, -2), (-3, INF), (3, INF), (-1, -INF), (1, -INF), (INF, 2), (1, 0), (NAN, 2), (1, NAN), (-1e-9, 3),
         (1e-9, -3), (7.5, 2), (-7.5, 2), (7.5, -2), (-7.5, -2), (-6, 3)]  # fmt: skip


@pytest.mark.parametrize("opset", [13, 23, 26])
@pytest.mark.parametrize("dtype, name", [(np.float32, "float"), (np.float64, "double"), (np.float16, "float16")])
def test_the_rest_of_floats_before_opset_28(dtype: type, name: str, opset: int) -> None:
    made = parse_model(f"g ({name}[N] a, {name}[N] b) => ({name}[N] y) {{ y = Mod<fmod = 0>(a, b) }}", opset=28)
    a, b = np.array(RESTS).T.astype(dtype)
    written = to_model(from_model(made), opset=opset)
    written.ir_version = 10
    session = onnxruntime.InferenceSession(written.SerializeToString(), providers=["CPUExecutionProvider"])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(session.run(None, {"a": a, "b": b})[0], np.mod(a, b))


def test_the_rest_of_floats_at_opset_28_is_one_node() -> None:
    made = parse_model("g (float[N] a, float[N] b) => (float[N] y) { y = Mod<fmod = 0>(a, b) }", opset=28)
    assert [node.op_type for node in to_model(from_model(made), opset=28).graph.node] == ["Mod"]
