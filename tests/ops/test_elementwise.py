"""Rules of elementwise operators."""

from __future__ import annotations

from graphir.ops import elementwise as ir
from graphir.types import DType
from tests.ops.harness import backward, bad, good, propagated

UNARY = (
    *(ir.Abs, ir.Acos, ir.Acosh, ir.Asin, ir.Asinh, ir.Atan, ir.Atanh, ir.Ceil, ir.Cos, ir.Cosh, ir.Erf, ir.Exp),
    *(ir.Floor, ir.Identity, ir.Log, ir.Neg, ir.Reciprocal, ir.Round, ir.Sign, ir.Sin, ir.Sinh, ir.Sqrt, ir.Tan),
)
COMPARISONS = (ir.Equal, ir.Greater, ir.GreaterOrEqual, ir.Less, ir.LessOrEqual)
LOGICAL = (ir.And, ir.Or, ir.Xor)
ARITHMETIC = (ir.Add, ir.Div, ir.Mod, ir.Mul, ir.Pow, ir.Sub)
VARIADIC = (ir.Max, ir.Mean, ir.Min, ir.Sum)
GOOD = (
    (ir.Exp(), "f[2,N,?]", "f[2,N,?]"),
    (ir.Neg(), "[...]", "[...]"),
    (ir.IsNaN(), "f[2,N]", "b[2,N]"),
    (ir.Add(), "f[2,1,4] f[3,1]", "f[2,3,4]"),
    (ir.Add(), "f[N,3] f[3]", "f[N,3]"),
    (ir.Add(), "f[N,3] f[?,3]", "f[?,3]"),
    (ir.Add(), "f[N,3] f[5,3]", "f[5,3]"),
    (ir.Add(), "f[...] f[3]", "f[...]"),
    (ir.Add(), "[2] f[2]", "f[2]"),
    (ir.Add(same_shape=True), "f[...] f[2,3]", "f[2,3]"),
    (ir.Add(same_shape=True), "f[?,3] f[2,?]", "f[2,3]"),
    (ir.Pow(), "f[2,3] j[]", "f[2,3]"),
    (ir.Greater(), "f[2,1] f[3]", "b[2,3]"),
    (ir.And(), "b[2] b[2]", "b[2]"),
    (ir.Sum(), "f[2,1] f[3] f[]", "f[2,3]"),
    (ir.Max(), "j[2]", "j[2]"),
    (ir.Clip(), "f[2,N] f[] f[]", "f[2,N]"),
    (ir.Clip(), "f[2,N] - f[]", "f[2,N]"),
    (ir.Where(), "b[2,1] f[3] f[]", "f[2,3]"),
    (ir.Cast(DType.FLOAT16), "f[2,N]", "h[2,N]"),
    (ir.PRelu(), "f[2,3,4] f[3,1]", "f[2,3,4]"),
    (ir.PRelu(), "f[...] f[3,1]", "f[...]"),
    (ir.Not(), "b[2]", "b[2]"),
    (ir.IsInf(), "f[...]", "b[...]"),
    (ir.Mod(), "i[2,1] i[3]", "i[2,3]"),
    (ir.Mean(), "f[2,1] f[3] f[]", "f[2,3]"),
    *((cls(), operand, operand) for cls in UNARY for operand in ("f[2,N]", "h[]", "d[?,3]", "f[...]")),
    *((cls(), "f[2,1] f[3]", "f[2,3]") for cls in (*ARITHMETIC, *VARIADIC)),
    *((cls(), "f[2,1] f[3]", "b[2,3]") for cls in COMPARISONS),
    *((cls(), "i[N] i[]", "b[N]") for cls in COMPARISONS),
    *((cls(), "f[...] f[2]", "b[...]") for cls in COMPARISONS),
    *((cls(), "b[2,1] b[3]", "b[2,3]") for cls in LOGICAL),
)
test_results = good(GOOD)


BAD = (
    (ir.Add(), "f[2,3] f[2,4]", "3 and 4 do not broadcast"),
    (ir.Add(), "f[2] d[2]", "dtypes float32 and float64 differ"),
    (ir.Mul(same_shape=True), "f[2,3] f[1,3]", "2 and 1 differ"),
    (ir.Mul(same_shape=True), "f[2,3] f[3]", "differ in rank"),
    (ir.Where(), "f[2] f[2] f[2]", "the condition is float32, expected bool"),
    (ir.PRelu(), "f[3] f[2,3]", "the slope has more axes than X"),
    (ir.Sum(), "f[2] f[3]", "do not broadcast"),
    (ir.Clip(), "f[2] d[]", "dtypes float32 and float64 differ"),
    (ir.Cast(DType.FLOAT16), "complex64[2]", "X is complex64"),
    (ir.Identity(), "f[2] f[2]", "Identity takes X, found 2 operands"),
    (ir.IsInf(), "i[2]", "X is int64"),
    (ir.IsNaN(), "i[2]", "X is int64"),
    (ir.Not(), "f[2]", "X is float32"),
    *((cls(), "b[2]", "X is bool") for cls in UNARY if cls is not ir.Identity),
    *((cls(), "f[2,3] f[2,4]", "3 and 4 do not broadcast") for cls in (*ARITHMETIC, *VARIADIC, *COMPARISONS)),
    *((cls(), "b[2,3] b[2,4]", "3 and 4 do not broadcast") for cls in LOGICAL),
)
test_refused = bad(BAD)


BACKWARD = (
    (ir.Exp(), "[...]", "f[2,N]", "f[2,N]"),
    (ir.Add(same_shape=True), "f[...] [?,3]", "f[2,?]", "f[2,3] f[2,3]"),
    (ir.Add(), "f[2,1] [...]", "f[2,3]", "f[2,1] f[...]"),
    (ir.Greater(), "f[2] [2]", "b[2]", "f[2] f[2]"),
    (ir.Cast(DType.FLOAT16), "f[...]", "h[2,3]", "f[2,3]"),
    (ir.Clip(), "[...] - f[]", "f[2]", "f[2] - f[]"),
    (ir.PRelu(), "[...] [3,1]", "f[2,3,4]", "f[2,3,4] f[3,1]"),
)
test_operands = backward(BACKWARD)


FOLLOWED = (
    (ir.Equal(), "i:2,3 s:3", "i:0,1"),
    (ir.Less(), "s:2 s:3", "s:1"),
    (ir.And(), "s:1 s:0", "s:0"),
    (ir.Equal(), "i:2,N s:3", "i:0,?"),
    (ir.Add(), "i:1,N i:2", "i:3,N+2"),
    (ir.Sub(), "i:8,N s:1", "i:7,N-1"),
    (ir.Mul(), "i:2,N i:3,4", "i:6,4*N"),
    (ir.Div(), "i:7,H s:2", "i:3,H//2"),
    (ir.Div(), "i:-7,7,-6,6 i:2,-2,-4,-4", "i:-3,-3,1,-1"),
    (ir.Div(), "i:7,8 i:0,2", "i:?,4"),
    (ir.Max(), "i:1,9 i:5", "i:5,9"),
    (ir.Min(), "i:1,9 i:5 i:0", "i:0,0"),
    (ir.Cast(DType.INT32), "i:1,N", "i:1,N"),
    (ir.Cast(DType.FLOAT32), "i:1,N", "i:1,N"),
    (ir.Add(), "i:1,2 i[2]", "i:?,?"),
    (ir.Add(), "i:1,2 i[N]", "-"),
    (ir.Add(), "i:1,2 f[...]", "-"),
    (ir.Add(), "s:4 i:1,?", "i:5,?"),
    (ir.Add(), "i:1,2 i:1,2,3", "-"),
    (ir.Sub(), "s:M s:M", "s:0"),
    (ir.Div(), "s:2*N s:2", "s:N"),
    (ir.Div(), "s:N s:M", "s:N//M"),
    (ir.Div(), "s:3-N s:2", "s:?"),
    (ir.Mul(), "s:2 s:N//2", "s:2*(N//2)"),
    (ir.Mod(), "i:7,-7 i:3,3", "i:1,2"),
    (ir.Mod(fmod=True), "i:7,-7 i:3,3", "i:1,-1"),
    (ir.Mod(), "s:N s:3", "s:N-3*(N//3)"),
    (ir.Mod(), "i:N,5 i:0,M-1", "i:?,?"),
    (ir.Pow(), "i:2,N s:2", "i:4,N*N"),
    (ir.Pow(), "i:2 s:-1", "i:?"),
    (ir.Neg(), "i:1,N", "i:-1,-N"),
    (ir.Abs(), "i:-3,N,?", "i:3,N,?"),
    (ir.Sign(), "i:-3,0,N,N-1,-N", "i:-1,0,1,?,-1"),
    (ir.Identity(), "i:-3,N,?", "i:-3,N,?"),
    (ir.Floor(), "i:3,N", "i:3,N"),
    (ir.Sqrt(), "i:9,N", "i:3,?"),
    (ir.Exp(), "i:0,1", "-"),
    (ir.Sum(), "i:1,N i:2 s:3", "i:6,N+5"),
    (ir.Max(), "i:1,N+2,N i:2,3,N+1", "i:2,N+2,N+1"),
    (ir.Min(), "s:N s:N+1", "s:N"),
    (ir.Clip(), "i:-1,5,N s:0", "i:0,5,N"),
    (ir.Clip(), "i:-1,5 - s:4", "i:-1,4"),
    (ir.Clip(), "s:1 i:4 i:9", "s:4"),
    (ir.Clip(), "i:1,N i[] s:9", "i:?,?"),
    (ir.Greater(), "i:N+1,N,N-1,3 i:N,N,N,2", "i:1,0,0,1"),
    (ir.Greater(), "i:N,? s:1", "i:?,?"),
    (ir.GreaterOrEqual(), "i:N,0 s:1", "i:1,0"),
    (ir.Less(), "i:N,0 s:1", "i:0,1"),
    (ir.LessOrEqual(), "i:N,0 i:N,-1", "i:1,0"),
    (ir.Equal(), "i:N,N+1,N i:N,N,M", "i:1,0,?"),
    (ir.And(), "i:1,0,? i:?,?,1", "i:?,0,?"),
    (ir.Or(), "i:1,0,? i:?,?,0", "i:1,?,?"),
    (ir.Xor(), "i:1,0 i:1,1", "i:0,1"),
    (ir.Not(), "i:1,0,?", "i:0,1,?"),
    (ir.Cast(DType.BOOL), "i:2,0,N,?", "i:1,0,1,?"),
    (ir.Cast(DType.STRING), "i:2", "-"),
    (ir.Where(), "i:1,0,?,? i:N,2,3,4 i:5,M,3,5", "i:N,M,3,?"),
    (ir.Where(), "i:1,1 i:N,2 i[2]", "i:N,2"),
    (ir.Where(), "i:1,0 i:N,2 i[...]", "-"),
)
test_elements = propagated(FOLLOWED)
