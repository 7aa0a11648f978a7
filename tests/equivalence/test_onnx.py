"""Every operator case through import, export and onnxruntime, against the numpy reference.

The reference is itself tested against live MXNet on the same cases (`test_reference`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.reference
import onnxruntime
import pytest
from numpy.typing import NDArray

from graphir.converters.mxnet import from_symbol
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.importing.ops import import_table
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.converters.onnx import to_model
from graphir.converters.onnx.exporting.exporter import newest_opset
from graphir.converters.onnx.exporting.opsets import newest_run
from graphir.errors import GraphirError, UnsupportedOpError
from graphir.graph import Graph
from graphir.runtime.kernels import releases
from graphir.types import DType, Sym, TensorType
from tests.equivalence.case import Case
from tests.equivalence.detection import WITHOUT_IMAGE
from tests.equivalence.table import CASES, REFUSED, thinned

onnxruntime.set_default_logger_severity(3)

TOLERANCE = {"float16": 4e-3, "float32": 2e-5, "float64": 1e-9}
NEWEST_RUN = newest_run()
OPSETS = (13, 17, NEWEST_RUN)
SUPPORTED = tuple(case for case in (*CASES, *WITHOUT_IMAGE) if case.op in import_table())


def has_no_kernel(model: onnx.ModelProto) -> bool:
    """Whether onnxruntime has no kernel at all for an operator at the model's opset (RoiAlign from 22 on)."""
    opset = model.opset_import[0].version
    versions = {node.op_type: onnx.defs.get_schema(node.op_type, opset).since_version for node in model.graph.node}
    return not all(releases()[-1].runs(op_type, since, opset, {}) for op_type, since in versions.items())


def run_model(model: onnx.ModelProto, feeds: dict[str, NDArray[np.generic]]) -> list[NDArray[np.generic]]:
    """The outputs from onnxruntime or, for operators that it lacks at the opset, from onnx's own evaluator."""
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    if has_no_kernel(model):
        return list(onnx.reference.ReferenceEvaluator(model).run(None, feeds))
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, feeds))


def tolerance(graph: Graph, dtype: object) -> float:
    """How far a result of this dtype may be off: as in float32 where the export said that it computes in that."""
    rounded = any(made.kind == "dtype" for made in graph.decisions)
    return TOLERANCE.get("float32" if rounded and str(dtype) == "float64" else str(dtype), 0.0)


def distance(found: NDArray[np.generic], expected: NDArray[np.generic]) -> float:
    """The largest difference relative to the largest finite magnitude; infinite where only one is finite."""
    left, right = found.astype(np.float64), expected.astype(np.float64)
    odd = ~np.isfinite(right)
    if not np.array_equal(odd, ~np.isfinite(left)) or not np.array_equal(left[odd], right[odd], equal_nan=True):
        return float("inf")
    scale = max(float(np.abs(right[~odd]).max(initial=0.0)), 1e-30)
    return float(np.abs(left[~odd] - right[~odd]).max(initial=0.0)) / scale


def imported(case: Case, strict: bool | None = None) -> tuple[Graph, dict[str, NDArray[np.generic]]]:
    """Return the case as a graph, and what to feed it with. Cases of special values are `strict` by default."""
    arrays = case.arrays()
    given = case.variables("param", "aux")
    data = case.variables("data", "label")
    graph = from_symbol(
        case.symbol_json(),
        {name: arrays[name] for name in given},
        {name: arrays[name].shape for name in data},
        dtypes={name: arrays[name].dtype for name in data},
        strict=case.is_special if strict is None else strict,
    )
    return graph, {value.name: arrays[value.name] for value in graph.inputs}


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("case", thinned(SUPPORTED))
def test_onnx_equals_reference(case: Case, opset: int) -> None:
    """At an opset; the types that were inferred are true."""
    expected = list(evaluate(read_symbol(case.symbol_json()), case.arrays()).values())
    graph, feeds = imported(case)
    graph.check()
    counts = any(node.op.counts for node in graph.nodes)
    assert [counted(value.type, true.shape) if counts else value.type for value, true in zip(
        graph.outputs, expected, strict=True
    )] == [TensorType(DType.of(value.dtype), value.shape) for value in expected]  # fmt: skip
    check_at(case, graph, opset, feeds, expected)


# Operators that a strict import writes otherwise.
STRICT = (
    *("_contrib_ROIAlign", "_contrib_sign_ste", "_hypot", "_hypot_scalar", "_np_max", "_np_min", "_npi_argmax"),
    *("_npi_argmin", "_npi_hypot", "_npi_mean", "_npi_norm", "_npi_sign", "ROIPooling", "argmax", "argmin"),
    "argmax_channel",
    *("broadcast_hypot", "max", "min", "moments", "nansum", "norm", "sign"),
)


@pytest.mark.parametrize("case", thinned([case for case in SUPPORTED if case.op in STRICT and not case.is_special]))
def test_strict_import_equals_reference(case: Case) -> None:
    graph, feeds = imported(case, strict=True)
    assert not [made for made in graph.decisions if made.kind == "special values"]
    expected = list(evaluate(read_symbol(case.symbol_json()), case.arrays()).values())
    check_at(case, graph, OPSETS[1], feeds, expected)


@pytest.mark.parametrize("case", thinned(SUPPORTED))
def test_newest_opset_is_valid_onnx(case: Case) -> None:
    onnx.checker.check_model(to_model(imported(case)[0], opset=newest_opset()), full_check=True)


def check_at(
    case: Case, graph: Graph, opset: int, feeds: dict[str, NDArray[np.generic]], expected: list[NDArray[Any]]
) -> None:
    """Fail where the case at the opset gives other types or numbers, or is refused without reason."""
    if opset < case.least_opset:
        with pytest.raises(UnsupportedOpError, match=f"opset {case.least_opset}"):
            to_model(graph, opset=opset)
        return
    model = to_model(graph, opset=opset)
    onnx.checker.check_model(model, full_check=True)
    found = run_model(model, feeds)
    types = [(value.dtype, value.shape) for value in expected]
    assert [(value.dtype, value.shape) for value in found] == types, f"opset {opset}"
    for value, wanted in zip(found, expected, strict=True):
        limit = max(tolerance(graph, wanted.dtype), case.tolerance or 0.0)
        assert distance(value, wanted) <= limit, f"opset {opset}"


def counted(type_: object, shape: tuple[int, ...]) -> object:
    """The type with the true sizes for those that are symbols, because values decide them."""
    if not isinstance(type_, TensorType) or type_.shape is None or len(type_.shape) != len(shape):
        return type_
    dims = (true if isinstance(dim, Sym) else dim for dim, true in zip(type_.shape, shape, strict=True))
    return TensorType(type_.dtype, tuple(dims))


@pytest.mark.one_of(8, by="case.op")
@pytest.mark.parametrize("case", [case for case in REFUSED if case.op in import_table()], ids=lambda case: case.name)
def test_import_refuses(case: Case) -> None:
    with pytest.raises(GraphirError, match=case.node):
        imported(case)
