"""Operators on matrices: an open batch stays open, and what came from MXNet goes back as the same operator."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.typing import NDArray

from graphir.converters.mxnet import from_symbol, to_symbol
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.converters.onnx import to_model
from graphir.errors import UnsupportedOpError
from graphir.graph import Graph
from graphir.ops.factorization import Cholesky
from graphir.types import DType, TensorType, symbol
from tests.building import run_model
from tests.equivalence.case import Case, case, data, values
from tests.equivalence.rare.algebra import CASES as ALGEBRA
from tests.equivalence.rare.factorization import CASES as FACTORS

OF_NO_BATCH = {"_npi_tensorinv", "_npi_tensorsolve", "khatri_rao"}
BATCHES = tuple(
    row
    for row in (*ALGEBRA, *FACTORS)
    if row.op not in OF_NO_BATCH and not row.np_shape and len(row.inputs[0].shape) > 2 and len(row.inputs[-1].shape) > 1
)
BACK = {
    "_linalg_potrf": "_linalg_potrf",
    "_npi_cholesky": "_linalg_potrf",
    "_linalg_potri": "_linalg_trsm",
    "_linalg_trsm": "_linalg_trsm",
    "_linalg_inverse": "_linalg_inverse",
    "_linalg_slogdet": "_linalg_slogdet",
    "_linalg_gelqf": "_linalg_gelqf",
    "_linalg_syevd": "_linalg_syevd",
    "_npi_eigh": "_linalg_syevd",
    "_npi_solve": "_npi_solve",
    "_npi_svd": "_npi_svd",
    "_npi_pinv_scalar_rcond": "_npi_svd",
}


def imported(row: Case, *, is_open: bool) -> Graph:
    """The case as a graph, its batch a name or a number."""
    arrays = row.arrays()
    shapes = {name: ("N", *shape[1:]) if is_open else shape for name, shape in row.shapes().items()}
    return from_symbol(row.symbol_json(), {}, shapes, dtypes={name: array.dtype for name, array in arrays.items()})


@pytest.mark.parametrize("row", BATCHES, ids=lambda row: row.name)
def test_an_open_batch_changes_nothing(row: Case) -> None:
    expected = list(evaluate(read_symbol(row.symbol_json()), row.arrays()).values())
    graph = imported(row, is_open=True)
    found = run_model(graph, row.arrays()).values()
    for value, wanted, output in zip(found, expected, graph.outputs, strict=True):
        assert "N" in str(output.type)
        assert value.shape == wanted.shape
        size = max(float(np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0)), 1e-30)
        assert np.allclose(value, wanted, rtol=1e-5, atol=2e-5 * size, equal_nan=True)


@pytest.mark.parametrize("op", BACK)
def test_it_goes_back_as_an_operator_of_mxnet(op: str) -> None:
    row = next(each for each in FACTORS if each.op == op)
    text, _ = to_symbol(imported(row, is_open=False))
    written = {node["op"] for node in json.loads(text)["nodes"]}
    assert BACK[op] in written
    assert not written & {"_while_loop", "_foreach"}


def near(size: int, dtype: str) -> NDArray[np.float64]:
    """A symmetric matrix whose eigenvalues are equal but for rounding."""
    noise = np.random.Generator(np.random.PCG64(7)).standard_normal((size, size))
    return np.asarray(np.eye(size) + (noise + noise.T) * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [2, 5, 24])
@pytest.mark.parametrize("kind", ["near", "random"])
def test_eigenvectors_are_orthonormal_and_make_the_matrix(kind: str, size: int, dtype: str) -> None:
    numbers = near(size, dtype).ravel().tolist()
    equal = values(*numbers, shape=(size, size), name="A", dtype=dtype)
    row = case("_linalg_syevd", "any", equal if kind == "near" else data(size, size, name="A", dtype=dtype))
    ((name, array),) = row.arrays().items()
    model = to_model(imported(row, is_open=False))
    vectors, found = run_model(model, {name: array}).values()
    limit = 100 * float(np.finfo(dtype).eps)
    assert np.abs(vectors @ vectors.T - np.eye(size)).max() < limit
    lower = np.tril(array) + np.tril(array, -1).T
    assert np.abs(vectors.T @ (found[:, None] * vectors) - lower).max() < limit * np.abs(lower).max()
    assert (np.diff(found) >= 0).all()


LOST_RANK = (
    (1.0, 2.0, 2.0, 4.0, 0.5, 1.0),
    (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    (3.0, 0.0, 0.0, 0.0, 0.0, 0.0),
)


@pytest.mark.parametrize("numbers", LOST_RANK, ids=str)
@pytest.mark.parametrize("shape", [(3, 2), (2, 3)])
def test_a_lost_rank_is_cut_off(numbers: tuple[float, ...], shape: tuple[int, int]) -> None:
    matrix = np.reshape(numbers, (3, 2))
    turned = matrix if shape == (3, 2) else matrix.T
    row = case("_npi_pinv_scalar_rcond", "lost rank", values(*turned.ravel(), shape=shape, name="A"), rcond=0.01)
    ((name, array),) = row.arrays().items()
    model = to_model(imported(row, is_open=False))
    (found,) = run_model(model, {name: array}).values()
    assert np.allclose(found, np.linalg.pinv(array, 0.01), atol=1e-6)


def test_open_matrices_are_refused_with_what_to_do() -> None:
    graph = Graph("open")
    size = symbol("M")
    given = graph.add_input("A", TensorType(DType.FLOAT32, (size, size)))
    graph.set_outputs([graph.add(Cholesky(), given, name="factor")])
    with pytest.raises(UnsupportedOpError, match="state the inputs' shapes"):
        to_model(graph)
