"""Other names for all that is inside a model, as a port written anew has them, and onnxruntime's own form of it."""

from __future__ import annotations

import copy
import tempfile
from pathlib import Path

import onnx
import onnxruntime

QUIET = 4
"""onnxruntime's severity for fatal errors only."""


def disguised(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The model with every inner value, weight and node renamed; its inputs and outputs keep their names."""
    made = copy.deepcopy(proto)
    graph = made.graph
    kept = {item.name for item in (*graph.input, *graph.output)}
    other: dict[str, str] = {}
    for tensor in graph.initializer:
        other[tensor.name] = f"w{len(other)}"
        tensor.name = other[tensor.name]
    for number, node in enumerate(graph.node):
        node.name = f"{node.op_type}_{number}"
        for value in node.output:
            if value and value not in kept:
                other[value] = f"t{len(other)}"
    _rename(graph, other)
    del graph.value_info[:]
    return made


def optimised(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The model as onnxruntime's offline optimiser writes it: layers fused, constants folded. Raises what onnxruntime
    raises."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = QUIET
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    with tempfile.TemporaryDirectory(prefix="graphir-faults-") as folder:
        path = Path(folder) / "optimised.onnx"
        options.optimized_model_filepath = str(path)
        onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return onnx.load(path)


def _rename(graph: onnx.GraphProto, other: dict[str, str]) -> None:
    """The values of a graph and of those inside it renamed where they are of the outer one."""
    for node in graph.node:
        node.input[:] = [other.get(value, value) for value in node.input]
        node.output[:] = [other.get(value, value) for value in node.output]
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _rename(attribute.g, other)


__all__ = ["disguised", "optimised"]
