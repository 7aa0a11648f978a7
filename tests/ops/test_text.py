"""Rules of the operators on texts."""

from __future__ import annotations

import pytest

from graphir.errors import ShapeError
from graphir.ops.base import Operator
from graphir.ops.text import (
    RegexFullMatch,
    StringConcat,
    StringNormalizer,
    StringSplit,
    TfIdfMode,
    TfIdfVectorizer,
)
from tests.ops.late import late
from tests.ops.rule import backwards, results

STOPPED = StringNormalizer(stopwords=("monday",))
COUNTS = TfIdfVectorizer(TfIdfMode.TF, 1, 2, 0, (0, 2), (0, 3, 2), pool_int64s=(2, 3, 5, 4))

GOOD = (
    (StringConcat(), ("string[N,1]", "string[3]"), ["string[N, 3]"]),
    (StringConcat(), ("?[...]", "string[3]"), ["string[...]"]),
    (StringNormalizer(), ("string[N]",), ["string[N]"]),
    (StringNormalizer(), ("string[1,4]",), ["string[1, 4]"]),
    (STOPPED, ("string[?,4]",), ["string[1, new:count]"]),
    (STOPPED, ("string[4]",), ["string[new:count]"]),
    (StringNormalizer(), ("string[0]",), ["string[new:count]"]),
    (StringSplit(), ("string[2,N]",), ["string[2, N, new:count]", "int64[2, N]"]),
    (StringSplit(",", 2), ("string[...]",), ["string[...]", "int64[...]"]),
    (RegexFullMatch("a+"), ("string[2,N]",), ["bool[2, N]"]),
    (COUNTS, ("int32[12]",), ["float32[4]"]),
    (COUNTS, ("int64[N,?]",), ["float32[N, 4]"]),
    (COUNTS, ("?[...]",), ["float32[...]"]),
)

BAD = (
    (StringConcat(), ("string[2]", "int64[2]"), "Y is int64"),
    (StringConcat(), ("string[2]", "string[3]"), "do not broadcast"),
    (StringNormalizer(), ("string[2,3]",), "expected .C. or .1, C."),
    (StringNormalizer(), ("string[]",), "expected .C. or .1, C."),
    (StringSplit(), ("float32[2]",), "X is float32"),
    (RegexFullMatch("a"), ("float32[2]",), "X is float32"),
    (COUNTS, ("float32[2]",), "X is float32"),
    (COUNTS, ("int64[2,2,2]",), "expected .C. or .N, C."),
    (late(TfIdfVectorizer, TfIdfMode.TF, 1, 1, 0, (0,), (0,)), ("int64[2]",), "not both"),
)

BACKWARD = (
    (StringConcat(), ("?[2]", "?[...]"), ("string[2]",), ["string[2]", "string[...]"]),
    (StringSplit(), ("?[...]",), ("string[2,?]", "int64[2]"), ["string[2]"]),
    (RegexFullMatch("a"), ("?[...]",), ("bool[2]",), ["string[2]"]),
    (COUNTS, ("?[...]",), ("float32[N,4]",), ["?[N, ?]"]),
)


@pytest.mark.parametrize(("op", "operands", "expected"), GOOD, ids=str)
def test_infers(op: Operator, operands: tuple[str, ...], expected: list[str]) -> None:
    assert results(op, *operands) == expected


@pytest.mark.parametrize(("op", "operands", "text"), BAD, ids=str)
def test_refuses(op: Operator, operands: tuple[str, ...], text: str) -> None:
    with pytest.raises(ShapeError, match=text):
        results(op, *operands)


@pytest.mark.parametrize(("op", "operands", "found", "expected"), BACKWARD, ids=str)
def test_infers_backwards(op: Operator, operands: tuple[str, ...], found: tuple[str, ...], expected: list[str]) -> None:
    assert backwards(op, operands, found) == expected
