"""Cases of integers, and bool, in operators of real numbers; and of scalars beside them."""

from __future__ import annotations

from tests.equivalence.case import Case, Input, case, values

SMALL = (-100.0, -8.0, -3.0, -1.0, 0.0, 1.0, 2.0, 3.0, 8.0, 27.0, 64.0, 100.0, 125.0)
LARGE = (-2147483648.0, -16777217.0, 16777217.0, 1000000.0, 999999.0, 33554435.0, 2147483647.0)


def signed(dtype: str = "int32", name: str = "data") -> Input:
    """Small numbers and, where the dtype has room, large ones."""
    return values(*SMALL, *(LARGE if dtype != "int8" else ()), dtype=dtype, name=name)


def few(*numbers: float, dtype: str = "int32", name: str = "data") -> Input:
    """Numbers of a dtype."""
    return values(*numbers, dtype=dtype, name=name)


REAL = ("arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "ceil", "cos", "cosh", "degrees", "erf",
        "exp", "expm1", "fix", "floor", "log", "log10", "log1p", "log2", "radians", "rcbrt", "reciprocal", "rint",
        "round", "rsqrt", "sigmoid", "sin", "sinh", "softsign", "sqrt", "square", "tan", "tanh", "trunc")  # fmt: skip
OWN = ("abs", "negative", "sign", "relu")

UNARY = (
    *(case(op, f"{dtype}_numbers", signed(dtype)) for op in (*REAL, *OWN) for dtype in ("int32", "int8")),
    *(case(op, "uint8_integers", few(0, 1, 2, 27, 100, 200, 255, dtype="uint8")) for op in ("exp", "negative", "sqrt")),
    *(case(op, "int64_integers", signed("int64")) for op in ("abs", "floor", "sinh", "cbrt", "log2", "square")),
    case("relu", "uint8", few(0, 1, 200, dtype="uint8")),
    case("add_n", "three_int32", *(few(1, -2, 2147483647, name=f"arg{slot}") for slot in range(3)), num_args=3),
    case("tanh", "edge", few(18, 19, 20, -19, -20)),
    case("erf", "edge", few(4, 5, 6, -5, -6)),
    case("_npi_around", "tens", few(25, -26, 99), decimals=-1),
    case("_npi_around", "more_than_fits", few(25, -26, 99, dtype="int8"), decimals=-3),
    case("_contrib_div_sqrt_dim", "int32_integers", few(5, 6, 7, -8, 9)),
    case("_contrib_quadratic", "int32_integers", few(-3, 0, 1, 5), a=1.5, b=2.7, c=0.9),
    case("_contrib_quadratic", "int64_integers", few(-3, 0, 1, 5, dtype="int64"), a=1.5, b=1e10, c=128),
)

PAIR = (few(7, -7, 100, 3, -100), few(2, 2, 7, -3, 7))


def beside(dtype: str) -> tuple[Input, Input]:
    """lhs and rhs."""
    left, right = (tuple(source.values or ()) for source in PAIR)
    return few(*left, dtype=dtype, name="lhs"), few(*right, dtype=dtype, name="rhs")


BINARY = tuple(
    case(op, f"{dtype}_integers", *beside(dtype))
    for op in ("_power", "_mod", "_hypot", "broadcast_div")
    for dtype in ("int32", "int64", "int8")
)

NUMBERS = ("0.5", "-2.5", "3", "300.5", "1e10", "inf", "-inf", "nan")
ARITHMETIC = ("_plus_scalar", "_rminus_scalar", "_mul_scalar", "_maximum_scalar", "_minimum_scalar", "_power_scalar",
              "_rpower_scalar", "_hypot_scalar", "_mod_scalar", "_rmod_scalar", "_rdiv_scalar")  # fmt: skip
COMPARED = ("_equal_scalar", "_not_equal_scalar", "_greater_scalar", "_greater_equal_scalar", "_lesser_scalar",
            "_lesser_equal_scalar", "_logical_and_scalar", "_logical_or_scalar", "_logical_xor_scalar")  # fmt: skip
SCALARS = (
    *(
        case(op, f"int32_{number}", few(-7, -1, 1, 3, 100), scalar=number)
        for op in ARITHMETIC for number in NUMBERS
        if (op, number) != ("_mod_scalar", "0.5")
    ),
    *(case(op, f"int32_{number}", few(-3, 0, 1, 3), scalar=number) for op in COMPARED for number in ("0.5", "nan")),
    *(case(op, "not_int", few(-3, 1, 3), scalar=0.5, is_int=False) for op in (*ARITHMETIC, *COMPARED)),
    *(
        case(op, "bool", few(0, 1, 1, dtype="bool"), scalar=1)
        for op in ("_plus_scalar", "_minus_scalar", "_equal_scalar", "_logical_xor_scalar")
    ),
    case("_lesser_scalar", "bool_not_int", few(0, 1, dtype="bool"), scalar=0.5, is_int=False),
    case("_plus_scalar", "uint8_below_0", few(0, 3, 4, dtype="uint8"), scalar=-1),
    case("_plus_scalar", "int8_wraps", few(0, 3, 100, dtype="int8"), scalar=100),
    case("_mod_scalar", "int64_beyond_2^53", few(2**60, 3, dtype="int64"), scalar=7),
    case("_div_scalar", "int32_inf", few(-3, 0, 7), scalar="inf"),
    *(
        case(f"_npi_bitwise_{name}_scalar", "bool", few(0, 1, dtype="bool"), scalar=2)
        for name in ("and", "or", "xor")
    ),
    *(case("clip", f"int32_{low}_{high}", few(-3, 0, 1, 5), a_min=low, a_max=high)
      for low, high in ((-0.5, 0.6), (-2.7, "inf"), ("nan", 2), (4, -2), ("-inf", "inf"))),
    *(case("clip", f"{dtype}_{low}_{high}", few(-16777217, 16777215, 16777217, 33554433, dtype=dtype),
           a_min=low, a_max=high)
      for dtype in ("int32", "int64") for low, high in ((4, 16777217), (-16777217, 5), (-33554432, 16777216))),
    case("clip", "int8_beyond", few(-3, 0, 100, dtype="int8"), a_min=-2.7, a_max=300),
    *(case("smooth_l1", f"int32_{scalar}", few(-3, 0, 1, 5), scalar=scalar) for scalar in (0.5, 1.5, 2)),
)  # fmt: skip

BITS = tuple(
    case(f"_npi_bitwise_{name}_scalar", f"int32_{number}", few(1, 3, 4), scalar=number)
    for name in ("and", "or", "xor")
    for number in ("nan", "1e10", "257.5")
)

ROWS = values(100, 100, 100, 5, -3, 0, 1, 5, 7, -5, -1, 3, shape=(3, 4), dtype="int8")
WIDE = values(2147483647, 5, 100000, -100000, 5, 7, 3, 2, shape=(2, 4), dtype="int32")
TRUTHS = values(1, 0, 1, 0, 0, 0, shape=(2, 3), dtype="bool")
REDUCED = (
    *(case(op, f"{source.dtype}_integers", source, axis=1)
      for op in ("sum", "mean", "prod", "nansum", "nanprod", "norm")
      for source in (ROWS, WIDE)),
    *(case(op, "whole_of_bool", TRUTHS, axis=1) for op in ("sum", "mean", "prod", "max", "min", "norm")),
    case("norm", "int32_l1", WIDE, axis=1, ord=1),
    *(
        case("norm", f"{dtype}_{count}_alike_l{order}", values(*(3,) * count, dtype=dtype), ord=order)
        for dtype, count, order in (("int8", 200, 2), ("int8", 300, 2), ("uint8", 300, 2), ("int8", 300, 1))
    ),
    case("moments", "int8_integers", ROWS, axes=(1,)),
    case("mean", "int8_all", ROWS),
    case("prod", "int64_two_axes", values(*range(1, 19), shape=(2, 3, 3), dtype="int64"), axis=(0, 2)),
    case("_np_cumsum", "int8_wraps", values(100, 100, 100, dtype="int8")),
    case("_np_cumsum", "bool", values(1, 0, 1, dtype="bool")),
)  # fmt: skip

MADE = (
    case("_arange", "whole_steps", start=1.5, stop=8.5, step=1.5, dtype="int32"),
    case("_arange", "no_step_left", start=0.5, stop=3, step=0.5, dtype="int32"),
    case("_arange", "half_as_whole", start=1.5, stop=8.5, step=1.5, dtype="float16"),
    case("_arange", "wraps", start=-1.5, stop=3, step=1, dtype="uint8"),
    case("_contrib_arange_like", "whole_steps", values(*range(10), shape=(2, 5), dtype="int32"), start=2.5, step=1.9),
    case("_contrib_arange_like", "back", values(*range(10), shape=(2, 5)), start=2, step=0.9, repeat=-2),
    case("_full", "nan_of_integers", shape=(2,), value="nan", dtype="int32"),
    case("_full", "int8_wraps", shape=(2,), value=300.7, dtype="int8"),
    case("_eye", "no_columns", N=2, M=-3, k=1),
    case("amp_cast", "float64", values(0.5, 1.5, dtype="float64"), dtype="float16"),
)

CASES: tuple[Case, ...] = (*UNARY, *BINARY, *SCALARS, *BITS, *REDUCED, *MADE)

REFUSED: tuple[Case, ...] = (
    case("_arange", "no_repeat", start=0, stop=3, repeat=0),
    case("_arange", "nothing", start="nan", stop=3),
    case("_eye", "no_rows", N=-2, M=4),
)
