"""Rules of the operators that draw random numbers."""

from __future__ import annotations

from graphir.ops.random import (
    Bernoulli,
    Multinomial,
    RandomNormal,
    RandomNormalLike,
    RandomUniform,
    RandomUniformLike,
)
from graphir.types import DType
from tests.ops.harness import backward, bad, good
from tests.ops.late import late

GOOD = (
    (RandomNormal((2, 3)), (), "float32[2, 3]"),
    (RandomUniform((), DType.FLOAT64), (), "float64[]"),
    (RandomNormal((2,), scale=0.0), (), "float32[2]"),
    (RandomUniform((2,), low=1.0, high=1.0), (), "float32[2]"),
    (RandomNormalLike(), ("float16[N,?]",), "float16[N, ?]"),
    (RandomUniformLike(DType.FLOAT32), ("int64[...]",), "float32[...]"),
    (Bernoulli(), ("float64[N]",), "float64[N]"),
    (Bernoulli(DType.BOOL), ("float32[N]",), "bool[N]"),
    (Multinomial(), ("float32[N,10]",), "int32[N, 1]"),
    (Multinomial(DType.INT64, 5), ("float32[...]",), "int64[?, 5]"),
)

BAD = (
    (Bernoulli(), ("int64[2]",), "X is int64"),
    (RandomNormalLike(), ("float8e4m3fn[2]",), "X is float8e4m3fn"),
    (RandomUniformLike(), ("float8e4m3fn[2]",), "X is float8e4m3fn"),
    (late(RandomNormal, (2, -3)), (), "expected sizes of 0 or more"),
    (late(RandomUniform, (-1,)), (), "expected sizes of 0 or more"),
    (late(RandomNormal, (2,), scale=-1.0), (), "scale is -1.0, expected a standard deviation of 0 or more"),
    (late(RandomNormalLike, scale=float("nan")), ("float32[2]",), "scale is nan, expected a standard deviation"),
    (late(RandomUniform, (2,), low=3.0, high=1.0), (), "high is 1.0, expected at least low, which is 3"),
    (late(RandomUniformLike, low=3.0, high=1.0), ("float32[2]",), "high is 1.0, expected at least low, which is 3"),
    (late(Multinomial, DType.FLOAT32), ("float32[2,3]",), "expected int32 or int64"),
    (Multinomial(), ("float32[2]",), "expected 2 axes"),
)

BACKWARD = (
    (RandomNormalLike(), ("?[...]",), ("float16[2]",), ["float16[2]"]),
    (Bernoulli(DType.BOOL), ("float32[...]",), ("bool[2]",), ["float32[2]"]),
    (Multinomial(), ("float32[...]",), ("int32[2,1]",), ["float32[2, ?]"]),
)
test_results = good(GOOD)
test_refused = bad(BAD)
test_operands = backward(BACKWARD)
