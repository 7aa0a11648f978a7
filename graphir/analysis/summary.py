"""What a model is made of: its layers with their parameters and multiply-accumulates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphir.graph import Graph, Node, Value
from graphir.tensor import Tensor
from graphir.types import Dim, DType, TensorType, Unknown


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
    """A model's layers and their totals.

    `unsized` are parameters without a known shape, which count nothing. `unused` are weights of the model's file that
    no layer reads (a gamma that is forced to 1), `unused_parameters` their elements; the totals do not hold them.
    """

    layers: tuple[Layer, ...]
    parameters: int
    parameter_bytes: int
    macs: Dim | None
    unsized: tuple[str, ...]
    unused: tuple[str, ...] = ()
    unused_parameters: int = 0


def weights(graph: Graph) -> dict[str, Tensor]:
    """The elements of the weights that the graph uses, by name."""
    outputs = set(graph.outputs)
    return {
        value.name: value.tensor
        for value in graph.parameters
        if value.sources and value.tensor is not None and (value.uses or value in outputs)
    }


def visible_outputs(node: Node) -> list[Value]:
    """The results of a node that something reads, and always the first; mostly nothing reads a pooling's indices."""
    outputs = set(node.graph.outputs) if node.graph is not None and len(node.outputs) > 1 else set()
    return [value for value in node.outputs if value.index == 0 or value.uses or value in outputs]


def summarize(graph: Graph, stored: Mapping[str, Tensor] | None = None) -> Summary:
    """The summary of a graph whose types are inferred; `stored` are the weights of its source by the source's names.

    Cost: linear in nodes; no weight is read.
    """
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
            elements = _elements(value)
            if value in counted:
                shared += elements or 0
                continue
            counted.add(value)
            if elements is None:
                unsized.append(value.name)
                continue
            own += elements
            nbytes += elements * (value.dtype or DType.FLOAT32).bits // 8
        outputs = tuple(str(value.type) for value in visible_outputs(node))
        layers.append(Layer(node.name, node.op.name, outputs, own, shared, _macs(node)))
    total: Dim | None = 0
    for layer in layers:
        total = None if total is None or layer.macs is None else total + layer.macs
    known = {source for value in counted for source in value.sources}
    unused = {name: tensor.size for name, tensor in (stored or {}).items() if name not in known}
    return Summary(
        layers=tuple(layers),
        parameters=sum(layer.parameters for layer in layers),
        parameter_bytes=nbytes,
        macs=total,
        unsized=tuple(unsized),
        unused=tuple(unused),
        unused_parameters=sum(unused.values()),
    )


def _elements(value: Value) -> int | None:
    if value.tensor is not None:
        return value.tensor.size
    count = value.type.elements() if isinstance(value.type, TensorType) else None
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


__all__ = ["Layer", "Summary", "summarize", "visible_outputs", "weights"]
