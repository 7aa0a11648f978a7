"""Random numbers of MXNet in onnxruntime: shape, dtype and distribution are MXNet's, the numbers are not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from graphir.converters.mxnet import from_symbol
from graphir.converters.onnx import to_model
from graphir.errors import UnsupportedOpError
from tests.building import run_model
from tests.equivalence.case import Case, Input, case, data, values
from tests.equivalence.live import Live
from tests.requirements import needing

MANY = (4000,)
MEAN, DEVIATION = values(3.0, -1.0, name="mu"), values(0.5, 2.0, name="sigma")
LOW, HIGH = values(-1.0, 2.0, name="low"), values(5.0, 2.5, name="high")
RATE = values(2.0, 0.5, name="lam")
EVEN = 6 / 12**0.5


def chances(*shape: int) -> Input:
    """0.2, 0.3 and 0.5 in each row."""
    return values(*((0.2, 0.3, 0.5) * (math.prod(shape) // 3)), shape=shape)


def certain(rank: int) -> Input:
    """Rows of this many axes, in each of which one class is certain."""
    sizes = (2, 3, 1, 4)[-rank:]
    rows = np.eye(4)[np.arange(math.prod(sizes) // 4) % 3]
    return values(*rows.ravel().tolist(), shape=sizes)


ROWS: tuple[tuple[Case, tuple[float, ...]], ...] = (
    (case("_random_uniform", "many", low=-1.0, high=5.0, shape=MANY), (2.0, EVEN)),
    (case("_random_normal", "many", loc=3.0, scale=0.5, shape=MANY), (3.0, 0.5)),
    (case("_random_exponential", "many", lam=2.0, shape=MANY), (0.5, 0.5)),
    (case("_random_exponential", "float64", lam=2.0, shape=MANY, dtype="float64"), (0.5, 0.5)),
    (case("_random_exponential_like", "many", data(60, 70), lam=2.0), (0.5, 0.5)),
    (case("_random_randint", "many", low=-2, high=3, shape=MANY), (0.0, 2**0.5)),
    (case("_random_randint", "int64", low=10, high=11, shape=MANY, dtype="int64"), (10.0, 0.0)),
    (case("_sample_normal", "many", MEAN, DEVIATION, shape=MANY), (3.0, 0.5, -1.0, 2.0)),
    (case("_sample_normal", "float64", MEAN, DEVIATION, shape=MANY, dtype="float64"), (3.0, 0.5, -1.0, 2.0)),
    (case("_sample_uniform", "many", LOW, HIGH, shape=MANY), (2.0, EVEN, 2.25, 0.5 / 12**0.5)),
    (case("_sample_uniform", "axes", LOW, HIGH, shape=(40, 100)), (2.0, EVEN, 2.25, 0.5 / 12**0.5)),
    (case("_sample_exponential", "many", RATE, shape=MANY), (0.5, 0.5, 2.0, 2.0)),
    (case("_sample_multinomial", "a row", chances(3), shape=MANY), (1.3, 0.61**0.5)),
    (case("_sample_multinomial", "rows", chances(2, 3), shape=(40, 100), dtype="float32"), (1.3, 0.61**0.5) * 2),
    (case("_sample_multinomial", "axes", chances(2, 1, 1, 3), shape=MANY), (1.3, 0.61**0.5) * 2),
    (case("_sample_multinomial", "many rows", chances(40, 100, 3)), (1.3, 0.61**0.5)),
)  # fmt: skip
ALIKE = (
    case("_sample_normal", "one", values(3.0, -1.0, name="mu"), values(0.0, 0.0, name="sigma")),
    case("_sample_uniform", "one", values(3.0, shape=(1, 1), name="low"), values(3.0, shape=(1, 1), name="high")),
    *(case("_sample_multinomial", f"one, {rank} axes", certain(rank), shape=shape)
      for rank, shape in ((1, ()), (1, (2, 3)), (2, ()), (3, (2, 1)), (4, ()))),
)  # fmt: skip


def run(row: Case) -> tuple[NDArray[np.generic], int]:
    """What onnxruntime draws, and how many decisions speak of it."""
    arrays = row.arrays()
    graph = from_symbol(row.symbol_json(), {}, row.shapes(), dtypes={name: a.dtype for name, a in arrays.items()})
    (found,) = run_model(to_model(graph, opset=17), {value.name: arrays[value.name] for value in graph.inputs}).values()
    return found, sum(decision.kind == "random numbers" for decision in graph.decisions)


def moments(array: NDArray[np.generic], rows: int) -> list[float]:
    """Mean and deviation of each row."""
    parts = array.astype(np.float64).reshape(rows, -1)
    return [float(number) for part in parts for number in (part.mean(), part.std())]


@pytest.mark.live
@pytest.mark.parametrize("row, expected", ROWS, ids=[row.name for row, _ in ROWS])
def test_onnxruntime_draws_as_mxnet_does(row: Case, expected: tuple[float, ...], live: Live) -> None:
    found, decisions = run(row)
    with needing("MXNet"):
        (drawn,) = live.run(row.symbol_json(), row.arrays()).values()
    assert (found.dtype, found.shape, decisions) == (drawn.dtype, drawn.shape, 1)
    assert np.allclose(moments(drawn, len(expected) // 2), expected, atol=0.15)
    assert np.allclose(moments(found, len(expected) // 2), expected, atol=0.15)


@pytest.mark.live
@pytest.mark.parametrize("row", ALIKE, ids=lambda row: row.name)
def test_without_a_spread_the_numbers_are_mxnets(row: Case, live: Live) -> None:
    with needing("MXNet"):
        (drawn,) = live.run(row.symbol_json(), row.arrays()).values()
    assert np.array_equal(run(row)[0], drawn)


def test_an_empty_range_is_refused() -> None:
    with pytest.raises(UnsupportedOpError, match="low 3 and high 3"):
        run(case("_random_randint", "empty", low=3, high=3, shape=(2,)))
