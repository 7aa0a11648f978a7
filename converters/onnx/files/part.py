"""A part of an .onnx file as a model of its own: the file's own nodes, untouched, up to names that become inputs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from graphir.converters.onnx.files.inner import inner_graphs
from graphir.structure.reaching import reachable


def part_of_file(path: str | os.PathLike[str], outputs: Sequence[str], inputs: Mapping[str, Any]) -> Any | None:
    """Return the ModelProto that computes the named values, external data left where they are; None where the main
    graph does not make them all (a function's own are not in it).

    `inputs` are the types, as ValueInfoProtos by name, of what is fed: the cut values and the model's own inputs.
    """
    import onnx

    model = onnx.load_model(os.fspath(path), load_external_data=False)
    graph = model.graph
    producers = {name: node for node in graph.node for name in node.output if name}
    local_names = {item.name for item in graph.input} | {tensor.name for tensor in graph.initializer}
    local_names |= {tensor.values.name for tensor in graph.sparse_initializer}
    known = local_names | producers.keys()
    if not all(name in producers for name in outputs) or not all(name in known for name in inputs):
        return None
    needed, names = _find_needed(producers, outputs, inputs)
    _rename_results(needed.values(), inputs)
    nodes = [node for node in graph.node if id(node) in needed]
    del graph.value_info[:]
    _keep(graph.node, nodes)
    _keep(graph.initializer, [tensor for tensor in graph.initializer if tensor.name in names - inputs.keys()])
    sparse = [tensor for tensor in graph.sparse_initializer if tensor.values.name in names - inputs.keys()]
    _keep(graph.sparse_initializer, sparse)
    _keep(graph.input, list(inputs.values()))
    _keep(graph.output, [onnx.ValueInfoProto(name=name) for name in outputs])
    return model


def _find_needed(
    producers: Mapping[str, Any], outputs: Iterable[str], inputs: Mapping[str, Any]
) -> tuple[dict[int, Any], set[str]]:
    """Return the nodes that the outputs depend on, by identity, and the names that these read."""
    nodes: dict[int, Any] = {}

    def reads(name: str) -> list[str]:
        node = producers.get(name)
        if name in inputs or node is None or id(node) in nodes:
            return []
        nodes[id(node)] = node
        return _names_read(node)

    names = set(reachable(outputs, reads))
    return nodes, names


def _names_read(node: Any) -> list[str]:
    """Return the names that a node reads, those that its subgraphs capture (and their own, which do no harm)
    included."""
    names = list(node.input)
    pending = list(inner_graphs(node))
    while pending:
        graph = pending.pop()
        names += [item.name for item in graph.output]
        for child in graph.node:
            names += child.input
            pending += inner_graphs(child)
    return [name for name in names if name]


def _rename_results(nodes: Iterable[Any], inputs: Mapping[str, Any]) -> None:
    """A result that is fed instead, of a node that stays for another one, gets out of the way."""
    for node in nodes:
        for slot, name in enumerate(node.output):
            if name in inputs:
                node.output[slot] = f"{name}__uncut"


def _keep(field: Any, kept: Sequence[Any]) -> None:
    del field[:]
    field.extend(kept)
