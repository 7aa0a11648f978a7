"""Rules of the operators that look up, place or find elements by index."""

from __future__ import annotations

import pytest

from graphir.errors import ShapeError
from graphir.ops.indexing import (
    Compress,
    CumProd,
    CumSum,
    Gather,
    GatherElements,
    GatherND,
    NonZero,
    OneHot,
    ScatterElements,
    ScatterND,
    Unique,
)
from tests.ops.rule import backwards, elements, known, results, scalar

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
    (Compress(), ("float32[N, 4]", "bool[4]"), ["float32[new:count]"]),
    (NonZero(), ("float32[N, 4]",), ["int64[2, new:count]"]),
    (NonZero(), ("float32[...]",), ["int64[?, new:count]"]),
    (Unique(), ("float32[N, 4]",), ["float32[new:count]", "int64[new:count]", "int64[4*N]", "int64[new:count]"]),
    (Unique(axis=0), ("float32[N, 4]",), ["float32[new:count, 4]", "int64[new:count]", "int64[N]", "int64[new:count]"]),
    (CumSum(), ("float32[N, 4]", scalar(1)), ["float32[N, 4]"]),
    (CumProd(reverse=True), ("int32[N, 4]", "int64[]"), ["int32[N, 4]"]),
)

BAD = (
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
)


@pytest.mark.parametrize(("op", "operands", "expected"), GOOD, ids=str)
def test_infers(op, operands, expected):
    assert results(op, *operands) == expected


@pytest.mark.parametrize(("op", "operands", "text"), BAD, ids=str)
def test_refuses(op, operands, text):
    with pytest.raises(ShapeError, match=text):
        results(op, *operands)


@pytest.mark.parametrize(("op", "operands", "found", "expected"), BACKWARD, ids=str)
def test_infers_backwards(op, operands, found, expected):
    assert backwards(op, operands, found) == expected


@pytest.mark.parametrize(("op", "operands", "expected"), VALUES, ids=str)
def test_propagates_elements(op, operands, expected):
    assert elements(op, *operands) == expected


def test_refuses_an_index_outside_of_known_elements():
    with pytest.raises(ShapeError, match="outside the 2 elements"):
        elements(Gather(), known(1, 2), scalar(2))
