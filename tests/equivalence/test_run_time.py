"""Inputs that MXNet refuses for their values: the reference and onnxruntime refuse them too."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

from graphir.converters.mxnet import from_symbol
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.converters.onnx import to_model
from graphir.errors import GraphirError
from tests.equivalence.case import Case
from tests.equivalence.indexing import REFUSED_AT_RUN_TIME


@pytest.mark.parametrize("case", REFUSED_AT_RUN_TIME, ids=lambda case: case.name)
def test_reference_refuses(case: Case) -> None:
    with pytest.raises(GraphirError, match=case.node):
        evaluate(read_symbol(case.symbol_json()), case.arrays())


@pytest.mark.parametrize("case", REFUSED_AT_RUN_TIME, ids=lambda case: case.name)
def test_onnxruntime_refuses(case: Case) -> None:
    arrays = case.arrays()
    dtypes: dict[str, object] = {name: array.dtype for name, array in arrays.items()}
    graph = from_symbol(case.symbol_json(), {}, case.shapes(), dtypes=dtypes)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(to_model(graph).SerializeToString(), options)
    feeds: dict[str, NDArray[np.generic]] = {value.name: arrays[value.name] for value in graph.inputs}
    with pytest.raises(Exception, match=r"out of (data )?bounds|invalid index"):
        session.run(None, feeds)
