"""Importing the nodes of one symbol: of a model, or of one inside a node.

Import functions take for granted what `check_node` checks: that the operator's inputs are there, that counts are
positive, and that windows have a kernel, strides, dilations and pads for the same axes.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import TYPE_CHECKING

from graphir.converters.kernel.plugged import refuse_known, results_of
from graphir.converters.kernel.refusals import Refusal
from graphir.converters.kernel.scope import BaseScope
from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, NNVMNode
from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.ops import import_table
from graphir.converters.mxnet.importing.ops.refused import means_something_else, why_not
from graphir.converters.mxnet.importing.symbol_inputs import needed_nodes
from graphir.converters.mxnet.schema.operators import (
    CUSTOM,
    canonical_name,
    name_for_plugins,
    node_signature,
    result_count,
    typed_attributes,
)
from graphir.converters.mxnet.schema.registry import operator_schema
from graphir.converters.mxnet.schema.signature import OperatorSignature
from graphir.decisions import DecisionKind
from graphir.graph import Graph, Value
from graphir.plugins import PluginError, source_operator, stated_operators
from graphir.safety.counted import counted
from graphir.safety.foreign_text import listing
from graphir.types import ANYTHING

if TYPE_CHECKING:
    from graphir.converters.mxnet.importing.importer import Importer


_COUNTS = (
    "num_group", "num_groups", "num_filter", "num_hidden", "num_deformable_group", "num_layers", "state_size",
    "block_size", "heads", "output_dim", "num_outputs",
)  # fmt: skip
# The least number that each axis of a window may have.
_WINDOWS = {"stride": 1, "dilate": 1, "pad": 0, "adj": 0}
# Operators that do not read the numbers behind those of the kernel's axes. MXNet refuses them in the others.
_IGNORES_REST = frozenset(("Pooling",))


def check_node(node: ImportNode, names: OperatorSignature) -> None:
    """Refuse a node that MXNet would not run: another number of inputs, counts below 1, windows of unlike axes."""
    if names.takes is not None and len(node) != names.takes:
        shown = listing(names.inputs[: names.takes])
        node.refuse(f"it has {len(node)} inputs, {node.op} takes {names.takes} with its attributes: {shown}")
    for name in _COUNTS:
        count = node.attrs.get(name)
        if isinstance(count, int) and count < 1 and count != operator_schema(node.op).parameters[name].default:
            node.refuse(f"{name} is {count}, expected at least 1")
    kernel = node.attrs.get("kernel")
    if isinstance(kernel, tuple) and kernel and not node.attrs.get("global_pool"):
        _check_windows(node, kernel)


def _check_windows(node: ImportNode, kernel: tuple[int, ...]) -> None:
    if None in kernel or min(kernel) < 1:
        node.refuse(f"kernel is {list(kernel)}, expected sizes of at least 1")
    for name, least in _WINDOWS.items():
        numbers = node.attrs.get(name)
        if not isinstance(numbers, tuple) or not numbers:
            continue
        if node.op in _IGNORES_REST:
            numbers = numbers[: len(kernel)]
        if len(numbers) != len(kernel):
            node.refuse(f"{name} is {list(numbers)}, but kernel {list(kernel)} has {len(kernel)} axes")
        if None in numbers or min(numbers) < least:
            node.refuse(f"{name} is {list(numbers)}, expected numbers of at least {least}")
    target = node.attrs.get("target_shape")
    if isinstance(target, tuple) and target and len(target) != len(kernel):
        node.refuse(f"target_shape is {list(target)}, but kernel {list(kernel)} has {len(kernel)} axes")


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


class Scope(BaseScope[int]):
    """The nodes of a symbol in the making, by their index; variables whose values are known have results before."""

    def __init__(self, importer: Importer, source: NNVMGraph, graph: Graph) -> None:
        super().__init__(importer, graph)
        self.importer = importer
        self.source = source

    def run(self, heads: Sequence[tuple[int, int]], *, counts: bool = True) -> None:
        """Import the operators that the heads need, in order. Problems are gathered by the importer."""
        functions, needed = import_table(), needed_nodes(self.source, heads)
        nodes = list(enumerate(self.source.nodes))
        for index, record in counted(nodes, "node") if counts else nodes:
            if index in needed and record.op != VARIABLE:
                self._import(index, record, functions.get(record.op))

    def of_node(self, index: int, wanted: str = "") -> Sequence[Value]:
        """Return the results of a node; a variable is made when it is first asked for, as the operator's input
        `wanted`."""
        if index not in self.results:
            self.results[index] = [self.importer.variable(self.source.nodes[index], wanted)]
        return self.results[index]

    def value(self, entry: tuple[int, int], wanted: str = "") -> Value:
        """Return the value of an entry. Raises Refusal where its node gave no such output."""
        index, slot = entry
        results = self.of_node(index, wanted)
        if slot < len(results):
            return results[slot]
        if not self.importer.broken.isdisjoint(results):
            return results[0]
        producer = self.source.nodes[index]
        raise Refusal(f"it uses output {slot} of {producer.name} ({producer.op}), which is not available")

    def _import(self, index: int, record: NNVMNode, function: ImportFunction | None) -> None:
        if function is None:
            function = import_of_plugin(self.graph, record)
        if function is None or means_something_else(record.op, self.source.version):
            self.importer.refuse(record.op, why_not(record.op, self.source.version), record.name)
            self._break(index, record, 1 if canonical_name(record.op) is None else result_count(record))
            return
        output_names: list[str] = []
        values = self.attempt(
            lambda: self._call(function, record, output_names),
            (record.op, record.name, record.attrs),
            lambda: self._stands_on_broken(record.inputs),
        )
        if values is None:
            self._break(index, record, result_count(record))
            return
        for value, name in zip(values, output_names, strict=False):
            self.name_result(value, name, name)
        self.results[index] = values
        if self._stands_on_broken(record.inputs):
            self.importer.broken.update(values)

    def _call(self, function: ImportFunction, record: NNVMNode, output_names: list[str]) -> object:
        attrs, signature = typed_attributes(record), node_signature(record)
        output_names += [f"{record.name}_{name}" for name in signature.outputs]
        operands = [self._operand(record, slot, signature.inputs) for slot in range(len(record.inputs))]
        node = ImportNode(self.importer, record, attrs, operands, output_names)
        if attrs.unknown:
            unknown = f"{record.op} has no {', '.join(sorted(attrs.unknown))}: ignored"
            self.graph.decide(DecisionKind.UNKNOWN_ATTRIBUTE, record.name, unknown)
        check_node(node, signature)
        return function(node)

    def _operand(self, record: NNVMNode, slot: int, names: tuple[str, ...]) -> Callable[[], Value]:
        return lambda: self.value(record.inputs[slot], names[slot] if slot < len(names) else "")

    def _break(self, index: int, record: NNVMNode, count: int) -> None:
        self.results[index] = self.stand_ins(record.name, [ANYTHING] * count)

    def _stands_on_broken(self, entries: Iterable[tuple[int, int]]) -> bool:
        return any(not self.importer.broken.isdisjoint(self.results.get(index, ())) for index, _ in entries)
