"""Cases of the arithmetic of training."""

from __future__ import annotations

from tests.equivalence.case import Case, Input, aux, case, data, param, values

INF, NAN = float("inf"), float("nan")
ODD = (NAN, INF, -INF, -0.0, 0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 8388609.0)
LARS = (values(0.1, 0.2, 0.3, 0.4, name="lrs"), values(1.0, 4.0, 0.0, NAN, name="weights_sum_sq"),
        values(9.0, 1.0, 2.0, 2.0, name="grads_sum_sq"), values(0.1, 0.2, 0.3, 1.0, name="wds"))  # fmt: skip
PAIR = (values(1.0, NAN, INF, -2.0, name="a"), values(1.0 + 1e-7, NAN, INF, -2.0, name="b"))
FAR = (values(1.0, -2.0, 0.0, name="a"), values(1.5, -2.0, 0.0, name="b"))


def lamb(dtype: str = "float32", *shape: int) -> tuple[Input, ...]:
    """A weight, its gradient and the averages of both."""
    sizes = shape or (2, 3)
    return (data(*sizes, name="weight", dtype=dtype), data(*sizes, name="grad", dtype=dtype),
            aux("mean", *sizes, dtype=dtype), aux("var", *sizes, dtype=dtype, kind="positive"))  # fmt: skip


def step(first: float, second: float, dtype: str = "float32") -> tuple[Input, ...]:
    """A weight, its direction and their norms."""
    return (data(2, 3, name="weight", dtype=dtype), data(2, 3, name="g", dtype=dtype),
            values(first, name="r1", dtype=dtype), values(second, name="r2", dtype=dtype))  # fmt: skip


def mixed_lamb() -> tuple[Input, ...]:
    """A float16 weight and its gradient, the averages and the weight in float32."""
    half = (data(2, 3, name="weight", dtype="float16"), data(2, 3, name="grad", dtype="float16"))
    return (*half, aux("mean", 2, 3), aux("var", 2, 3, kind="positive"), aux("weight32", 2, 3))


def mixed_step(first: float, second: float) -> tuple[Input, ...]:
    """A float16 weight, the direction, the norms and the weight in float32."""
    _, *rest = step(first, second)
    # in MXNet a state, whose shape it cannot infer
    return (data(2, 3, name="weight", dtype="float16"), *rest, param("weight32", 2, 3))


CASES: tuple[Case, ...] = (
    *(case(op, f"special_{dtype}", values(*ODD, dtype=dtype))
      for op in ("_contrib_round_ste", "_contrib_sign_ste")
      for dtype in ("float32", "float16", "float64")),
    *(case(op, dtype, data(2, 3, dtype=dtype)) for op in ("_contrib_round_ste", "_contrib_sign_ste")
      for dtype in ("int32", "int8", "uint8", "int64")),
    *(case("all_finite", f"{name}_{dtype}", values(1.0, number, dtype=dtype))
      for name, number in (("finite", 6e4), ("nan", NAN), ("inf", INF), ("low", -INF))
      for dtype in ("float32", "float16", "float64")),
    case("multi_all_finite", "finite", data(2, name="arg0"), data(2, 3, name="arg1"), num_arrays=2),
    case("multi_all_finite", "nan", data(2, name="arg0"), values(1, NAN, name="arg1"), num_arrays=2),
    case("multi_sum_sq", "float32", data(2, name="arg0"), data(2, 3, name="arg1"), num_arrays=2),
    # onnxruntime does not round the squares to float16 between two float32 steps
    case("multi_sum_sq", "float16", data(5, name="arg0", dtype="float16"), num_arrays=1, tolerance=1e-3),
    case("multi_sum_sq", "float64", data(2, 1, name="arg0", dtype="float64"),
         values(1, NAN, name="arg1", dtype="float64"), num_arrays=2),
    case("multi_lars", "default", *LARS, eta=0.1, eps=1e-3),
    case("multi_lars", "rescaled", *LARS, eta=0.02, eps=1e-8, rescale_grad=0.5),
    case("_contrib_allclose", "default", *PAIR),
    case("_contrib_allclose", "nan_differs", *PAIR, equal_nan=False),
    case("_contrib_allclose", "far", *FAR),
    case("_contrib_allclose", "wide", *FAR, atol=0.6),
    case("_contrib_allclose", "relative", *FAR, rtol=0.4),
    case("_contrib_allclose", "signs", values(INF, name="a"), values(-INF, name="b")),
    case("_contrib_allclose", "finite", values(INF, name="a"), values(1.0, name="b")),
    *(case("_contrib_allclose", dtype, values(1, 2, name="a", dtype=dtype), values(2, 1, name="b", dtype=dtype), atol=1)
      for dtype in ("float16", "float64", "int32", "uint8", "int8", "int64")),
    case("lamb_update_phase1", "default", *lamb(), t=2, wd=0.1),
    case("lamb_update_phase1", "clipped", *lamb(), t=7, wd=0.0, bias_correction=False, clip_gradient=0.3,
         rescale_grad=2.0, beta1=0.5, beta2=0.9, epsilon=1e-3),
    case("lamb_update_phase1", "float64", *lamb("float64", 4), t=1, wd=0.01, tolerance=2e-6),  # betas are floats
    case("lamb_update_phase2", "default", *step(2.0, 3.0), lr=0.1),
    case("lamb_update_phase2", "bounds", *step(2.0, 3.0), lr=0.1, lower_bound=0.5, upper_bound=1.0),
    case("lamb_update_phase2", "raised", *step(0.0, 3.0), lr=0.1, lower_bound=0.5),
    case("lamb_update_phase2", "no_r1", *step(0.0, 3.0), lr=0.1),
    case("lamb_update_phase2", "no_r2", *step(2.0, 0.0), lr=0.1, upper_bound=9.0),
    case("mp_lamb_update_phase1", "default", *mixed_lamb(), t=2, wd=0.1),
    case("mp_lamb_update_phase1", "rounded", *mixed_lamb(), t=2, wd=0.1, beta2=1.5, rescale_grad=3.3),
    case("mp_lamb_update_phase1", "clipped", *mixed_lamb(), t=2, wd=0.1, beta2=1.5, rescale_grad=3.3,
         clip_gradient=0.7003),
    case("mp_lamb_update_phase2", "default", *mixed_step(2.0, 3.0), lr=0.1),
)  # fmt: skip

REFUSED: tuple[Case, ...] = (
    case("all_finite", "int32", data(2, dtype="int32")),
    case("multi_all_finite", "dtypes", data(2, name="arg0"), data(3, name="arg1", dtype="float16"), num_arrays=2),
    case("multi_sum_sq", "int32", data(2, name="arg0", dtype="int32"), num_arrays=1),
    case("multi_lars", "float64", *(values(1.0, name=name, dtype="float64") for name in
         ("lrs", "weights_sum_sq", "grads_sum_sq", "wds")), eta=0.1, eps=0.1),
    case("_contrib_allclose", "dtypes", data(2, name="a"), data(2, name="b", dtype="float64")),
)  # fmt: skip
