"""From a graph to MXNet's records: every MXNet name and rule of the way out begins here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from graphir.converters.kernel.terms import Terms
from graphir.converters.mxnet.exporting.context import Export
from graphir.converters.mxnet.exporting.writer import Writer
from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph
from graphir.decisions import DecisionKind
from graphir.errors import GraphError, UnsupportedOpError
from graphir.graph import Graph
from graphir.passes.pipelines import export
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
class ExportedSymbol:
    """A symbol and its parameters by name (`arg:w`, `aux:m`), still lazy.

    Parameters of the graph that have no elements are variables of the symbol only.
    """

    symbol: NNVMGraph
    params: dict[str, Tensor]


def export_graph(graph: Graph, terms: Terms) -> ExportedSymbol:
    """Return the graph in MXNet 1.9.1's terms. Raises UnsupportedOpError with every node that MXNet cannot say.

    A graph with tensors of no axes or no elements among its inputs and outputs is written for MXNet's np_shape
    semantics, which is a decision; all others as classic symbols. What is refused as it stands is said in simpler
    terms, on a copy of the graph (see `lowering`): those of `terms`, which other formats define.
    """
    writer = Writer(graph, terms)
    writer.write()
    gaps = writer.gaps()
    if gaps:
        count = sum(len(gap.nodes) for gap in gaps)
        raise UnsupportedOpError(f"{count} node(s) cannot be written for MXNet 1.9.1:", gaps)
    model = _model(writer)
    stated = set(graph.decisions)
    result = (*writer.graph.decisions[len(graph.decisions) :], *writer.export.decisions)
    graph.decisions.extend(decision for decision in result if decision not in stated)
    return model


def export_copy(graph: Graph, terms: Terms) -> tuple[NNVMGraph, dict[str, Tensor]]:
    """Return the symbol and the parameters of a graph, which stays as it is but for its decisions.

    Raises UnsupportedOpError with every node that MXNet cannot express.
    """
    with export().on_copy(graph) as copied:
        model = export_graph(copied, terms)
    return model.symbol, model.params


def _model(writer: Writer) -> ExportedSymbol:
    """Return the symbol and its parameters."""
    export = writer.export
    symbol = NNVMGraph(export.nodes, writer.heads, VERSION, export.np_shape)
    symbol = symbol.with_nodes(sorted(symbol.post_order()))
    used = [node.name for node in symbol.nodes if node.op == VARIABLE]
    left = export.stand_ins.intersection(used)
    if left:
        raise GraphError(f"{', '.join(sorted(left))}: stand for what MXNet cannot say, and nothing was refused")
    for value in export.graph.inputs:
        if value.name not in used:
            export.decide(
                DecisionKind.UNUSED_INPUT, value.name, "nothing depends on it: MXNet's symbol has no such variable"
            )
    _tell_order(symbol, export)
    params = {f"arg:{name}": export.parameters[name] for name in used if name in export.parameters}
    states = {name: export.states[name] for name in used if name in export.states}
    params |= {f"aux:{name}": tensor for name, tensor in states.items() if tensor is not None}
    _state_shapes(symbol, export.parameters)
    return ExportedSymbol(symbol, params)


def _tell_order(symbol: NNVMGraph, export: Export) -> None:
    """Say so if MXNet lists the inputs in another order: its own is that in which a walk from the heads meets them."""
    names = {value.name for value in export.graph.inputs}
    listed = symbol.variable_names()
    result = [name for name in listed if name in names]
    if result != [value.name for value in export.graph.inputs if value.name in result]:
        export.decide(
            DecisionKind.ORDER_OF_INPUTS,
            export.graph.name,
            f"MXNet lists them as {', '.join(result)}: bind them by name",
        )


def _state_shapes(symbol: NNVMGraph, parameters: Mapping[str, Tensor]) -> None:
    """State the shapes of parameters that MXNet does not infer from data: binding a symbol to data wants them all."""
    for node in symbol.nodes:
        for slot, (index, _) in enumerate(node.inputs):
            read = symbol.nodes[index]
            if read.op == VARIABLE and read.name in parameters and (slot == 0 or node.op not in INFERRING):
                read.annotations.setdefault("__shape__", str(parameters[read.name].shape))
