"""Importing the nodes of one symbol: of a model, or of one inside a node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from graphir.converters.kernel.refusals import Refusal
from graphir.converters.kernel.scope import BaseScope
from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, NNVMNode
from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.operand_checks import check_node
from graphir.converters.mxnet.importing.ops import import_table
from graphir.converters.mxnet.importing.ops.refused import means_something_else, why_not
from graphir.converters.mxnet.importing.plugged import import_of_plugin
from graphir.converters.mxnet.importing.symbol_inputs import needed_nodes
from graphir.converters.mxnet.schema.operators import canonical_name, node_signature, result_count, typed_attributes
from graphir.decisions import DecisionKind
from graphir.graph import Graph, Value
from graphir.safety.counted import counted
from graphir.types import ANYTHING

if TYPE_CHECKING:
    from graphir.converters.mxnet.importing.importer import Importer


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
