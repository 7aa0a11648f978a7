"""Operators of one operand."""

from __future__ import annotations

from tests.tensorflow.case import case, data, values

ANY = ("Abs", "Atan", "Asinh", "Ceil", "Cos", "Cosh", "Erf", "Erfc", "Exp", "Expm1", "Floor", "Neg", "Sign", "Sin",
       "Sinh", "Square", "Tan")  # fmt: skip
POSITIVE = ("Inv", "Log", "Log1p", "Reciprocal", "Rsqrt", "Sqrt")
UNIT = ("Acos", "Asin", "Atanh")
ODD = (0.0, 1.5, float("inf"), float("-inf"), float("nan"))
HALVES = (-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.4, -0.6)
POSITIVES_AND_OTHERS = (1e-3, 0.5, 1, 1.4616, 2, 3.7, 33.5, 1e5, -0.5, -1.5, -3.001)
CASTS = (
    ("float32", "int32"), ("float32", "float16"), ("float32", "float64"), ("int32", "float32"), ("int64", "int32"),
    ("int32", "int64"), ("bool", "float32"), ("float32", "bool"), ("int32", "bool"), ("uint8", "float32"),
    ("float32", "float32"),
)  # fmt: skip

CASES = (
    *(case(op, "default", data(2, 3, 4)) for op in ANY),
    *(case(op, "scalar", data()) for op in ANY),
    *(case(op, "default", data(2, 3, 4, kind="positive")) for op in POSITIVE),
    *(case(op, "default", data(2, 3, 4, kind="unit")) for op in UNIT),
    case("Acosh", "default", values(1, 1.5, 2, 30)),
    *(case(op, "int32", data(2, 3, dtype="int32")) for op in ("Abs", "Neg", "Sign", "Square")),
    *(case(op, "float64", data(2, 3, dtype="float64", kind="positive")) for op in ("Exp", "Log", "Rsqrt")),
    *(case(op, "float16", data(2, 3, dtype="float16", kind="positive")) for op in ("Exp", "Log", "Rsqrt")),
    *(case(op, "halves", values(*HALVES)) for op in ("Round", "Rint", "Floor", "Ceil")),
    *(case(op, "odd", values(*ODD)) for op in ("IsFinite", "IsInf", "IsNan")),
    *(case(op, "odd_float16", values(*ODD, dtype="float16")) for op in ("IsFinite", "IsInf", "IsNan")),
    *(case("Erfinv", dtype, data(2, 3, 4, kind="unit", dtype=dtype)) for dtype in ("float32", "float64")),
    case("Erfinv", "ends", values(-1, 1, 0, 1.5, float("nan"))),
    *(case("Lgamma", dtype, values(*POSITIVES_AND_OTHERS, dtype=dtype)) for dtype in ("float32", "float64")),
    case("Lgamma", "poles", values(0, -1, -2, float("inf"), float("nan"))),
    case("LogicalNot", "default", data(2, 3, dtype="bool", kind="bits")),
    *(
        case("Cast", f"{source}_{target}", data(2, 5, dtype=source, kind="bits" if source == "bool" else "scale:3"),
             DstT=target)
        for source, target in CASTS
    ),
    case("Cast", "toward_zero", values(-2.7, -0.5, 0.5, 2.7), DstT="int32"),
)  # fmt: skip

REFUSED = (
    case("Cast", "complex", data(2), DstT="complex64", reason="complex64"),
    case("Cast", "truncate", data(2), DstT="bfloat16", Truncate=True, reason="truncates"),
)
