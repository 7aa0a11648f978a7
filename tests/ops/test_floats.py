"""Floats that are followed: computed and rounded as runtimes do it, whole ones with symbolic sizes."""

from __future__ import annotations

import pytest

from graphir.ops.creation import Range
from graphir.ops.elements import as_stored
from graphir.ops.elementwise import Add, Cast, Ceil, Div, Floor, Max, Mul, Pow, Reciprocal, Round, Sqrt, Sub
from graphir.ops.reduction import ReduceSum
from graphir.ops.resize import Resize
from graphir.symbolic.expression import Sym
from graphir.symbolic.unknown import Unknown
from graphir.types import UNKNOWN, DType, symbol
from tests.ops.harness import followed, good
from tests.ops.rule import known, real

N = symbol("N")
SINGLE_TENTH = 0.10000000149011612

VALUES = (
    (Cast(DType.FLOAT32), (known(3, "N"),), ["[3, N]"]),
    (Cast(DType.FLOAT32), (known(2**24 + 1, 4),), ["[?, 4]"]),
    (Cast(DType.FLOAT16), (known(2048, 2049, "N"),), ["[2048, ?, ?]"]),
    (Cast(DType.INT64), (real(2.5, -2.5, "N", 3),), ["[2, -2, N, 3]"]),
    (Mul(), (real(3, "N"), real(0.5, 2)), ["[1.5, 2*N]"]),
    (Mul(), (real(5, "N"), real(SINGLE_TENTH, 0.5)), ["[0.5, ?]"]),
    (Add(), (real(0.5, "N"), real(0.5, 1)), ["[1, N+1]"]),
    (Sub(), (real(0.25), real(1)), ["[-0.75]"]),
    (Div(), (real(1, 6, "4*N", "N"), real(3, 4, 2, 2)), ["[0.3333333432674408, 1.5, 2*N, ?]"]),
    (Div(), (real(1), real(0)), [None]),
    (Floor(), (real(2.5, -2.5, "N"),), ["[2, -3, N]"]),
    (Ceil(), (real(2.5, -2.5, "N"),), ["[3, -2, N]"]),
    (Round(), (real(0.5, 1.5, 2.5, "N"),), ["[0, 2, 2, N]"]),
    (Sqrt(), (real(9, 2),), ["[3, 1.4142135381698608]"]),
    (Reciprocal(), (real(4, 0),), ["[0.25, ?]"]),
    (Pow(), (real(3, 0.5), real(2, 2)), ["[9, ?]"]),
    (Max(), (real(0.5, "N"), real(1, 1)), ["[1, N]"]),
    (Max(), (real("N"), real(0.5)), [None]),
    (ReduceSum(), (real(1, 2),), ["[3]"]),
    (ReduceSum(), (real(1, 0.5),), [None]),
    (ReduceSum(), (real(2**24, 1, -(2**24)),), [None]),
)
test_elements = followed(VALUES)


SIZES = (
    (Range(), (real(1), real(2), real(0.5)), ["float32[2]"]),
    (Range(), (real(0), real(1), real(SINGLE_TENTH)), ["float32[10]"]),
    (Range(), (real(-1.2999999523162842), real(3), real(SINGLE_TENTH)), ["float32[?]"]),
    (Range(), (real(0), real("N"), real(1)), ["float32[N]"]),
    (Range(), (real(0), real(0.5), real("N")), ["float32[?]"]),
    (Resize(), ("float32[N, 5]", None, real(1, 1.5)), ["float32[N, 7]"]),
    (Resize(), ("float32[N, 5]", None, real(0.5, "N")), ["float32[N//2, ?]"]),
    (Resize(factors=(0.6, 1.0)), ("float32[N, 5]",), ["float32[(3*N)//5, 5]"]),
    (Resize(factors=(0.6180339887, 1.0)), ("float32[N, 5]",), ["float32[?, 5]"]),
)
test_results_of_sizes = good(SIZES)


HELD = (
    (300, DType.UINT8, UNKNOWN),
    (255, DType.UINT8, 255),
    (-1, DType.UINT8, UNKNOWN),
    (2, DType.BOOL, UNKNOWN),
    (N, DType.INT8, UNKNOWN),
    (N, DType.INT32, N),
    (N - 5, DType.INT32, N - 5),
    (N, DType.UINT32, N),
    (N - 5, DType.UINT32, UNKNOWN),
    (0.5, DType.INT64, UNKNOWN),
    (0.5, None, UNKNOWN),
    (0.1, DType.FLOAT32, SINGLE_TENTH),
    (0.1, DType.FLOAT64, 0.1),
    (0.5, DType.FLOAT16, UNKNOWN),
    (1e300, DType.FLOAT32, UNKNOWN),
    (UNKNOWN, DType.INT64, UNKNOWN),
    (3, DType.STRING, UNKNOWN),
)


@pytest.mark.parametrize(("element", "dtype", "expected"), HELD, ids=str)
def test_what_a_dtype_holds(
    element: float | Sym | Unknown, dtype: DType | None, expected: float | Sym | Unknown
) -> None:
    assert as_stored(element, dtype) == expected
