"""Rules of the operators that make tensors out of sizes and numbers."""

from __future__ import annotations

import pytest

from graphir.errors import ShapeError
from graphir.ops.base import Known, Operator
from graphir.ops.creation import ConstantOfShape, EyeLike, Fill, Range
from graphir.types import DType
from tests.ops.rule import backwards, elements, known, results, scalar

GOOD = (
    (Range(), (scalar(0), scalar(7), scalar(2)), "int64[4]"),
    (Range(), (scalar(7), scalar(0), scalar(-2)), "int64[4]"),
    (Range(), (scalar(3), scalar(0), scalar(1)), "int64[0]"),
    (Range(), (scalar(0), scalar("N"), scalar(1)), "int64[N]"),
    (Range(), ("float32[]", "float32[]", "float32[]"), "float32[?]"),
    (ConstantOfShape(), (known(2, "N"),), "float32[2, N]"),
    (ConstantOfShape(1.0, DType.INT32), ("int64[2]",), "int32[?, ?]"),
    (ConstantOfShape(), ("int64[?]",), "float32[...]"),
    (EyeLike(), ("float32[2, N]",), "float32[2, N]"),
    (EyeLike(DType.INT64), ("float32[...]",), "int64[?, ?]"),
    (Fill(0.0, (None, 8)), (), "float32[?, 8]"),
    (Fill(1.0, None, DType.FLOAT16), (), "float16[...]"),
)

BAD = (
    (Range(), (scalar(0), scalar(7), scalar(0)), "a delta of 0"),
    (Range(), ("float32[]", "int64[]", "float32[]"), "dtypes float32 and int64 differ"),
    (EyeLike(), ("float32[2]",), "1 axes, expected 2"),
)

VALUES = (
    (Range(), (scalar(1), scalar(7), scalar(2)), ["[1, 3, 5]"]),
    (Range(), (scalar(0), scalar("N"), scalar(1)), [None]),
    (Range(), (scalar(0), scalar(100000), scalar(1)), [None]),
    (ConstantOfShape(3.0, DType.INT64), (known(2),), ["[3, 3]"]),
    (ConstantOfShape(3.0), (known(2),), ["[3, 3]"]),
    (ConstantOfShape(3.0, DType.INT64), (known("N"),), [None]),
)


@pytest.mark.parametrize(("op", "operands", "expected"), GOOD, ids=str)
def test_infers(op: Operator, operands: tuple[Known | str, ...], expected: str) -> None:
    assert results(op, *operands) == [expected]


@pytest.mark.parametrize(("op", "operands", "text"), BAD, ids=str)
def test_refuses(op: Operator, operands: tuple[Known | str, ...], text: str) -> None:
    with pytest.raises(ShapeError, match=text):
        results(op, *operands)


@pytest.mark.parametrize(("op", "operands", "expected"), VALUES, ids=str)
def test_propagates_elements(op: Operator, operands: tuple[Known, ...], expected: list[str | None]) -> None:
    assert elements(op, *operands) == expected


def test_eye_infers_backwards() -> None:
    assert backwards(EyeLike(DType.INT64), ("float32[...]",), ("int64[2, N]",)) == ["float32[2, N]"]
