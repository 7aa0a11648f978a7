"""Operators of libraries of one's own, and those that graphir does not read, as plugins import them."""

from __future__ import annotations

from graphir.converters.kernel.plugged import import_by_plugin
from graphir.converters.tensorflow.importing.context import Imported, ImportFunction, ImportNode
from graphir.plugins import source_operator
from graphir.types import DType


def import_of_plugin(op: str) -> ImportFunction | None:
    """Return how a plugin imports an operator; None if none does."""
    plugin = source_operator("tensorflow", op)
    if plugin is None:
        return None

    def import_plugged(node: ImportNode) -> Imported:
        stated = dict(node.record.attrs)
        node.attrs = plugin.fitted(stated)  # type: ignore[assignment]
        kinds = {name for name, value in stated.items() if isinstance(value, DType)}
        return import_by_plugin(plugin, node, [name for name in stated if name not in kinds and name[:1] != "_"])

    return import_plugged
