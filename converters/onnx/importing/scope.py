"""Importing one ONNX graph: the main graph of a model, or the subgraph of a node inside another."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from graphir.converters.kernel.refusals import NODE_ERRORS, QuietRefusal, Refusal
from graphir.converters.onnx.files.notes import keep_graph_notes, keep_node_notes
from graphir.converters.onnx.files.records import DEFAULT_DOMAINS
from graphir.converters.onnx.files.tensors import dense
from graphir.converters.onnx.importing.attributes import schema_defaults, stated
from graphir.converters.onnx.importing.context import Direct, ImportFunction, ImportNode
from graphir.converters.onnx.importing.function_calls import expanded
from graphir.converters.onnx.importing.fused import OPSETS, unfused
from graphir.converters.onnx.importing.order import free_names, sorted_nodes
from graphir.converters.onnx.importing.plugged import PluggedNode, PluginImport, plugin_of
from graphir.converters.onnx.importing.types import believable
from graphir.converters.onnx.ops import import_table
from graphir.converters.onnx.ops.foreign import import_foreign, import_own
from graphir.decisions import DecisionKind
from graphir.errors import FormatError, GraphError, GraphirError, ImportFailure, ShapeError
from graphir.graph import Graph, Value
from graphir.ops.elementwise import Identity
from graphir.plugins import own_operator
from graphir.safety.counted import counted
from graphir.safety.foreign_text import listing
from graphir.tensor import Tensor
from graphir.types import ANYTHING, Sym, Type, unify

if TYPE_CHECKING:
    from graphir.converters.onnx.importing.importer import Importer

# What onnxruntime's offline optimiser writes into ONNX's own domain, at any opset, and the operator of ONNX that it is.
RUNTIME_OPERATORS = {"SimplifiedLayerNormalization": ("RMSNormalization", 23)}


class Scope:
    """One graph in the making. Names resolve here first, then in the graph around it."""

    def __init__(
        self, importer: Importer, proto: Any, graph: Graph, outer: Scope | None = None, inputs: Sequence[Type] = ()
    ) -> None:
        self.importer = importer
        self.proto = proto
        self.graph = graph
        self.outer = outer
        self._given = dict(zip((info.name for info in proto.input), inputs, strict=False))
        self._declared: dict[str, Type] = {}
        self._refuted: list[tuple[str, str]] = []

    def run(self) -> Graph:
        """Import inputs, parameters, nodes and outputs. Problems are gathered by the importer."""
        keep_graph_notes(self.graph.metadata, self.proto)
        self._declare()
        self._add_inputs_and_parameters()
        for node in counted(sorted_nodes(self.proto.node, self), "node"):
            self._import(node)
        self._tell_refuted()
        self._set_outputs()
        return self.graph

    def value(self, name: str) -> Value | None:
        """Return the value of this name here or in a graph around, None if there is none."""
        if name in self.graph:
            return self.graph[name]
        return None if self.outer is None else self.outer.value(name)

    def decide(self, kind: DecisionKind, node: str, text: str) -> None:
        """Record a decision in the main graph."""
        if self.outer is None:
            self.graph.decide(kind, node, text)
        else:
            self.outer.decide(kind, node, text)

    def tensor(self, proto: Any, what: str) -> Tensor:
        """Return the tensor of a TensorProto. Raises FormatError."""
        return self.importer.source.tensors.tensor(proto, what)

    def sparse_tensor(self, proto: Any, what: str) -> Tensor:
        """Return the dense tensor of a SparseTensorProto, made when it is needed. Raises FormatError."""
        return dense(self.importer.source.tensors, proto, what)

    def type_of(self, proto: Any) -> Type:
        """Return the type of a TypeProto."""
        return self.importer.types.type_of(proto)

    def subgraph(self, proto: Any, name: str, inputs: Sequence[Type], parent: Graph) -> Graph:
        """Return the graph of a GraphProto inside a node here; `inputs` is what its node knows of its inputs."""
        count = self.importer.failures
        with self.importer.deeper(f"the graphs inside node {name}"):
            graph = Scope(self.importer, proto, Graph(proto.name or name, parent=parent), self, inputs).run()
        if self.importer.failures > count:
            raise QuietRefusal(f"its subgraph {graph.name} cannot be imported")
        return graph

    def subgraph_if_valid(self, proto: Any, name: str) -> Graph | None:
        """Return the graph of a GraphProto inside a node here, or None, with nothing recorded, if it cannot be
        imported."""
        graph = Graph(proto.name or name, parent=self.graph)
        deeper = self.importer.deeper(f"the graphs inside node {name}")
        with self.importer.trial() as outcome, suppress(ImportFailure), deeper:
            count = self.importer.failures
            Scope(self.importer, proto, graph, self).run()
            outcome.kept = self.importer.failures == count
        if outcome.kept:
            return graph
        graph.dissolve()
        return None

    def captured(self, proto: Any) -> list[str]:
        """Return the values here or around that the graphs inside an AttributeProto use."""
        inner = [proto.g] if proto.HasField("g") else list(proto.graphs)
        return sorted({name for graph in inner for name in free_names(graph) if self.value(name) is not None})

    def bind(self, name: str, value: Value) -> None:
        """Let `value` be known as `name`: renamed if it is new, else as a copy."""
        is_own = value.producer is not None and value.graph is self.graph
        if is_own and value.name not in self.importer.source_names and not value.uses:
            self.graph.rename(value, name)
        else:
            self.graph.add_node(Identity(), (value,), name=name, output_names=(name,))

    def _declare(self) -> None:
        for info in (*self.proto.value_info, *self.proto.output):
            if not info.HasField("type"):
                continue
            try:
                stated = self.type_of(info.type)
                known_type = self._declared.get(info.name)
                self._declared[info.name] = stated if known_type is None else unify(known_type, stated)
            except (FormatError, ShapeError) as error:
                self.importer.problem(f"value {info.name}: {error}")

    def _add_inputs_and_parameters(self) -> None:
        stated = {info.name: info for info in self.proto.input}
        if len(stated) != len(self.proto.input):
            self.importer.problem(f"graph {self.graph.name} has two inputs of the same name")
        initializers = {tensor.name for tensor in self.proto.initializer}
        initializers |= {sparse.values.name for sparse in self.proto.sparse_initializer}
        for name, info in stated.items():
            if name not in initializers:
                self._add_or_stand_in("input", self._add_input, name, info)
        for proto in self.proto.initializer:
            self._add_or_stand_in("initializer", self._add_parameter, proto.name, proto, stated, False)
        for proto in self.proto.sparse_initializer:
            self._add_or_stand_in("sparse initializer", self._add_parameter, proto.values.name, proto, stated, True)
        defaults = [name for name in stated if name in initializers]
        if defaults:
            self.decide(
                DecisionKind.INPUT_WITH_A_DEFAULT,
                "-",
                f"{len(defaults)} input(s) have their value in the file and became parameters: {listing(defaults, 5)}",
            )

    def _add_or_stand_in(self, kind: str, function: Any, name: str, *arguments: Any) -> None:
        """Add a value, or else record why not and put a stand-in for it, so that its users are not called wrong too."""
        try:
            function(name, *arguments)
        except (FormatError, ShapeError, GraphError) as error:
            text, what = str(error), f"{kind} {name}"
            self.importer.problem(text if what in text else f"{what}: {text}")
            if name and name not in self.graph:
                self.importer.broken.add(self.graph.add_input(name))

    def _add_input(self, name: str, info: Any) -> None:
        type_ = self.type_of(info.type) if info.HasField("type") else ANYTHING
        known = unify(type_, self._given.get(name, ANYTHING))
        value = self.graph.add_input(name, type_)
        self.graph.retype(value, known)
        value.sources = (name,)

    def _add_parameter(self, name: str, proto: Any, stated: dict[str, Any], sparse: bool) -> None:
        what = f"initializer {name}"
        tensor = self.sparse_tensor(proto, what) if sparse else self.tensor(proto, what)
        if sparse:
            self.decide(DecisionKind.SPARSE_WEIGHTS, name, f"made dense: {tensor.type}")
        info = stated.get(name)
        type_ = self.type_of(info.type) if info is not None and info.HasField("type") else ANYTHING
        value = self.graph.add_parameter(name, tensor, type_)
        value.sources = (name,)

    def _import(self, proto: Any, opset: int | None = None) -> None:
        """Import a node, by another opset than the model's where one is stated."""
        if not self._repeat(proto):
            self._import_new(proto, opset)

    def _repeat(self, proto: Any) -> bool:
        """Import a node that differs in its names only from one before; False, with nothing changed, if it does not or
        if anything is wrong with it."""
        op = None if self.importer.broken else self.importer.repeated.find(proto)
        if op is None:
            return False
        graph, outputs = self.graph, list(proto.output)
        if len(outputs) != op.output_count or "" in outputs:
            return False
        name = proto.name or outputs[0]
        operands = tuple(graph.find(proto.input))
        if None in operands:
            return False
        try:
            node = graph.insert(op, operands, name, outputs)
        except NODE_ERRORS:
            return False
        for value in node.outputs:
            value.sources = (value.name,)
        if not self._declared.keys().isdisjoint(outputs):
            self._check_declared(proto, name)
        keep_node_notes(graph.metadata, proto)
        return True

    def _import_new(self, proto: Any, opset: int | None) -> None:
        name = proto.name or next((output for output in proto.output if output), proto.op_type)
        operands, missing = self._operands(proto)
        if missing:
            self.importer.problem(f"node {name} ({proto.op_type}) uses {', '.join(missing)}, which nothing produces")
            self._break(proto)
            return
        called = self.importer.functions.find(proto)
        if called is not None:
            self._call(called, proto, name)
            return
        parts = unfused(proto, self.importer.fresh_name)
        if parts:
            read_as = " and ".join(part.op_type for part in parts)
            self.decide(DecisionKind.FUNCTION_INLINED, name, f"onnxruntime's {proto.op_type} is {read_as}")
            for part in parts:
                self._import(part, OPSETS.get(part.op_type))
            return
        try:
            opset = opset or self.importer.opset(proto.domain, name)
            if proto.domain in DEFAULT_DOMAINS and proto.op_type in RUNTIME_OPERATORS:
                written, proto = proto, type(proto)()
                proto.CopyFrom(written)
                proto.op_type, opset = RUNTIME_OPERATORS[written.op_type]
            function = self._function(proto, opset)
        except (Refusal, ImportFailure) as error:
            self._record(proto, name, error)
            self._break(proto)
            return
        # what the function refuses is recorded, unless an operand was refused already
        stands_on_broken = not self.importer.broken.isdisjoint(operands)
        count = self.importer.failures
        try:
            self._add_node(proto, operands, opset, function)
        except NODE_ERRORS as error:
            if not stands_on_broken:
                self._record(proto, name, error)
        if self.importer.failures > count or stands_on_broken:
            self._break(proto)
        else:
            self._check_declared(proto, name)
            keep_node_notes(self.graph.metadata, proto)

    def _add_node(self, proto: Any, operands: Sequence[Value | None], opset: int, function: ImportFunction) -> None:
        kind = PluggedNode if isinstance(function, PluginImport) else ImportNode
        node = kind(self, proto, operands, opset)
        function(node)
        if proto.domain in DEFAULT_DOMAINS:
            node.check_attributes()
        lost = [output for output in proto.output if output and output not in self.graph]
        if lost:
            node.refuse(f"its import gave no {', '.join(lost)}")
        producer = self.graph[proto.output[0]].producer if isinstance(function, Direct) and proto.output[0] else None
        if producer is not None:
            self.importer.repeated.keep(proto, producer.op)

    def _record(self, proto: Any, name: str, error: Exception) -> None:
        """Record why a node cannot be imported, unless that is done already."""
        operator = f"{proto.domain}::{proto.op_type}" if proto.domain else proto.op_type
        self.importer.record(operator, error, name, stated(proto))

    def _call(self, function: Any, proto: Any, name: str) -> None:
        """Import the body of a function of the model in place of a call."""
        try:
            with self.importer.call(function):
                body = expanded(function, proto, {}, lambda inner: self.importer.fresh_name(f"{name}_{inner}"))
                for node in sorted_nodes(body.nodes, self):
                    if node.name:
                        node.name = f"{name}_{node.name}"
                    self._import(node)
            for result, original in body.copies:
                value = self.value(original) if original else None
                if value is not None:
                    self.bind(result, value)
            lost = [output for output in proto.output if output and output not in self.graph]
            if lost:
                raise ImportFailure(f"its body gives no {', '.join(lost)}")
        except ImportFailure as error:
            self.importer.problem(f"node {name} ({proto.domain}::{proto.op_type}, a function of the model): {error}")
            self._break(proto)
            return
        self._check_declared(proto, name)

    def _operands(self, proto: Any) -> tuple[list[Value | None], list[str]]:
        operands: list[Value | None] = []
        missing: list[str] = []
        for name in proto.input:
            value = self.value(name) if name else None
            if name and value is None:
                missing.append(name)
            operands.append(value)
        return operands, missing

    def _function(self, proto: Any, opset: int) -> ImportFunction:
        if not any(proto.output) and proto.domain in DEFAULT_DOMAINS:
            raise Refusal("it has no outputs")
        if proto.domain not in DEFAULT_DOMAINS:
            plugin = plugin_of(proto)
            if plugin is not None:
                return PluginImport(plugin)
            self.importer.foreign_version(proto.domain, opset)
            return import_foreign if own_operator(proto.op_type, proto.domain) is None else import_own
        versions = import_table().get(proto.op_type)
        if schema_defaults(proto.op_type, opset) is None:
            raise Refusal(f"ONNX has no such operator at opset {opset}")
        if versions is None:
            raise Refusal("graphir cannot import this operator of ONNX yet")
        fitting = [since for since in versions if since <= opset]
        if not fitting:
            shown = ", ".join(str(since) for since in sorted(versions))
            raise Refusal(f"its meaning at opset {opset} is unknown; known are the versions since {shown}")
        return versions[max(fitting)]

    def _check_declared(self, proto: Any, name: str) -> None:
        for output in proto.output:
            if not output:
                continue
            value = self.graph[output]
            if output not in value.sources:
                value.sources = (*value.sources, output)
            stated = self._declared.get(output)
            if stated is None:
                continue
            try:
                kept = believable(value.type, stated, self._input_symbols)
                if kept != stated:
                    self._refuted.append((output, f"{stated}, but its operators give {value.type}"))
                value.graph.retype(value, unify(value.type, kept))
                if value.producer is not None:
                    value.declared = unify(value.declared, kept)
            except ShapeError as error:
                self.importer.problem(
                    f"the model declares {output} as {stated}, but node {name} ({proto.op_type}) gives {value.type}: "
                    f"{error}"
                )

    @cached_property
    def _input_symbols(self) -> frozenset[str]:
        """The names of sizes of the main graph's inputs."""
        if self.outer is not None:
            return self.outer._input_symbols
        shapes = [value.shape or () for value in self.graph.inputs]
        return frozenset().union(*(dim.symbols() for shape in shapes for dim in shape if isinstance(dim, Sym)))

    def _tell_refuted(self) -> None:
        if not self._refuted:
            return
        name, text = self._refuted[0]
        others = len(self._refuted) - 1
        more = f"; so it is with {others} more" if others else ""
        self.decide(DecisionKind.DECLARED_SHAPE, name, f"the model declares {text}, which stands{more}")

    def _break(self, proto: Any) -> None:
        """Stand-ins for the results of a node that could not be imported, so that the rest can be looked at too."""
        for name in proto.output:
            if name and name not in self.graph:
                self.graph.add_input(name, self._declared.get(name, ANYTHING))
            if name:
                self.importer.broken.add(self.graph[name])

    def _set_outputs(self) -> None:
        outputs: list[Value] = []
        for info in self.proto.output:
            value = self.value(info.name)
            if value is None:
                self.importer.problem(f"output {info.name} of graph {self.graph.name} is produced by nothing")
                continue
            outputs.append(self._as_output(info.name, value))
        try:
            self.graph.set_outputs(outputs)
        except GraphirError as error:
            self.importer.problem(f"outputs of graph {self.graph.name}: {error}")

    def _as_output(self, name: str, value: Value) -> Value:
        """Return the value itself, or for a parameter and a value from around a copy that has its name."""
        if value.graph is not self.graph:
            copy = self.importer.fresh_name(f"{name}_output")
            return self.graph.add_node(Identity(), (value,), name=copy, output_names=(copy,)).output
        if value not in self.graph.parameters:
            return value
        self.graph.rename(value, self.importer.fresh_name(f"{name}_value"))
        node = self.graph.add_node(Identity(), (value,), name=name, output_names=(name,))
        return node.output
