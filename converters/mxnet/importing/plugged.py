"""Operators that plugins import: what they give is checked, and that they were asked is recorded."""

from __future__ import annotations

from collections.abc import Container, Sequence

from graphir.converters.kernel.plugged import refuse_known, results_of
from graphir.converters.mxnet.files.records import NNVMNode
from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.schema.operators import CUSTOM, name_for_plugins
from graphir.decisions import DecisionKind
from graphir.graph import Graph, Value
from graphir.plugins import PluginError, source_operator, stated_operators


def refuse_taken(known: Container[str]) -> None:
    """Raise PluginError for a plugin that states an operator which graphir reads itself, or `Custom` as a whole."""
    for plugin in stated_operators("mxnet"):
        if plugin.name == CUSTOM:
            raise PluginError(f"{plugin.plugin}: {CUSTOM} is one operator for each op_type; state {CUSTOM}:my_type")
    refuse_known("mxnet", known)


def import_of_plugin(graph: Graph, record: NNVMNode) -> ImportFunction | None:
    """Return how a plugin imports the node, if one does, which is a decision."""
    plugin = source_operator("mxnet", name_for_plugins(record))
    if plugin is None:
        return None
    plugin = plugin.of_node(record.attrs)
    graph.decide(DecisionKind.PLUGIN, record.name, f"{plugin.name} is imported by {plugin.plugin}")

    def import_plugged(node: ImportNode) -> Sequence[Value]:
        return results_of(plugin, plugin.imports(node))

    return import_plugged
