"""Cases of the NumPy-style operators that choose, test, fill and difference elements."""

from __future__ import annotations

from tests.equivalence.case import Case, Input, case, data, values
from tests.equivalence.numpy_elementwise import SPECIAL, np_shape

INF, NAN = float("inf"), float("nan")
DTYPES = ("bool", "int8", "uint8", "int32", "int64", "float16", "float32", "float64")
PREDICATES = ("isnan", "isinf", "isfinite", "isposinf", "isneginf")


def numbers(dtype: str, name: str = "data", shape: tuple[int, ...] = (2, 4)) -> Input:
    """Small numbers of any dtype."""
    return data(*shape, name=name, dtype=dtype, kind="bits" if dtype == "bool" else "integers:0:100")


def condition(dtype: str = "bool", *shape: int) -> Input:
    """Bits of any dtype."""
    return data(*(shape or (2, 4)), name="condition", dtype=dtype, kind="bits")


CHOICES = (
    *(case("_npi_where", dtype, condition(), numbers(dtype, "x"), numbers(dtype, "y")) for dtype in DTYPES),
    *(case("_npi_where", f"{dtype}_condition", condition(dtype), data(2, 4, name="x"), data(2, 4, name="y"))
      for dtype in DTYPES),
    case("_npi_where", "broadcast", condition("bool", 3, 1), data(4, name="x"), data(2, 1, 4, name="y")),
    case("_npi_where", "not_0_is_true", values(-1.0, -0.0, 0.5, float("nan"), name="condition"), data(4, name="x"),
         data(4, name="y")),
    np_shape(case("_npi_where", "no_axes", condition("int32", 3), data(name="x"), data(name="y"))),
    np_shape(case("_npi_where", "no_elements", condition("bool", 0, 2), data(0, 2, name="x"), data(0, 2, name="y"))),
    *(case(f"_npi_where_{side}", f"{dtype}_{scalar}", condition(), numbers(dtype, name), scalar=scalar)
      for side, name in (("lscalar", "x"), ("rscalar", "y")) for dtype in DTYPES for scalar in ("2.7", "-1", "300")),
    *(case(f"_npi_where_{side}", "broadcast", condition("int32", 3, 1), data(4, name=name), scalar=1.5)
      for side, name in (("lscalar", "x"), ("rscalar", "y"))),
    *(case("_npi_where_scalar2", dtype, condition(dtype), x=2.7, y=-1) for dtype in ("bool", "int64", "float16")),
    case("_npi_where_scalar2", "default", condition()),
)  # fmt: skip

TESTS = (
    *(case(f"_npi_{op}", dtype, values(*SPECIAL, name="x", dtype=dtype))
      for op in PREDICATES for dtype in ("float16", "float32", "float64")),
    *(case(f"_npi_{op}", dtype, numbers(dtype, "x")) for op in PREDICATES for dtype in ("bool", "int32", "uint8")),
    *(np_shape(case(f"_npi_{op}", "no_axes", data(name="x"))) for op in PREDICATES),
    *(case("_npi_nan_to_num", dtype, values(*SPECIAL, dtype=dtype)) for dtype in ("float16", "float32", "float64")),
    *(case("_npi_nan_to_num", dtype, numbers(dtype)) for dtype in ("bool", "int8", "int64")),
    case("_npi_nan_to_num", "stated", values(*SPECIAL), nan=2.5, posinf=9, neginf=-7, copy=False),
    case("_npi_nan_to_num", "one_after_the_other", values(*SPECIAL, dtype="float16"), nan=100000.0, posinf=2),
    case("_npi_nan_to_num", "beyond", values(*SPECIAL, dtype="float16"), nan=100000.0, posinf=100000.0),
    case("_npx_constraint_check", "true", values(1, 1, 1, name="input", dtype="bool")),
    np_shape(case("_npx_constraint_check", "no_elements", values(shape=(0, 2), name="input", dtype="bool"))),
    np_shape(case("_npx_constraint_check", "no_axes", values(1, shape=(), name="input", dtype="bool"), msg="no")),
)  # fmt: skip

FILLED = (
    *(case("_npi_full_like", f"{source}_{dtype}", numbers(source, "a"), fill_value="2.7", dtype=dtype)
      for source in ("float32", "int8", "bool") for dtype in ("None", "int32", "float16", "bool")),
    case("_npi_full_like", "wraps", data(2, 3, name="a"), fill_value=300, dtype="int8"),
    case("_npi_full_like", "nan", data(2, 3, name="a"), fill_value="nan"),
    np_shape(case("_npi_full_like", "no_axes", data(name="a"), fill_value=1.5)),
    np_shape(case("_npi_full_like", "no_elements", data(0, 3, name="a"), fill_value=1.5)),
)  # fmt: skip

DIFFERENCES = (
    *(case("_npi_diff", dtype, numbers(dtype, "a", (3, 5))) for dtype in DTYPES[1:]),
    *(case("_npi_diff", f"{count}_along_{axis}", data(2, 4, 5, name="a"), n=count, axis=axis)
      for count in (0, 2, 3) for axis in (0, 1, -1)),
    np_shape(case("_npi_diff", "beyond", data(2, 3, name="a"), n=5)),
    np_shape(case("_npi_diff", "no_elements", data(0, 3, name="a"))),
    *(case("_npi_ediff1d", dtype, numbers(dtype, "input1"), to_begin_scalar=2.7, to_end_scalar=-1)
      for dtype in DTYPES[1:]),
    case("_npi_ediff1d", "plain", data(2, 3, name="input1")),
    case("_npi_ediff1d", "end", data(5, name="input1"), to_end_scalar=3),
    case("_npi_ediff1d", "arrays", data(5, name="input1"), data(1, 2, name="input2"), data(3, name="input3"),
         to_begin_arr_given=True, to_end_arr_given=True),
    case("_npi_ediff1d", "array_and_scalar", data(5, name="input1"), data(1, 2, name="input2"),
         to_end_arr_given=True, to_begin_scalar=1.5),
    np_shape(case("_npi_ediff1d", "no_axes", data(name="input1"))),
    np_shape(case("_npi_ediff1d", "no_elements", data(0, name="input1"), to_begin_scalar=2)),
)  # fmt: skip

POLYNOMIALS = (
    *(case("_npi_polyval", dtype, numbers(dtype, "p", (4,)), data(2, 3, name="x", dtype=dtype, kind="integers:0:3"))
      for dtype in ("int8", "uint8", "int32", "int64", "float32", "float64")),
    case("_npi_polyval", "float16", data(3, name="p", dtype="float16"), data(2, name="x", dtype="float16")),
    case("_npi_polyval", "infinite", data(3, name="p"), values(float("inf"), float("nan"), 1.0, name="x")),
    case("_npi_polyval", "many", data(40, name="p"), data(2, 3, name="x", kind="unit")),
    np_shape(case("_npi_polyval", "no_axes", data(3, name="p"), data(name="x"))),
    np_shape(case("_npi_polyval", "no_coefficients", data(0, name="p"), data(3, name="x"))),
    np_shape(case("_npi_polyval", "no_elements", data(3, name="p"), data(0, 2, name="x"))),
)  # fmt: skip

PAIR = (values(1.0, NAN, INF, -2.0, name="a"), values(1.0 + 1e-7, NAN, INF, -2.0, name="b"))
FAR = (values(1.0, -2.0, 0.0, name="a"), values(1.5, -2.0, 0.0, name="b"))
CLOSE = (
    case("_contrib_allclose", "default", *PAIR),
    case("_contrib_allclose", "nan_differs", *PAIR, equal_nan=False),
    case("_contrib_allclose", "far", *FAR),
    case("_contrib_allclose", "wide", *FAR, atol=0.6),
    case("_contrib_allclose", "relative", *FAR, rtol=0.4),
    case("_contrib_allclose", "signs", values(INF, name="a"), values(-INF, name="b")),
    case("_contrib_allclose", "finite", values(INF, name="a"), values(1.0, name="b")),
    *(case("_contrib_allclose", dtype, values(1, 2, name="a", dtype=dtype), values(2, 1, name="b", dtype=dtype), atol=1)
      for dtype in ("float16", "float64", "int32", "uint8", "int8", "int64")),
)  # fmt: skip

CASES: tuple[Case, ...] = (*CLOSE, *CHOICES, *TESTS, *FILLED, *DIFFERENCES, *POLYNOMIALS)

REFUSED: tuple[Case, ...] = (
    case("_contrib_allclose", "dtypes", data(2, name="a"), data(2, name="b", dtype="float64")),
    case("_npi_where", "dtypes", condition(), data(2, 4, name="x"), data(2, 4, name="y", dtype="int32")),
    case("_npi_where", "sizes", condition(), data(3, name="x"), data(3, name="y")),
    case("_npi_diff", "bool", numbers("bool", "a")),
    case("_npi_diff", "axis", data(2, 3, name="a"), axis=2),
    case("_npi_diff", "negative", data(2, 3, name="a"), n=-1),
    case("_npi_ediff1d", "bool", numbers("bool", "input1")),
    case("_npi_polyval", "matrix", data(2, 2, name="p"), data(3, name="x")),
    case("_npi_polyval", "dtypes", data(2, name="p"), data(3, name="x", dtype="float64")),
    case("_npx_constraint_check", "float32", data(3, name="input")),
)
