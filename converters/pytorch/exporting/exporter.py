"""From a graph to the text of a module: every rule of PyTorch on the way out begins here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from graphir.converters.kernel.refusals import Refusal, Refusals
from graphir.converters.onnx.evaluator import onnx_evaluator
from graphir.converters.pytorch.exporting.context import Export, ExportNode, Expr
from graphir.converters.pytorch.exporting.design import Design, design, drop_unused
from graphir.converters.pytorch.exporting.following import note_on_export
from graphir.converters.pytorch.exporting.module import is_annotated, module_text, recording_text
from graphir.converters.pytorch.exporting.ops import export_table
from graphir.converters.pytorch.files import name_row
from graphir.errors import GraphirError
from graphir.graph import Graph, Node
from graphir.passes.clone import on_copy
from graphir.passes.inline import GraphNames
from graphir.passes.pipelines import for_pytorch
from graphir.tensor import Tensor

NO_EXPORT = "PyTorch has no such operator and no composition is known"
DEEPEST = 6


@dataclass(frozen=True)
class TorchModule:
    """A module's classes, still without a file, and what it was written from.

    `tensors` are those of its state_dict by their keys, `outputs` the expressions that it returns; `graph` is the
    source's in terms that PyTorch has.
    """

    source: Graph
    graph: Graph
    tensors: Mapping[str, Tensor]
    export: Export
    outputs: Sequence[Expr]
    design: Design

    def text(self, title: str) -> str:
        """Return the text of the file; `title` says what it is."""
        return module_text(self.export, self.design, title)

    @property
    def names(self) -> list[dict[str, object]]:
        """Return of each tensor what the source calls it (the parameters that it was computed from, None where there
        are none), its key in the state_dict and its shape."""
        keys = self.design.keys
        sources = {keys[key]: _source_of(self.source, name) for key, name in self.export.sources.items() if key in keys}
        return [
            name_row(sources.get(key), key, tensor) for key, tensor in self.tensors.items()
        ]

    @cached_property
    def flat(self) -> Design:
        """Return the same module as a single class."""
        return design(self.export, self.outputs, self.design.classes[-1].name, blocks=False)

    @cached_property
    def recording(self) -> tuple[str, list[str]]:
        """The text of a module that computes the same and calls `record(name, tensor)` with every value, and the names
        of these."""
        return recording_text(self.export, self.flat)


def _source_of(graph: Graph, name: str) -> str:
    """Return a parameter's name, or those of the parameters that a value of the graph is computed from."""
    pending = [graph[name]] if name in graph else []
    parameters: dict[str, None] = {}
    seen = set(pending)
    while pending:
        value = pending.pop()
        if value.producer is None:
            parameters |= {value.name: None} if value.is_parameter else {}
            continue
        operands = dict.fromkeys(operand for operand in value.producer.inputs if operand is not None)
        pending += [operand for operand in reversed(operands) if operand not in seen]
        seen.update(operands)
    return ", ".join(parameters) or name


def export_copy(
    graph: Graph, name: str = "Net", *, training: bool = False, notes: Mapping[str, str] | None = None
) -> TorchModule:
    """Write a graph, which stays as it is but for its decisions; with `training` as a module to be trained. Its first
    lines hold `notes`, instead of what was decided about the nodes that they are about. Raises UnsupportedOpError with
    every node that cannot be written."""
    copy, export = on_copy(graph, partial(_written, training=training))
    export.notes.update(notes or {})
    outputs = [export.reference(value) for value in copy.outputs]
    drop_unused(export, outputs)
    stated = set(graph.decisions)
    added = (*copy.decisions, *export.decisions)
    graph.decisions.extend(decision for decision in added if decision not in stated)
    if note := note_on_export(export):
        export.notes[""] = note
    classes = design(export, outputs, name)
    tensors = {classes.keys[key]: tensor for key, tensor in export.tensors.items()}
    return TorchModule(graph, copy, tensors, export, outputs, classes)


def _written(graph: Graph, *, training: bool) -> Export:
    """Return what the nodes of a graph become, which gets its terms from PyTorch first."""
    for_pytorch(onnx_evaluator(), training=training).run(graph)
    writer = _NodeWriter(graph, training=training)
    writer.check_ends()
    writer.write_all(list(graph.nodes))
    writer.refusals.raise_gaps("node(s) cannot be written for PyTorch:")
    return writer.export


class _NodeWriter:
    """Takes nodes through their export functions; what has none is written by what ONNX defines it by."""

    def __init__(self, graph: Graph, *, training: bool = False) -> None:
        self.graph = graph
        self.export = Export(graph, self.write_all, training=training)
        self.refusals = Refusals()
        self._table = export_table()

    @cached_property
    def _names(self) -> GraphNames:
        """Return the names of all values: only what is written in other terms needs them."""
        return GraphNames(self.graph)

    def check_ends(self) -> None:
        """Refuse inputs and outputs that PyTorch has no values of."""
        for what, values in (("input", self.graph.inputs), ("output", self.graph.outputs)):
            for value in values:
                if not is_annotated(value.type):
                    reason = f"it is {value.type}; a module takes and gives tensors and lists of them"
                    self.refusals.refuse(what, reason, value.name)

    def write_all(self, nodes: Sequence[Node], depth: int = 0) -> None:
        """Write nodes in their order; what cannot be is gathered."""
        for node in nodes:
            if node not in self.export.absorbed:
                self._write(node, depth)

    def _write(self, node: Node, depth: int) -> None:
        function = self._table.get(type(node.op))
        before = self.export.state()
        try:
            if function is None:
                raise Refusal(NO_EXPORT)
            function(ExportNode(self.export, node))
        except Refusal as error:
            self.export.forget(before)
            added = self._in_other_terms(node, depth)
            if added is None:
                self.refusals.refuse(node.op.name, str(error), node.name)
            else:
                self.write_all(added, depth + 1)

    def _in_other_terms(self, node: Node, depth: int) -> list[Node] | None:
        """Return what ONNX defines a node by, in its place; None where it does not, or that does not help."""
        from graphir.converters.onnx.exporting.expansion import expand

        if depth >= DEEPEST or node.graph is None:
            return None
        try:
            return expand(node.graph, node, self._names)
        except GraphirError:
            return None


__all__ = ["TorchModule", "export_copy"]
