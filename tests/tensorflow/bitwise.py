"""Bits of integers: signed and unsigned, broadcasting."""

from __future__ import annotations

from tests.tensorflow.case import Case, case, data, values

OPS = ("BitwiseAnd", "BitwiseOr", "BitwiseXor")
SHIFTS = ("LeftShift", "RightShift")

CASES: tuple[Case, ...] = (
    *(case(op, "int32", data(3, 4, dtype="int32"), data(4, dtype="int32")) for op in OPS),
    *(case(op, "int64", data(5, dtype="int64"), data(5, dtype="int64")) for op in OPS),
    *(case(op, "uint8", data(5, dtype="uint8", kind="integers:0:255"), data(5, dtype="uint8", kind="integers:0:255"))
      for op in OPS),
    *(case("Invert", dtype, data(5, dtype=dtype, kind="integers:0:99"))
      for dtype in ("int32", "uint8", "int64")),
    *(case(op, dtype, data(6, dtype=dtype), data(6, dtype=dtype, kind="integers:0:6"))
      for op in SHIFTS for dtype in ("int32", "int64")),
    *(case(op, "int8", values(1, 2, 3, -4, 5, 127, dtype="int8"), data(6, dtype="int8", kind="integers:0:4"))
      for op in SHIFTS),
    *(case(op, "uint8", data(6, dtype="uint8", kind="integers:0:255"), data(6, dtype="uint8", kind="integers:0:7"))
      for op in SHIFTS),
    *(case(op, "broadcast", data(3, 2, dtype="int32"), data(2, dtype="int32", kind="integers:0:6")) for op in SHIFTS),
    *(case(op, f"far_{dtype}", values(-5, 3, 1, 7, 100, 1, dtype=dtype), values(-3, 8, 40, 100, 7, 31, dtype=dtype))
      for op in SHIFTS for dtype in ("int8", "int32")),
    *(case(op, "far_uint8", data(4, dtype="uint8", kind="integers:0:255"), values(7, 8, 9, 200, dtype="uint8"))
      for op in SHIFTS),
    case("Bitcast", "float_to_int", data(2, 3), type="int32", least_opset=26, open_axes=""),
    case("Bitcast", "same", data(2, 3), type="float32"),
)  # fmt: skip
REFUSED: tuple[Case, ...] = (
    case("Bitcast", "width", data(2, 3), type="uint8", reason="another width"),
)
