"""What plugins say of a source format's operators: that they may say it, and that what they give is what they state."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from graphir.arrays import Array
from graphir.converters.kernel.importing import BaseImportNode, Imported
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.plugins import PluginError, SourceOperator, stated_operators


def refuse_known(format: str, known: Container[str]) -> None:
    """Raise PluginError for a plugin that states an operator which graphir reads itself: it would never be asked."""
    for plugin in stated_operators(format):
        if plugin.name in known:
            raise PluginError(f"{plugin.plugin}: graphir reads {plugin.name} itself; no plugin changes what it means")


def results_of(plugin: SourceOperator, result: object) -> Sequence[Value]:
    """Return what an import function gave, as values. Raises PluginError for anything else, and for another number of
    them."""
    values = [result] if isinstance(result, Value) else result
    if not isinstance(values, list | tuple) or not all(isinstance(value, Value) for value in values):
        raise PluginError(f"{plugin.plugin}: {plugin.name} gave {result!r}, expected values of the graph")
    if len(values) != len(plugin.outputs):
        raise PluginError(f"{plugin.plugin}: {plugin.name} gave {len(values)} values for {len(plugin.outputs)} outputs")
    return values


def import_by_plugin(plugin: SourceOperator, node: BaseImportNode, stated: Iterable[str]) -> Imported:
    """Return the results of a node that a plugin imports. `stated` are the attributes that the file has.

    The node's `attrs` have been converted to the plugin's types. Two decisions are recorded: that a plugin imports the
    node, and which of the file's attributes it ignores. Raises Refusal for more operands than the plugin states, and
    PluginError for results that do not fit what it states.
    """
    if len(node) > len(plugin.inputs):
        known = ", ".join(plugin.inputs)
        node.refuse(f"it has {len(node)} inputs, {plugin.plugin} states {len(plugin.inputs)}: {known}")
    node.decide(DecisionKind.PLUGIN, f"{plugin.name} is imported by {plugin.plugin}")
    ignored = sorted(name for name in stated if name not in plugin.attributes)
    if ignored:
        node.decide(DecisionKind.UNKNOWN_ATTRIBUTE, f"{plugin.name} has no {', '.join(ignored)}: ignored")
    return results_of(plugin, plugin.imports(node))


def referred(
    plugin: SourceOperator, attributes: Mapping[str, Any], operands: Sequence[Array | None]
) -> tuple[Array, ...]:
    """Return what a plugin's reference computes of operands. Raises PluginError for another number of results."""
    assert plugin.reference is not None
    read = [array for name, array in zip(plugin.inputs, operands, strict=False) if name not in plugin.unread]
    with np.errstate(all="ignore"):
        results = plugin.reference(attributes, *read)
    return as_results(results, len(plugin.outputs), f"{plugin.plugin}: {plugin.name}")


def as_results(result: object, count: int, what: str) -> tuple[Array, ...]:
    """Return what a function of a plugin computed, as arrays. Raises PluginError for another number of them."""
    results = result if isinstance(result, tuple | list) else (result,)
    if len(results) != count:
        raise PluginError(f"{what} computed {len(results)} results, expected {count}")
    return tuple(np.asarray(array) for array in results)
