"""Cases of the reductions of MXNet's NumPy-style interface."""

from __future__ import annotations

from dataclasses import replace

from tests.equivalence.case import Case, Input, case, data, values

NAN, INF = float("nan"), float("inf")
SPECIAL = (1.0, NAN, 3.0, INF, -INF, 2.0, 1.0, 2.0, INF, INF, 2.0, 1.0, -0.0, -0.0, -0.0, 0.0, 0.0, 0.5)
DTYPES = ("bool", "int8", "uint8", "int32", "int64", "float16", "float32", "float64")
RESULTS = ("bool", "int8", "int32", "int64", "float16", "float32", "float64")


def of(dtype: str, *shape: int, name: str = "a") -> Input:
    """Data of a dtype whose sums wrap around in the narrow ones."""
    kind = {"bool": "bits", "uint8": "integers:0:255", "int8": "integers:-128:127"}.get(dtype, "normal")
    return data(*shape, name=name, dtype=dtype, kind=kind)


def special(name: str = "a", dtype: str = "float32") -> Input:
    """Rows of special values."""
    return values(*SPECIAL, shape=(6, 3), name=name, dtype=dtype)


def rows(op: str, name: str = "a") -> tuple[Case, ...]:
    """What every reduction is asked for; not results without elements, after which MXNet's next sum may fail."""
    return (
        case(op, "all", data(2, 3, name=name)),
        case(op, "all_kept", data(2, 3, name=name), keepdims=True),
        case(op, "axis", data(2, 3, 4, name=name), axis=1),
        case(op, "negative", data(2, 3, 4, name=name), axis=(-1,), keepdims=True),
        case(op, "axes", data(2, 3, 4, 2, name=name), axis=(3, 1)),
        case(op, "every_axis", data(2, 3, name=name), axis=(0, 1)),
        case(op, "none", data(2, 3, name=name), axis=()),
        case(op, "none_of_int32", data(2, 3, name=name, dtype="int32"), axis=()),
        case(op, "no_axes", data(name=name)),
        case(op, "special", special(name), axis=(1,)),
        case(op, "special_float16", special(name, "float16"), axis=(1,)),
        case(op, "special_all", special(name), keepdims=True),
        *(case(op, dtype, of(dtype, 3, 5, name=name), axis=(1,)) for dtype in DTYPES),
    )


def with_dtype(op: str) -> tuple[Case, ...]:
    """A reduction to each dtype, of each dtype."""
    return tuple(
        case(op, f"{source}_to_{wanted}", of(source, 3, 5), axis=(1,), dtype=wanted)
        for source in DTYPES
        for wanted in RESULTS
        if op == "_npi_mean" or source != "bool" or wanted in ("int32", "int64", "float32", "float64")
    )


ROWS: tuple[Case, ...] = (
    *rows("_np_sum"),
    *with_dtype("_np_sum"),
    case("_np_sum", "empty", data(0, 3, name="a"), axis=0),
    case("_np_sum", "scalar_axis", data(name="a"), axis=0),
    case("_np_sum", "to_float32", data(2, 70, name="a", dtype="float16", kind="scale:900"), axis=1, dtype="float32"),
    case("_np_sum", "special_to_int32", special(), axis=1, dtype="int32"),
    case("_np_sum", "special_to_bool", special(), axis=1, dtype="bool"),
    *rows("_np_prod"),
    *with_dtype("_np_prod"),
    case("_np_prod", "empty", data(0, 3, name="a"), axis=0),
    case("_np_prod", "wrap_uint8", of("uint8", 9, 6), axis=1, dtype="int64"),
    case("_np_prod", "wrap_int8", of("int8", 9, 6), axis=1, dtype="float64"),
    case("_np_prod", "wrap_int64", data(3, 7, name="a", dtype="int64", kind="integers:-9999:9999"), axis=1),
    *rows("_npi_mean"),
    *with_dtype("_npi_mean"),
    case("_npi_mean", "empty", data(0, 3, name="a"), axis=0),
    case("_npi_mean", "count_wraps", of("int8", 2, 200), axis=1, dtype="int8"),
    case("_npi_mean", "special_to_int64", special(), axis=1, dtype="int64"),
    *rows("_np_max"),
    *rows("_np_min"),
    case("_np_max", "other_empty", data(2, 0, 3, name="a"), axis=0),
    *rows("_np_any", "data"),
    case("_np_any", "empty", data(0, 3), axis=0),
    case("_np_any", "small", values(0.25, -0.25, 1e-30, 0.0), axis=()),
    case("_np_any", "wide", values(2.0**32, 0.0, dtype="int64"), axis=0),
    *rows("_np_all", "data"),
    case("_np_all", "empty", data(0, 3), axis=0),
    case("_np_all", "wide", values(2.0**32, 256.0, dtype="int64"), axis=0),
    *(
        row
        for op in ("_npi_argmax", "_npi_argmin")
        for row in (
            case(op, "flat", data(2, 4, kind="distinct")),
            case(op, "flat_kept", data(2, 4, kind="distinct"), keepdims=True),
            case(op, "vector", data(5, kind="distinct")),
            case(op, "vector_kept", data(5, kind="distinct"), keepdims=True),
            case(op, "axis", data(2, 3, 4, kind="distinct"), axis=1),
            case(op, "negative", data(2, 3, 4, kind="distinct"), axis=-1, keepdims=True),
            case(op, "no_axes", data()),
            case(op, "no_axes_kept", data(), axis=0, keepdims=True),
            case(op, "ties", data(3, 20, kind="indices:3"), axis=1),
            case(op, "special", special("data"), axis=1),
            case(op, "special_flat", special("data")),
            case(op, "other_empty", data(2, 0, 3), axis=0),
            *(case(op, dtype, of(dtype, 3, 5, name="data"), axis=1) for dtype in DTYPES[1:]),
        )
    ),
)

CASES: tuple[Case, ...] = tuple(replace(row, np_shape=True) for row in ROWS)

REFUSED: tuple[Case, ...] = tuple(
    replace(row, np_shape=True)
    for row in (
        case("_np_sum", "axis twice", data(2, 3, name="a"), axis=(0, 0)),
        case("_np_sum", "axis beyond", data(2, 3, name="a"), axis=(5,)),
        case("_np_sum", "initial", data(2, 3, name="a"), initial=2.5),
        case("_np_sum", "bool to int8", data(2, 3, name="a", dtype="bool", kind="bits"), dtype="int8"),
        case("_np_prod", "initial", data(2, 3, name="a"), initial=2.5),
        case("_np_max", "empty", data(0, 3, name="a"), axis=0),
        case("_np_max", "initial", data(2, 3, name="a"), initial=0.0),
        case("_np_min", "axis of a scalar", data(name="a"), axis=0),
        case("_npi_mean", "axis beyond", data(2, 3, name="a"), axis=(-3,)),
        case("_npi_argmax", "axis beyond", data(2, 3), axis=2),
        case("_npi_argmax", "bool", data(2, 3, dtype="bool", kind="bits"), axis=1),
        case("_npi_argmin", "empty", data(0, 3), axis=0),
    )
)
