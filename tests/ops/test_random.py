"""Rules of the operators that draw random numbers."""

from __future__ import annotations

import pytest

from graphir.errors import ShapeError
from graphir.ops.base import Operator
from graphir.ops.random import (
    Bernoulli,
    Multinomial,
    RandomNormal,
    RandomNormalLike,
    RandomUniform,
    RandomUniformLike,
)
from graphir.types import DType
from tests.ops.late import late
from tests.ops.rule import backwards, results

GOOD = (
    (RandomNormal((2, 3)), (), "float32[2, 3]"),
    (RandomUniform((), DType.FLOAT64), (), "float64[]"),
    (RandomNormalLike(), ("float16[N,?]",), "float16[N, ?]"),
    (RandomUniformLike(DType.FLOAT32), ("int64[...]",), "float32[...]"),
    (Bernoulli(), ("float64[N]",), "float64[N]"),
    (Bernoulli(DType.BOOL), ("float32[N]",), "bool[N]"),
    (Multinomial(), ("float32[N,10]",), "int32[N, 1]"),
    (Multinomial(DType.INT64, 5), ("float32[...]",), "int64[?, 5]"),
)

BAD = (
    (late(RandomNormal, (2, -3)), (), "expected sizes of 0 or more"),
    (late(RandomUniform, (-1,)), (), "expected sizes of 0 or more"),
    (late(Multinomial, DType.FLOAT32), ("float32[2,3]",), "expected int32 or int64"),
    (Multinomial(), ("float32[2]",), "expected 2 axes"),
)

BACKWARD = (
    (RandomNormalLike(), ("?[...]",), ("float16[2]",), ["float16[2]"]),
    (Bernoulli(DType.BOOL), ("float32[...]",), ("bool[2]",), ["float32[2]"]),
    (Multinomial(), ("float32[...]",), ("int32[2,1]",), ["float32[2, ?]"]),
)


@pytest.mark.parametrize(("op", "operands", "expected"), GOOD, ids=str)
def test_infers(op: Operator, operands: tuple[str, ...], expected: str) -> None:
    assert results(op, *operands) == [expected]


@pytest.mark.parametrize(("op", "operands", "text"), BAD, ids=str)
def test_refuses(op: Operator, operands: tuple[str, ...], text: str) -> None:
    with pytest.raises(ShapeError, match=text):
        results(op, *operands)


@pytest.mark.parametrize(("op", "operands", "found", "expected"), BACKWARD, ids=str)
def test_infers_backwards(op: Operator, operands: tuple[str, ...], found: tuple[str, ...], expected: list[str]) -> None:
    assert backwards(op, operands, found) == expected
