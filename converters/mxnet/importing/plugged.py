"""Operators that plugins import: what they give is checked, and that they were asked is recorded."""

from __future__ import annotations

from collections.abc import Sequence

from graphir.converters.mxnet.files.records import NNVMNode
from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.schema.operators import name_for_plugins
from graphir.decisions import DecisionKind
from graphir.graph import Graph, Value
from graphir.plugins import PluginError, source_operator


def import_of_plugin(graph: Graph, record: NNVMNode) -> ImportFunction | None:
    """How a plugin imports the node, if one does, which is a decision."""
    plugin = source_operator("mxnet", name_for_plugins(record))
    if plugin is None:
        return None
    graph.decide(DecisionKind.PLUGIN, record.name, f"{plugin.name} is imported by {plugin.plugin}")

    def import_plugged(node: ImportNode) -> Sequence[Value]:
        result = plugin.imports(node)
        values = [result] if isinstance(result, Value) else result
        if not isinstance(values, list | tuple) or not all(isinstance(value, Value) for value in values):
            raise PluginError(f"{plugin.plugin}: {plugin.name} gave {result!r}, expected values of the graph")
        if len(values) != len(plugin.outputs):
            raise PluginError(
                f"{plugin.plugin}: {plugin.name} gave {len(values)} values for {len(plugin.outputs)} outputs"
            )
        return values

    return import_plugged


__all__ = ["import_of_plugin"]
