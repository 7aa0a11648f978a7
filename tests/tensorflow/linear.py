"""Matrix products."""

from __future__ import annotations

from tests.tensorflow.case import Case, case, data, param

CASES = (
    case("MatMul", "default", data(2, 3), param("w", 3, 4)),
    case("MatMul", "computed", data(2, 3), data(3, 4)),
    case("MatMul", "transpose_a", data(3, 2), param("w", 3, 4), transpose_a=True),
    case("MatMul", "transpose_b", data(2, 3), param("w", 4, 3), transpose_b=True),
    case("MatMul", "both", data(3, 2), param("w", 4, 3), transpose_a=True, transpose_b=True),
    case("MatMul", "int32", data(2, 3, dtype="int32"), data(4, 3, dtype="int32"), transpose_b=True),
    case("MatMul", "float64", data(2, 3, dtype="float64"), param("w", 3, 4, dtype="float64")),
)
REFUSED: tuple[Case, ...] = (
    case("MatMul", "sizes", data(2, 3), param("w", 4, 3), reason="3"),
)
