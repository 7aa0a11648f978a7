"""Cases of the elementwise family: unary, binary, broadcasting and scalar operators, casts, selections."""

from __future__ import annotations

from tests.equivalence.case import Case, Input, case, data, values


def pair(
    left: tuple[int, ...], right: tuple[int, ...], dtype: str = "float32", kind: str = "normal"
) -> tuple[Input, ...]:
    """lhs and rhs."""
    return data(*left, name="lhs", dtype=dtype, kind=kind), data(*right, name="rhs", dtype=dtype, kind=kind)


SAME = pair((2, 3), (2, 3), kind="positive")
STRETCHED = pair((2, 1, 4), (1, 3, 1), kind="positive")
FEW = pair((3, 4), (3, 4), kind="integers:-1:1")
FEW_STRETCHED = pair((3, 1), (1, 4), kind="integers:-1:1")

ANY = ("abs", "arcsinh", "arctan", "cbrt", "cos", "cosh", "degrees", "erf", "exp", "expm1", "negative", "radians",
       "relu", "sigmoid", "sin", "sinh", "softsign", "square", "tanh")  # fmt: skip
ROUNDING = ("ceil", "fix", "floor", "rint", "round", "sign", "trunc", "logical_not")
POSITIVE = ("gamma", "gammaln", "log", "log10", "log1p", "log2", "rcbrt", "reciprocal", "rsqrt", "sqrt")
UNIT = ("arccos", "arcsin", "arctanh", "erfinv", "tan")

INF, NAN = float("inf"), float("nan")
ODD = (NAN, INF, -INF, -0.0, 0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 8388609.0)
UNARY = (
    *(case(op, "normal", data(3, 5)) for op in ANY),
    *(case(op, "halves", data(3, 6, kind="halves")) for op in ROUNDING),
    *(case(op, "positive", data(3, 5, kind="positive")) for op in POSITIVE),
    *(case(op, "unit", data(3, 5, kind="unit")) for op in UNIT),
    *(case(op, f"special_{dtype}", values(*ODD, dtype=dtype))
      for op in ("_contrib_round_ste", "_contrib_sign_ste") for dtype in ("float32", "float16", "float64")),
    *(case(op, dtype, data(2, 3, dtype=dtype)) for op in ("_contrib_round_ste", "_contrib_sign_ste")
      for dtype in ("int32", "int8", "uint8", "int64")),
    case("arccosh", "above_1", values(1.0, 1.5, 2.0, 30.0)),
    case("gamma", "negative", values(-0.5, -1.5, 3.0, 4.5)),
    case("gammaln", "negative", values(-0.5, -1.5, 3.0, 40.5)),
    case("sigmoid", "far_out", values(-100.0, -20.0, 0.0, 20.0, 100.0)),
    case("exp", "float64", data(4, dtype="float64")),
    case("sqrt", "float16", data(4, dtype="float16", kind="positive")),
    case("tanh", "float16", data(4, dtype="float16")),
    case("abs", "int32", data(5, dtype="int32")),
    case("negative", "int32", data(5, dtype="int32")),
    case("sign", "int32", data(5, dtype="int32")),
    case("square", "int32", data(5, dtype="int32")),
)  # fmt: skip

BINARY = (
    *(case(f"elemwise_{name}", "float32", *SAME) for name in ("add", "sub", "mul", "div")),
    *(case(f"elemwise_{name}", "int32", *pair((4,), (4,), "int32", "integers:1:9")) for name in ("add", "sub", "mul")),
    case("elemwise_add", "float16", *pair((2, 3), (2, 3), "float16")),
    case("elemwise_add", "float64", *pair((2, 3), (2, 3), "float64")),
    *(case(f"_{name}", "float32", *SAME) for name in ("maximum", "minimum", "power", "hypot", "mod")),
    *(
        case(f"_{name}", "ties", *FEW)
        for name in ("equal", "not_equal", "greater", "greater_equal", "lesser", "lesser_equal",
                     "logical_and", "logical_or", "logical_xor")
    ),
    *(
        case(f"broadcast_{name}", "both_sides", *STRETCHED)
        for name in ("add", "sub", "mul", "div", "mod", "power", "maximum", "minimum", "hypot")
    ),
    *(
        case(f"broadcast_{name}", "ties", *FEW_STRETCHED)
        for name in ("equal", "not_equal", "greater", "greater_equal", "lesser", "lesser_equal",
                     "logical_and", "logical_or", "logical_xor")
    ),
    case("broadcast_add", "channel", *pair((2, 3, 4, 5), (1, 3, 1, 1))),
    case("broadcast_add", "ranks", *pair((2, 3), (3,))),
    case("broadcast_mul", "equal_shapes", *pair((2, 3), (2, 3))),
    case("broadcast_mod", "float64", *pair((2, 3), (2, 3), "float64")),
    case("broadcast_mod", "signs", values(-5.5, -5.5, 5.5, 5.5, name="lhs"), values(3, -3, 3, -3, name="rhs")),
    case("broadcast_mod", "int32_signs", values(-5, -5, 5, 5, name="lhs", dtype="int32"),
         values(3, -3, 3, -3, name="rhs", dtype="int32")),
    case("broadcast_mod", "by_zero", values(-5.5, 5.5, name="lhs"), values(0, 0, name="rhs")),
    case("broadcast_sub", "int32", *pair((3, 1), (1, 4), "int32")),
    case("broadcast_div", "int32", values(7, -7, 7, -7, name="lhs", dtype="int32"),
         values(2, 2, -2, -2, name="rhs", dtype="int32")),
    case("broadcast_equal", "int32", *pair((3, 1), (1, 4), "int32", "integers:0:2")),
    case("add_n", "three", data(2, 3, name="arg0"), data(2, 3, name="arg1"), data(2, 3, name="arg2"), num_args=3),
    case("add_n", "one", data(2, 3, name="arg0"), num_args=1),
    case("_grad_add", "plain", *SAME),
)  # fmt: skip

SCALARS = (
    "plus",
    "minus",
    "rminus",
    "mul",
    "div",
    "rdiv",
    "mod",
    "rmod",
    "power",
    "rpower",
    "maximum",
    "minimum",
    "hypot",
)
COMPARISONS = ("equal", "not_equal", "greater", "greater_equal", "lesser", "lesser_equal")

SCALAR = (
    *(case(f"_{name}_scalar", "1.5", data(2, 3, kind="positive"), scalar=1.5, is_int=False) for name in SCALARS),
    *(case(f"_{name}_scalar", "ties", data(2, 6, kind="integers:-1:1"), scalar=0) for name in COMPARISONS),
    *(case(f"_logical_{name}_scalar", "1", data(2, 3, kind="bits"), scalar=1) for name in ("and", "or", "xor")),
    case("_rminus_scalar", "1.0_without_is_int", data(2, 3), scalar=1.0),
    Case("_rminus_scalar", {"scalar": "1.5"}, (data(2, 3),), "named_node", node_name="gate"),
    Case("_rdiv_scalar", {"scalar": "1.5"}, (data(2, 3, kind="positive"),), "named_node", node_name="gate"),
    case("_plus_scalar", "fraction_without_is_int", data(2, 3), scalar=1e-07),
    case("_plus_scalar", "int32", data(5, dtype="int32"), scalar=3, is_int=True),
    case("_plus_scalar", "int32_fraction", data(5, dtype="int32"), scalar=1.5, is_int=False),
    case("_div_scalar", "int32", data(5, dtype="int32"), scalar=2, is_int=True),
    case("_mul_scalar", "float16", data(5, dtype="float16"), scalar=0.3, is_int=False),
    case("_mul_scalar", "float64", data(5, dtype="float64"), scalar=0.3, is_int=False),
    case("_mul_scalar", "no_attributes", data(2, 3)),
    case("_mod_scalar", "by_zero", values(-5.5, 0.0, 5.5), scalar=0.0, is_int=False),
    case("_rmod_scalar", "by_zero", values(-5.5, 0.0, 5.5), scalar=3.0, is_int=False),
    case("rint", "large", values(8388609.0, 16777215.0, -8388609.0, 0.49999997)),
    case("round", "just_below_half", values(0.49999997, -0.49999997, 1.4999999, 2.5)),
    case("rint", "just_above_half", values(0.50000006, -0.50000006, 1.4999999, 2.5)),
    case("round", "large", values(8388609.0, 16777215.0, -8388609.0, 0.49999997)),
    case("cbrt", "float64", data(5, dtype="float64")),
    case("_mod_scalar", "signs", values(-5.5, -2.0, 5.5), scalar=3.0, is_int=False),
    case("_mod_scalar", "negative_divisor", values(-5.5, -2.0, 5.5), scalar=-3.0, is_int=False),
    case("_power_scalar", "square", data(2, 3), scalar=2),
    case("_power_scalar", "int8", values(-5, -2, 0, 3, dtype="int8"), scalar=3, is_int=True),
    case("_power_scalar", "uint8", values(0, 1, 4, 15, dtype="uint8"), scalar=2, is_int=True),
    case("_rpower_scalar", "int8", values(0, 1, 5, 6, dtype="int8"), scalar=-2, is_int=True),
    case("_rpower_scalar", "uint8", values(0, 1, 5, 7, dtype="uint8"), scalar=2, is_int=True),
    case("broadcast_power", "uint8", values(2, 3, 4, 5, name="lhs", dtype="uint8"),
         values(3, 2, 0, 1, name="rhs", dtype="uint8")),
    case("broadcast_power", "int64_beyond_24_bits", values(-1, 3, -2, name="lhs", dtype="int64"),
         values(16777217, 5, 63, name="rhs", dtype="int64")),
    case("_power", "int8", values(-2, 3, -4, 5, name="lhs", dtype="int8"),
         values(3, 2, 0, 1, name="rhs", dtype="int8")),
    case("_greater_scalar", "int32", data(5, dtype="int32"), scalar=1),
)

OTHERS = (
    case("clip", "both_sides", data(3, 4), a_min=-0.5, a_max=0.6),
    case("clip", "relu6", data(3, 4, kind="scale:6"), a_min=0, a_max=6),
    case("clip", "int32", data(8, dtype="int32"), a_min=-2, a_max=3),
    case("where", "elements", data(2, 3, name="condition", kind="bits"), data(2, 3, name="x"), data(2, 3, name="y")),
    case("where", "rows", data(3, name="condition", kind="bits"), data(3, 2, name="x"), data(3, 2, name="y")),
    case("where", "not_0_is_true", values(-1.0, 0.0, 0.5, name="condition"), data(3, name="x"), data(3, name="y")),
    case("where", "int32_condition", data(4, name="condition", kind="bits", dtype="int32"), data(4, name="x"),
         data(4, name="y")),
    case("smooth_l1", "default", data(3, 4, kind="scale:2")),
    case("smooth_l1", "scalar_2", data(3, 4), scalar=2.0),
    case("hard_sigmoid", "default", data(3, 4, kind="scale:3")),
    case("hard_sigmoid", "both", data(3, 4, kind="scale:3"), alpha=0.3, beta=0.4),
    *(
        case("Cast", f"to_{dtype}", data(3, 4, kind="scale:3"), dtype=dtype)
        for dtype in ("float16", "float32", "float64", "int32", "int64", "int8")
    ),
    case("Cast", "to_uint8", data(3, 4, kind="integers:0:255"), dtype="uint8"),
    case("Cast", "to_bool", data(3, 4, kind="bits"), dtype="bool"),
    case("Cast", "from_int32", data(5, dtype="int32"), dtype="float32"),
    case("amp_cast", "to_float16", data(3, 4), dtype="float16"),
    case("amp_cast", "integers_pass", data(4, dtype="int32"), dtype="float16"),
    case("amp_multicast", "widest", data(2, 3, name="data_0", dtype="float16"), data(2, 3, name="data_1"),
         num_outputs=2),
    *(
        case("amp_multicast", f"{'_'.join(dtypes)}_{narrow}",
             *(data(2, 3, name=f"data_{slot}", dtype=dtype) for slot, dtype in enumerate(dtypes)),
             num_outputs=len(dtypes), cast_narrow=narrow)
        for dtypes in (("float64", "float16"), ("float16", "float64"), ("int32", "float16"), ("int32", "float32"),
                       ("float64", "float16", "float32"), ("float64", "float32"), ("float16", "int32", "float64"))
        for narrow in (False, True)
    ),
    case("amp_multicast", "narrowest", data(2, 3, name="data_0", dtype="float16"), data(2, 3, name="data_1"),
         num_outputs=2, cast_narrow=True),
    *(case(op, "plain", data(2, 3)) for op in ("zeros_like", "ones_like", "_copy", "BlockGrad", "Dropout")),
    case("zeros_like", "int32", data(2, 3, dtype="int32")),
    case("ones_like", "int32", data(2, 3, dtype="int32")),
    case("Dropout", "p", data(2, 3), p=0.7),
    case("_contrib_div_sqrt_dim", "plain", data(2, 3, 5)),
    case("_contrib_quadratic", "all", data(2, 3), a=1.5, b=-0.5, c=2.0),
    case("_contrib_quadratic", "half", values(10, 100, 7, -3, 200, dtype="float16"), a=0.1, b=0.1, c=0.1),
    case("_contrib_quadratic", "half_beyond", values(6e4, float("-inf"), -6e4, dtype="float16"), a=1.5, b=1e10, c=128),
    case("_contrib_gradientmultiplier", "plain", data(2, 3), scalar=0.5),
    case("IdentityAttachKLSparseReg", "plain", data(2, 3, kind="unit"), Input("moving_avg", (3,), role="aux")),
    case("_identity_with_attr_like_rhs", "plain", *SAME),
)  # fmt: skip

CASES: tuple[Case, ...] = (*UNARY, *BINARY, *SCALAR, *OTHERS)

REFUSED: tuple[Case, ...] = (
    case("elemwise_add", "shapes", *pair((2, 3), (3, 2))),
    case("elemwise_mul", "no_broadcasting", *pair((2, 3), (1, 3))),
    case("broadcast_add", "sizes", *pair((2, 3), (2, 4))),
    case("where", "shapes", data(2, name="condition"), data(3, 2, name="x"), data(3, 2, name="y")),
    case("add_n", "shapes", data(2, 3, name="arg0"), data(3, 2, name="arg1"), num_args=2),
)
