"""Cases of the inverse error function, gamma and its logarithm: over their whole domains, at poles and beyond."""

from __future__ import annotations

from tests.equivalence.case import Case, Input, case, data, values

INF, NAN = float("inf"), float("nan")
POLES = (0.0, -0.0, -1.0, -2.0, -171.0, INF, -INF, NAN)
NEAR = (-0.5, -1.5, -2.5, 1e-3, -1e-3, -0.9999, -1.0001, -3.00001, 0.49999, 0.5, 0.50001, 1.5, 1.0, 2.0, 1.4616)
WHOLE = tuple(float(number) for number in range(1, 24))
ENDS = (-1.0, 1.0, 1.5, -2.0, INF, -INF, NAN, 0.0, -0.0)
UNIT = (0.5, -0.5, 0.7, 0.84999, 0.85, 0.85001, -0.95, 0.99, 0.9999, -0.999999, 1e-3, -1e-20, 1e-30)
TINY = (1 - 1e-9, 1e-13 - 1, 0.99999999)
EXACT = WHOLE[:12]  # larger factorials MXNet's libm misses by a digit, whose fraction integers drop


def of(*numbers: float, dtype: str = "float32") -> Input:
    """These numbers."""
    return values(*numbers, dtype=dtype)


CASES: tuple[Case, ...] = (
    *(case(op, f"near_{dtype}", of(*NEAR, dtype=dtype)) for op in ("gamma", "gammaln")
      for dtype in ("float16", "float32", "float64")),
    *(case(op, f"poles_{dtype}", of(*POLES, dtype=dtype)) for op in ("gamma", "gammaln")
      for dtype in ("float16", "float32", "float64")),
    *(case(op, "whole", of(*WHOLE, dtype="float64")) for op in ("gamma", "gammaln")),
    *(case(op, f"whole_{dtype}", of(*EXACT, dtype=dtype)) for op in ("gamma", "gammaln")
      for dtype in ("int32", "int64", "uint8", "int8")),
    *(case(op, "integers", of(0.0, -1.0, -3.0, 1.0, 2.0, 30.0, 100.0, dtype="int64")) for op in ("gamma", "gammaln")),
    case("gamma", "large", of(33.5, 34.9, 35.2, -33.5, -40.5, -200.5, 1e10, 3e38)),
    case("gamma", "large_float64", of(165.5, 171.5, 171.7, -165.5, -170.5, -200.5, 1e300, dtype="float64")),
    *(case("gamma", f"alone_{number}", of(number, dtype="float64")) for number in (-4.25, 0.75, 3.5, 100.25, 1e-300)),
    case("gammaln", "large", of(33.5, 1e5, 1e10, 3e38, -40.5, -1e10)),
    case("gammaln", "large_float64", of(300.5, 1e15, 1e300, 1e308, -300.5, dtype="float64")),
    *(case("gammaln", f"alone_{number}", of(number, dtype="float64")) for number in (-4.25, 0.75, 3.5, 1.001, 1e-300)),
    *(case("erfinv", f"unit_{dtype}", of(*UNIT, dtype=dtype)) for dtype in ("float16", "float32", "float64")),
    *(case("erfinv", f"ends_{dtype}", of(*ENDS, dtype=dtype)) for dtype in ("float16", "float32", "float64")),
    # MXNet subtracts the error function from what is almost 1, and loses digits by that
    case("erfinv", "tiny", of(*TINY, dtype="float64"), tolerance=1e-8),
    *(case("erfinv", f"alone_{number}", of(number, dtype="float64")) for number in (-0.3, 0.9, -0.9999999, 1e-300)),
    *(case("erfinv", dtype, of(0.0, 1.0, -1.0, 2.0, -3.0, dtype=dtype)) for dtype in ("int32", "int64", "int8")),
    *(case(op, "matrix", data(3, 1, 4)) for op in ("erfinv", "gamma", "gammaln")),
)  # fmt: skip

REFUSED: tuple[Case, ...] = tuple(
    case(op, "truths", data(2, dtype="bool", kind="bits")) for op in ("erfinv", "gamma", "gammaln")
)
