"""One ONNX operator on its way through MXNet: what onnxruntime makes of it, live MXNet, and the symbol read back."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnx.reference
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from graphir.converters.mxnet import from_symbol, to_symbol
from graphir.converters.mxnet.nnvm_json import read_symbol
from graphir.converters.mxnet.params import split_prefixes
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.converters.onnx import from_model, to_model
from graphir.graph import Graph
from tests.equivalence.live import Live

Array = NDArray[Any]
GENERATOR = np.random.default_rng(0)
TOLERANCE = {"float16": 4e-3, "float32": 2e-5, "float64": 1e-9}
NEWEST_RUN = 26
NEWEST_IR = 11
HELD = ("float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool")


def normal(*shape: int, dtype: str = "float32", scale: float = 2.0) -> Array:
    """Numbers of both signs, integers where the dtype holds such."""
    found = GENERATOR.standard_normal(shape) * scale
    return (np.rint(found) if np.dtype(dtype).kind in "iu" else found).astype(dtype)


def integers(low: int, high: int, *shape: int, dtype: str = "int64") -> Array:
    """Integers from `low` to `high`, both included."""
    return GENERATOR.integers(low, high, shape, endpoint=True).astype(dtype)


@dataclass(frozen=True)
class Row:
    """One ONNX operator with its attributes; `data` are inputs, `held` initializers, both by input name.

    `inputs` gives the order of the operator's inputs ("" for an absent one): `data`, then `held`, if it is empty.
    `tolerance` is relative to the largest magnitude, None means the default of the dtype; `computes` are the MXNet
    operators that must be among those written; `evaluator` takes onnx's own evaluator for the expected numbers;
    `widened` says that MXNet holds the results in a wider dtype, `onednn` that its CPU build has the operator through
    oneDNN only. `expected` are the numbers where neither onnxruntime nor onnx computes them. The first axis of the
    inputs `batch` is of open size.
    """

    name: str
    op: str
    attrs: Mapping[str, Any] = field(hash=False)
    data: Mapping[str, Array] = field(hash=False)
    held: Mapping[str, Array] = field(default_factory=dict, hash=False)
    inputs: tuple[str, ...] = ()
    outputs: int = 1
    opset: int = 22
    tolerance: float | None = None
    computes: tuple[str, ...] = ()
    evaluator: bool = False
    widened: bool = False
    onednn: bool = False
    expected: tuple[Array, ...] = field(default=(), hash=False)
    batch: tuple[str, ...] = ()

    @property
    def model(self) -> onnx.ModelProto:
        """The model of this one operator. An output without axes gets one, since MXNet has no such tensors."""
        names = self.inputs or (*self.data, *self.held)
        results = [f"y{slot}" for slot in range(self.outputs)]
        nodes = [helper.make_node(self.op, names, results, name="op", **self.attrs)]
        given = [
            helper.make_tensor_value_info(
                name,
                helper.np_dtype_to_tensor_dtype(array.dtype),
                ["N", *array.shape[1:]] if name in self.batch else array.shape,
            )
            for name, array in self.data.items()
        ]
        held = [numpy_helper.from_array(array, name) for name, array in self.held.items()]
        graph = helper.make_graph(nodes, "row", given, [onnx.ValueInfoProto(name=name) for name in results], held)
        opset = helper.make_opsetid("", self.opset)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=NEWEST_IR)
        types = {value.name: value.type for value in from_model(model.SerializeToString()).outputs}
        for slot, name in enumerate(results):
            kind = helper.np_dtype_to_tensor_dtype(np.dtype(types[name].dtype.numpy()))
            output = model.graph.output[slot]
            output.CopyFrom(helper.make_tensor_value_info(name, kind, None))
            if types[name].shape == ():
                model.graph.initializer.append(numpy_helper.from_array(np.array([1], np.int64), f"{name}_shape"))
                model.graph.node.append(helper.make_node("Reshape", [name, f"{name}_shape"], [f"{name}_1"]))
                output.name = f"{name}_1"
        return model


    def numbers(self) -> list[Array]:
        """What the operator makes of the data."""
        return list(self.expected) or run_onnx(self.model, self.data, self.evaluator)


def run_onnx(model: onnx.ModelProto, feeds: Mapping[str, Array], evaluator: bool = False) -> list[Array]:
    """The outputs from onnxruntime, or from onnx's own evaluator if asked for or if there is no kernel."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    if not evaluator:
        try:
            session = onnxruntime.InferenceSession(
                model.SerializeToString(), options, providers=["CPUExecutionProvider"]
            )
            return list(session.run(None, dict(feeds)))
        except Exception as error:
            if "NOT_IMPLEMENTED" not in str(error):
                raise
    return list(onnx.reference.ReferenceEvaluator(model).run(None, dict(feeds)))


def assert_equal(found: Sequence[Array], expected: Sequence[Array], row: Row) -> None:
    """Shapes and dtypes agree, integers exactly, floats within the tolerance of the largest magnitude."""
    tolerance = row.tolerance
    if row.widened:
        found = [one.astype(other.dtype) for one, other in zip(found, expected, strict=True)]
    assert [(one.dtype, one.shape) for one in found] == [(one.dtype, one.shape) for one in expected]
    distances = [_distance(one, other) for one, other in zip(found, expected, strict=True)]
    limits = [max(TOLERANCE.get(str(one.dtype), 0.0), tolerance or 0.0) for one in expected]
    assert all(distance <= limit for distance, limit in zip(distances, limits, strict=True)), distances


def _distance(found: Array, expected: Array) -> float:
    if expected.dtype.kind in "biu":
        return float((found != expected).sum())
    left, right = found.astype(np.float64), expected.astype(np.float64)
    odd = ~np.isfinite(right)
    if not np.array_equal(odd, ~np.isfinite(left)) or not np.array_equal(left[odd], right[odd], equal_nan=True):
        return float("inf")
    scale = max(float(np.abs(right[~odd]).max(initial=0.0)), 1e-30)
    return float(np.abs(left[~odd] - right[~odd]).max(initial=0.0)) / scale


@dataclass(frozen=True)
class Written:
    """A row's graph and what it became in MXNet."""

    graph: Graph
    text: str
    params: dict[str, Array]

    @property
    def operators(self) -> list[str]:
        """The MXNet operators in order."""
        return [node["op"] for node in json.loads(self.text)["nodes"] if node["op"] != "null"]

    def fed(self, data: Mapping[str, Array]) -> dict[str, Array]:
        """All arrays that the symbol wants, in the dtypes that it states."""
        arguments, states, _ = split_prefixes(self.params)
        wanted = {
            node["name"]: HELD[int(node.get("attrs", {}).get("__dtype__", 0))]
            for node in json.loads(self.text)["nodes"]
            if node["op"] == "null"
        }
        given = {name: array.astype(wanted[name]) for name, array in data.items() if name in wanted}
        return {name: array for name, array in (arguments | states).items() if name in wanted} | given


def written(row: Row) -> Written:
    """The row written for MXNet."""
    graph = from_model(row.model.SerializeToString())
    return Written(graph, *to_symbol(graph))


def check_live(row: Row, live: Live) -> None:
    """Live MXNet computes what onnxruntime does."""
    found = written(row)
    try:
        results = list(live.run(found.text, found.fed(row.data)).values())
    except ImportError as error:
        if os.environ.get("GRAPHIR_REQUIRE_MXNET"):
            pytest.fail(f"GRAPHIR_REQUIRE_MXNET is set: {error}")
        pytest.skip(f"live MXNet: {error}")
    assert_equal(results, row.numbers(), row)


def check_reference(row: Row) -> None:
    """The numpy reference makes of the symbol what onnxruntime makes of the model."""
    found = written(row)
    results = list(evaluate(read_symbol(found.text), found.fed(row.data)).values())
    assert_equal(results, row.numbers(), row)


def check_read_back(row: Row) -> None:
    """The written symbol, read by graphir and written as ONNX again, computes what the original does."""
    found = written(row)
    assert set(row.computes) <= set(found.operators), found.operators
    fed = found.fed(row.data)
    shapes = {name: array.shape for name, array in fed.items() if name in row.data}
    dtypes = {name: array.dtype for name, array in fed.items() if name in row.data}
    weights = {name: array for name, array in found.params.items() if name.partition(":")[2] in fed}
    again = from_symbol(found.text, weights, shapes, dtypes=dtypes)
    model = to_model(again, opset=max(row.opset, 22) if row.opset <= NEWEST_RUN else NEWEST_RUN)
    feeds = {value.name: fed[value.name] for value in again.inputs}
    assert_equal(run_onnx(model, feeds), row.numbers(), row)


__all__ = [
    "Array",
    "Row",
    "Written",
    "check_live",
    "check_read_back",
    "check_reference",
    "integers",
    "normal",
    "run_onnx",
    "written",
]
