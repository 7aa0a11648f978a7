"""Cases of the NumPy-style elementwise operators: of one and two tensors, of mixed dtypes, with scalars."""

from __future__ import annotations

from dataclasses import replace

from tests.equivalence.case import Case, Input, case, data, values

SPECIAL = (float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 0.5, -0.5, 2.5, -3.5, 1.0, 7.25)
WHOLE = (0, 1, 2, 3, 5, 8, 100, 127)
SIGNED = (*WHOLE, -1, -2, -7, -128)


def np_shape(row: Case) -> Case:
    """The case as a symbol of np_shape semantics."""
    return replace(row, np_shape=True, variant=f"{row.variant}-np_shape")


def x(*shape: int, dtype: str = "float32", kind: str = "normal") -> Input:
    """The operand of a unary operator."""
    return data(*shape, name="x", dtype=dtype, kind=kind)


def pair(
    left: tuple[int, ...], right: tuple[int, ...], dtypes: tuple[str, str] = ("float32", "float32"),
    kind: str = "positive",
) -> tuple[Input, Input]:
    """lhs and rhs."""
    kinds = ["bits" if dtype == "bool" else "integers:1:9" if "int" in dtype else kind for dtype in dtypes]
    return (data(*left, name="lhs", dtype=dtypes[0], kind=kinds[0]),
            data(*right, name="rhs", dtype=dtypes[1], kind=kinds[1]))  # fmt: skip


ANY = ("absolute", "arcsinh", "arctan", "cbrt", "cos", "cosh", "degrees", "exp", "expm1", "negative", "radians", "sin",
       "sinh", "square", "tanh")  # fmt: skip
ROUNDING = ("ceil", "fix", "floor", "rint", "sign", "trunc", "logical_not")
POSITIVE = ("log", "log10", "log1p", "log2", "reciprocal", "sqrt")
UNIT = ("arccos", "arcsin", "arctanh", "tan")

UNARY = (
    *(case(f"_npi_{op}", "normal", x(3, 5)) for op in ANY),
    *(case(f"_npi_{op}", "halves", x(3, 6, kind="halves")) for op in ROUNDING),
    *(case(f"_npi_{op}", "positive", x(3, 5, kind="positive")) for op in POSITIVE),
    *(case(f"_npi_{op}", "unit", x(3, 5, kind="unit")) for op in UNIT),
    case("_npi_arccosh", "above_1", values(1.0, 1.5, 2.0, 30.0, name="x")),
    *(case(f"_npi_{op}", "special", values(*SPECIAL, name="x")) for op in ("absolute", "exp", "negative", "sign",
                                                                        "sqrt", "tanh", "rint", "logical_not")),
    *(np_shape(case(f"_npi_{op}", "no_axes", x())) for op in ("exp", "tanh", "logical_not")),
    *(np_shape(case(f"_npi_{op}", "no_elements", x(2, 0, 3))) for op in ("exp", "absolute", "log1p")),
    *(case(f"_npi_{op}", "int32", values(*SIGNED, name="x", dtype="int32"))
      for op in ("absolute", "negative", "sign", "exp", "square", "tanh", "cbrt", "logical_not", "fix")),
    *(case(f"_npi_{op}", "uint8", values(*WHOLE, name="x", dtype="uint8"))
      for op in ("absolute", "negative", "sqrt", "log", "sin", "floor")),
    case("_npi_arccosh", "float64", values(1.0, 0.5, -1e30, 1e200, 1e-6, 30.0, name="x", dtype="float64")),
    case("_npi_sqrt", "float16", x(4, dtype="float16", kind="positive")),
    case("_npi_exp", "float64", x(4, dtype="float64")),
    case("_npi_logical_not", "bool", x(5, dtype="bool", kind="bits")),
    case("_np_copy", "plain", data(2, 3, name="a")),
    case("_np_copy", "bool", data(4, name="a", dtype="bool", kind="bits")),
    case("_npx_relu", "normal", data(3, 4)),
    case("_npx_relu", "int8", values(*SIGNED, dtype="int8")),
    case("_npx_sigmoid", "normal", data(3, 4)),
    case("_npx_sigmoid", "int32", values(-9, -1, 0, 1, 9, dtype="int32")),
)  # fmt: skip

ARITHMETIC = ("add", "subtract", "multiply", "true_divide", "mod", "power")
COMPARISONS = ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal")
MIXED = (("float32", "int32"), ("bool", "float32"), ("int64", "float16"), ("float64", "uint8"))
WIDER = (("float16", "float32"), ("float64", "float32"))
INTEGERS = (("bool", "int32"), ("int8", "int32"), ("int64", "uint8"))
FEW = (data(3, 1, name="lhs", kind="integers:-1:1"), data(1, 4, name="rhs", kind="integers:-1:1"))
BITS = (data(2, 1, name="lhs", dtype="bool", kind="bits"), data(2, 5, name="rhs", dtype="bool", kind="bits"))

BINARY = (
    *(case(f"_npi_{op}", "both_sides", *pair((2, 1, 4), (1, 3, 1))) for op in (*ARITHMETIC, "hypot")),
    *(case(f"_npi_{op}", "ranks", *pair((3,), (2, 3))) for op in (*ARITHMETIC, *COMPARISONS, "hypot")),
    *(case(f"_npi_{op}", "int32", *pair((3, 2), (2,), ("int32", "int32"))) for op in ARITHMETIC),
    *(case(f"_npi_{op}", f"{left}_{right}", *pair((2, 3), (3,), (left, right)))
      for op in ARITHMETIC if op != "true_divide" for left, right in (*MIXED, *WIDER)),
    *(case("_npi_true_divide", f"{left}_{right}", *pair((2, 3), (3,), (left, right))) for left, right in MIXED),
    *(case(f"_npi_{op}", f"{left}_{right}", *pair((2, 3), (3,), (left, right)))
      for op in ("add", "multiply", "power", "subtract", "mod") for left, right in INTEGERS),
    *(case(f"_npi_{op}", "bool", *BITS) for op in ("add", "multiply", "power", "true_divide", *COMPARISONS)),
    *(case(f"_npi_{op}", "ties", *FEW) for op in COMPARISONS),
    *(case(f"_npi_{op}", "int64", *pair((3, 1), (4,), ("int64", "int64"))) for op in COMPARISONS),
    *(np_shape(case(f"_npi_{op}", "no_axes", *pair((), (2, 3)))) for op in ("add", "multiply", "less", "power")),
    *(np_shape(case(f"_npi_{op}", "no_elements", *pair((2, 0), (1,)))) for op in ("add", "true_divide", "equal")),
    case("_npi_mod", "signs", values(-5.5, -5.5, 5.5, 5.5, name="lhs"), values(3, -3, 3, -3, name="rhs")),
    case("_npi_mod", "by_zero", values(-5, 0, 5, name="lhs", dtype="int8"), values(0, 0, 0, name="rhs", dtype="int8")),
    case("_npi_true_divide", "by_zero", values(-5, 0, 5, name="lhs", dtype="int32"),
         values(0, 0, 0, name="rhs", dtype="int32")),
    case("_npi_power", "odd", values(-2.5, -1.0, 0.5, name="lhs"),
         values(2147483647, 2147483647, 3, name="rhs", dtype="int32")),
)  # fmt: skip

FORMS = ("add", "subtract", "rsubtract", "multiply", "true_divide", "rtrue_divide", "mod", "rmod", "power", "rpower")
DATA = {
    "bool": data(5, dtype="bool", kind="bits"),
    "uint8": values(*WHOLE[1:], dtype="uint8"),
    "int32": values(*SIGNED[1:8], -7, dtype="int32"),
    "int64": values(*SIGNED[1:8], -7, dtype="int64"),
    "float16": values(0.5, 2.0, -3.0, dtype="float16"),
}

SCALAR = (
    *(case(f"_npi_{op}_scalar", "1.5", data(2, 3, kind="positive"), scalar=1.5, is_int=False) for op in FORMS),
    *(case(f"_npi_{op}_scalar", f"{dtype}_3", source, scalar=3, is_int=True)
      for op in FORMS for dtype, source in DATA.items() if not (dtype == "bool" and "mod" in op)),
    *(case(f"_npi_{op}_scalar", f"{dtype}_2.5", source, scalar=2.5, is_int=False)
      for op in (*FORMS, *COMPARISONS) for dtype, source in DATA.items() if not (dtype == "bool" and op == "rmod")),
    *(case(f"_npi_{op}_scalar", "ties", data(2, 6, kind="integers:-1:1"), scalar=0) for op in COMPARISONS),
    *(case(f"_npi_{op}_scalar", "bool_-2", DATA["bool"], scalar=-2, is_int=True) for op in COMPARISONS),
    *(case(f"_npi_{op}_scalar", "special", values(*SPECIAL), scalar=0.5, is_int=False) for op in COMPARISONS),
    *(np_shape(case(f"_npi_{op}_scalar", "no_axes", data(), scalar=2.0)) for op in ("add", "power", "less")),
    np_shape(case("_npi_multiply_scalar", "no_elements", data(0, 3), scalar=2.0)),
    case("_npi_add_scalar", "no_attributes", data(2, 3)),
)  # fmt: skip

CASES: tuple[Case, ...] = (*UNARY, *BINARY, *SCALAR)

REFUSED: tuple[Case, ...] = (
    case("_npi_absolute", "bool", x(3, dtype="bool", kind="bits")),
    case("_npx_relu", "bool", data(3, dtype="bool", kind="bits")),
    case("_npi_add", "sizes", *pair((2, 3), (2, 4))),
    case("_npi_add", "bytes", *pair((3,), (3,), ("int8", "uint8"))),
    case("_npi_subtract", "bool", *BITS),
    case("_npi_subtract", "integers", *pair((3,), (3,), ("int32", "int64"))),
    case("_npi_mod", "bool", *BITS),
    case("_npi_true_divide", "floats", *pair((3,), (3,), ("float16", "float32"))),
    case("_npi_true_divide", "integers", *pair((3,), (3,), ("int32", "int64"))),
    case("_npi_greater", "dtypes", *pair((3,), (3,), ("float32", "float64"))),
    case("_npi_hypot", "int32", data(3, name="x1", dtype="int32"), data(3, name="x2", dtype="int32")),
)
