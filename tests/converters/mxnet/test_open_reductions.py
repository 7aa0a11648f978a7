"""Reductions of integers, and sums with compensation, whose data has an open batch size: exact as with a known one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from graphir.converters.mxnet import from_symbol
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.reference.evaluate import evaluate
from tests.building import run_model
from tests.equivalence.case import Input, case

LARGE = np.arange(1, 13).reshape(3, 4) * 37
INFINITE = np.array([[1, np.inf, 2, 3], [1, 2, 3, np.inf], [1, 2, 3, 4]])
ROWS = (
    *((op, dtype, 1, LARGE) for op in ("sum", "prod", "mean") for dtype in ("int8", "int32", "int64")),
    *((op, "int32", 0, LARGE) for op in ("sum", "prod", "mean")),
    *((op, "int32", (0, 1), LARGE) for op in ("sum", "mean")),
    *((op, "float32", 1, INFINITE) for op in ("nansum", "norm")),
)


@pytest.mark.parametrize("op, dtype, axis, numbers", ROWS)
def test_an_open_batch_changes_nothing(
    op: str, dtype: str, axis: int | tuple[int, ...], numbers: NDArray[np.generic]
) -> None:
    row = case(op, "open", Input("data", numbers.shape, dtype), axis=axis)
    (name,) = row.variables("data")
    array = numbers.astype(dtype)
    (expected,) = evaluate(read_symbol(row.symbol_json()), {name: array}).values()
    graph = from_symbol(row.symbol_json(), {}, {name: ("N", 4)}, dtypes={name: array.dtype}, strict=True)
    (found,) = run_model(graph, {name: array}).values()
    assert found.dtype == expected.dtype
    assert np.array_equal(found, expected, equal_nan=dtype == "float32")


@pytest.mark.parametrize("axis, stated", [(0, True), (1, False)])
def test_a_product_along_an_open_axis_states_its_limit(axis: int, stated: bool) -> None:
    row = case("prod", "open", Input("data", (3, 4), "int64"), axis=axis)
    (name,) = row.variables("data")
    graph = from_symbol(row.symbol_json(), {}, {name: ("N", 4)}, dtypes={name: np.dtype(np.int64)})
    assert any("exact up to 2^53" in decision.text for decision in graph.decisions) is stated
