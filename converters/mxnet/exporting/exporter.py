"""From a graph to MXNet's records: every MXNet name and rule of the way out begins here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from graphir.converters.mxnet.exporting.context import (
    Entry,
    Export,
    ExportNode,
    ExportTable,
    NeedsNumpyShape,
    Refusal,
)
from graphir.converters.mxnet.exporting.ops import export_table
from graphir.converters.mxnet.exporting.ops.casting import narrow_results
from graphir.converters.mxnet.exporting.ops.widening import is_narrow
from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, NNVMNode
from graphir.converters.mxnet.importing.symbol_inputs import variables_in_order
from graphir.errors import UnsupportedOpError
from graphir.graph import Decision, Graph, Node, Value
from graphir.tensor import Tensor

VERSION = 10901
# Layers from whose data MXNet infers the shapes of their parameters.
INFERRING = frozenset(
    (
        *("BatchNorm", "Convolution", "Deconvolution", "Embedding", "FullyConnected", "GroupNorm", "InstanceNorm"),
        *("LayerNorm", "RNN", "_contrib_DeformableConvolution", "_contrib_ModulatedDeformableConvolution"),
    )
)


@dataclass(frozen=True)
class MXNetModel:
    """A symbol and its parameters by name (`arg:w`, `aux:m`), still lazy.

    Parameters of the graph that have no elements are variables of the symbol only.
    """

    symbol: NNVMGraph
    params: dict[str, Tensor]


def export_graph(graph: Graph) -> MXNetModel:
    """The graph in MXNet 1.9.1's terms. Raises UnsupportedOpError with every node that MXNet cannot say.

    A graph with tensors of no axes or no elements among its inputs and outputs is written for MXNet's np_shape
    semantics, which is a decision; all others as classic symbols. What is refused as it stands is tried again in
    simpler terms, on a copy of the graph (see `lowering`).
    """
    attempt = write_graph(graph)
    lowered: list[Decision] = []
    if attempt.refusals:
        from graphir.converters.mxnet.exporting.lowering import lower

        attempt, lowered, gaps = lower(graph, attempt)
        if gaps:
            count = sum(len(gap.nodes) for gap in gaps)
            raise UnsupportedOpError(f"{count} node(s) cannot be written for MXNet 1.9.1:", gaps)
    model = attempt.model()
    stated = set(graph.decisions)
    graph.decisions.extend(made for made in (*lowered, *attempt.export.decisions) if made not in stated)
    return model


def write_graph(graph: Graph, further: ExportTable | None = None) -> Attempt:
    """The graph written as a classic symbol or, if it has tensors that only they have, for np_shape semantics.

    `further` are export functions besides those of all graphs.
    """
    table = {**export_table(), **(further or {})}
    attempt = Attempt(graph, table, Export(graph, np_shape=False))
    if any(isinstance(refusal, NeedsNumpyShape) for _, refusal in attempt.refusals):
        attempt = Attempt(graph, table, Export(graph, np_shape=True))
        attempt.export.decide(
            "np_shape", graph.name, "it has tensors without axes or elements: run the symbol under mx.util.np_shape()"
        )
    return attempt


def write_node(export: Export, node: Node, table: ExportTable) -> None:
    """Write one node. Raises Refusal."""
    function = table.get(type(node.op))
    if function is None:
        raise Refusal("MXNet has no such operator and no composition is known")
    if not all(value.shape is not None and 0 in value.shape for value in node.outputs):
        narrow = is_narrow(node)
        made = ExportNode(export, node)
        function(made)
        if narrow:
            narrow_results(made)


class Attempt:
    """One way of writing a graph: what was written, and what was refused on the way to an output.

    `refusals` holds the refused nodes with the reason, and outputs that were refused themselves.
    """

    def __init__(self, graph: Graph, table: ExportTable, export: Export) -> None:
        self.export = export
        for node in graph.nodes:
            self._write(node, table)
        self.export.node = None
        self._head_refusals: list[tuple[Value, Refusal]] = []
        self.heads = [self._head(value) for value in graph.outputs]
        self.refusals = self._counted()

    def _write(self, node: Node, table: ExportTable) -> None:
        """Write one node, or note why not: that counts only if an output depends on it."""
        export = self.export
        if node in export.written:
            return
        export.node = node
        try:
            write_node(export, node, table)
        except Refusal as error:
            export.refused[node] = error

    def _head(self, value: Value) -> Entry:
        try:
            return self.export.head(value)
        except Refusal as error:
            self._head_refusals.append((value, error))
            return 0, 0

    def _counted(self) -> list[tuple[Node | Value, Refusal]]:
        """The refusals that outputs depend on, in the order of the nodes."""
        export = self.export
        reached: dict[Node, None] = {}
        stack: list[Value] = list(export.asked(None))
        while stack:
            producer = stack.pop().producer
            if producer is not None and producer not in reached:
                reached[producer] = None
                refused = producer in export.refused
                operands = [value for value in producer.inputs if value is not None]
                stack.extend(operands if refused else export.asked(producer))
        found: list[tuple[Node | Value, Refusal]] = [
            (node, refusal)
            for node, refusal in export.refused.items()
            if node in reached
        ]
        return found + list(self._head_refusals)

    def model(self) -> MXNetModel:
        """The symbol and its parameters."""
        export = self.export
        symbol = _without_unused(NNVMGraph(export.nodes, self.heads, VERSION, export.np_shape))
        used = [node.name for node in symbol.nodes if node.op == VARIABLE]
        for value in export.graph.inputs:
            if value.name not in used:
                export.decide("unused input", value.name, "nothing depends on it: MXNet's symbol has no such variable")
        _tell_order(symbol, export)
        params = {f"arg:{name}": export.parameters[name] for name in used if name in export.parameters}
        states = {name: export.states[name] for name in used if name in export.states}
        params |= {f"aux:{name}": tensor for name, tensor in states.items() if tensor is not None}
        _state_shapes(symbol, export.parameters)
        return MXNetModel(symbol, params)


def _tell_order(symbol: NNVMGraph, export: Export) -> None:
    """Say so if MXNet lists the inputs in another order: its own is that in which a walk from the heads meets them."""
    names = {value.name for value in export.graph.inputs}
    listed = [symbol.nodes[index].name for index in variables_in_order(symbol)]
    found = [name for name in listed if name in names]
    if found != [value.name for value in export.graph.inputs if value.name in found]:
        export.decide(
            "order of inputs", export.graph.name, f"MXNet lists them as {', '.join(found)}: bind them by name"
        )


def _state_shapes(symbol: NNVMGraph, parameters: Mapping[str, Tensor]) -> None:
    """State the shapes of parameters that MXNet does not infer from data: binding a symbol to data wants them all."""
    for node in symbol.nodes:
        for slot, (index, _) in enumerate(node.inputs):
            read = symbol.nodes[index]
            if read.op == VARIABLE and read.name in parameters and (slot == 0 or node.op not in INFERRING):
                read.annotations.setdefault("__shape__", str(parameters[read.name].shape))


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


__all__ = ["VERSION", "Attempt", "MXNetModel", "export_graph", "write_graph", "write_node"]
