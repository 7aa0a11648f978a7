"""What tests build and run: ONNX models of text or of nodes, and runs of onnxruntime."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import onnx
import onnx.parser
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from graphir.converters.onnx import to_model
from graphir.graph import Graph

Arrays = dict[str, NDArray[Any]]
# A change of a model, for a row that says how it is broken.
Change = Callable[[Any], object]
Shape: TypeAlias = Sequence[int | str | None] | None
# A shape of float32 as a list or None, or a pair of an element type and such a shape.
End: TypeAlias = "Shape | tuple[int, Shape]"


def parse_model(
    text: str, *, opset: int = 17, ir_version: int = 0, domains: Mapping[str, int] | None = None, **weights: Any
) -> Any:
    """Return the model of a graph in ONNX's text form: `g (float[N] x) => (float[N] y) { y = Neg(x) }`.

    Weights become initializers. `domains` gives the versions of others than ONNX's own.
    """
    imports = ", ".join(f'"{domain}" : {version}' for domain, version in ({"": opset} | dict(domains or {})).items())
    model = onnx.parser.parse_model(
        f"<ir_version: {ir_version or least_ir_version(opset)}, opset_import: [{imports}]>\n{text}"
    )
    return add_weights(model, **weights)


def make_model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, End],
    outputs: Mapping[str, End],
    weights: Mapping[str, Any] | None = None,
    *,
    opset: int = 17,
    domains: Mapping[str, int] | None = None,
    **fields: Any,
) -> Any:
    """Return the model of nodes; `fields` are those of onnx's `make_model`."""
    graph = helper.make_graph(nodes, "g", describe_values(inputs), describe_values(outputs))
    opsets = [helper.make_opsetid(*version) for version in ({"": opset} | dict(domains or {})).items()]
    fields = {"ir_version": least_ir_version(opset), **fields}
    return add_weights(helper.make_model(graph, opset_imports=opsets, **fields), **(weights or {}))


def describe_values(values: Mapping[str, End]) -> list[onnx.ValueInfoProto]:
    """Return the declarations of inputs or outputs."""
    pairs = {name: end if isinstance(end, tuple) else (TensorProto.FLOAT, end) for name, end in values.items()}
    return [helper.make_tensor_value_info(name, element, shape) for name, (element, shape) in pairs.items()]


def least_ir_version(opset: int) -> int:
    """Return the file version of the release that brought the opset, 8 for older ones."""
    return 8 if opset < 19 else 9 if opset < 21 else 10


def add_weights(model: Any, **weights: Any) -> Any:
    """Return the model with more initializers, which have raw data."""
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items())
    return model


def save_model(path: Path, model: Any) -> Path:
    """Write a model without any of onnx's own checks; return the path."""
    path.write_bytes(model.SerializeToString())
    return path


def run_model(model: Any, feeds: Mapping[str, Any], *, optimize: bool = True) -> Arrays:
    """Return the outputs from onnxruntime on one thread, of a ModelProto, a Graph, bytes or a file.

    Feeds that the model has no input for are left out.
    """
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    if not optimize:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if isinstance(model, Graph):
        model = to_model(model)
    if isinstance(model, onnx.ModelProto):
        model = model.SerializeToString()
    session = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    taken = {value.name for value in session.get_inputs()}
    arrays = {name: np.asarray(feed) for name, feed in feeds.items() if name in taken}
    return dict(zip(names, session.run(names, arrays), strict=True))


def list_operators(graph: Graph) -> str:
    """Return the operators' names in order, separated by spaces."""
    return " ".join(node.op.name for node in graph.nodes)
