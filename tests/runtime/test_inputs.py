"""Arrays made to fit: what survives the conversion is converted, all else is refused by name."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from graphir.errors import VerificationError
from graphir.runtime.inputs import dtype_of, fitted
from graphir.types import DType

F16, F32, F64, BF16 = np.float16, np.float32, np.float64, ml_dtypes.bfloat16


@pytest.mark.parametrize(
    "value, dtype, expected",
    [
        ([1, 2], DType.FLOAT32, [1, 2]),
        ([1.5, 2], DType.FLOAT32, [1.5, 2]),
        (np.array([0.1, 1e30]), DType.FLOAT32, np.array([0.1, 1e30]).astype(F32)),
        (np.array([math.nan, math.inf]), DType.FLOAT16, [math.nan, math.inf]),
        (np.array([1.5], ">f4"), DType.FLOAT32, [1.5]),
        (np.array([1, 255], np.uint8), DType.FLOAT32, [1, 255]),
        (np.array([3.0, -4.0], F32), DType.INT64, [3, -4]),
        (np.array([3, -4], np.int64), DType.INT8, [3, -4]),
        (np.array([1, 0]), DType.BOOL, [True, False]),
        (np.array([1.0, 0.0]), DType.BOOL, [True, False]),
        (np.array([True, False]), DType.FLOAT32, [1, 0]),
        (np.array([True, False]), DType.INT32, [1, 0]),
        (np.array([1.5, 2], F32), DType.BFLOAT16, [1.5, 2]),
        (np.array([1.5, 2], BF16), DType.FLOAT32, [1.5, 2]),
        (np.array([1, 2], F32), DType.COMPLEX64, [1, 2]),
        (np.array(["a", "b"]), DType.STRING, ["a", "b"]),
        (["a", "b"], DType.STRING, ["a", "b"]),
    ],
)
def test_fits(value: Any, dtype: DType, expected: Any) -> None:
    found = fitted("x", value, dtype, ("N",))
    assert found.dtype == dtype.numpy()
    np.testing.assert_array_equal(found, np.asarray(expected).astype(dtype.numpy()))


@pytest.mark.parametrize(
    "value, dtype, message",
    [
        (np.array([1.5, 2]), DType.INT64, "such as 1.5"),
        (np.array([1, math.nan]), DType.INT64, "such as nan"),
        (np.array([1.0, 3e9]), DType.INT32, "such as 3000000000"),
        (np.array([1, 300]), DType.UINT8, "such as 300"),
        (np.array([1, -1]), DType.UINT8, "such as -1"),
        (np.array([1, -1]), DType.UINT64, "such as -1"),
        (np.array([1, 2**63], np.uint64), DType.INT64, "such as 9223372036854775808"),
        (np.array([1, 2**24 + 1]), DType.FLOAT32, "such as 16777217"),
        (np.array([1, 1e30]), DType.FLOAT16, "such as 1e"),
        (np.array([1, 2]), DType.BOOL, "such as 2"),
        (np.array([1, 0.5]), DType.BOOL, "such as 0.5"),
        (np.array([1 + 2j, 0]), DType.FLOAT32, "takes float32, found complex128"),
        (np.array(["1", "2"]), DType.FLOAT32, "takes float32, found <U1"),
        (np.array([None, 1], object), DType.FLOAT32, "takes float32, found object"),
        (np.array([1, 2]), DType.STRING, "takes texts, found int64"),
        (np.array(["a", 2], object), DType.STRING, "takes texts, found object"),
        ([[1, 2], [3]], DType.FLOAT32, "input x is no array"),
    ],
)
def test_refused(value: Any, dtype: DType, message: str) -> None:
    with pytest.raises(VerificationError, match="input x") as raised:
        fitted("x", value, dtype, ("N",))
    assert message in str(raised.value)


@pytest.mark.parametrize(
    "shape, found, message",
    [
        ((2, 3), (2, 3), None),
        (("N", 3), (7, 3), None),
        ((None, 3), (7, 3), None),
        ((), (), None),
        ((2, 3), (2, 4), "input x is [2, 3], found an array of [2, 4]"),
        (("N", None), (2,), "input x is [N, ?], found an array of [2]"),
        ((), (1,), "input x is [], found an array of [1]"),
    ],
)
def test_shapes(shape: Any, found: Any, message: str | None) -> None:
    if message is None:
        assert fitted("x", np.ones(found, F32), DType.FLOAT32, shape).shape == found
        return
    with pytest.raises(VerificationError) as raised:
        fitted("x", np.ones(found, F32), DType.FLOAT32, shape)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    "text, dtype",
    [
        ("tensor(float)", DType.FLOAT32),
        ("tensor(double)", DType.FLOAT64),
        ("tensor(bfloat16)", DType.BFLOAT16),
        ("tensor(float8e4m3fn)", DType.FLOAT8E4M3FN),
        ("tensor(uint16)", DType.UINT16),
        ("tensor(string)", DType.STRING),
        ("tensor(bool)", DType.BOOL),
        ("seq(tensor(float))", None),
        ("sparse_tensor(float)", None),
        ("tensor(marvel)", None),
    ],
)
def test_names_of_onnxruntime(text: str, dtype: DType | None) -> None:
    assert dtype_of(text) is dtype
