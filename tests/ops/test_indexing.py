"""Rules of the operators that look up, place or find elements by index."""

from __future__ import annotations

import pytest

from graphir.errors import ShapeError
from graphir.ops.base import Known
from graphir.ops.indexing import (
    Compress,
    CumProd,
    CumSum,
    Gather,
    GatherElements,
    GatherND,
    NonZero,
    OneHot,
    Reduction,
    ScatterElements,
    ScatterND,
    Unique,
)
from graphir.types import symbol
from tests.ops.harness import backward, bad, followed, good
from tests.ops.rule import boolean, elements, known, scalar

N = symbol("N")
SQUARE = Known((2, 2), (1, N, 3, 4))

GOOD = (
    (Gather(), ("float32[7, 4]", "int64[N, 5]"), ["float32[N, 5, 4]"]),
    (Gather(1), ("float32[N, 4, ?]", "int32[]"), ["float32[N, ?]"]),
    (Gather(-1), ("float32[N, 4]", "int64[2]"), ["float32[N, 2]"]),
    (Gather(), ("float32[...]", "int64[2]"), ["float32[...]"]),
    (GatherElements(1), ("float32[N, 4]", "int64[N, 1]"), ["float32[N, 1]"]),
    (GatherElements(), ("float32[...]", "int64[...]"), ["float32[...]"]),
    (GatherND(), ("float32[3, 4, H]", "int64[N, 2]"), ["float32[N, H]"]),
    (GatherND(1), ("float32[N, 5, 4]", "int64[N, 1]"), ["float32[N, 4]"]),
    (GatherND(), ("float32[3, 4]", "int64[2, ?]"), ["float32[...]"]),
    (ScatterElements(1), ("float32[N, 4]", "int64[N, 1]", "float32[N, 1]"), ["float32[N, 4]"]),
    (ScatterND(), ("float32[3, 4]", "int64[5, 1]", "float32[5, 4]"), ["float32[3, 4]"]),
    (ScatterND(), ("float32[...]", "int64[...]", "float32[...]"), ["float32[...]"]),
    (OneHot(), ("int64[N]", scalar(4), "float32[2]"), ["float32[N, 4]"]),
    (OneHot(0), ("int64[N, 3]", "int64[]", "float32[2]"), ["float32[?, N, 3]"]),
    (OneHot(), ("int64[...]", scalar(4), "float32[2]"), ["float32[...]"]),
    (Compress(1), ("float32[N, 4]", "bool[4]"), ["float32[N, new:count]"]),
    (Compress(1), ("float32[N, 4]", boolean(1, 0, 1)), ["float32[N, 2]"]),
    (NonZero(), (known(2, 0, "N"),), ["int64[1, 2]"]),
    (Unique(), (known(2, 3, 2),), ["int64[2]", "int64[2]", "int64[3]", "int64[2]"]),
    (Compress(), ("float32[N, 4]", "bool[4]"), ["float32[new:count]"]),
    (NonZero(), ("float32[N, 4]",), ["int64[2, new:count]"]),
    (NonZero(), ("float32[...]",), ["int64[?, new:count]"]),
    (Unique(), ("float32[N, 4]",), ["float32[new:count]", "int64[new:count]", "int64[4*N]", "int64[new:count]"]),
    (Unique(axis=0), ("float32[N, 4]",), ["float32[new:count, 4]", "int64[new:count]", "int64[N]", "int64[new:count]"]),
    (Unique(axis=0), ("float32[...]",), ["float32[...]", "int64[new:count]", "int64[?]", "int64[new:count]"]),
    (NonZero(), ("float32[]",), ["int64[?, new:count]"]),
    (NonZero(), (scalar(2),), ["int64[?, new:count]"]),
    (Compress(0), ("float32[2]", boolean(0, 1, 1)), ["float32[1]"]),
    (CumSum(), ("float32[N, 4]", scalar(1)), ["float32[N, 4]"]),
    (CumProd(reverse=True), ("int32[N, 4]", "int64[]"), ["int32[N, 4]"]),
)

BAD = (
    (CumSum(), ("float32[3]", "float32[]"), "expected int32 or int64"),
    (CumSum(), ("float32[N, 4]", scalar(2)), "axis 2 does not exist in a tensor of rank 2"),
    (CumProd(), ("float32[N, 4]", scalar(-3)), "axis -3 does not exist in a tensor of rank 2"),
    (NonZero(), ("float8e4m3fn[2]",), "X is float8e4m3fn"),
    (Gather(), ("float32[3]", "float32[2]"), "expected int32 or int64"),
    (Gather(2), ("float32[3, 4]", "int64[2]"), "axis 2 does not exist"),
    (GatherElements(), ("float32[3, 4]", "int64[2]"), "differ in rank"),
    (GatherND(), ("float32[3]", "int64[2, 2]"), "exceed"),
    (GatherND(), ("float32[3]", "int32[2, 1]"), "expected int64"),
    (GatherND(), ("float32[3]", "int64[]"), "a scalar"),
    (GatherND(1), ("float32[3, 4]", "int64[2, 1]"), "3 and 2 differ"),
    (ScatterElements(), ("float32[3, 4]", "int64[1, 2]", "float32[2, 2]"), "contradict"),
    (ScatterElements(), ("float32[3]", "int64[1]", "int32[1]"), "dtypes float32 and int32 differ"),
    (ScatterND(), ("float32[3, 4]", "int64[5, 1]", "float32[5, 3]"), "contradict"),
    (ScatterND(), ("float32[3]", "int64[5, 2]", "float32[5]"), "exceed"),
    (OneHot(3), ("int64[2]", scalar(4), "float32[2]"), "axis 3 does not exist"),
    (Compress(), ("float32[3]", "int64[3]"), "expected bool"),
    (CumProd(), ("float32[3]", "float32[]"), "expected int32 or int64"),
    (Compress(), ("float32[3]", "bool[3, 1]"), "expected one axis"),
    (Unique(axis=1), ("float32[3]",), "axis 1 does not exist"),
)

BACKWARD = (
    (Gather(), ("float32[7, ?]", "int64[...]"), ("float32[N, 5, 4]",), ["float32[7, 4]", "int64[N, 5]"]),
    (Gather(1), ("float32[?, 7]", "int64[?]"), ("float32[N, 5]",), ["float32[N, 7]", "int64[5]"]),
    (Gather(), ("?[...]", "int64[?]"), ("float32[N, 5]",), ["float32[...]", "int64[?]"]),
    (GatherElements(), ("?[...]", "int64[...]"), ("float32[N, 1]",), ["float32[...]", "int64[N, 1]"]),
    (
        ScatterND(),
        ("?[...]", "int64[?, 1]", "?[...]"),
        ("float32[3, 4]",),
        ["float32[3, 4]", "int64[?, 1]", "float32[...]"],
    ),
    (CumSum(), ("?[...]", "int64[]"), ("float32[3, 4]",), ["float32[3, 4]", "int64[]"]),
)

VALUES = (
    (Gather(), (known(2, "N", 4), scalar(1)), ["N"]),
    (Gather(), (known(2, "N", 4), known(-1, 0)), ["[4, 2]"]),
    (Gather(), (known(2, "N", 4), "int64[]"), [None]),
    (Gather(1), (SQUARE, known(-1)), ["[2, 1] N, 4"]),
    (GatherElements(), (known(2, "N", 4), known(2, 1)), ["[4, N]"]),
    (GatherElements(1), (SQUARE, Known((2, 1), (1, 0))), ["[2, 1] N, 3"]),
    (GatherElements(), (known(2, "N"), known(2, 1)), [None]),
    (GatherND(), (SQUARE, Known((2, 2), (0, 1, 1, 0))), ["[N, 3]"]),
    (GatherND(), (SQUARE, Known((1, 1), (1,))), ["[1, 2] 3, 4"]),
    (GatherND(1), (SQUARE, Known((2, 1), (1, 0))), [None]),
    (GatherND(), (SQUARE, known(1, 0)), ["3"]),
    (GatherND(), (known(5, "N"), known(-1)), ["N"]),
    (ScatterElements(), (known(2, "N", 4), known(-1), known("M")), ["[2, N, M]"]),
    (ScatterElements(0, Reduction.ADD), (known(2, "N"), known(1, 1), known(1, 2)), ["[2, N+3]"]),
    (ScatterElements(), (known(2, "N"), known(0), "int64[1]"), ["[?, N]"]),
    (ScatterElements(), (known(2, "N"), "int64[1]", known(0)), [None]),
    (ScatterElements(), (known(2, "N"), known(5), known(0)), [None]),
    (ScatterND(), (known(2, "N", 4), Known((1, 1), (1,)), known(7)), ["[2, 7, 4]"]),
    (ScatterND(Reduction.MAX), (known(2, 9), Known((2, 1), (0, 1)), known(7, 7)), ["[7, 9]"]),
    (ScatterND(), (SQUARE, Known((1, 1), (0,)), Known((1, 2), (8, 9))), ["[2, 2] 8, 9, 3, 4"]),
    (Compress(), (known(2, "N", 4), boolean(1, 0, 1)), ["[2, 4]"]),
    (NonZero(), (known(2, 0, "N"),), ["[1, 2] 0, 2"]),
    (NonZero(), (known(2, "N-1"),), [None]),
    (NonZero(), (scalar(2),), [None]),
    (CumSum(), (known(2, "N", 4), scalar(0)), ["[2, N+2, N+6]"]),
    (CumSum(exclusive=True), (known(2, "N", 4), scalar(0)), ["[0, 2, N+2]"]),
    (CumSum(reverse=True), (known(2, "N", 4), scalar(0)), ["[N+6, N+4, 4]"]),
    (CumSum(), (Known((2, 2), (1, 2, 3, 4)), scalar(0)), ["[2, 2] 1, 2, 4, 6"]),
    (CumProd(), (known(2, "N", 4), scalar(0)), ["[2, 2*N, 8*N]"]),
)
test_results = good(GOOD)
test_refused = bad(BAD)
test_operands = backward(BACKWARD)
test_elements = followed(VALUES)


def test_refuses_an_index_outside_of_known_elements() -> None:
    with pytest.raises(ShapeError, match="outside the 2 elements"):
        elements(Gather(), known(1, 2), scalar(2))
