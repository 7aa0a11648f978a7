"""Other names for all that is inside a model, as a port written anew has them."""

from __future__ import annotations

import copy

import onnx


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


def _rename(graph: onnx.GraphProto, other: dict[str, str]) -> None:
    """The values of a graph and of those inside it renamed where they are of the outer one."""
    for node in graph.node:
        node.input[:] = [other.get(value, value) for value in node.input]
        node.output[:] = [other.get(value, value) for value in node.output]
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _rename(attribute.g, other)


__all__ = ["disguised"]
