"""Cases of values that break kernels: NaN, infinities, -0, numbers whose squares overflow."""

from __future__ import annotations

from tests.equivalence.case import Case, Input, case, values

INF, NAN = float("inf"), float("nan")
ODD = (NAN, INF, -INF, -0.0, 0.0, 0.5, -0.5, 1.5, -2.5, 3.0)


def odd(dtype: str = "float32", name: str = "data") -> Input:
    """The special values and some others."""
    return values(*ODD, name=name, dtype=dtype)


UNARY = ("abs", "arctan", "cbrt", "ceil", "degrees", "erf", "exp", "fix", "floor", "log", "logical_not", "negative",
         "rcbrt", "reciprocal", "relu", "rint", "round", "rsqrt", "sigmoid", "sign", "sqrt", "square", "tanh",
         "trunc")  # fmt: skip
NUMBERS = ("nan", "inf", "-inf", "2", "-0.0")
SCALARS = ("_plus_scalar", "_mul_scalar", "_maximum_scalar", "_minimum_scalar", "_mod_scalar", "_hypot_scalar",
           "_greater_scalar", "_equal_scalar", "_logical_and_scalar")  # fmt: skip
PAIR = (
    values(NAN, 1.0, INF, INF, 3e30, -0.0, 5.0, -INF, name="lhs"),
    values(1.0, NAN, NAN, -INF, 4e30, 0.0, 3.0, 2.0, name="rhs"),
)
ROWS = values(
    1.0, INF, NAN, NAN, -INF, 1.0, -INF, -INF, -INF, 1.0, NAN, 2.0, NAN, NAN, 2.0, INF, 1.0, 2.0, 3.0, 1.0, 2.0,
    INF, INF, 1.0, 1e30, 3.0, 4.0, 2.0, 5.0, INF, shape=(10, 3),
)  # fmt: skip
LATE = values(1.0, INF, NAN, 1.0, INF, -INF, INF, 2.0, 3.0, 2.0, 5.0, INF, shape=(4, 3))
FINITE = values(1.0, 2.0, 4.0, -3.0, shape=(2, 2))

CASES: tuple[Case, ...] = (
    *(case(op, "special", odd()) for op in UNARY),
    *(case("sign", f"special_{dtype}", odd(dtype)) for dtype in ("float16", "float64")),
    *(case(op, f"special_{number}", odd(), scalar=number) for op in SCALARS for number in NUMBERS),
    *(case(op, "special", *PAIR) for op in ("_maximum", "_minimum", "_mod", "_hypot", "_power", "broadcast_hypot")),
    *(case(op, f"special_{axis}", ROWS, axis=axis)
      for op in ("max", "min", "argmax", "argmin", "norm", "sum", "prod")
      for axis in (0, 1)),
    *(case(op, "special_all", ROWS) for op in ("max", "argmin", "norm")),
    case("norm", "special_l1", ROWS, axis=1, ord=1),
    case("norm", "overflow", values(1e30, 1e30, 3.0, 3.0, 4.0, 12.0, shape=(2, 3)), axis=1),
    case("norm", "overflow_float16", values(3e4, 3e4, 3.0, 4.0, shape=(2, 2), dtype="float16"), axis=1),
    case("argmax_channel", "special", ROWS),
    case("moments", "special", LATE, axes=(1,)),
    case("nansum", "special", values(1.0, NAN, 2.0, INF, 2.0, 3.0, 2.0, NAN, INF, shape=(3, 3)), axis=1),
    case("softmax", "special", ROWS, axis=1),
    case("softmax", "no_temperature", FINITE, temperature=0),
    case("log_softmax", "special", ROWS, axis=1),
    case("log_softmax", "special_float64", values(1, INF, 2, NAN, 1, -INF, shape=(2, 3), dtype="float64"), axis=1),
    *(case("clip", f"special_{low}_{high}", odd(), a_min=low, a_max=high)
      for low, high in ((-2.7, "inf"), ("nan", 1), (2, 1), (-2, "-inf"), (-1, 1))),
    *(case("smooth_l1", f"special_{scalar}", odd(), scalar=scalar) for scalar in (0, "-0.0", "nan", "inf", 2)),
    *(case("smooth_l1", f"special_float16_{scalar}", odd("float16"), scalar=scalar)
      for scalar in (256, 65536, 1e-4, "inf")),
    *(case("_contrib_quadratic", f"special_{dtype}", odd(dtype), a=2.0, b=-1.0, c=0.5)
      for dtype in ("float16", "float32")),
    case("L2Normalization", "zeros_float16", values(0, 0, 4, 5, shape=(2, 2), dtype="float16")),
    case("LRN", "no_alpha", values(*range(16), shape=(1, 4, 2, 2)), nsize=3, alpha=0, beta=0.5),
    *(case(op, "wide_float64", values(-300.0, -100.0, -0.3, 0.0, 1e-3, 2.0, 100.0, 300.0, dtype="float64"))
      for op in ("cosh", "sinh", "arcsinh", "tan")),
    case("arccosh", "wide_float64", values(1.0, 1.5, 1e40, 1e100, dtype="float64")),
    *(case("where", f"first_axes_{name}", values(*condition, shape=shape, name="condition"),
           values(*range(12), shape=whole, name="x"), values(*range(-12, 0), shape=whole, name="y"))
      for name, condition, shape, whole in (
          ("of_three", (1, 0, 0, 1, 1, 0), (2, 3), (2, 3, 2)), ("square", (1, 0, 0, 1), (2, 2), (2, 2, 3)))),
    case("where", "same_places", values(1, 0, 0, 1, 1, 0, shape=(2, 3), name="condition"),
         values(*range(6), shape=(2, 1, 3), name="x"), values(*range(-6, 0), shape=(2, 1, 3), name="y")),
    case("pick", "vector", values(1.0, 2.0, 3.0), values(1.0, name="index")),
    case("slice_like", "twice", values(*range(12), shape=(3, 4)), values(*range(4), shape=(2, 2), name="shape_like"),
         axes=(1, -1)),
    case("softmax", "length_of_a_vector", values(1.0, 2.0, 3.0), values(2, name="length", dtype="int32"),
         use_length=True),
    case("reverse", "twice", values(1.0, 2.0, 3.0, 4.0, shape=(2, 2)), axis=(0, 1, 0)),
    case("_contrib_BilinearResize2D", "one_scale", values(*range(16), shape=(1, 1, 4, 4)), height=3, width=5,
         scale_width=2),
    case("_contrib_MultiBoxPrior", "one_step", values(*range(4), shape=(1, 1, 2, 2)), steps=(0, 3)),
)  # fmt: skip

REFUSED: tuple[Case, ...] = (
    case("_contrib_MultiBoxPrior", "steps_of_two_signs", values(*range(4), shape=(1, 1, 2, 2)), steps=(-1, 3)),
)
