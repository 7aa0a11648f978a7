"""Elementwise operators in torch."""

from __future__ import annotations

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from graphir.ops import elementwise as ir
from graphir.types import DType
from tests.converters.pytorch.cases import Case, Check, Constant, uniform

f16 = partial(np.array, dtype=np.float16)
f32 = partial(np.array, dtype=np.float32)
f64 = partial(np.array, dtype=np.float64)
i32 = partial(np.array, dtype=np.int32)
i64 = partial(np.array, dtype=np.int64)
u16 = partial(np.array, dtype=np.uint16)
u8 = partial(np.array, dtype=np.uint8)
X = uniform(3, 5, 7)
ROW = uniform(7, low=1, seed=1)
SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 0.5, 1.5, -2.5, 3e38, -1e-40], np.float32)
TRUTHS = X > 0
BIG = np.array([0, 1, 5, 2**63 - 1, 2**63, 2**63 + 5, 2**64 - 1], np.uint64)
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
ARITHMETIC = (ir.Add, ir.Sub, ir.Mul, ir.Div)
COMPARISONS = (ir.Equal, ir.Greater, ir.GreaterOrEqual, ir.Less, ir.LessOrEqual)


def whole(dtype: str, *shape: int, low: int = 1, seed: int = 0) -> Any:
    """Integers of a dtype, negative ones too where it has them."""
    low = -20 if low == 1 and not dtype.startswith("u") else low
    drawn = np.random.default_rng(seed).integers(low, 90, shape)
    return np.where(drawn == 0, 7, drawn).astype(dtype)


def integers(dtype: str) -> tuple[Any, Any]:
    """Two operands that broadcast."""
    return whole(dtype, 3, 5), whole(dtype, 5, seed=1)


def numpy_of(op: Any, a: Any, b: Any) -> Any:
    """Arithmetic of integers as ONNX has it, for dtypes that onnxruntime does not take."""
    with np.errstate(all="ignore"):
        if op is ir.Div:
            return _truncated(a, b).astype(a.dtype)
        functions: dict[Any, Any] = {ir.Add: np.add, ir.Sub: np.subtract, ir.Mul: np.multiply}
        return functions[op](a, b)


def _truncated(a: Any, b: Any) -> Any:
    divide = np.frompyfunc(lambda x, y: abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1), 2, 1)
    return divide(a.astype(object), b.astype(object))


ROWS = [
    *(Case(op(), X, ROW) for op in ARITHMETIC),
    *(Case(op(), X, uniform(3, 1, 1, low=1), batch=True) for op in ARITHMETIC),
    *(Case(op(), X, Constant(f32(1.5))) for op in ARITHMETIC),
    *(Case(op(), Constant(f32([-0.1])), ROW) for op in ARITHMETIC),
    *(Case(op(), uniform(4, dtype="float16"), Constant(f16([0.1] * 4))) for op in ARITHMETIC),
    *(Case(op(), uniform(4, dtype="float64"), uniform(2, 4, low=1, dtype="float64")) for op in ARITHMETIC),
    *(Case(op(same_shape=True), X, X[::-1].copy(), batch=True) for op in (*ARITHMETIC, *COMPARISONS)),
    *(Case(op(same_shape=True), TRUTHS, ~TRUTHS[::-1], batch=True) for op in (ir.And, ir.Or, ir.Xor)),
    Case(ir.Pow(same_shape=True), ROW, ROW[::-1].copy(), batch=True),
    Case(ir.Add(), X, Constant(f32(1.5)), text="return x + 1.5  #"),
    Case(ir.Sub(), Constant(f32(1)), X, text="x = 1.0 - x  #"),
    Case(ir.Div(), whole("int32", 9, low=-20), Constant(i32(-3)), text='torch.div(x, -3, rounding_mode="trunc")'),
    Case(ir.Div(), whole("uint8", 9), Constant(u8(3)), text="x // 3"),
    *(Case(op(), *integers(dtype), expected=[numpy_of(op, *integers(dtype))])
      for op in ARITHMETIC for dtype in INTEGERS),
    *(Case(op(), BIG, BIG[::-1].copy() | 1, expected=[numpy_of(op, BIG, BIG[::-1] | 1)]) for op in ARITHMETIC),
    Case(ir.Mod(), whole("int32", 3, 9, low=-50), whole("int32", 9, low=-50, seed=1)),
    Case(ir.Mod(), whole("int64", 9, low=-50), Constant(i64(-7)), text="x % -7"),
    Case(ir.Mod(fmod=True), whole("int64", 9, low=-50), Constant(i64(7)), text="torch.fmod(x, 7)"),
    Case(ir.Mod(fmod=True), X, ROW, batch=True),
    Case(ir.Mod(), BIG, BIG[::-1].copy() | 1, expected=[BIG % (BIG[::-1] | 1)]),
    Case(ir.Mod(), *integers("uint16"), expected=[np.remainder(*integers("uint16"))]),
    Case(ir.Pow(), ROW, uniform(2, 7)),
    Case(ir.Pow(), X, Constant(f32(2)), text="x = x**2  #"),
    Case(ir.Pow(), X, Constant(i64([3])), batch=True, text="x = x**3  #"),
    Case(ir.Pow(), Constant(f32(2)), X, text="x = 2.0**x  #"),
    Case(ir.Pow(), ROW, Constant(f64(-0.5))),
    Case(ir.Pow(), ROW, uniform(7, dtype="float64")),
    Case(ir.Pow(), np.arange(-4, 4, dtype=np.int32), Constant(i64(3))),
    Case(ir.Pow(), np.arange(1, 9, dtype=np.int64), Constant(f32(0.5))),
    Case(ir.Pow(), np.arange(1, 9, dtype=np.int32), np.arange(8, dtype=np.int64) % 4),
    Case(ir.Pow(), np.arange(1, 9, dtype=np.int32), uniform(8)),
    Case(ir.Pow(), np.arange(1, 9, dtype=np.int32), Constant(i32(-1))),
    *(Case(op(), SPECIAL, SPECIAL[::-1].copy()) for op in (*COMPARISONS, *ARITHMETIC, ir.Max, ir.Min)),
    *(Case(op(), X, Constant(f32(0.5)), batch=True) for op in COMPARISONS),
    *(Case(op(), BIG, BIG[::-1].copy()) for op in COMPARISONS),
    *(Case(op(), BIG[:, None], Constant(BIG)) for op in COMPARISONS),
    *(Case(op(), whole("int32", 5), whole("int32", 4, 1, seed=1)) for op in COMPARISONS),
    Case(ir.Greater(), whole("uint16", 5), Constant(u16(30)), expected=[whole("uint16", 5) > 30]),
    Case(ir.Equal(), TRUTHS, Constant(np.bool_(True)), text="return x"),
    Case(ir.Equal(), Constant(np.bool_(False)), TRUTHS, text="~x"),
    Case(ir.Equal(), TRUTHS, ~TRUTHS[:, :1]),
    *(Case(op(), TRUTHS, TRUTHS[:1, ::-1].copy()) for op in (ir.And, ir.Or, ir.Xor)),
    *(Case(op(), TRUTHS, TRUTHS[0, 0].copy(), batch=True) for op in (ir.And, ir.Or, ir.Xor)),
    *(Case(op(), TRUTHS, Constant(np.bool_(True))) for op in (ir.And, ir.Or, ir.Xor)),
    *(Case(ir.Not(), values) for values in (TRUTHS, TRUTHS[0, 0], np.array(True))),
    Case(ir.Not(), TRUTHS, batch=True),
    *(Case(op(), uniform(3, 4, low=low, high=high), batch=batch)
      for op, low, high in (
          (ir.Acos, -1, 1), (ir.Acosh, 1, 9), (ir.Asin, -1, 1), (ir.Asinh, -9, 9), (ir.Atan, -9, 9), (ir.Atanh, -1, 1),
          (ir.Ceil, -3, 3), (ir.Cos, -9, 9), (ir.Cosh, -3, 3), (ir.Erf, -3, 3), (ir.Exp, -3, 3), (ir.Floor, -3, 3),
          (ir.Log, 0, 9), (ir.Neg, -3, 3), (ir.Abs, -3, 3), (ir.Reciprocal, 1, 3), (ir.Round, -3, 3), (ir.Sign, -3, 3),
          (ir.Sin, -9, 9), (ir.Sinh, -3, 3), (ir.Sqrt, 0, 9), (ir.Tan, -1, 1), (ir.Identity, -3, 3),
      ) for batch in (False, True)),
    *(Case(op(), SPECIAL) for op in (ir.Abs, ir.Ceil, ir.Floor, ir.Exp, ir.Log, ir.Neg, ir.Sqrt, ir.Round,
                                     ir.Reciprocal, ir.Atan, ir.IsNaN, ir.IsInf)),
    *(Case(op(), uniform(5, low=1), batch=True) for op in (ir.Acosh, ir.Asinh, ir.Cosh, ir.Sinh, ir.Cos, ir.Sin, ir.Tan,
                                                           ir.Identity)),
    *(Case(op(), uniform(1, 7, low=-0.9, high=0.9)) for op in (ir.Acos, ir.Asin, ir.Atanh)),
    Case(ir.IsNaN(), SPECIAL.astype(np.float64)[:, None], batch=True),
    *(Case(op(), uniform(5, dtype="float16")) for op in (ir.Ceil, ir.Exp, ir.Abs, ir.Neg, ir.Sqrt)),
    Case(ir.Sign(), SPECIAL, text="torch.where(x.isnan(), x, torch.sign(x))"),
    Case(ir.Erf(), SPECIAL[:-1], text="torch.erf(x)"),
    *(Case(op(), whole(dtype, 6)) for op in (ir.Abs, ir.Sign) for dtype in ("int8", "int32", "int64", "uint8")),
    *(Case(op(), values, expected=[expected]) for values in (BIG, BIG.astype(np.uint16), BIG.astype(np.uint32))
      for op, expected in ((ir.Abs, values), (ir.Sign, np.sign(values)))),
    *(Case(ir.Neg(), whole(dtype, 6)) for dtype in ("int8", "int32", "int64")),
    Case(ir.Reciprocal(), X, text="x = 1 / x  #"),
    Case(ir.IsInf(detect_negative=False), SPECIAL, text="x.isposinf()"),
    Case(ir.IsInf(detect_positive=False), SPECIAL, batch=True),
    Case(ir.IsInf(detect_positive=False, detect_negative=False), SPECIAL),
    Case(ir.IsNaN(), SPECIAL[:8].astype(np.float16)),
    Case(ir.PRelu(), X, Constant(uniform(5, 1)), text="nn.PReLU(5)"),
    Case(ir.PRelu(), X, Constant(f32([0.25])), batch=True, text="nn.PReLU()"),
    Case(ir.PRelu(), X, Constant(uniform(1, 5, 1, seed=2)), text="nn.PReLU(5)"),
    Case(ir.PRelu(), X, Constant(ROW), text="torch.where(x >= 0, x, self.c * x)"),
    Case(ir.PRelu(), X, uniform(5, 1)),
    Case(ir.PRelu(), uniform(3, 5), Constant(uniform(5))),
    Case(ir.PRelu(), uniform(5), Constant(f32(0.5))),
    Case(ir.PRelu(), whole("int32", 3, 4), Constant(i32([2, 3, 4, 5]))),
    Case(ir.Sum(), X, ROW, uniform(5, 1), text="return in0 + in1 + in2  #"),
    Case(ir.Sum(), X, Constant(f32(2)), batch=True),
    Case(ir.Sum(), X),
    Case(ir.Mean(), X, ROW, batch=True, text="(in0 + in1) / 2"),
    Case(ir.Mean(), X, ROW, Constant(f32(2))),
    Case(ir.Mean(), X),
    *(Case(op(), X, ROW, Constant(f32(0.5)), batch=True) for op in (ir.Max, ir.Min)),
    *(Case(op(), X) for op in (ir.Max, ir.Min)),
    *(Case(op(), BIG, BIG[::-1].copy(), Constant(BIG[3:4])) for op in (ir.Max, ir.Min)),
    *(Case(op(), whole("int64", 5), Constant(i64(3))) for op in (ir.Max, ir.Min)),
    *(Case(op(), *integers(d), expected=[f(*integers(d))])
      for op, f in ((ir.Max, np.maximum), (ir.Min, np.minimum)) for d in INTEGERS),
    Case(ir.Max(), X, Constant(f32(0)), text="return x.clamp(min=0.0)  #"),
    Case(ir.Max(), X, ROW, text="torch.maximum(in0, in1)"),
    *(Case(op(), SPECIAL, second) for op in (ir.Max, ir.Min) for second in (SPECIAL[::-1].copy(), Constant(f32(1)))),
    Case(ir.Clip(), X, Constant(f32(0)), Constant(f32(6)), text="F.relu6(x)"),
    Case(ir.Clip(), X, Constant(f32(-1)), Constant(f32(1)), text="x.clamp(-1.0, 1.0)"),
    Case(ir.Clip(), X, None, Constant(f32(1)), batch=True, text="x.clamp(max=1.0)"),
    Case(ir.Clip(), X, Constant(f32(1)), Constant(f32(-1))),
    Case(ir.Clip(), X, f32(-0.5), Constant(f32(1))),
    Case(ir.Clip(), SPECIAL, Constant(f32(-np.inf)), f32(1)),
    Case(ir.Clip(), X),
    Case(ir.Clip(), whole("int64", 9), Constant(i64(3))),
    Case(ir.Clip(), whole("uint8", 9), Constant(u8(3)), Constant(u8(20))),
    Case(ir.Clip(), BIG, Constant(BIG[2]), Constant(BIG[5])),
    Case(ir.Clip(), whole("uint16", 9), Constant(u16(3)), Constant(u16(20)),
         expected=[whole("uint16", 9).clip(3, 20)]),
    Case(ir.Where(), TRUTHS, X, ROW),
    Case(ir.Where(), TRUTHS, Constant(f32(1)), Constant(f32(0)), text="torch.where(x, 1.0, 0.0)"),
    Case(ir.Where(), TRUTHS, Constant(f64(1)), Constant(f64(0))),
    Case(ir.Where(), TRUTHS, Constant(np.finfo(np.float32).max), X),
    Case(ir.Where(), TRUTHS, Constant(np.finfo(np.float32).min), X),
    Case(ir.Where(), TRUTHS, Constant(np.finfo(np.float16).max), X.astype(np.float16)),
    Case(ir.Max(), X, Constant(np.finfo(np.float32).max)),
    Case(ir.Where(), TRUTHS, X, Constant(f32(-np.inf)), batch=True, text="-math.inf"),
    Case(ir.Where(), TRUTHS[0, :, :1].copy(), whole("int32", 4, 5, 7), Constant(i32(5))),
    Case(ir.Where(), TRUTHS[0, 0], BIG, Constant(BIG[6])),
    Case(ir.Where(), TRUTHS, ~TRUTHS, Constant(np.bool_(False))),
    Case(ir.Where(), TRUTHS, Constant(i64(3)), Constant(i64(4))),
    *(Case(ir.Cast(to=to), f64([5.3e11, 300.7, -3.5, 7, 1e30])) for to in (DType.UINT8, DType.INT8, DType.INT16)),
    Case(ir.Cast(to=DType.INT32), X, text="x.to(torch.int32)"),
    Case(ir.Cast(to=DType.FLOAT16), X, batch=True),
    Case(ir.Cast(to=DType.FLOAT8E5M2, saturate=False), X, batch=True, expected=[X.astype(DType.FLOAT8E5M2.numpy())]),
    Case(ir.Cast(to=DType.BOOL), SPECIAL),
    Case(ir.Cast(to=DType.FLOAT32), BIG),
    Case(ir.Cast(to=DType.UINT8), whole("int64", 3, 4) * 77),
    Case(ir.Cast(to=DType.INT8), whole("int64", 3, 4) * 77),
    Case(ir.Cast(to=DType.UINT64), whole("int64", 9, low=-20)),
    Case(ir.Cast(to=DType.UINT16), uniform(9, low=0, high=60000)),
    Case(ir.Cast(to=DType.FLOAT32), TRUTHS),
    Case(ir.Cast(to=DType.FLOAT64), uniform(3, dtype="float16")),
]  # fmt: skip


@pytest.mark.parametrize("case", ROWS, ids=str)
def test_numbers_and_text(case: Case, check: Check) -> None:
    check(case)


NARROW = (DType.FLOAT8E4M3FN, DType.FLOAT8E4M3FNUZ, DType.FLOAT8E5M2, DType.FLOAT8E5M2FNUZ)
REACHING = f32([0.1, -0.0, 17, 239, 241, 447, 460, 464, 465, 481, 5e4, 1e5, 1e9, np.inf, -np.inf, np.nan])


@pytest.mark.parametrize("saturate", [True, False])
@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_narrow_floats_saturate_where_they_are_to(dtype: DType, saturate: bool, check: Check) -> None:
    narrow = dtype.numpy()
    limits: Any = ml_dtypes.finfo
    largest = float(limits(narrow).max)
    expected = (REACHING.clip(-largest, largest) if saturate else REACHING).astype(narrow)
    check(Case(ir.Cast(to=dtype, saturate=saturate), REACHING, expected=[expected]))
    check(Case(ir.Cast(to=DType.FLOAT32), expected, expected=[expected.astype(np.float32)]))
