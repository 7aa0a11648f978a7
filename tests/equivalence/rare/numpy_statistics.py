"""Cases of the statistics of MXNet's NumPy-style interface."""

from __future__ import annotations

from dataclasses import replace

from tests.equivalence.case import Case, Input, case, data, values
from tests.equivalence.numpy_reduction import of, special

NUMBERS = ("int8", "uint8", "int32", "int64", "float16", "float32", "float64")
RESULTS = ("int8", "int32", "int64", "float16", "float32", "float64")
METHODS = ("linear", "lower", "higher", "nearest", "midpoint")
INF = float("inf")


def percents(*numbers: float, dtype: str = "float32") -> Input:
    """The percentiles asked for."""
    return values(*numbers, name="q", dtype=dtype)


def deviations(op: str) -> tuple[Case, ...]:
    """Rows of std and var."""
    return (
        case(op, "all", data(2, 3, name="a")),
        case(op, "all_kept", data(2, 3, name="a"), keepdims=True),
        case(op, "axis", data(2, 3, 4, name="a"), axis=1),
        case(op, "negative", data(2, 3, 4, name="a"), axis=(-1, 0), keepdims=True),
        case(op, "ddof", data(2, 5, name="a"), axis=1, ddof=1),
        case(op, "ddof_all", data(2, 5, name="a"), axis=1, ddof=5),
        case(op, "ddof_beyond", data(2, 5, name="a"), axis=1, ddof=7),
        case(op, "none", data(2, 3, name="a"), axis=()),
        case(op, "no_axes", data(name="a")),
        case(op, "special", special(), axis=1),
        case(op, "far_from_zero", values(1e5, 1e5 + 1, 1e5 + 2, name="a"), axis=0),
        *(
            case(
                op,
                f"{source}_to_{wanted}",
                replace(of(source, 3, 5), kind="integers:0:100"),
                axis=1,
                dtype=wanted,
                # MXNet rounds deviations and squares to float16, runtimes may keep more.
                tolerance=2e-3 if source == "float16" else None,
            )
            for source in ("uint8", "int32", "int64", "float16", "float32", "float64")
            for wanted in RESULTS
            if not (wanted == "int8" and op == "_npi_std")
        ),
        *(case(op, dtype, of(dtype, 3, 5), axis=1) for dtype in NUMBERS if dtype != "int8"),
        case(op, "int8", data(3, 4, name="a", dtype="int8", kind="integers:0:9"), axis=1, ddof=1),
    )


ROWS: tuple[Case, ...] = (
    *deviations("_npi_std"),
    *deviations("_npi_var"),
    case("_npi_var", "wrap_int8", of("int8", 3, 5), axis=1, dtype="float32"),
    case("_npi_average", "weights", data(2, 3, name="a"), data(3, name="weights", kind="positive"), axis=1),
    case("_npi_average", "first_axis", data(2, 3, name="a"), data(2, name="weights", kind="positive"), axis=(0,)),
    case("_npi_average", "middle", data(2, 3, 4, name="a"), data(3, name="weights", kind="positive"), axis=-2),
    case(
        "_npi_average",
        "returned",
        data(2, 3, name="a"),
        data(3, name="weights", kind="positive"),
        axis=1,
        returned=True,
    ),
    case("_npi_average", "same_shape", data(2, 3, name="a"), data(2, 3, name="weights", kind="positive")),
    case(
        "_npi_average",
        "axes",
        data(2, 3, 4, name="a"),
        data(2, 3, 4, name="weights", kind="positive"),
        axis=(0, 2),
        returned=True,
    ),
    case("_npi_average", "plain", data(2, 3, name="a"), axis=1, weighted=False),
    case("_npi_average", "plain_returned", data(2, 3, name="a"), weighted=False, returned=True),
    case("_npi_average", "none", data(2, 3, name="a"), axis=(), weighted=False, returned=True),
    case("_npi_average", "no_axes", data(name="a"), data(name="weights", kind="positive"), returned=True),
    case("_npi_average", "special", special(), data(3, name="weights", kind="positive"), axis=1),
    *(case("_npi_average", dtype, of(dtype, 3, 5), axis=1, weighted=False) for dtype in NUMBERS),
    *(
        case(
            "_npi_average",
            f"{dtype}_weights",
            of(dtype, 3, 4),
            replace(of(dtype, 4, name="weights"), kind="integers:1:9"),
            axis=1,
        )
        for dtype in NUMBERS
    ),
    *(
        case(
            "_npi_percentile",
            f"{method}_{number}",
            data(2, 4, name="a", kind="distinct"),
            axis=1,
            q_scalar=number,
            interpolation=method,
        )
        for method in METHODS
        for number in (0, 25, 37.5, 50, 83.3, 100)
    ),
    *(
        case(
            "_npi_percentile",
            f"{method}_infinite",
            values(1, INF, -INF, 2, 3, name="a"),
            q_scalar=60,
            interpolation=method,
        )
        for method in METHODS
    ),
    case("_npi_percentile", "vector", data(2, 4, name="a"), percents(10, 50, 90), axis=1),
    case("_npi_percentile", "vector_kept", data(2, 3, 4, name="a"), percents(40, 60), axis=(0, 2), keepdims=True),
    case("_npi_percentile", "scalar", data(2, 3, 4, name="a"), values(40, name="q", shape=()), axis=(2, 0)),
    case("_npi_percentile", "all", data(2, 4, name="a"), q_scalar=50),
    case("_npi_percentile", "all_kept", data(2, 4, name="a"), q_scalar=50, keepdims=True),
    case("_npi_percentile", "all_vector", data(2, 4, name="a"), percents(10, 50, dtype="int32")),
    # Of float64 data MXNet weighs with float32 parts.
    case(
        "_npi_percentile",
        "percents_of_float64",
        data(2, 4, name="a", dtype="float64"),
        percents(10, 50, dtype="float64"),
        axis=0,
        tolerance=1e-7,
    ),
    *(case("_npi_percentile", dtype, of(dtype, 3, 5), axis=1, q_scalar=25) for dtype in NUMBERS if dtype != "float16"),
    # In float16 MXNet weighs with parts that are rounded to it.
    case("_npi_percentile", "float16", of("float16", 3, 5), axis=1, q_scalar=30, tolerance=1e-3),
    *(
        case("_histogram", dtype, values(1, 2, 1, 0, 5, 5, 3.3, -0.0, 7, dtype=dtype), bin_cnt=5, range=(0, 5))
        for dtype in ("uint8", "int32", "int64", "float32", "float64")
    ),
    case("_histogram", "limits", values(1, 2, 1, 0, 5, 5, 3.3, -1), values(0, 1, 2.5, 5, name="bins")),
    case("_histogram", "last_limit_twice", values(1, 2, 1, 0, 2), values(0, 1, 2, 2, name="bins")),
    case("_histogram", "one_point_int64", values(1, 2, 1, 0, 2, 3, dtype="int64"), bin_cnt=3, range=(2, 2)),
    case("_histogram", "limits_twice", values(1, 2, 1, 0, 5, 5, 3.3, -1), values(0, 1, 1, 2, name="bins")),
    case(
        "_histogram",
        "int32_limits",
        values(1, 2, 1, 0, 5, -1, dtype="int32"),
        values(0, 1, 2, 5, name="bins", dtype="int32"),
    ),
    case("_histogram", "matrix", data(3, 4), bin_cnt=2, range=(-1.5, 1.5)),
    case("_histogram", "one_point", data(3, 4, kind="halves"), bin_cnt=3, range=(2, 2)),
    case("_histogram", "special", special("data"), bin_cnt=3, range=(0.1, 4.7)),
    case("_histogram", "int32_bins", values(*range(-3, 12), dtype="int32"), bin_cnt=3, range=(0, 5)),
    *(case("_np_trace", dtype, of(dtype, 3, 3, name="data")) for dtype in NUMBERS),
    *(case("_np_trace", f"offset_{offset}", data(3, 4), offset=offset) for offset in (-5, -2, -1, 1, 3, 4)),
    case("_np_trace", "axes", data(2, 3, 4), axis1=1, axis2=2),
    case("_np_trace", "negative", data(2, 3, 4), axis1=-1, axis2=0),
    case("_np_trace", "turned", data(2, 3, 4), axis1=2, axis2=1, offset=1),
    case("_np_trace", "special", values(1, INF, float("nan"), 2, shape=(2, 2))),
)

# MXNet's symbols do not know the size of what bincount gives: `test_counts` runs these.
COUNTS: tuple[Case, ...] = (
    *(case("_npi_bincount", dtype, values(0, 1, 1, 3, dtype=dtype)) for dtype in ("int8", "uint8", "int32", "int64")),
    *(
        case(
            "_npi_bincount",
            f"{dtype}_weights",
            values(0, 1, 1, 3, dtype="int64"),
            replace(of(dtype, 4, name="weights")),
            has_weights=True,
        )
        for dtype in NUMBERS
    ),
    case("_npi_bincount", "longer", values(0, 1, 1, 3, dtype="int32"), minlength=7),
    case("_npi_bincount", "empty", data(0, dtype="int32"), minlength=3),
    case(
        "_npi_bincount",
        "infinite",
        values(0, 1, 1, 3, dtype="int32"),
        values(1, INF, 2, 3, name="weights"),
        has_weights=True,
    ),
)

CASES: tuple[Case, ...] = tuple(replace(row, np_shape=True) for row in ROWS)

REFUSED: tuple[Case, ...] = tuple(
    replace(row, np_shape=True)
    for row in (
        case("_npi_std", "bool", data(2, 3, name="a", dtype="bool", kind="bits")),
        case("_npi_var", "axis twice", data(2, 3, name="a"), axis=(0, 0)),
        case("_npi_average", "weights of another axis", data(2, 3, name="a"), data(3, name="weights"), axis=0),
        case("_npi_average", "weights without an axis", data(2, 3, name="a"), data(3, name="weights")),
        case("_npi_percentile", "beyond", data(2, 3, name="a"), q_scalar=101),
        case("_npi_percentile", "below", data(2, 3, name="a"), q_scalar=-1),
        case("_npi_bincount", "floats", data(4)),
        case("_npi_bincount", "matrix", data(2, 2, dtype="int32", kind="indices:3")),
        case("_histogram", "no range", data(4), bin_cnt=5),
        case("_histogram", "range backwards", data(4), bin_cnt=5, range=(5, 0)),
        case("_np_trace", "same axis", data(2, 3, 4), axis1=0, axis2=0),
        case("_np_trace", "axis beyond", data(2, 3, 4), axis1=5),
    )
)
