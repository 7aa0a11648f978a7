"""Cases of MXNet's NumPy-style operators that make tensors out of numbers."""

from __future__ import annotations

from tests.equivalence.case import Case, case
from tests.equivalence.numpy_style import np_shape

FILLED = tuple(
    row
    for op in ("_npi_zeros", "_npi_ones")
    for row in (
        case(op, "matrix", shape=(2, 3)),
        case(op, "number", shape=3, dtype="int64"),
        case(op, "bool", shape=(2, 2), dtype="bool"),
        case(op, "float16", shape=(2,), dtype="float16"),
        np_shape(case(op, "no_axes", shape=())),
        np_shape(case(op, "nothing_stated")),
        np_shape(case(op, "no_elements", shape=(2, 0), dtype="int8")),
    )
)

CASES: tuple[Case, ...] = (
    *FILLED,
    case("_npi_arange", "stop_alone", start=5),
    case("_npi_arange", "both", start=1.5, stop=4.2),
    case("_npi_arange", "down", start=5, stop=0, step=-2),
    case("_npi_arange", "step", start=0, stop=1, step=0.1),
    case("_npi_arange", "float64", start=0.5, stop=3, step=0.5, dtype="float64"),
    case("_npi_arange", "float16", start=0.5, stop=3, dtype="float16"),
    case("_npi_arange", "int32", start=0.7, stop=4.2, dtype="int32"),
    case("_npi_arange", "int64_of_fractions", start=0.7, stop=4.2, step=0.6, dtype="int64"),
    case("_npi_arange", "int8_wraps", start=0, stop=500, step=100, dtype="int8"),
    case("_npi_arange", "large", start=16777216, stop=16777220),
    case("_npi_arange", "inferred", start=0, stop=3, infer_range=True),
    case("_npi_arange", "none", start=5, stop=0),
    case("_npi_arange", "none_negative", start=-2),
    case("_npi_eye", "square", N=3),
    case("_npi_eye", "wide", N=2, M=4, k=1),
    case("_npi_eye", "tall", N=3, M=2, k=-1, dtype="int8"),
    case("_npi_eye", "none", N=3, M=None, dtype="float64"),
    case("_npi_eye", "far", N=3, k=5),
    case("_npi_eye", "no_rows", N=0),
    case("_npi_eye", "no_columns", N=2, M=0),
    case("_npi_identity", "square", shape=(3, 3)),
    case("_npi_identity", "bool", shape=(2, 2), dtype="bool"),
    case("_npi_identity", "wide", shape=(2, 3)),
    case("_npi_identity", "tall", shape=(3, 2)),
    case("_npi_identity", "vector", shape=4, dtype="int32"),
    case("_npi_identity", "rank_3", shape=(2, 3, 2)),
    np_shape(case("_npi_identity", "no_elements", shape=(0, 2))),
)

REFUSED: tuple[Case, ...] = (
    case("_npi_arange", "no_step", start=0, stop=3, step=0),
    case("_npi_arange", "repeat", start=0, stop=3, repeat=2),
    case("_npi_arange", "nan", start="nan", stop=3),
    case("_npi_eye", "negative", N=-1),
    case("_npi_eye", "negative_columns", N=2, M=-1),
    np_shape(case("_npi_identity", "no_axes", shape=())),
)
