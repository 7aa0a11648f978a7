"""A part of an MXNet model: cut in its symbol, so that what is left out need not be known to graphir."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from graphir.converters.formats import Manner
from graphir.converters.mxnet.files.records import VARIABLE
from graphir.converters.options import ModelOptions
from graphir.converters.parts import cut_graph, split_given
from graphir.decisions import DecisionKind
from graphir.errors import UnsupportedOpError
from graphir.graph import Decision

if TYPE_CHECKING:
    from graphir.converters.mxnet.files.records import NNVMGraph
    from graphir.converters.mxnet.source import MXNetSource
    from graphir.graph import Graph
    from graphir.tensor import Tensor


def part_of(opened: MXNetSource, options: ModelOptions, manner: Manner) -> tuple[MXNetSource, Graph]:
    """Return the symbol of the part with its parameters, and its graph.

    The types of values that become inputs are those that the whole model gives them; where graphir cannot import what
    comes before them, those that are given. Raises GraphError and ImportFailure for what cannot be cut.
    """
    from graphir.converters.mxnet.importing.cut import SymbolNames, cut_symbol

    opened = replace(opened, tensors=_by_symbol_names(opened, options.shapes))
    names = SymbolNames(opened.symbol, opened.name)
    heads = opened.symbol.heads if options.outputs is None else names.entries(options.outputs, "output")
    fed = {entry: names.names[entry] for entry in names.entries(options.inputs, "input")}
    options = _given_for(opened, cut_symbol(opened.symbol, heads, {}), options)
    reached = _only_held(replace(opened, symbol=cut_symbol(opened.symbol, heads, {})))
    part = _only_held(replace(opened, symbol=cut_symbol(opened.symbol, heads, fed)))
    kept = replace(options, keep_loss=options.keep_loss or options.outputs is not None)
    if not fed:
        return part, graph_of(part, kept, manner)
    before, behind = split_given(options, dict(zip(options.inputs, fed.values(), strict=True)))
    try:
        whole = graph_of(reached, replace(kept, shapes=before.shapes, dtypes=before.dtypes), manner)
    except UnsupportedOpError:  # what it lists may lie before the cut; of what is left the same error names the rest
        return part, graph_of(part, replace(kept, shapes=behind.shapes, dtypes=behind.dtypes), manner)
    return part, cut_graph(whole, [value.name for value in whole.outputs], list(fed.values()), behind)


def _given_for(opened: MXNetSource, symbol: NNVMGraph, options: ModelOptions) -> ModelOptions:
    """Return the options without shapes and dtypes of variables that the chosen heads do not need, which is noted."""
    held, whole = ({node.name for node in one.nodes if node.op == VARIABLE} for one in (symbol, opened.symbol))
    cut = (whole - held) & {*(options.shapes or {}), *(options.dtypes or {})}
    if not cut:
        return options
    for name in sorted(cut):
        said = "the chosen outputs do not depend on it: the shape that was given is not used"
        opened.notes.append(Decision(DecisionKind.SHAPE_NOT_USED, name, said))
    left = [{name: value for name, value in (given or {}).items() if name not in cut}
            for given in (options.shapes, options.dtypes)]  # fmt: skip
    return replace(options, shapes=left[0] or None, dtypes=left[1] or None)


def graph_of(opened: MXNetSource, options: ModelOptions, manner: Manner) -> Graph:
    """Return the graph of a symbol as it is."""
    return opened.to_graph(
        options.shapes, dtypes=options.dtypes, keep_loss=options.keep_loss, simplified=manner.simplified,
        settled=manner.settled, training=options.training, strict=options.strict,
    )  # fmt: skip


def _by_symbol_names(opened: MXNetSource, shapes: Mapping[str, object] | None) -> dict[str, Tensor] | None:
    return None if opened.tensors is None else opened.plain_tensors(shapes)


def _only_held(opened: MXNetSource) -> MXNetSource:
    """Return the parameters that the symbol has variables for."""
    if opened.tensors is None:
        return opened
    held = {node.name for node in opened.symbol.nodes if node.op == VARIABLE}
    return replace(opened, tensors={name: tensor for name, tensor in opened.tensors.items() if name in held})
