"""Bits, tensors made of sizes, and functions that ONNX does not have, in torch."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import ml_dtypes  # noqa: F401  gives numpy bfloat16 by name
import numpy as np
import pytest

from graphir.graph import Graph
from graphir.ops import bitwise as bits
from graphir.ops import creation
from graphir.ops import special_functions as special
from graphir.ops.shape import Shape
from graphir.types import DType, TensorType, symbol
from tests.converters.pytorch.cases import Case, Check, Constant, uniform
from tests.converters.pytorch.running import need_torch, run_module

i64, f32 = partial(np.array, dtype=np.int64), partial(np.array, dtype=np.float32)
BIG = np.array([0, 1, 5, 2**63 - 1, 2**63, 2**64 - 1], np.uint64)
PLACES = np.array([0, 1, 63, 62, 4, 8], np.uint64)
TWO: tuple[Any, ...] = (bits.BitwiseAnd, bits.BitwiseOr, bits.BitwiseXor)
NUMPY: dict[Any, Any] = {bits.BitwiseAnd: np.bitwise_and, bits.BitwiseOr: np.bitwise_or,
     bits.BitwiseXor: np.bitwise_xor}
POINTS = f32([0.5, 1, 2.5, 5, 10.25, -0.5, -1.5, -2.25, 30, 36, 0, -0.0, -1, -4, np.inf, np.nan])
INSIDE = f32([0, 0.5, -0.5, 0.99, -0.999, 1, -1, 1.5])


def whole(dtype: str, *shape: int, seed: int = 0) -> Any:
    """Integers of all sizes."""
    info = np.iinfo(dtype)
    generator: Any = np.random.default_rng(seed)
    return generator.integers(info.min, info.max, shape, dtype=dtype)


def gamma_of(x: float) -> float:
    if math.isnan(x) or (x < 0 and x == math.floor(x)):
        return math.nan
    if x == 0:
        return math.copysign(math.inf, x)
    return math.inf if x > 35 else math.gamma(x)


def steps(dtype: str, wide: Any) -> Any:
    """Return 0.1, 0.4, ... up to 20 as a Range of 16 bits has them, computed in a wider dtype."""
    start, _, delta = np.array([0.1, 20, 0.3], dtype).astype(wide)
    return (start + np.arange(67) * delta).astype(dtype)


ROWS = [
    *(Case(op(), whole(dtype, 3, 4), whole(dtype, 4, seed=1), batch=True) for op in TWO for dtype in ("int8", "int32",
         "uint8")),
    *(Case(op(), whole(dtype, 3, 4), whole(dtype, 4, seed=1), expected=[NUMPY[op](whole(dtype, 3, 4), whole(dtype, 4,
         seed=1))])
      for op in TWO for dtype in ("uint16", "uint32", "uint64", "int64")),
    Case(bits.BitwiseAnd(), whole("int32", 5), Constant(np.array(15, np.int32)), text="x & 15"),
    *(Case(bits.BitwiseNot(), whole(dtype, 5), expected=[~whole(dtype, 5)]) for dtype in ("int8", "int64", "uint8",
         "uint16", "uint64")),
    Case(bits.BitwiseNot(), whole("int32", 3, 5), batch=True, text="~x"),
    *(Case(bits.BitShift(direction=direction), BIG, PLACES, expected=[shift(BIG, PLACES)])
      for direction, shift in ((bits.ShiftDirection.LEFT, np.left_shift), (bits.ShiftDirection.RIGHT, np.right_shift))),
    *(Case(bits.BitShift(direction=direction), whole(dtype, 3, 4), Constant(np.array([0, 1, 5, 7], dtype)))
      for direction in bits.ShiftDirection for dtype in ("uint8", "uint32", "uint64")),
    *(Case(bits.BitShift(direction=direction), whole("uint16", 4), np.array([0, 1, 5, 7], "uint16"),
         expected=[shift(whole("uint16", 4), np.array([0, 1, 5, 7], "uint16"))])
      for direction, shift in ((bits.ShiftDirection.LEFT, np.left_shift), (bits.ShiftDirection.RIGHT, np.right_shift))),
    *(Case(bits.BitCast(to=to), values, expected=[values.view(to.numpy())]) for to, values in (
        (DType.INT32, uniform(3, 4)), (DType.FLOAT32, whole("int32", 5) & 0x7F7FFFFF), (DType.UINT64, whole("int64",
             5)))),
    Case(bits.BitShift(direction=bits.ShiftDirection.LEFT), whole("uint32", 3, 5), whole("uint32", 3, 1) % 32,
         batch=True),
    Case(bits.BitCast(to=DType.INT32), uniform(3, 7), batch=True, expected=[uniform(3, 7).view(np.int32)]),
    Case(bits.CastLike(saturate=False), uniform(3, 4), np.zeros(1, DType.FLOAT8E5M2.numpy()),
         expected=[uniform(3, 4).astype(DType.FLOAT8E5M2.numpy())]),
    Case(bits.CastLike(), uniform(3, 4), i64([1])),
    Case(bits.CastLike(), whole("int32", 3, 4), uniform(1, dtype="float16"), batch=True),
    Case(bits.CastLike(), whole("uint8", 3), np.array([True])),
    *(Case(creation.Fill(value, shape, dtype), expected=[np.full(shape, value, dtype.numpy())])
      for value, shape, dtype in ((2.5, (2, 3), DType.FLOAT32), (-1, (), DType.INT64), (0.5, (0, 4), DType.FLOAT16))),
    Case(creation.ConstantOfShape(value=2.5), i64([2, 3])),
    Case(creation.ConstantOfShape(value=7, dtype=DType.INT32), i64([2, 1, 3]), batch=True),
    Case(creation.ConstantOfShape(value=1, dtype=DType.BOOL), i64([])),
    Case(creation.ConstantOfShape(value=-3, dtype=DType.INT8), i64([0, 4])),
    *(Case(creation.Range(), *(np.array(end, dtype) for end in ends)) for ends, dtype in (
        ((1, 9, 3), "int64"), ((9, -2, -4), "int32"), ((0, 5, 1), "int64"), ((0, 1, 0.25), "float32"),
        ((1.5, 4, 0.5), "float64"), ((3, 1, 1), "int64"), ((1, 5, 1), "int16"))),
    *(Case(creation.Range(stash), *map(kind, np.array([0.1, 20, 0.3], dtype)), expected=[steps(dtype, stash.numpy())])
      for stash, dtype in ((DType.FLOAT32, "float16"), (DType.FLOAT64, "float16"), (DType.FLOAT32, "bfloat16"))
      for kind in (Constant, np.asarray)),
    Case(creation.Range(), Constant(i64(0)), i64(7), Constant(i64(1)),
         text="arange(0, x.item(), 1, torch.int64, device)"),
    *(Case(creation.EyeLike(k=k, dtype=dtype), uniform(3, 5), batch=batch)
      for k, dtype, batch in ((0, None, False), (1, DType.INT64, True), (-2, DType.FLOAT64, False), (9, None, False))),
    Case(creation.EyeLike(), uniform(4, 4), text="torch.eye(4, device=device)"),
    Case(creation.EyeLike(dtype=DType.UINT16, k=1), uniform(2, 3), expected=[np.eye(2, 3, 1, dtype=np.uint16)]),
    Case(special.ErfInv(), INSIDE, tolerance=2e-5),
    Case(special.ErfInv(), uniform(3, 4, low=-0.9, high=0.9), batch=True, text="torch.erfinv(x)", tolerance=2e-5),
    Case(special.ErfInv(), uniform(5, low=-0.9, high=0.9, dtype="float64"), tolerance=1e-4),
    Case(special.Gamma(), POINTS, expected=[f32([gamma_of(float(x)) for x in POINTS])]),
    Case(special.Gamma(), uniform(3, 4), batch=True, tolerance=1e-4),
    Case(special.Gamma(), uniform(5, dtype="float64"), tolerance=1e-4),
    Case(special.LogGamma(), uniform(3, 4), batch=True, text="torch.lgamma(x)", tolerance=1e-4),
    Case(special.LogGamma(), f32([0, -1, 1, 2, 100, np.inf])),
    Case(special.LogGamma(), uniform(5, low=0.1, dtype="float64"), tolerance=1e-4),
]  # fmt: skip


@pytest.mark.parametrize("case", ROWS, ids=str)
def test_numbers_and_text(case: Case, check: Check) -> None:
    check(case)


def test_a_constant_of_the_shape_of_the_data_is_made_of_its_sizes() -> None:
    need_torch()
    graph = Graph("zeros")
    data = graph.add_input("data", TensorType(DType.FLOAT32, (symbol("N"), 3)))
    graph.set_outputs([graph.add(creation.ConstantOfShape(), graph.add(Shape(), data))])
    found, text = run_module(graph, [uniform(2, 3)])
    np.testing.assert_array_equal(found[0], np.zeros((2, 3), np.float32))
    assert "torch.zeros((n, 3), device=device)" in text
