"""Every operator with all its operands as free inputs, weights and labels too: the i-th input is the i-th array."""

from __future__ import annotations

import numpy as np
import pytest

from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.importing.ops import import_table
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.converters.mxnet.source import MXNetSource
from graphir.converters.onnx import to_model
from tests.equivalence.case import Case
from tests.equivalence.table import CASES
from tests.equivalence.test_onnx import TOLERANCE, distance, run_model


def _rows() -> list[Case]:
    """The first three cases of each operator that reads several operands."""
    found: dict[str, list[Case]] = {}
    for case in CASES:
        if len(case.inputs) > 1 and case.op in import_table() and not case.least_opset:
            found.setdefault(case.op, []).append(case)
    return [case for rows in found.values() for case in rows[:3]]


@pytest.mark.one_of(8)
@pytest.mark.parametrize("case", _rows(), ids=lambda case: case.name)
def test_inputs_by_position(case: Case) -> None:
    arrays = case.arrays()
    shapes = {name: array.shape for name, array in arrays.items()}
    dtypes = {name: array.dtype for name, array in arrays.items()}
    symbol = read_symbol(case.symbol_json())
    graph = MXNetSource(symbol, None).to_graph(shapes, dtypes=dtypes, keep_given=True, strict=case.is_special)
    model = to_model(graph)
    names = [value.name for value in model.graph.input]
    assert names == list(arrays)
    found = run_model(model, dict(zip(names, arrays.values(), strict=True)))
    expected = list(evaluate(symbol, arrays).values())
    limits = [max(TOLERANCE.get(str(array.dtype), 0.0), case.tolerance or 0.0) for array in expected]
    errors = [distance(np.asarray(one), other) for one, other in zip(found, expected, strict=True)]
    assert all(error <= limit for error, limit in zip(errors, limits, strict=True)), errors
