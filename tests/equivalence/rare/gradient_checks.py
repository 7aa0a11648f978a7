"""Cases of checks of gradients."""

from __future__ import annotations

from tests.equivalence.case import Case, case, data, values

INF, NAN = float("inf"), float("nan")

CASES: tuple[Case, ...] = (
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
)  # fmt: skip

REFUSED: tuple[Case, ...] = (
    case("all_finite", "int32", data(2, dtype="int32")),
    case("multi_all_finite", "dtypes", data(2, name="arg0"), data(3, name="arg1", dtype="float16"), num_arrays=2),
    case("multi_sum_sq", "int32", data(2, name="arg0", dtype="int32"), num_arrays=1),
)  # fmt: skip
