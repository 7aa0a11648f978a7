"""Rules of the operators that make tensors out of sizes and numbers."""

from __future__ import annotations

from graphir.ops.creation import ConstantOfShape, EyeLike, Fill, Range
from graphir.types import DType
from tests.ops.harness import bad, followed, good
from tests.ops.late import late
from tests.ops.rule import backwards, known, scalar

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
    (ConstantOfShape(), ("int64[2, 2]",), "shape has 2 axes, expected a vector"),
    (late(Fill, 0.0, (2, -1)), (), "expected sizes of 0 or more"),
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
test_results = good(GOOD)
test_refused = bad(BAD)
test_elements = followed(VALUES)


def test_eye_infers_backwards() -> None:
    assert backwards(EyeLike(DType.INT64), ("float32[...]",), ("int64[2, N]",)) == ["float32[2, N]"]
