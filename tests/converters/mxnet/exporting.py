"""One ONNX operator on its way to MXNet: as onnxruntime computes it, as live MXNet computes what was written, and as
this project reads that again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented  # noqa: A004

from graphir.converters.mxnet import from_symbol, to_symbol
from graphir.converters.onnx import from_model, to_model
from graphir.graph import Graph
from tests.equivalence.live import Live, LiveError, LivePair

Array = NDArray[Any]
OPSET, IR_VERSION = 21, 10
LIMITS = {"float16": 4e-3, "float32": 2e-5, "float64": 1e-9}


@dataclass(frozen=True)
class Row:
    """An ONNX node: its operands (`constants` are initializers, None is absent), attributes and results.

    `tolerance` is relative to the largest magnitude of the result. `wanted` are MXNet's operators, where they matter.
    """

    name: str
    op: str
    operands: Sequence[Array | None]
    constants: frozenset[int] = frozenset()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    results: int = 1
    opset: int = OPSET
    tolerance: float = 0.0
    wanted: tuple[str, ...] | None = None
    onednn: bool = False

    def feeds(self) -> dict[str, Array]:
        """What goes in when the model runs."""
        fed = ((slot, array) for slot, array in enumerate(self.operands) if slot not in self.constants)
        return {f"x{slot}": array for slot, array in fed if array is not None}

    def model(self) -> onnx.ModelProto:
        """The model of this node alone."""
        names = ["" if array is None else f"x{slot}" for slot, array in enumerate(self.operands)]
        results = [f"y{slot}" for slot in range(self.results)]
        node = helper.make_node(self.op, names, results, **self.attributes)
        inputs = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in self.feeds().items()
        ]
        held = [(slot, self.operands[slot]) for slot in sorted(self.constants) if slot < len(self.operands)]
        constants = [numpy_helper.from_array(array, f"x{slot}") for slot, array in held if array is not None]
        outputs = [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in results]
        graph = helper.make_graph([node], "row", inputs, outputs, constants)
        model = helper.make_model(graph, ir_version=IR_VERSION, opset_imports=[helper.make_opsetid("", self.opset)])
        first = next((array for array in self.operands if array is not None), np.zeros(0, np.float32))
        return _with_axes(onnx.shape_inference.infer_shapes(model), helper.np_dtype_to_tensor_dtype(first.dtype))


def _with_axes(model: onnx.ModelProto, dtype: int) -> onnx.ModelProto:
    """The model with an axis on outputs that have none, since MXNet has no such tensors; unknown dtypes are `dtype`."""
    graph = model.graph
    (node,) = graph.node
    for slot, output in enumerate(graph.output):
        type_ = output.type.tensor_type
        type_.elem_type = type_.elem_type or dtype
        if type_.HasField("shape") and not type_.shape.dim:
            node.output[slot] = f"{output.name}_scalar"
            graph.node.append(helper.make_node("Reshape", [node.output[slot], "one"], [output.name]))
            type_.shape.dim.add().dim_value = 1
        else:
            type_.ClearField("shape")
    if len(graph.node) > 1:
        graph.initializer.append(numpy_helper.from_array(np.array([1]), "one"))
    return model


def row(name: str, op: str, *operands: Any, constants: Sequence[int] = (), results: int = 1, opset: int = OPSET,
        tolerance: float = 0.0, wanted: tuple[str, ...] | None = None, onednn: bool = False,
        **attributes: Any) -> Row:  # fmt: skip
    """A row whose attributes are keywords; operands without axes are constants."""
    arrays = [None if operand is None else np.asarray(operand) for operand in operands]
    constants = {*constants, *(slot for slot, array in enumerate(arrays) if array is not None and not array.shape)}
    return Row(name, op, arrays, frozenset(constants), attributes, results, opset, tolerance, wanted, onednn)


def onnxruntime_outputs(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    """What onnxruntime computes, without optimisations."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    data = model.SerializeToString()
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    return [np.asarray(output) for output in session.run(None, dict(feeds))]


def expected_outputs(source: Row) -> list[Array]:
    """What onnxruntime computes, or onnx's own evaluator where onnxruntime lacks the operator for the dtypes."""
    model, feeds = source.model(), source.feeds()
    try:
        return onnxruntime_outputs(model, feeds)
    except NotImplemented:
        return [np.asarray(output) for output in ReferenceEvaluator(model).run(None, feeds)]


def written(source: Row) -> tuple[Graph, str, dict[str, Array]]:
    """The graph, and what `to_symbol` makes of it."""
    graph = from_model(source.model().SerializeToString())
    text, params = to_symbol(graph)
    return graph, text, {name.partition(":")[2]: array for name, array in params.items()}


def operators(text: str) -> list[str]:
    """MXNet's operators in order."""
    return [node["op"] for node in json.loads(text)["nodes"] if node["op"] != "null"]


def mxnet_outputs(
    live: Live | LivePair, text: str, params: Mapping[str, Array], feeds: Mapping[str, Array]
) -> list[Array]:
    """What live MXNet computes. Skips where there is no MXNet, unless GRAPHIR_REQUIRE_MXNET is set."""
    names = {node["name"]: node.get("attrs", {}) for node in json.loads(text)["nodes"] if node["op"] == "null"}
    try:
        return list(live.run(text, {name: params.get(name, feeds.get(name)) for name in names}).values())
    except ImportError as error:
        if os.environ.get("GRAPHIR_REQUIRE_MXNET"):
            pytest.fail(f"GRAPHIR_REQUIRE_MXNET is set: {error}")
        pytest.skip(f"live MXNet: {error}")


def read_again(
    text: str, params: Mapping[str, Array], feeds: Mapping[str, Array], opset: int | None = None
) -> list[Array]:
    """What onnxruntime computes of the symbol as this project reads it."""
    names = {node["name"] for node in json.loads(text)["nodes"] if node["op"] == "null"}
    data = {name: array for name, array in feeds.items() if name in names}
    shapes = {name: array.shape for name, array in data.items()}
    dtypes = {name: array.dtype for name, array in data.items()}
    graph = from_symbol(text, dict(params), shapes, dtypes=dtypes)
    return onnxruntime_outputs(to_model(graph, opset=opset), data)


def difference(found: Sequence[Array], expected: Sequence[Array], tolerance: float = 0.0) -> str:
    """What differs, "" if nothing does."""
    if len(found) != len(expected):
        return f"{len(found)} results, expected {len(expected)}"
    return "; ".join(filter(None, map(_difference, found, expected, [tolerance] * len(found))))


def _difference(found: Array, expected: Array, tolerance: float) -> str:
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        return f"{found.dtype}{found.shape}, expected {expected.dtype}{expected.shape}"
    left, right = found, expected
    if expected.dtype.kind not in "fc":
        wrong = int((left != right).sum())
        shown = f"{left.reshape(-1)[:6]}, expected {right.reshape(-1)[:6]}"
        return f"{wrong} of {right.size} differ: {shown}" if wrong else ""
    left, right = left.astype(np.float64), right.astype(np.float64)
    odd = ~np.isfinite(right)
    if not np.array_equal(left[odd], right[odd], equal_nan=True) or not np.isfinite(left[~odd]).all():
        return f"{left.reshape(-1)[:6]}, expected {right.reshape(-1)[:6]}"
    scale = max(float(np.abs(right[~odd]).max(initial=0.0)), 1e-30)
    error = float(np.abs(left[~odd] - right[~odd]).max(initial=0.0)) / scale
    limit = max(LIMITS.get(str(expected.dtype), 0.0), tolerance)
    return f"relative difference {error:.3g} above {limit:g}" if error > limit else ""


__all__ = [
    "Array", "Live", "LiveError", "Row", "difference", "expected_outputs", "mxnet_outputs", "operators",
    "read_again", "row", "written",
]  # fmt: skip
