"""From a graph to MXNet's records: every MXNet name and rule of the way out begins here."""

from __future__ import annotations

from dataclasses import dataclass

from graphir.converters.mxnet.export_context import Entry, Export, ExportNode, Refusal
from graphir.converters.mxnet.exports import export_table
from graphir.converters.mxnet.records import VARIABLE, NNVMGraph, NNVMNode
from graphir.errors import Gap, UnsupportedOpError
from graphir.graph import Graph, Value
from graphir.tensor import Tensor
from graphir.types import DType

VERSION = 10901


@dataclass(frozen=True)
class MXNetModel:
    """A symbol and its parameters by name (`arg:w`, `aux:m`), still lazy.

    Parameters of the graph that have no elements are variables of the symbol only.
    """

    symbol: NNVMGraph
    params: dict[str, Tensor]


def export_graph(graph: Graph) -> MXNetModel:
    """The graph in MXNet 1.9.1's terms. Raises UnsupportedOpError with every node that MXNet cannot say."""
    export = Export(graph)
    table = export_table()
    broken: set[Value | None] = set()
    for node in graph.nodes:
        function = table.get(type(node.op))
        blamed = any(operand in broken for operand in node.inputs)
        try:
            if function is None:
                raise Refusal("MXNet has no such operator and no composition is known")
            if not blamed:
                function(ExportNode(export, node))
        except Refusal as error:
            _refuse(export, node.op.name, str(error), node.name)
            broken.update(node.outputs)
        else:
            if blamed:
                broken.update(node.outputs)
    heads = [_head(export, value, broken) for value in graph.outputs]
    if export.refused:
        gaps = [Gap(op, reason, tuple(nodes)) for (op, reason), nodes in export.refused.items()]
        count = sum(len(gap.nodes) for gap in gaps)
        raise UnsupportedOpError(f"{count} node(s) cannot be written for MXNet 1.9.1:", gaps)
    symbol = _without_unused(NNVMGraph(export.nodes, heads, VERSION))
    used = [node.name for node in symbol.nodes if node.op == VARIABLE]
    params = {f"arg:{name}": export.parameters[name] for name in used if name in export.parameters}
    states = {name: export.states[name] for name in used if name in export.states}
    params |= {f"aux:{name}": tensor for name, tensor in states.items() if tensor is not None}
    return MXNetModel(symbol, params)


def _refuse(export: Export, operator: str, reason: str, node: str) -> None:
    export.refused.setdefault((operator, reason), []).append(node)


def _head(export: Export, value: Value, broken: set[Value | None]) -> Entry:
    """The entry of an output; truths become MXNet's own bool there."""
    if value in broken:
        return 0, 0
    operator = "output" if value.producer is None else value.producer.op.name
    try:
        if value.rank == 0:
            raise Refusal("MXNet has no tensors without axes; give the output one")
        if value.dtype is DType.BOOL:
            held = export.raw(value)
            name = value.name.removesuffix("_output")
            return export.append("Cast", name, [held], {"dtype": "bool"}), 0
        if value.dtype is not export.carried(value) and value.dtype is not None:
            held = export.raw(value)
            name = value.name.removesuffix("_output")
            return export.append("Cast", name, [held], {"dtype": value.dtype.value}), 0
        return export.entry(value)
    except Refusal as error:
        _refuse(export, operator, str(error), value.name)
        return 0, 0


def _without_unused(symbol: NNVMGraph) -> NNVMGraph:
    """The symbol without the nodes that no head depends on."""
    needed: set[int] = set()
    stack = [index for index, _ in symbol.heads]
    while stack:
        index = stack.pop()
        if index not in needed:
            needed.add(index)
            stack.extend(producer for producer, _ in symbol.nodes[index].inputs)
    places = {index: place for place, index in enumerate(sorted(needed))}
    nodes: list[NNVMNode] = []
    for index in places:
        node = symbol.nodes[index]
        node.inputs = [(places[producer], slot) for producer, slot in node.inputs]
        nodes.append(node)
    heads = [(places[index], slot) for index, slot in symbol.heads]
    return NNVMGraph(nodes, heads, symbol.version, symbol.np_shape)


__all__ = ["VERSION", "MXNetModel", "export_graph"]
