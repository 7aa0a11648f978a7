"""Reductions of MXNet's NumPy-style interface whose sizes are open: the same file for every size, for none too."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graphir.converters.mxnet import from_symbol
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.converters.onnx import to_model
from tests.equivalence.case import Case, case, data
from tests.equivalence.test_onnx import distance, run_model

A = data(2, 3, 4, name="a")
ROWS: tuple[Case, ...] = (
    case("_npi_mean", "kept", A, axis=-1, keepdims=True),
    case("_npi_mean", "open", A, axis=1),
    case("_npi_mean", "int32", replace(A, dtype="int32"), axis=(1,)),
    case("_npi_mean", "all", A),
    case("_npi_std", "open", A, axis=1, ddof=1),
    case("_npi_var", "two", A, axis=(1, 2), keepdims=True),
    case("_npi_average", "plain", A, axis=1, weighted=False),
    case("_np_sum", "int64", replace(A, dtype="int64"), axis=1),
    case("_np_max", "open", A, axis=1),
    case("_npi_argmax", "open", replace(A, name="data", kind="distinct"), axis=1),
    case("_npi_percentile", "open", A, axis=1, q_scalar=30),
    case("_np_trace", "open", replace(A, name="data"), axis1=1, axis2=2),
    case("_npi_norm", "open", replace(A, name="data"), axis=(1,), ord=3),
    case("_np_any", "open", replace(A, name="data"), axis=1),
)


# Whether nothing is left to reduce is asked of known sizes only: MXNet's mean of nothing is 0, ONNX's NaN.
PAIRS = tuple(
    (row, sizes) for row in ROWS for sizes in ((2, 3), (5, 7), (1, 2), (0, 3)) if sizes[0] or row.variant != "all"
)


@pytest.mark.parametrize("row, sizes", PAIRS, ids=lambda part: part.name if isinstance(part, Case) else str(part))
def test_one_file_takes_every_size(row: Case, sizes: tuple[int, int]) -> None:
    held = replace(row, np_shape=True)
    (source,) = held.inputs
    name = held.variable(source)
    graph = from_symbol(held.symbol_json(), {}, {name: ("N", "M", 4)}, dtypes={name: source.dtype})
    assert all(value.rank is not None for value in graph.outputs)
    array = replace(source, shape=(*sizes, 4)).draw(np.random.default_rng(0))
    expected = _expected(held, name, array)
    found = run_model(to_model(graph, opset=17), {name: array})
    for value, wanted in zip(found, expected, strict=True):
        assert (value.dtype, value.shape) == (wanted.dtype, wanted.shape)
        assert distance(value, wanted) <= 2e-5


def _expected(row: Case, name: str, array: NDArray[Any]) -> list[NDArray[Any]]:
    """What the reference gives; of no rows what it gives of some, without them."""
    if array.size:
        return list(evaluate(read_symbol(row.symbol_json()), {name: array}).values())
    some = evaluate(read_symbol(row.symbol_json()), {name: np.ones((2, *array.shape[1:]), array.dtype)})
    return [value[:0] for value in some.values()]
