"""What a model is made of: its layers with their parameters and multiply-accumulates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphir.graph import Graph, Node, Value
from graphir.tensor import Tensor
from graphir.types import Dim, DType, TensorType, Type, Unknown


@dataclass(frozen=True)
class Layer:
    """One node: its name, operator, the types of its results, its parameters and its multiply-accumulates.

    `parameters` counts elements that no earlier layer has counted; `shared` those that one has. `macs` is a number, an
    expression in symbolic sizes, or None where a size is unknown.
    """

    name: str
    operator: str
    outputs: tuple[str, ...]
    parameters: int
    shared: int
    macs: Dim | None


@dataclass(frozen=True)
class Summary:
    """A model's layers and their totals; `unsized` are parameters without a known shape, which count nothing."""

    layers: tuple[Layer, ...]
    parameters: int
    parameter_bytes: int
    macs: Dim | None
    unsized: tuple[str, ...]


def weights(graph: Graph) -> dict[str, Tensor]:
    """The elements of the weights that the graph uses, by name."""
    outputs = set(graph.outputs)
    return {
        value.name: value.tensor
        for value in graph.parameters
        if value.sources and value.tensor is not None and (value.uses or value in outputs)
    }


def summarize(graph: Graph) -> Summary:
    """The summary of a graph whose types are inferred. Cost: linear in nodes; no weight is read."""
    parameters = set(graph.parameters)
    counted: set[Value] = set()
    unsized: list[str] = []
    nbytes = 0
    layers = []
    for node in graph.nodes:
        own = shared = 0
        for value in dict.fromkeys(node.inputs):
            if value is None or value not in parameters or not value.sources:
                continue
            type_ = value.type if value.tensor is None else value.tensor.type
            elements = _elements(type_)
            if value in counted:
                shared += elements or 0
                continue
            counted.add(value)
            if elements is None:
                unsized.append(value.name)
                continue
            own += elements
            nbytes += elements * (type_.dtype or DType.FLOAT32).bits // 8
        layers.append(Layer(node.name, node.op.name, tuple(str(v.type) for v in node.outputs), own, shared, _macs(node)))
    total: Dim | None = 0
    for layer in layers:
        total = None if total is None or layer.macs is None else total + layer.macs  # type: ignore[operator]
    return Summary(tuple(layers), sum(layer.parameters for layer in layers), nbytes, total, tuple(unsized))


def _elements(type_: Type) -> int | None:
    if not isinstance(type_, TensorType):
        return None
    count = type_.elements()
    return count if isinstance(count, int) else None


def _macs(node: Node) -> Dim | None:
    operands: list[TensorType | None] = []
    for value in node.inputs:
        if value is not None and not isinstance(value.type, TensorType):
            return 0
        operands.append(None if value is None else value.type)  # type: ignore[arg-type]
    results: Any = tuple(value.type for value in node.outputs)
    if not all(isinstance(result, TensorType) for result in results):
        return 0
    found = node.op.macs(tuple(operands), results)
    return None if isinstance(found, Unknown) else found


__all__ = ["Layer", "Summary", "summarize", "weights"]
