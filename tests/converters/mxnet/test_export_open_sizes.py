"""Operators on data whose first axis (of recurrent layers the batch) is open until the written symbol runs."""

from __future__ import annotations

from collections.abc import Iterator

import onnx
import pytest

from graphir.converters.mxnet import to_symbol
from graphir.converters.onnx import from_model
from tests.converters.mxnet import (
    test_export_indexing,
    test_export_linear,
    test_export_recurrent,
    test_export_reduction,
)
from tests.converters.mxnet.exporting import Live, Row, difference, expected_outputs, mxnet_outputs

RECURRENT = ("RNN", "GRU", "LSTM")
OPERATORS = (
    *("ArgMax", "ArgMin", "CumSum", "Gather", "GatherElements", "GatherND", "Gemm", "MatMul", "OneHot"),
    *("ReduceSum", "ReduceMax", "ReduceL2", "ReduceLogSumExp"),
    *RECURRENT,
)
MODULES = (test_export_indexing, test_export_linear, test_export_recurrent, test_export_reduction)


def axis_of(source: Row) -> int:
    """The axis that is open."""
    return 1 if source.op in RECURRENT else 0


ROWS = tuple(
    source
    for module in MODULES
    for source in module.ROWS
    if source.op in OPERATORS and "x0" in source.feeds() and source.feeds()["x0"].ndim > 1
)


def opened(source: Row) -> onnx.ModelProto:
    """The model of a row with an open axis."""
    model = source.model()
    (data,) = (value for value in model.graph.input if value.name == "x0")
    dim = data.type.tensor_type.shape.dim[axis_of(source)]
    dim.Clear()
    dim.dim_param = "N"
    return model


@pytest.fixture(scope="module")
def lives() -> Iterator[tuple[Live, Live]]:
    """Live MXNet for the module, without and with oneDNN."""
    with Live() as plain, Live(onednn=True) as fast:
        yield plain, fast


@pytest.mark.live
@pytest.mark.parametrize("source", ROWS, ids=lambda source: f"{source.op} {source.name}")
def test_live_mxnet_computes_the_same(source: Row, lives: tuple[Live, Live]) -> None:
    text, params = to_symbol(from_model(opened(source).SerializeToString()))
    held = {name.partition(":")[2]: array for name, array in params.items()}
    found = mxnet_outputs(lives[source.onednn], text, held, source.feeds())
    assert not difference(found, expected_outputs(source), source.tolerance)


def test_there_are_rows() -> None:
    assert {source.op for source in ROWS} == set(OPERATORS)
