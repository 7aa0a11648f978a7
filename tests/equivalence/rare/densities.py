"""Cases of the densities of distributions."""

from __future__ import annotations

from tests.equivalence.case import Case, Input, case, data, values

INF, NAN = float("inf"), float("nan")
PARAMETERS = {
    "uniform": (("low", (-1.0, 2.0)), ("high", (5.0, 2.5))),
    "normal": (("mu", (2.0, 0.5)), ("sigma", (3.0, 1.5))),
    "exponential": (("lam", (2.0, 0.5)),),
    "gamma": (("alpha", (2.0, 0.5)), ("beta", (3.0, 1.5))),
    "poisson": (("lam", (2.0, 12.5)),),
    "negative_binomial": (("k", (3.0, 0.5)), ("p", (0.3, 0.7))),
    "generalized_negative_binomial": (("mu", (3.0, 0.5)), ("alpha", (0.4, 1.5))),
}
COUNTS = values(0, 1, 2, 3, 7, 30, name="sample", shape=(2, 3))
ODD = (0.0, 1.0, -1.0, -1.5, 50.0, INF, NAN, -2.0)


def parameters(name: str, dtype: str = "float32", shape: tuple[int, ...] = (2,)) -> tuple[Input, ...]:
    """The parameters of two distributions."""
    return tuple(values(*numbers, name=key, dtype=dtype, shape=shape) for key, numbers in PARAMETERS[name])


def samples(dtype: str, *shape: int) -> Input:
    """Positive samples."""
    return data(*shape, name="sample", dtype=dtype, kind="positive")


def odd(name: str) -> tuple[Input, ...]:
    """Samples outside every range, of one distribution."""
    first = tuple(values(numbers[0], name=key) for key, numbers in PARAMETERS[name])
    return (values(*ODD, name="sample", shape=(1, len(ODD))), *first)


ALPHA = values(1.0, 2.0, 3.0, 0.5, 0.5, 0.5, name="alpha", shape=(2, 3))
PARTS = values(0.2, 0.3, 0.5, 0.1, 0.1, 0.8, 0.6, 0.3, 0.1, 0.2, 0.2, 0.6, name="sample", shape=(2, 2, 3))

CASES: tuple[Case, ...] = (
    *(case(f"_random_pdf_{name}", f"{'log_' if logarithm else ''}{variant}", *inputs, is_log=logarithm)
      for name in PARAMETERS
      for logarithm in (False, True)
      for variant, inputs in (
          ("counts", (COUNTS, *parameters(name))),
          ("float64", (samples("float64", 2, 3), *parameters(name, "float64"))),
          ("float16", (samples("float16", 2, 3), *parameters(name, "float16"))),
          ("one_each", (samples("float32", 2), *parameters(name))),
          ("axes", (samples("float32", 1, 2, 2, 3), *parameters(name, shape=(1, 2)))),
          ("odd", odd(name)),
      )),
    *(case("_random_pdf_dirichlet", f"{'log_' if logarithm else ''}{variant}", *inputs, is_log=logarithm)
      for logarithm in (False, True)
      for variant, inputs in (
          ("rows", (PARTS, ALPHA)),
          ("shared", (PARTS, values(1.0, 2.0, 3.0, name="alpha"))),
          ("one", (values(0.2, 0.3, 0.5, name="sample"), values(1.0, 2.0, 3.0, name="alpha"))),
          ("float64", (values(0.2, 0.3, 0.5, name="sample", shape=(1, 3), dtype="float64"),
                       values(1.0, 2.0, 3.0, name="alpha", shape=(1, 3), dtype="float64"))),
      )),
)  # fmt: skip

REFUSED: tuple[Case, ...] = (
    case("_random_pdf_normal", "broadcast", COUNTS, values(2.0, name="mu"), values(3.0, name="sigma")),
    case("_random_pdf_normal", "dtypes", COUNTS, *parameters("normal", "float64")),
    case("_random_pdf_gamma", "integers", data(2, 3, name="sample", dtype="int32"), *parameters("gamma", "int32")),
)
