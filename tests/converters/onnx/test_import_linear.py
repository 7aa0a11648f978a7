"""Matrix products of every opset."""

from __future__ import annotations

import numpy as np
import pytest

from tests.converters.onnx.versions import Old, assert_comes_back, ramp

MATRICES = {"a": ramp(2, 3), "b": ramp(3, 4), "c": ramp(2, 4)}
VECTOR = MATRICES | {"c": ramp(4)}
BYTES = {"a": np.arange(6, dtype=np.uint8).reshape(2, 3), "b": np.arange(12, dtype=np.uint8).reshape(3, 4)}

OLD = (
    Old(1, "y = Gemm <alpha: float = 0.5> (a, b, c)", MATRICES, means="y = Gemm <alpha: float = 0.5> (a, b, c)"),
    Old(6, "y = Gemm <broadcast: int = 1> (a, b, c)", VECTOR, means="y = Gemm(a, b, c)"),
    Old(7, "y = Gemm <beta: float = 2.0, transA: int = 1> (a, b, c)", VECTOR | {"a": ramp(3, 2)}),
    Old(9, "y = Gemm <transB: int = 1> (a, b, c)", VECTOR | {"b": ramp(4, 3)}),
    Old(11, "y = Gemm(a, b)", MATRICES | {}),
    Old(1, "y = MatMul(a, b)", MATRICES),
    Old(9, "y = MatMul(a, b)", MATRICES),
    Old(10, "y = MatMulInteger(a, b, z)", BYTES | {"z": np.uint8(3)}, ("z",)),
    Old(12, 'y = Einsum <equation: string = "ij,jk->ik"> (a, b)', MATRICES),
    Old(11, "y = Det(x)", {"x": ramp(2, 3, 3)}),
)


@pytest.mark.parametrize("old", OLD, ids=str)
def test_older_versions_come_back(old: Old) -> None:
    assert_comes_back(old)
