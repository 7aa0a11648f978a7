"""Cases of MXNet's NumPy-style operators that make tensors out of numbers."""

from __future__ import annotations

from tests.equivalence.case import Case, case, data
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

WINDOWS = tuple(
    row
    for op in ("_npi_hanning", "_npi_hamming", "_npi_blackman")
    for row in (
        case(op, "odd", M=5),
        case(op, "even", M=8, dtype="float64"),
        case(op, "float16", M=6, dtype="float16"),
        case(op, "int32", M=7, dtype="int32"),
        case(op, "one", M=1, dtype="int8"),
        case(op, "none", M=0),
        case(op, "negative", M=-1),
    )
)

DIAGONALS = (
    *(case("_np_diag", f"vector_{place}", data(3), k=k) for place, k in enumerate((0, 1, -2))),
    *(case("_np_diag", f"matrix_{place}", data(2, 3), k=k) for place, k in enumerate((0, 1, -1, 2))),
    case("_np_diag", "int8", data(2, dtype="int8"), k=1),
    case("_np_diag", "empty", data(2, 3), k=-5),
    np_shape(case("_np_diag", "no_elements", data(0))),
    np_shape(case("_np_diag", "no_rows", data(0, 3))),
    case("_np_diagflat", "matrix", data(2, 2)),
    case("_np_diagflat", "above", data(2, 1, 2), k=2),
    case("_np_diagflat", "below", data(3, dtype="int32"), k=-1),
    case("_np_diagonal", "matrix", data(2, 3)),
    case("_np_diagonal", "rank_3", data(2, 3, 4)),
    case("_np_diagonal", "offset", data(2, 3, 4), offset=1),
    case("_np_diagonal", "below", data(2, 3, 4), offset=-1),
    case("_np_diagonal", "last", data(2, 3, 4), axis1=1, axis2=2),
    case("_np_diagonal", "swapped", data(2, 3, 4, dtype="int64"), axis1=2, axis2=0),
    case("_np_diagonal", "empty", data(2, 3, 4), axis1=-1, axis2=0, offset=2),
    np_shape(case("_np_diagonal", "no_elements", data(0, 3))),
    case("_npi_diag_indices_from", "matrix", data(3, 3)),
    case("_npi_diag_indices_from", "rank_3", data(2, 2, 2, dtype="int32")),
    np_shape(case("_npi_diag_indices_from", "no_elements", data(0, 0))),
)

MORE = (
    case("_npi_logspace", "decades", start=1, stop=2, num=3),
    case("_npi_logspace", "float64", start=0, stop=3, num=5, dtype="float64"),
    case("_npi_logspace", "without_the_end", start=1, stop=3, num=4, endpoint=False, base=2),
    case("_npi_logspace", "int32", start=1, stop=3, num=4, base=2, dtype="int32"),
    case("_npi_logspace", "int8_wraps", start=0, stop=3, num=4, dtype="int8"),
    case("_npi_logspace", "negative_base", start=1, stop=3, num=4, base=-2),
    case("_npi_logspace", "one", start=1, stop=2, num=1, dtype="float16"),
    case("_npi_logspace", "none", start=1, stop=2, num=0),
    case("_linspace", "none", start=1, stop=2, num=0),
    case("_npi_indices", "matrix", dimensions=(2, 3)),
    case("_npi_indices", "vector", dimensions=(3,), dtype="float32"),
    case("_npi_indices", "rank_3", dimensions=(2, 1, 3), dtype="int64"),
    case("_npi_indices", "int8_wraps", dimensions=(300,), dtype="int8"),
    case("_npi_indices", "no_elements", dimensions=(0, 2)),
    np_shape(case("_npi_indices", "no_axes", dimensions=())),
)
CASES = (*CASES, *WINDOWS, *DIAGONALS, *MORE)

REFUSED: tuple[Case, ...] = (
    case("_npi_hanning", "no_count"),
    case("_npi_logspace", "negative", start=1, stop=2, num=-1),
    case("_npi_indices", "negative", dimensions=(-1, 2)),
    case("_npi_diag_indices_from", "unequal", data(2, 3)),
    case("_npi_diag_indices_from", "vector", data(3)),
    np_shape(case("_np_diag", "no_axes", data())),
    case("_np_diag", "rank_3", data(2, 2, 2)),
    np_shape(case("_np_diagflat", "no_axes", data())),
    case("_np_diagonal", "one_axis", data(2, 3, 4), axis1=0, axis2=0),
    case("_np_diagonal", "outside", data(2, 3, 4), axis1=0, axis2=3),
    case("_np_diagonal", "vector", data(3)),
    case("_npi_arange", "no_step", start=0, stop=3, step=0),
    case("_npi_arange", "repeat", start=0, stop=3, repeat=2),
    case("_npi_arange", "nan", start="nan", stop=3),
    case("_npi_eye", "negative", N=-1),
    case("_npi_eye", "negative_columns", N=2, M=-1),
    np_shape(case("_npi_identity", "no_axes", shape=())),
)
