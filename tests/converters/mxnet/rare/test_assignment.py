"""_scatter_set_nd, which MXNet runs only where it may write into the memory of its first operand."""

from __future__ import annotations

import json

import numpy as np
import pytest

from graphir.converters.mxnet import from_symbol
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.converters.onnx import to_model
from tests.equivalence.live import Live
from tests.equivalence.test_onnx import run_model
from tests.requirements import needing

ROWS = (
    ("elements", (3, 4), (2,), [[0, 2], [1, 3]], "float32"),
    ("rows", (3, 4), (2, 4), [[2, 0]], "int64"),
    ("two_axes", (3, 4), (2, 2), [[[0, 2], [1, 1]], [[0, 1], [2, 3]]], "int32"),
)


@pytest.mark.live
@pytest.mark.parametrize("name, old, new, indices, dtype", ROWS, ids=[row[0] for row in ROWS])
def test_all_roads_agree(
    name: str, old: tuple[int, ...], new: tuple[int, ...], indices: list[object], dtype: str
) -> None:
    names = ("old", "new", "indices")
    variables: list[dict[str, object]] = [{"op": "null", "name": each, "inputs": []} for each in names]
    computed = {"op": "relu", "name": "computed", "inputs": [[0, 0, 0]]}
    attrs = {"shape": str(old)}
    set_ = {"op": "_scatter_set_nd", "name": "set", "attrs": attrs, "inputs": [[3, 0, 0], [1, 0, 0], [2, 0, 0]]}
    symbol = json.dumps({"nodes": [*variables, computed, set_], "arg_nodes": [0, 1, 2], "heads": [[4, 0, 0]]})
    arrays = {
        "old": np.arange(1, 1 + np.prod(old), dtype=np.float32).reshape(old),
        "new": -np.arange(1, 1 + np.prod(new), dtype=np.float32).reshape(new),
        "indices": np.array(indices).astype(dtype),
    }
    with Live() as live, needing("MXNet"):
        (wanted,) = live.run(symbol, arrays).values()
    (reference,) = evaluate(read_symbol(symbol), arrays).values()
    shapes = {key: array.shape for key, array in arrays.items()}
    dtypes = {key: array.dtype for key, array in arrays.items()}
    graph = from_symbol(symbol, {}, shapes, dtypes=dtypes)
    (found,) = run_model(to_model(graph), arrays)
    assert np.array_equal(reference, wanted)
    assert np.array_equal(found, wanted)
