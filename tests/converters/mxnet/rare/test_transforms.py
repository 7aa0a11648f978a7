"""Operators that MXNet has on GPUs only: the ONNX model and the reference against the formulas of its documentation."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from graphir.converters.mxnet import from_symbol
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.errors import GraphirError
from tests.building import run_model
from tests.equivalence.case import Case, case, data, values

SKETCH = (values(2, 0, 4, 2, shape=(1, 4), name="h"), values(1, -1, -1, 1, shape=(1, 4), name="s"))
ROWS = (
    *(case("_contrib_fft", str(size), data(3, size)) for size in (1, 4, 7, 16)),
    case("_contrib_fft", "images", data(2, 3, 2, 6)),
    case("_contrib_fft", "float64", data(2, 5, dtype="float64")),
    *(case("_contrib_ifft", str(size), data(3, size)) for size in (2, 8, 14)),
    case("_contrib_ifft", "images", data(2, 3, 2, 6)),
    case("_contrib_count_sketch", "default", data(3, 4), *SKETCH, out_dim=5),
    case("_contrib_count_sketch", "images", data(2, 2, 3, 4), *SKETCH, out_dim=6),
)
REFUSED = (
    case("_contrib_fft", "three axes", data(2, 3, 4)),
    case("_contrib_fft", "integers", data(3, 4, dtype="int32")),
    case("_contrib_ifft", "odd", data(3, 5)),
    case("_contrib_count_sketch", "nothing", data(3, 4), *SKETCH, out_dim=0),
)


def truth(row: Case) -> NDArray[np.float64]:
    """The formula, as sums."""
    x, *others = row.arrays().values()
    if row.op == "_contrib_count_sketch":
        columns, signs = (each.ravel() for each in others)
        sums = [(x * signs)[..., columns == place].sum(-1) for place in range(int(row.attrs["out_dim"]))]
        return np.stack(sums, -1)
    size = x.shape[-1] if row.op == "_contrib_fft" else x.shape[-1] // 2
    angles = 2 * np.pi * np.outer(np.arange(size), np.arange(size)) / size
    if row.op == "_contrib_fft":
        return np.stack([x @ np.cos(angles), -(x @ np.sin(angles))], -1).reshape(*x.shape[:-1], 2 * size)
    return np.asarray(x[..., ::2] @ np.cos(angles) - x[..., 1::2] @ np.sin(angles))


@pytest.mark.parametrize("batch", ["known", "open"])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_model_gives_what_is_documented(row: Case, batch: str) -> None:
    arrays = row.arrays()
    shapes = {name: shape if batch == "known" else ("N", *shape[1:]) for name, shape in row.shapes().items()}
    shapes |= {name: shape for name, shape in row.shapes().items() if shape[0] == 1}
    dtypes = {name: array.dtype for name, array in arrays.items()}
    graph = from_symbol(row.symbol_json(), {}, shapes, dtypes=dtypes)
    (found,) = run_model(graph, arrays).values()
    expected = truth(row)
    assert found.shape == expected.shape
    assert np.allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_reference_gives_what_is_documented(row: Case) -> None:
    (found,) = evaluate(read_symbol(row.symbol_json()), row.arrays()).values()
    assert found.dtype == row.inputs[0].dtype
    assert np.allclose(found, truth(row), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row.name)
def test_others_are_refused(row: Case) -> None:
    dtypes = {name: array.dtype for name, array in row.arrays().items()}
    with pytest.raises(GraphirError, match=row.node):
        from_symbol(row.symbol_json(), {}, row.shapes(), dtypes=dtypes)
