"""Diagonals and triangles: other diagonals than the main one, matrices that are not square, several dtypes."""

from __future__ import annotations

from tests.tensorflow.case import Case, Input, case, data, ints, values


def number(value: int) -> Input:
    """A constant scalar."""
    return ints(value, shape=())


def band(variant: str, lower: int, upper: int, *shape: int, dtype: str = "float32") -> Case:
    """A MatrixBandPart."""
    return case("MatrixBandPart", variant, data(*shape, dtype=dtype), number(lower), number(upper))


CASES: tuple[Case, ...] = (
    band("lower", -1, 0, 4, 4),
    band("upper", 0, -1, 2, 3, 5),
    band("band", 1, 2, 5, 4),
    band("whole", -1, -1, 3, 4),
    band("int32", 1, 0, 4, 4, dtype="int32"),
    band("float16", 0, 1, 2, 4, 3, dtype="float16"),
    band("int64", 1, 0, 4, 4, dtype="int64"),
    case("Diag", "vector", data(4)),
    case("Diag", "int32", data(3, dtype="int32")),
    case("MatrixDiag", "default", data(2, 3)),
    case("MatrixDiag", "infinite", values(1, float("inf"), float("nan"))),
    case("MatrixDiagV2", "above", data(2, 3), number(2), number(-1), number(-1), values(0, shape=())),
    case("MatrixDiagV3", "default", data(2, 3), number(0), number(-1), number(-1), values(0, shape=())),
    case("MatrixDiagV3", "below", data(2, 3), number(-1), number(-1), number(-1), values(9, shape=())),
    case("MatrixDiagV3", "sizes", data(2, 3), number(1), number(3), number(5), values(-1, shape=())),
    case("MatrixDiagV3", "rows", data(2, 3), number(-1), number(6), number(-1), values(-1, shape=())),
    case("MatrixDiagV3", "bool", data(3, dtype="bool", kind="bits"), number(0), number(-1), number(-1),
         values(1, shape=(), dtype="bool")),
    case("DiagPart", "matrix", data(4, 4)),
    case("MatrixDiagPart", "square", data(2, 3, 3)),
    case("MatrixDiagPart", "wide", data(2, 3, 5)),
    case("MatrixDiagPart", "tall", data(5, 3, dtype="int32")),
    *(case(op, variant, data(2, 4, 5), number(k), values(0, shape=()))
      for op in ("MatrixDiagPartV2", "MatrixDiagPartV3")
      for variant, k in (("main", 0), ("above", 2), ("below", -2))),
    case("MatrixSetDiag", "square", data(2, 3, 3), data(2, 3)),
    case("MatrixSetDiag", "wide", data(2, 3, 5), data(2, 3)),
    case("MatrixSetDiag", "tall", data(5, 3), data(3)),
    case("MatrixSetDiagV2", "above", data(2, 4, 5), data(2, 3), number(2)),
    case("MatrixSetDiagV3", "below", data(2, 4, 5), data(2, 3), number(-1)),
    case("MatrixSetDiagV3", "int64", data(3, 3, dtype="int64"), data(3, dtype="int64"), number(0)),
)  # fmt: skip
REFUSED: tuple[Case, ...] = (
    case("MatrixDiagPartV3", "band", data(4, 4), ints(-1, 1), values(0, shape=()), reason="band of diagonals"),
    case("Diag", "matrix", data(2, 3), reason="only a vector"),
    case("MatrixBandPart", "computed", data(4, 4), data(dtype="int32"), number(0), reason="num_lower"),
)
