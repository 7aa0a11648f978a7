"""Every operator case through import, export and onnxruntime, against live TensorFlow."""

from __future__ import annotations

from typing import Any

import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray

from graphir.converters.onnx import to_model
from graphir.converters.onnx.exporting.exporter import newest_opset
from graphir.converters.tensorflow import load
from graphir.converters.tensorflow.importing.ops import import_table
from graphir.converters.tensorflow.importing.ops.recurrent import CUDNN
from graphir.errors import GraphirError, UnsupportedOpError
from graphir.graph import Graph
from graphir.ops.counts import data_dependent_sizes
from graphir.types import DType, TensorType
from tests.equivalence.test_onnx import NEWEST_RUN, distance, run_model, tolerance
from tests.tensorflow.case import NODE, Case
from tests.tensorflow.conftest import Oracle
from tests.tensorflow.reduction import COMPUTED_AXES
from tests.tensorflow.table import CASES, REFUSED
from tests.typed import tensor_type

onnxruntime.set_default_logger_severity(3)
pytestmark = pytest.mark.live

TOLERANCE = {"float16": 4e-3, "float32": 2e-5, "float64": 1e-9, "bfloat16": 2e-2}
IN_EVERY_CASE = {"Placeholder", "PlaceholderV2"}
ON_A_GPU = set(CUDNN)  # which test_cudnn holds against their definition
IN_SAVED_MODELS = {"ResourceGather", "ResourceGatherNd"}  # of variables, which a graph alone does not hold
OPEN = tuple(case for case in CASES if case.open_axes)


def imported(case: Case, open_axes: str = "") -> Graph:
    """The case as a graph that has been checked."""
    graph = load(case.graph(open_axes), outputs=case.outputs)
    graph.check()
    return graph


def as_run(found: TensorType, real: NDArray[Any]) -> TensorType:
    """The inferred type, but sizes that only a run can tell (of Where, Unique...) are those of the run."""
    if found.shape is None or len(found.shape) != real.ndim:
        return found
    sizes = zip(found.shape, real.shape, strict=True)
    return TensorType(found.dtype, tuple(size if data_dependent_sizes(dim) else dim for dim, size in sizes))


def assert_computes(case: Case, graph: Graph, opset: int, expected: list[NDArray[Any]]) -> None:
    """The graph as ONNX gives what TensorFlow gave."""
    model = to_model(graph, opset=opset)
    onnx.checker.check_model(model, full_check=True)
    names = {value.name for value in graph.inputs}
    found = run_model(model, {name: array for name, array in case.feeds().items() if name in names})
    assert [(value.dtype, value.shape) for value in found] == [(value.dtype, value.shape) for value in expected]
    for value, wanted in zip(found, expected, strict=True):
        limit = TOLERANCE.get(str(wanted.dtype), 0.0) if case.tolerance is None else case.tolerance
        limit = max(limit, tolerance(graph, wanted.dtype))
        assert distance(value, wanted) <= limit


@pytest.mark.one_of(8, by="case.op")
@pytest.mark.parametrize("opset", [13, 18, NEWEST_RUN])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_onnx_equals_tensorflow(case: Case, opset: int, tensorflow: Oracle) -> None:
    expected = tensorflow(case)
    graph = imported(case)
    if opset < case.least_opset:
        with pytest.raises(UnsupportedOpError, match=f"opset {case.least_opset}"):
            to_model(graph, opset=opset)
        return
    if opset > case.runs_until:
        pytest.skip(f"no runtime at hand computes it beyond opset {case.runs_until}")
    assert_computes(case, graph, opset, expected)


@pytest.mark.one_of(8, by="case.op")
@pytest.mark.parametrize("case", OPEN, ids=lambda case: case.name)
def test_open_sizes_equal_tensorflow(case: Case, tensorflow: Oracle) -> None:
    expected = tensorflow(case)
    graph = imported(case, case.open_axes)
    assert_computes(case, graph, max(18, case.least_opset), expected)


@pytest.mark.parametrize("case", COMPUTED_AXES, ids=lambda case: case.name)
def test_computed_axes_equal_tensorflow(case: Case, tensorflow: Oracle) -> None:
    assert_computes(case, imported(case), 18, tensorflow(case))


@pytest.mark.one_of(8, by="case.op")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_inferred_types_are_true(case: Case, tensorflow: Oracle) -> None:
    graph = imported(case)
    assert [
        as_run(tensor_type(value.type), real) for value, real in zip(graph.outputs, tensorflow(case), strict=True)
    ] == [TensorType(DType.of(real.dtype), real.shape) for real in tensorflow(case)]


@pytest.mark.one_of(8, by="case.op")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_newest_opset_is_valid_onnx(case: Case) -> None:
    onnx.checker.check_model(to_model(imported(case), opset=newest_opset()), full_check=True)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_import_refuses(case: Case) -> None:
    with pytest.raises(GraphirError, match=rf"\b{NODE}\b") as raised:
        imported(case)
    assert case.reason
    assert case.reason in str(raised.value)


def test_every_imported_operator_has_a_case() -> None:
    elsewhere = IN_EVERY_CASE | IN_SAVED_MODELS | ON_A_GPU
    missing = set(import_table()) - {op for case in CASES for op in case.ops} - elsewhere
    assert missing == set(), "no row in CASES of tests/tensorflow/<family>.py"
