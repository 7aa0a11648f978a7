"""Rules of the operators on bits."""

from __future__ import annotations

from graphir.ops.bitwise import (
    BitCast,
    BitShift,
    BitwiseAnd,
    BitwiseNot,
    BitwiseOr,
    BitwiseXor,
    CastLike,
    ShiftDirection,
)
from graphir.types import DType
from tests.ops.harness import backward, bad, good
from tests.ops.late import late

LEFT = BitShift(ShiftDirection.LEFT)

GOOD = (
    (BitwiseAnd(), ("int32[N,1]", "int32[3]"), "int32[N, 3]"),
    (BitwiseOr(), ("uint8[2,3]", "uint8[]"), "uint8[2, 3]"),
    (BitwiseXor(), ("int64[...]", "?[3]"), "int64[...]"),
    (BitwiseNot(), ("int8[?,4]",), "int8[?, 4]"),
    (LEFT, ("uint16[4]", "uint16[1]"), "uint16[4]"),
    (BitCast(DType.INT32), ("float32[2,N]",), "int32[2, N]"),
    (BitCast(DType.UINT8), ("?[...]",), "uint8[...]"),
    (CastLike(), ("float32[2,N]", "int64[...]"), "int64[2, N]"),
    (CastLike(), ("float32[2]", "?[]"), "?[2]"),
)

BAD = (
    (CastLike(), ("complex64[2]", "float32[]"), "X is complex64"),
    (BitwiseAnd(), ("float32[2]", "float32[2]"), "float32, expected integers"),
    (BitwiseOr(), ("int32[2]", "int64[2]"), "int32 and int64 differ"),
    (BitwiseXor(), ("int32[2]", "int32[3]"), "do not broadcast"),
    (BitwiseNot(), ("bool[2]",), "bool, expected integers"),
    (LEFT, ("int32[2]", "uint32[2]"), "int32 and uint32 differ"),
    (BitCast(DType.INT64), ("float32[2]",), "32 bits, but int64 has 64"),
    (late(BitCast, DType.STRING), ("float32[2]",), "made of bits"),
)

BACKWARD = (
    (BitwiseAnd(), ("?[2]", "?[...]"), ("int8[2]",), ["int8[2]", "int8[...]"]),
    (BitwiseNot(), ("?[...]",), ("int8[2]",), ["int8[2]"]),
    (BitCast(DType.INT32), ("?[...]",), ("int32[2]",), ["?[2]"]),
    (CastLike(), ("?[...]", "?[...]"), ("int32[2]",), ["?[2]", "int32[...]"]),
)
test_results = good(GOOD)
test_refused = bad(BAD)
test_operands = backward(BACKWARD)
