"""bincount, whose result's size the data decide: the reference and onnxruntime against what live MXNet gave."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.converters.onnx import to_model
from tests.equivalence.case import Case, case, values
from tests.equivalence.rare.numpy_statistics import COUNTS
from tests.equivalence.test_onnx import imported, run_model

EXPECTED: dict[str, tuple[str, list[float]]] = {
    "int8": ("int8", [1, 2, 0, 1]),
    "uint8": ("uint8", [1, 2, 0, 1]),
    "int32": ("int32", [1, 2, 0, 1]),
    "int64": ("int64", [1, 2, 0, 1]),
    "longer": ("int32", [1, 2, 0, 1, 0, 0, 0]),
    "empty": ("int32", [0, 0, 0]),
    "infinite": ("float32", [1, np.inf, 0, 3]),
}
CASES = [replace(row, np_shape=True) for row in COUNTS]


@pytest.mark.parametrize("opset", [13, 17])
@pytest.mark.parametrize("row", CASES, ids=lambda row: row.name)
def test_onnxruntime_gives_what_mxnet_does(row: Case, opset: int) -> None:
    (expected,) = evaluate(read_symbol(row.symbol_json()), row.arrays()).values()
    if row.variant in EXPECTED:
        dtype, numbers = EXPECTED[row.variant]
        assert expected.dtype == dtype
        assert expected.tolist() == numbers
    graph, feeds = imported(row)
    (found,) = run_model(to_model(graph, opset=opset), feeds)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.astype(float), expected.astype(float), rtol=1e-3 if found.itemsize == 2 else 1e-6)


def test_negative_numbers_are_refused() -> None:
    row = replace(case("_npi_bincount", "negative", values(0, -1, 1, dtype="int32")), np_shape=True)
    graph, feeds = imported(row)
    with pytest.raises(Exception, match=r"out of (data )?bounds"):
        run_model(to_model(graph, opset=17), feeds)
