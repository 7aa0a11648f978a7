"""Live TensorFlow for a graph with operators of plugins, which TensorFlow does not have.

The nodes of plugins are computed in the order of their dependencies: TensorFlow computes the operands of a node, the
plugin's numpy function its results. These are fed to TensorFlow for the next node.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from graphir.converters.kernel.live import Live
from graphir.converters.kernel.plugged import referred
from graphir.converters.tensorflow.files.reader import TFSource
from graphir.converters.tensorflow.files.records import Endpoint, TFNode, needed_nodes
from graphir.converters.tensorflow.importing.ops import import_table
from graphir.converters.tensorflow.live.process import LiveTensorFlow, _Process
from graphir.graph import Graph
from graphir.plugins import SourceOperator, source_operator
from graphir.types import DType

Array = NDArray[Any]


class PluggedTensorFlow(LiveTensorFlow):
    """A graph that TensorFlow runs, apart from the operators of plugins. `graph` is the imported graph; its values
    state the dtypes of the tensors that are fed."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        graph: Graph,
        python: str,
        signature: str | None = None,
        live: Live | None = None,
        insists: bool = False,
    ) -> None:
        super().__init__(path, [value.name for value in graph.outputs], python, signature, live, insists)
        values = [value for node in graph.nodes for value in node.outputs]
        self._dtypes = {source: value.dtype for value in values for source in value.sources}
        self._own = self._order_plugins()
        self.computed = sorted({node.op for node, _ in self._own})

    def _order_plugins(self) -> list[tuple[TFNode, SourceOperator]]:
        """Return the nodes of plugins that the outputs need, each behind those that it depends on."""
        nodes = {node.name: node for node in self._find_needed()}
        plugins = {name: plugin for name, node in nodes.items() if (plugin := plugin_of(node.op)) is not None}
        before = {name: len(plugins.keys() & _find_dependencies(nodes, name)) for name in plugins}
        return [(nodes[name], plugins[name]) for name in sorted(plugins, key=before.__getitem__)]

    def _split_plugins(self) -> tuple[list[str], dict[str, str]]:
        """Return the operands of the plugins' operators, and the dtypes of their results."""
        wanted = [self._tensor_name(endpoint) for node, _ in self._own for endpoint in node.inputs]
        fed = {}
        for node, plugin in self._own:
            for slot in range(len(plugin.outputs)):
                dtype = self._dtypes.get(f"{node.name}:{slot}") or DType.FLOAT32
                fed[self._tensor_name(Endpoint(node.name, slot))] = str(dtype)
        return wanted, fed

    def _tensor_name(self, endpoint: Endpoint) -> str:
        return self._tensor(f"{endpoint.node}:{endpoint.slot}")

    def _evaluate(self, process: _Process, fed: Mapping[str, Array], wanted: Sequence[str]) -> Iterator[Array]:
        self.label = f"{self.label}, {', '.join(self.computed)} by the plugin's own numpy"
        tensors = dict(fed)
        for node, plugin in self._own:
            operands = [self._tensor_name(endpoint) for endpoint in node.inputs]
            missing = [name for name in dict.fromkeys(operands) if name not in tensors]
            tensors |= _fetch(process, tensors, missing)
            results = referred(plugin, plugin.fitted(node.attrs), [tensors[name] for name in operands])
            tensors |= {self._tensor_name(Endpoint(node.name, slot)): array for slot, array in enumerate(results)}
            for name in missing:
                del tensors[name]
        missing = [name for name in wanted if name not in tensors]
        fetched = _fetch(process, tensors, missing)
        yield from (tensors[name] if name in tensors else fetched[name] for name in wanted)


def _fetch(process: _Process, fed: Mapping[str, Array], names: Sequence[str]) -> dict[str, Array]:
    """Return tensors by name, computed from those that are fed."""
    arrays = (array for _, array in process.evaluate(fed, names)) if names else ()
    return dict(zip(names, arrays, strict=True))


def _find_dependencies(nodes: Mapping[str, TFNode], name: str) -> set[str]:
    """Return the nodes that a node depends on."""
    return {node.name for node in needed_nodes(nodes, (endpoint.node for endpoint in nodes[name].inputs))}


def plugin_of(op: str) -> SourceOperator | None:
    """Return the plugin that imports an operator, None if graphir imports it or no plugin does."""
    return None if op in import_table() else source_operator("tensorflow", op)


def live_obstacle(source: TFSource) -> str:
    """Return why live TensorFlow cannot compute a model with operators of plugins, "" if it can."""
    inside = [node.op for function in source.graph.functions.values() for node in function.nodes]
    around = [node.op for node in source.graph.nodes]
    plugins = {op: plugin for op in {*inside, *around} if (plugin := plugin_of(op)) is not None}
    silent = sorted(op for op, plugin in plugins.items() if plugin.reference is None)
    if silent:
        return f"the plugin has no reference for {', '.join(silent)}"
    within = sorted(plugins.keys() & set(inside))
    return f"{', '.join(within)} of a plugin stands inside functions, which run as a whole" if within else ""
