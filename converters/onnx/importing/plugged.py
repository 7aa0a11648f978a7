"""Operators of other domains that plugins import."""

from __future__ import annotations

from typing import Any

from graphir.converters.kernel.importing import BaseImportNode
from graphir.converters.kernel.plugged import import_by_plugin
from graphir.converters.onnx.files.records import DEFAULT_DOMAINS
from graphir.converters.onnx.importing import attributes
from graphir.converters.onnx.importing.context import ImportNode
from graphir.graph import Value
from graphir.ops.base import Operator
from graphir.plugins import PluginError, SourceOperator, source_operator, stated_operators


def refuse_own() -> None:
    """Raise PluginError for a plugin that states an operator without a domain, or one of ONNX's own."""
    for plugin in stated_operators("onnx"):
        domain, colon, name = plugin.name.partition(":")
        if not colon or not name or domain in DEFAULT_DOMAINS:
            raise PluginError(
                f"{plugin.plugin}: {plugin.name} is no operator of a domain of one's own; state domain:Name, as in "
                "com.example:MyOperator"
            )


def plugin_of(proto: Any) -> SourceOperator | None:
    """Return what a plugin says of the operator of a NodeProto; None if none does."""
    return source_operator("onnx", f"{proto.domain}:{proto.op_type}")


class PluggedNode(ImportNode):
    """What a plugin's import function sees: `attrs` are as the plugin states them. What it emits gets fresh names, as
    for other formats; which values are the node's results it says by giving them."""

    __slots__ = ("attrs",)

    attrs: dict[str, Any]

    def emit_all(self, op: Operator, *inputs: Value | None, **_: Any) -> tuple[Value, ...]:
        """Add an operator whose results may be the node's."""
        return BaseImportNode.emit_all(self, op, *inputs)

    def result_names(self, count: int) -> list[str]:
        """Return unique names."""
        return BaseImportNode.result_names(self, count)


class PluginImport:
    """An import function of a plugin; its node is a PluggedNode."""

    def __init__(self, plugin: SourceOperator) -> None:
        self._plugin = plugin

    def __call__(self, node: ImportNode) -> None:
        """Let the values that the plugin gives be the node's results. Refuses what it does not state."""
        assert isinstance(node, PluggedNode)
        if len(node.output_names) > len(self._plugin.outputs):
            node.refuse(f"it has {len(node.output_names)} outputs, {self._plugin.plugin} states {self._plugin.outputs}")
        stated = {proto.name: attributes.plain(proto) for proto in node.attribute_protos()}
        node.attrs = self._plugin.fitted(stated)
        values = import_by_plugin(self._plugin, node, stated)
        for slot, value in enumerate([values] if isinstance(values, Value) else values):
            if slot < len(node.output_names) and node.output_names[slot]:
                node.bind(slot, value)
