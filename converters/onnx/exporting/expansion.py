"""Operators that ONNX defines by others, replaced by what they are made of.

ONNX states many operators as functions. The body comes from the onnx package, with the node's attributes and operand
types filled in, and is read by this package's own importer. Operators without a body that the exporter knows to lower
for an old opset become that composition.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from graphir.converters.kernel.terms import NoExpansion
from graphir.converters.onnx.exporting.exporter import OLDEST_OPSET, export_graph, newest_opset
from graphir.converters.onnx.files.reader import OnnxSource
from graphir.converters.onnx.files.records import OPSET
from graphir.converters.onnx.files.tensors import TensorSource
from graphir.converters.onnx.files.writer import model_bytes
from graphir.converters.onnx.importing.functions import Definition, definition_of
from graphir.converters.onnx.importing.importer import Importer
from graphir.errors import GraphirError
from graphir.graph import Graph, Node, Value
from graphir.passes.inline import GraphNames, InlinedGraph, take_place
from graphir.tensor import Tensor

SMALL = 1 << 16
# By ONNX's definition Bernoulli gives 1 where the number drawn is greater than the probability, not less: as often as
# it shall give 0.
MISTAKEN = {("", "Bernoulli")}


class _Composition(NamedTuple):
    """What a node is made of: a graph, and what stands for the operand in each slot in it."""

    graph: Graph
    operands: tuple[Value | None, ...]


class OnnxDefinitions:
    """What operators are made of, once for all nodes that are alike but for their operands' elements.

    `prepare` changes each definition, such as to simplify it, before it is used for the first time.
    """

    def __init__(self, prepare: Callable[[Graph], None] | None = None) -> None:
        self._prepare = prepare
        self._known: dict[Hashable, _Composition | NoExpansion] = {}
        self._tensors: list[Tensor] = []

    def expand(self, graph: Graph, node: Node, names: GraphNames) -> list[Node]:
        """Put what the node is made of in its place and return the new nodes.

        The composition is the one by which ONNX defines the operator for operands of these types, or the one by which
        it is written for an opset that lacks it. Raises NoExpansion, with nothing changed, where there is none.
        """
        if node.subgraphs:
            raise NoExpansion("its course is in the graphs inside it", undefined=True)
        composition = self._of(node)
        body = InlinedGraph(composition.graph, graph, names, node.name)
        pairs = zip(composition.operands, node.inputs, strict=True)
        bindings = {inner: outer for inner, outer in pairs if inner is not None and outer is not None}
        try:
            given = iter(body.copy(bindings, node))
            take_place(graph, node, [next(given) if old.is_needed else old for old in node.outputs], body.new_nodes)
        except GraphirError as error:
            body.take_back()
            raise NoExpansion(f"its definition does not fit its operands: {_one_line(error)}") from error
        return [node for node in body.new_nodes if node.graph is graph]

    def _of(self, node: Node) -> _Composition:
        """Return what a node is made of. Raises NoExpansion."""
        key = self._key(node)
        definition = self._known.get(key)
        if definition is None:
            definition = self._known[key] = self._make(node)
        if isinstance(definition, NoExpansion):
            raise NoExpansion(str(definition), undefined=definition.undefined)
        return definition

    def _make(self, node: Node) -> _Composition | NoExpansion:
        try:
            composition = _compose(node)
            if self._prepare is not None:
                self._prepare(composition.graph)
                _outermost(node).decisions.extend(composition.graph.decisions)
        except GraphirError as error:
            return error if isinstance(error, NoExpansion) else NoExpansion(_one_line(error))
        return composition

    def _key(self, node: Node) -> Hashable:
        """Return all that a definition depends on: the operator, and what is known of operands and results."""
        operands: list[Hashable] = []
        slots: dict[Value, int] = {}
        for value in node.inputs:
            if value is None:
                operands.append(None)
                continue
            tensor = _small(value)
            if tensor is not None:
                self._tensors.append(tensor)  # as long as it lives, no other one has its identity
            operands.append((slots.setdefault(value, len(operands)), value.type, value.known, id(tensor)))
        results = [(value.type, value.is_needed) for value in node.outputs]
        return type(node.op), node.op, tuple(operands), tuple(results), tuple(_stated_opsets(node).items())


def _outermost(node: Node) -> Graph:
    """Return the graph around all graphs in which a node stands."""
    graph = node.graph
    assert graph is not None
    while graph.parent is not None:
        graph = graph.parent
    return graph


def expand(graph: Graph, node: Node, names: GraphNames) -> list[Node]:
    """Write a single node's definition in its place; see `Definitions.expand`."""
    return OnnxDefinitions().expand(graph, node, names)


def _compose(node: Node) -> _Composition:
    """Return what the node is made of. Raises NoExpansion, and GraphirError for a composition that cannot be
    imported."""
    import onnx.defs

    record = _record(node, min(newest_opset(), int(onnx.defs.onnx_opset_version())))
    if record is not None:
        definition = _definition(record)
        if definition is not None:
            return _import_definition(node, record, definition)
    old = _record(node, OLDEST_OPSET)
    if old is None or (record is not None and _operators(record) == _operators(old)):
        raise NoExpansion("ONNX does not define it by other operators", undefined=True)
    return _import_definition(node, old, Definition(list(old.graph.node), _opsets(old)))


def _definition(record: Any) -> Definition | None:
    """Return what the nodes that say a node at the newest opset are made of, None if they are the node itself."""
    if len(record.graph.node) > 1:
        return Definition(list(record.graph.node), _opsets(record))
    if not MISTAKEN.isdisjoint(_operators(record)):
        return None
    definition = definition_of(record)
    return None if definition is None else Definition(definition.nodes, {**_opsets(record), **definition.opsets})


def _operators(record: Any) -> list[tuple[str, str]]:
    return [(proto.domain, proto.op_type) for proto in record.graph.node]


def _opsets(record: Any) -> dict[str, int]:
    return {entry.domain: entry.version for entry in record.opset_import}


def _record(node: Node, opset: int) -> Any | None:
    """Return the node alone as a ModelProto; None if the opset cannot say it."""
    import onnx

    alone = Graph("alone")
    alone.metadata = _stated_opsets(node)
    stand_ins = _stand_ins(node, alone)
    operands = [None if value is None else stand_ins[value] for value in node.inputs]
    try:
        copy = alone.add_node(node.op, operands, name="node", output_names=_result_names(node))
        for old, new in zip(node.outputs, copy.outputs, strict=True):
            alone.refine(new, old.type)
        alone.set_outputs([new for old, new in zip(node.outputs, copy.outputs, strict=True) if old.is_needed])
        model = onnx.ModelProto()
        model.ParseFromString(model_bytes(export_graph(alone, opset=opset, runnable=False)))
    except GraphirError:
        return None
    return model


def _stated_opsets(node: Node) -> dict[str, str]:
    """Return the opsets that the model around a node states."""
    return {key: text for key, text in _outermost(node).metadata.items() if key.startswith(OPSET)}


def _small(value: Value) -> Tensor | None:
    """Return a constant whose elements a definition may depend on."""
    return value.tensor if value.tensor is not None and value.tensor.size <= SMALL else None


def _stand_ins(node: Node, graph: Graph) -> dict[Value, Value]:
    """Return a value in another graph for each operand: a parameter for a small constant, else an input of the same
    type."""
    stand_ins: dict[Value, Value] = {}
    for slot, value in enumerate(node.inputs):
        if value is None or value in stand_ins:
            continue
        name = f"operand:{slot}"
        tensor = _small(value)
        if tensor is not None:
            stand_ins[value] = graph.add_parameter(name, tensor)
        else:
            stand_ins[value] = graph.add_input(name, value.type)
            stand_ins[value].known = value.known
    return stand_ins


def _result_names(node: Node) -> list[str]:
    return [f"result:{slot}" for slot in range(len(node.outputs))]


def _import_definition(node: Node, record: Any, definition: Definition) -> _Composition:
    """Return the nodes of a definition as a graph. Raises GraphirError."""
    import onnx

    model = onnx.ModelProto(ir_version=record.ir_version, graph=onnx.GraphProto(name="body"))
    model.opset_import.extend(
        onnx.helper.make_opsetid(domain, version) for domain, version in definition.opsets.items()
    )
    model.graph.node.extend(definition.nodes)
    model.graph.output.extend(onnx.ValueInfoProto(name=info.name) for info in record.graph.output)
    model.graph.initializer.extend(
        tensor for tensor in record.graph.initializer if not tensor.name.startswith("operand:")
    )
    importer = Importer(OnnxSource(model, TensorSource()))
    operands = _stand_ins(node, importer.graph)
    graph = importer.run()
    return _Composition(graph, tuple([None if value is None else operands[value] for value in node.inputs]))


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
