"""Cases of the NumPy-style functions arctan2, copysign, ldexp and lcm."""

from __future__ import annotations

from tests.equivalence.case import Case, Input, case, data, values
from tests.equivalence.numpy_elementwise import np_shape

NAN, INF = float("nan"), float("inf")
PLACES = (NAN, INF, -INF, -0.0, 0.0, 1.5, -2.5)
NUMBERS = {
    "int8": (0, 1, -3, -128, 127, 100),
    "uint8": (0, 1, 3, 253, 128, 100),
    "int32": (0, 1, -3, 65536, 12, -2147483648),
    "int64": (0, 1, -3, 1 << 40, 12, 100),
}


def grid(rows: tuple[float, ...], columns: tuple[float, ...], dtype: str, *names: str) -> tuple[Input, Input]:
    """Every pair of numbers."""
    return (values(*rows, shape=(len(rows), 1), name=names[0], dtype=dtype),
            values(*columns, shape=(1, len(columns)), name=names[1], dtype=dtype))  # fmt: skip


FLOATS = ("float16", "float32", "float64")
SCALARS = ("2", "-1.5", "0", "7")
FORMS = ("arctan2", "rarctan2", "copysign", "rcopysign", "ldexp", "rldexp")

CASES: tuple[Case, ...] = (
    case("_npi_arctan2", "normal", data(2, 1, 4, name="x1"), data(3, 1, name="x2")),
    *(case("_npi_arctan2", f"{dtype}_places", *grid(PLACES, PLACES, dtype, "x1", "x2")) for dtype in FLOATS),
    np_shape(case("_npi_arctan2", "no_axes", data(name="x1"), data(name="x2"))),
    np_shape(case("_npi_arctan2", "no_elements", data(0, 2, name="x1"), data(2, name="x2"))),
    *(case("_npi_copysign", f"{dtype}_places", *grid(PLACES, PLACES, dtype, "lhs", "rhs")) for dtype in FLOATS),
    *(case("_npi_copysign", dtype, *grid(found, found, dtype, "lhs", "rhs")) for dtype, found in NUMBERS.items()),
    np_shape(case("_npi_copysign", "no_axes", data(name="lhs"), data(3, name="rhs"))),
    *(case("_npi_ldexp", f"{dtype}_places",
           *grid(PLACES, (NAN, INF, -INF, 0, 1.5, -2.75, 3, 30, -200), dtype, "lhs", "rhs")) for dtype in FLOATS),
    *(case("_npi_ldexp", dtype, *grid(found, (0, 1, 2, 5), dtype, "lhs", "rhs")) for dtype, found in NUMBERS.items()),
    case("_npi_ldexp", "int8_negative", *grid((0, 1, -3, 100), (-1, -2, 40), "int8", "lhs", "rhs")),
    case("_npi_ldexp", "int64_in_single", *grid((16777217, (1 << 53) + 1), (0, 1), "int64", "lhs", "rhs")),
    case("_npi_ldexp", "int32_beyond_single", *grid((0, 1), (255, 3), "int32", "lhs", "rhs")),
    case("_npi_ldexp", "power_overflows", values(1e-30, name="lhs"), values(130, name="rhs")),
    *(case("_npi_lcm", dtype, *grid(found, found, dtype, "lhs", "rhs")) for dtype, found in NUMBERS.items()),
    case("_npi_lcm", "fibonacci", values(2971215073, 4807526976, name="lhs", dtype="int64"),
         values(4807526976, 7778742049, name="rhs", dtype="int64")),
    case("_npi_lcm", "bool", data(9, name="lhs", dtype="bool", kind="bits"),
         data(9, name="rhs", dtype="bool", kind="bits")),
    np_shape(case("_npi_lcm", "no_axes", values(12, name="lhs", dtype="int32", shape=()),
                  values(18, name="rhs", dtype="int32", shape=()))),
    np_shape(case("_npi_lcm", "no_elements", data(0, 3, name="lhs", dtype="int32"),
                  data(3, name="rhs", dtype="int32"))),
    *(case("_npi_lcm_scalar", f"{dtype}_{scalar}", values(*found, dtype=dtype), scalar=scalar, is_int=True)
      for dtype, found in NUMBERS.items() for scalar in ("12", "-18", "0", "1.5")),
    *(case(f"_npi_{op}_scalar", f"float32_{scalar}", values(*PLACES), scalar=scalar, is_int=False)
      for op in FORMS for scalar in SCALARS),
    *(case(f"_npi_{op}_scalar", f"int32_{is_int}", values(0, 1, -3, 5, 10, dtype="int32"), scalar=-2, is_int=is_int)
      for op in FORMS for is_int in (True, False)),
    *(case(f"_npi_{op}_scalar", f"bool_{is_int}", data(5, dtype="bool", kind="bits"), scalar=1.5, is_int=is_int)
      for op in FORMS for is_int in (True, False)),
    *(case(f"_npi_{op}_scalar", "uint8", values(0, 1, 5, 6, dtype="uint8"), scalar=3, is_int=True) for op in FORMS),
)  # fmt: skip

REFUSED: tuple[Case, ...] = (
    case("_npi_arctan2", "int32", data(3, name="x1", dtype="int32"), data(3, name="x2", dtype="int32")),
    case("_npi_arctan2", "dtypes", data(3, name="x1"), data(3, name="x2", dtype="float64")),
    case("_npi_copysign", "bool", data(3, name="lhs", dtype="bool", kind="bits"),
         data(3, name="rhs", dtype="bool", kind="bits")),
    case("_npi_copysign", "sizes", data(3, name="lhs"), data(2, name="rhs")),
    case("_npi_ldexp", "bool", data(3, name="lhs", dtype="bool", kind="bits"),
         data(3, name="rhs", dtype="bool", kind="bits")),
    case("_npi_lcm", "float32", data(3, name="lhs"), data(3, name="rhs")),
    case("_npi_lcm_scalar", "fraction", data(3, dtype="int32"), scalar=1.5, is_int=False),
    case("_npi_lcm_scalar", "bool", data(3, dtype="bool", kind="bits"), scalar=3, is_int=True),
)  # fmt: skip
