"""Random numbers of MXNet's NumPy-style interface, and counts, in onnxruntime: shape, dtype and distribution."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from graphir.errors import GraphirError, UnsupportedOpError
from tests.converters.mxnet.rare.test_import_random import moments, run
from tests.equivalence.case import Case, Input, case, data, values
from tests.equivalence.live import Live, LiveError
from tests.requirements import needing

MANY = (6000,)
EULER = 0.57721566


def np_style(op: str, variant: str, *inputs: Input, **attrs: object) -> Case:
    """A case under np_shape semantics."""
    texts = {name: str(value) for name, value in attrs.items()}
    return Case(op, texts, inputs, variant, np_shape=True)


def pair(first: float, second: float, name: str = "input1", dtype: str = "float32") -> Input:
    """A parameter of two distributions, one a column."""
    return values(first, second, name=name, dtype=dtype)


COLUMNS = (6000, 2)
LOGIT = 1 / (1 + np.exp(-0.3))
# What the moments of the result are: mean and deviation, of each column where there are two.
ROWS: tuple[tuple[Case, tuple[float, ...]], ...] = (
    (case("_random_gamma", "many", alpha=2.0, beta=3.0, shape=MANY), (6.0, 18**0.5)),
    (case("_random_gamma", "below one", alpha=0.3, beta=2.0, shape=(60, 100), dtype="float64"), (0.6, 1.2**0.5)),
    (case("_random_gamma_like", "float16", data(60, 100, dtype="float16"), alpha=5.0, beta=0.5), (2.5, 1.25**0.5)),
    (case("_random_poisson", "few", lam=3.0, shape=MANY), (3.0, 3**0.5)),
    (case("_random_poisson", "none", lam=0.0, shape=MANY), (0.0, 0.0)),
    (case("_random_poisson", "many", lam=30.0, shape=MANY), (30.0, 30**0.5)),
    (case("_random_poisson", "float64", lam=0.5, shape=MANY, dtype="float64"), (0.5, 0.5**0.5)),
    (case("_random_poisson_like", "many", data(60, 100), lam=11.0), (11.0, 11**0.5)),
    (case("_random_negative_binomial", "many", k=3, p=0.4, shape=MANY), (4.5, 11.25**0.5)),
    (case("_random_negative_binomial", "sure", k=3, p=1.0, shape=MANY), (0.0, 0.0)),
    (case("_random_negative_binomial_like", "many", data(60, 100, dtype="float64"), k=1, p=0.5), (1.0, 2**0.5)),
    (case("_random_generalized_negative_binomial", "many", mu=3.0, alpha=0.4, shape=MANY), (3.0, 6.6**0.5)),
    (case("_random_generalized_negative_binomial", "poisson", mu=3.0, alpha=0.0, shape=MANY), (3.0, 3**0.5)),
    (case("_random_generalized_negative_binomial_like", "many", data(60, 100), mu=2.0, alpha=0.5), (2.0, 2.0)),
    (case("_sample_gamma", "many", pair(2.0, 0.3, "alpha"), pair(3.0, 2.0, "beta"), shape=MANY),
     (6.0, 18**0.5, 0.6, 1.2**0.5)),
    (case("_sample_poisson", "many", pair(3.0, 30.0, "lam"), shape=MANY), (3.0, 3**0.5, 30.0, 30**0.5)),
    (case("_sample_poisson", "integers", pair(0, 11, "lam", "int32"), shape=(60, 100), dtype="float64"),
     (0.0, 0.0, 11.0, 11**0.5)),
    (case("_sample_negative_binomial", "many", pair(3.0, 9.0, "k"), pair(0.4, 0.7, "p"), shape=MANY),
     (4.5, 11.25**0.5, 9 * 3 / 7, (9 * 0.3 / 0.49) ** 0.5)),
    (case("_sample_generalized_negative_binomial", "many", pair(3.0, 9.0, "mu"), pair(0.4, 0.0, "alpha"), shape=MANY),
     (3.0, 6.6**0.5, 9.0, 3.0)),
    (np_style("_npi_uniform", "many", low=-1.0, high=5.0, size=MANY), (2.0, 3**0.5)),
    (np_style("_npi_uniform", "turned", low=3.0, high=1.0, size=MANY, dtype="float64"), (2.0, 3**-0.5)),
    (np_style("_npi_uniform", "columns", pair(0.0, 1.0), low=None, high=3.0, size=COLUMNS),
     (1.5, 0.75**0.5, 2.0, 3**-0.5)),
    (np_style("_npi_uniform_n", "columns", pair(0.0, 1.0), low=None, high=3.0, size=MANY),
     (1.5, 0.75**0.5, 2.0, 3**-0.5)),
    (np_style("_npi_normal", "many", loc=3.0, scale=0.5, size=MANY, dtype="float16"), (3.0, 0.5)),
    (np_style("_npi_normal", "columns", pair(3.0, 0.0), pair(0.5, 2.0, "input2"), loc=None, scale=None, size=COLUMNS),
     (3.0, 0.5, 0.0, 2.0)),
    (np_style("_npi_normal_n", "columns", pair(3, 0, dtype="int32"), loc=None, scale=2.0, size=MANY),
     (3.0, 2.0, 0.0, 2.0)),
    (np_style("_npi_gumbel", "many", loc=1.0, scale=2.0, size=MANY), (1 + 2 * EULER, 2 * np.pi / 6**0.5)),
    (np_style("_npi_logistic", "many", loc=1.0, scale=2.0, size=MANY), (1.0, 2 * np.pi / 3**0.5)),
    (np_style("_npi_logistic", "columns", pair(1.0, 0.0), loc=None, scale=0.5, size=COLUMNS),
     (1.0, np.pi / 12**0.5, 0.0, np.pi / 12**0.5)),
    (np_style("_npi_exponential", "many", scale=2.0, size=MANY), (2.0, 2.0)),
    (np_style("_npi_exponential", "columns", pair(2.0, 0.5), scale=None, size=COLUMNS), (2.0, 2.0, 0.5, 0.5)),
    (np_style("_npi_rayleigh", "many", scale=2.0, size=MANY), (2 * (np.pi / 2) ** 0.5, 2 * (2 - np.pi / 2) ** 0.5)),
    (np_style("_npi_pareto", "many", a=6.0, size=MANY), (0.2, (6 / 25 / 4) ** 0.5)),
    (np_style("_npi_powerd", "many", a=2.0, size=MANY), (2 / 3, 18**-0.5)),
    (np_style("_npi_powerd", "columns", pair(2.0, 0.5), a=None, size=COLUMNS),
     (2 / 3, 18**-0.5, 1 / 3, (4 / 45) ** 0.5)),
    (np_style("_npi_weibull", "many", a=2.0, size=MANY), (np.pi**0.5 / 2, (1 - np.pi / 4) ** 0.5)),
    (np_style("_npi_weibull", "columns", pair(1.0, 2.0), a=None, size=COLUMNS),
     (1.0, 1.0, np.pi**0.5 / 2, (1 - np.pi / 4) ** 0.5)),
    (np_style("_npi_gamma", "many", shape=2.0, scale=3.0, size=MANY), (6.0, 18**0.5)),
    (np_style("_npi_gamma", "columns", pair(2.0, 0.3), pair(3.0, 2.0, "input2"), shape=None, scale=None, size=COLUMNS,
              dtype="float64"), (6.0, 18**0.5, 0.6, 1.2**0.5)),
    (np_style("_npi_bernoulli", "many", prob=0.3, logit=None, is_logit=False, size=MANY), (0.3, 0.21**0.5)),
    (np_style("_npi_bernoulli", "bool", prob=0.3, logit=None, is_logit=False, size=MANY, dtype="bool"),
     (0.3, 0.21**0.5)),
    (np_style("_npi_bernoulli", "logit", prob=None, logit=0.3, is_logit=True, size=MANY, dtype="int32"),
     (LOGIT, (LOGIT * (1 - LOGIT)) ** 0.5)),
    (np_style("_npi_bernoulli", "columns", pair(0.3, 1.0), prob=None, logit=None, is_logit=False, size=COLUMNS),
     (0.3, 0.21**0.5, 1.0, 0.0)),
    (np_style("_npi_choice", "many", a=5, size=MANY), (2.0, 2**0.5)),
    (np_style("_npi_choice", "of an array", data(3, 2, name="input1"), a=None, size=MANY), (2.5, (35 / 12) ** 0.5)),
    (np_style("_npi_choice", "weighted", values(0.1, 0.2, 0.7, name="input1"), a=3, size=MANY, weighted=True),
     (1.6, 0.44**0.5)),
    (np_style("_npi_choice", "all", a=6000, size=MANY, replace=False), (2999.5, (6000**2 / 12) ** 0.5)),
    (np_style("_npi_choice", "all weighted", values(0.1, 0.2, 0.7, name="input1"), a=3, size=(3,), weighted=True,
              replace=False), (1.0, (2 / 3) ** 0.5)),
    (np_style("_npi_multinomial", "stated", n=60000, pvals="(0.2,0.3,0.5)"), (20000.0, 56000000**0.5)),
    (np_style("_npi_multinomial", "many", values(0.2, 0.3, 0.4, name="data"), n=10, size=(2000,)),
     (10 / 3, (6.2 / 3 + 14 / 9) ** 0.5)),
    (case("_shuffle", "rows", values(*range(12), shape=(6, 2))), (5.5, (143 / 12) ** 0.5)),
)  # fmt: skip
# Shapes of single numbers and of nothing.
SHAPES: tuple[Case, ...] = (
    *(np_style(op, "number", **attrs) for op, attrs in (
        ("_npi_uniform", {"low": 0, "high": 1}), ("_npi_normal_n", {"loc": 0, "scale": 1}), ("_npi_pareto", {"a": 2}),
        ("_npi_gamma", {"shape": 2, "scale": 1}), ("_npi_choice", {"a": 5, "size": None}))),
    *(np_style(op, "shape of inputs", pair(0.2, 0.4), **attrs) for op, attrs in (
        ("_npi_uniform", {"low": None, "high": 1}), ("_npi_normal_n", {"loc": None, "scale": 1, "size": (3,)}),
        ("_npi_gamma", {"shape": None, "scale": 1}), ("_npi_weibull", {"a": None, "size": (3, 1, 2)}),
        ("_npi_bernoulli", {"prob": None, "logit": None, "is_logit": False}))),
    np_style("_npi_uniform", "two", pair(0.2, 0.4), values(1.0, 2.0, 3.0, name="input2", shape=(3, 1)), low=None,
             high=None),
    np_style("_npi_multinomial", "axes", n=4, pvals="(0.2,0.3,0.5)", size=(2, 3)),
    case("_sample_poisson", "one each", pair(3.0, 30.0, "lam")),
    case("_sample_gamma", "axes", values(1.0, 2.0, name="alpha", shape=(1, 2)),
         values(1.0, 2.0, name="beta", shape=(1, 2)), shape=(3, 1)),
    case("_shuffle", "int64", data(5, dtype="int64")),
)  # fmt: skip
REFUSED: tuple[Case, ...] = (
    case("_random_gamma", "alpha", alpha=0.0, shape=(2,)),
    case("_random_poisson", "lam", lam=-1.0, shape=(2,)),
    case("_random_generalized_negative_binomial", "alpha", alpha=-0.5, shape=(2,)),
    case("_random_poisson_like", "integers", data(2, dtype="int32")),
    np_style("_npi_uniform", "size", pair(0.2, 0.4), low=None, high=1.0, size=(3,)),
    np_style("_npi_multinomial", "matrix", data(2, 3, name="data", kind="positive"), n=3),
)


def drawn(row: Case, live: Live) -> NDArray[np.generic]:
    """What MXNet draws."""
    with needing("MXNet"):
        (found,) = live.run(row.symbol_json(), row.arrays()).values()
    return found


def columns(array: NDArray[np.generic], row: Case) -> NDArray[np.generic]:
    """The array with the samples of one distribution after the other."""
    return array.T if array.ndim == 2 and array.shape[1] == 2 and row.op.startswith("_npi") else array


@pytest.mark.live
@pytest.mark.parametrize("row, expected", ROWS, ids=[row.name for row, _ in ROWS])
def test_onnxruntime_draws_as_mxnet_does(row: Case, expected: tuple[float, ...], live: Live) -> None:
    found, decisions = run(row)
    true = drawn(row, live)
    assert (found.dtype, found.shape, decisions) == (true.dtype, true.shape, 1)
    scales = np.repeat(np.maximum(expected[1::2], 0.01), 2)  # the deviations, by which the moments vary
    for array in (true, found):
        errors = np.abs(np.subtract(moments(columns(array, row), len(expected) // 2), expected)) / scales
        assert errors.max() < 0.15


@pytest.mark.live
@pytest.mark.parametrize("row", SHAPES, ids=[row.name for row in SHAPES])
def test_shapes_and_dtypes_are_mxnets(row: Case, live: Live) -> None:
    found, true = run(row)[0], drawn(row, live)
    assert (found.dtype, found.shape) == (true.dtype, true.shape)


@pytest.mark.live
@pytest.mark.parametrize("row", REFUSED, ids=[row.name for row in REFUSED])
def test_what_mxnet_refuses_is_refused(row: Case, live: Live) -> None:
    with pytest.raises(LiveError):
        drawn(row, live)
    with pytest.raises(GraphirError):
        run(row)


@pytest.mark.parametrize("replace_them", [True, False])
def test_choices_are_places(replace_them: bool) -> None:
    found, _ = run(np_style("_npi_choice", "few", a=7, size=(2, 3), replace=replace_them))
    assert set(found.ravel().tolist()) <= set(range(7))
    assert replace_them or len(set(found.ravel().tolist())) == 6


def test_more_than_there_are_without_replacement_is_refused() -> None:
    with pytest.raises(UnsupportedOpError, match="8 of 7 without replacement"):
        run(np_style("_npi_choice", "more", a=7, size=8, replace=False))


def test_a_shuffle_keeps_the_slices() -> None:
    found, _ = run(case("_shuffle", "kept", values(*range(40), shape=(20, 2))))
    assert sorted(map(tuple, found.tolist())) == [(2.0 * row, 2.0 * row + 1) for row in range(20)]


def test_poissons_chances() -> None:
    for rate in (4.0, 25.0):
        found, _ = run(case("_random_poisson", "chances", lam=rate, shape=(40000,)))
        counts = np.bincount(found.astype(np.int64), minlength=60)[:60] / found.size
        chances = np.exp(-rate + np.arange(60) * np.log(rate) - np.cumsum(np.log(np.maximum(np.arange(60), 1))))
        assert np.abs(counts - chances).max() < 0.008
