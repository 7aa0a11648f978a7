"""Random operators that MXNet has since 2.0, in onnxruntime: shape, dtype and distribution."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

from graphir.converters.mxnet import from_symbol
from graphir.converters.onnx import to_model
from graphir.errors import GraphirError
from tests.converters.mxnet.rare.test_import_random import moments, run
from tests.equivalence.case import Case, Input, data, values

MANY = (6000,)


def np_style(op: str, variant: str, *inputs: Input, **attrs: object) -> Case:
    """A case under np_shape semantics."""
    return Case(op, {name: str(value) for name, value in attrs.items()}, inputs, variant, np_shape=True)


def pair(first: float, second: float, name: str = "input1", dtype: str = "float32") -> Input:
    """A parameter of two distributions."""
    return values(first, second, name=name, dtype=dtype)


# What the moments of the result are: mean and deviation, of each row where there are two.
ROWS: tuple[tuple[Case, str, tuple[int, ...], tuple[float, ...]], ...] = (
    (np_style("_npi_laplace", "many", loc=1.0, scale=2.0, size=MANY), "float32", MANY, (1.0, 8**0.5)),
    (np_style("_npi_laplace", "double", pair(1.0, 1.0), loc=None, scale=0.5, size=(3000, 2), dtype="float64"),
     "float64", (3000, 2), (1.0, 0.5**0.5)),
    (np_style("_random_binomial", "many", n=10, p=0.3, shape=MANY), "float32", MANY, (3.0, 2.1**0.5)),
    (np_style("_random_binomial", "axes", n=3, p=1.0, shape=(2, 3), dtype="float64"), "float64", (2, 3), (3.0, 0.0)),
    (np_style("_random_binomial", "none", n=0, p=0.5, shape=MANY), "float32", MANY, (0.0, 0.0)),
    (np_style("_sample_categorical", "rows", values(0.2, 0.8, 0.9, 0.1, shape=(2, 2)), shape=MANY), "int32",
     (2, 6000), (0.8, 0.4, 0.1, 0.3)),
    (np_style("_sample_categorical", "axes", values(0.2, 0.8, shape=(1, 1, 2)), shape=(60, 100), dtype="float16"),
     "float16", (1, 1, 60, 100), (0.8, 0.4)),
    (np_style("_sample_categorical", "vector", values(0.2, 0.3, 0.5), shape=MANY), "int32", MANY, (1.3, 0.61**0.5)),
)  # fmt: skip


@pytest.mark.parametrize(("row", "dtype", "shape", "expected"), ROWS, ids=[row[0].name for row in ROWS])
def test_numbers_have_their_distribution(
    row: Case, dtype: str, shape: tuple[int, ...], expected: tuple[float, ...]
) -> None:
    found, decisions = run(row)
    assert (str(found.dtype), found.shape, decisions) == (dtype, shape, 1)
    assert np.allclose(moments(found, len(expected) // 2), expected, atol=0.15)


def outputs(row: Case) -> list[NDArray[np.generic]]:
    """All that onnxruntime draws; parameters are given to the import."""
    arrays = row.arrays()
    given = {name: arrays[name] for name in row.variables("param")}
    dtypes = {name: array.dtype for name, array in arrays.items() if name not in given}
    graph = from_symbol(row.symbol_json(), given, row.shapes(), dtypes=dtypes)
    session = onnxruntime.InferenceSession(to_model(graph, opset=17).SerializeToString())
    found: list[NDArray[np.generic]] = session.run(None, {value.name: arrays[value.name] for value in graph.inputs})
    return found


def test_trials_of_each_element() -> None:
    trials = Input("n", (2,), "float32", "constant", role="param", values=(3.0, 20.0))
    row = np_style("_sample_binomial", "each", trials, pair(0.5, 0.1, "p"), shape=MANY)
    (found,) = outputs(row)
    assert found.shape == (2, 6000)
    assert np.allclose(moments(found, 2), (1.5, 0.75**0.5, 2.0, 1.8**0.5), atol=0.15)
    assert (found.max(axis=1) <= [3, 20]).all()


def test_log_chances_are_those_of_the_classes() -> None:
    chances = np.array([[0.2, 0.8], [0.9, 0.1]], np.float32)
    row = np_style("_sample_categorical", "both", values(*chances.ravel(), shape=(2, 2)), shape=(50,), get_prob=True)
    classes, logs = outputs(row)
    wanted = np.log(np.take_along_axis(chances, classes.astype(np.int64), 1))
    np.testing.assert_allclose(logs.astype(np.float32), wanted, rtol=1e-6)


REFUSED = (
    (np_style("_random_binomial", "chance", n=3, p=1.5, shape=(2,)), "p 1.5"),
    (np_style("_sample_binomial", "computed", pair(3, 4, "n"), pair(0.5, 0.1, "p")), "n is computed"),
)


@pytest.mark.parametrize(("row", "reason"), REFUSED, ids=lambda each: each.name if isinstance(each, Case) else "")
def test_what_has_no_numbers_is_refused(row: Case, reason: str) -> None:
    with pytest.raises(GraphirError) as caught:
        outputs(row)
    assert reason in str(caught.value)


def test_a_weight_that_comes_prepared_is_refused() -> None:
    weight = Input("weight", (8, 64), "int8", "integers:-9:9", role="param")
    row = np_style("_contrib_intgemm_fully_connected", "stored", data(2, 64), weight, data(1, name="scaling"),
                   num_hidden=8, no_bias=True)  # fmt: skip
    with pytest.raises(GraphirError, match="keep _contrib_intgemm_prepare_weight in the graph"):
        outputs(row)
