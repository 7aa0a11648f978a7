"""From MXNet's records to a graph: every foreign meaning ends here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from graphir.converters.kernel.importing import BaseImporter
from graphir.converters.kernel.refusals import NODE_ERRORS, NeedsShape, Refusal
from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, NNVMNode
from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.heads import LOSS_HEADS, Head, classify_heads, dropped_heads
from graphir.converters.mxnet.importing.input_dtypes import likely_dtypes, stated_dtype
from graphir.converters.mxnet.importing.input_shapes import (
    check_inputs,
    declared_shape,
    describe_open,
    infer_shapes,
    settle_sizes,
)
from graphir.converters.mxnet.importing.likely_shapes import likely_shape
from graphir.converters.mxnet.importing.operand_checks import check_node
from graphir.converters.mxnet.importing.ops import import_table
from graphir.converters.mxnet.importing.ops.refused import means_something_else, why_not
from graphir.converters.mxnet.importing.plugged import import_of_plugin, refuse_taken
from graphir.converters.mxnet.importing.storage import sparse_nodes
from graphir.converters.mxnet.importing.symbol_inputs import entry_names, needed_nodes
from graphir.converters.mxnet.schema.operators import canonical_name, node_signature, result_count, typed_attributes
from graphir.decisions import DecisionKind
from graphir.errors import FormatError, GraphirError, ImportFailure, ShapeError
from graphir.graph import Graph, Value
from graphir.inference.engine import is_complete, parse_dims
from graphir.ops.elementwise import Identity
from graphir.safety.counted import counted
from graphir.safety.foreign_text import listing
from graphir.tensor import Tensor
from graphir.types import ANYTHING, UNKNOWN, DType, Shape, TensorType, format_shape, unify_shape

PARAMETER_INPUTS = frozenset(
    {"weight", "bias", "gamma", "beta", "moving_mean", "moving_var", "running_mean", "running_var", "parameters"}
)


@dataclass(frozen=True)
class Choices:
    """What an import leaves to its caller.

    Without `settle` sizes that nothing fixes stay unknown. With `gaps` nodes whose import needs such a size are left
    out, and inputs of unknown type stand for what they give, which is of use for inference only. Inputs for which
    nothing states a dtype have that of all float parameters, or the `assumed` one; MXNet binds them as float32. Without
    `guess` the rank of an input is taken from a weight only where that leaves no doubt. With `keep_given` inputs with a
    given shape stay inputs, labels too, even if nothing depends on them.
    """

    keep_loss: bool = False
    keep_given: bool = False
    settle: bool = True
    guess: bool = True
    gaps: bool = False
    assumed: DType = DType.FLOAT32


class Importer(BaseImporter):
    """One import. `run` gives the graph or raises with everything that is wrong, not the first thing only.

    Inputs stand in the order of MXNet's `list_inputs`. `guessed` says that the rank of an input was taken from a weight
    where that leaves doubt.
    """

    def __init__(
        self,
        symbol_graph: NNVMGraph,
        params: Mapping[str, Tensor] | None,
        shapes: Mapping[str, object] | None,
        choices: Choices = Choices(),
        *,
        dtypes: Mapping[str, object] | None = None,
        name: str = "graph",
    ) -> None:
        super().__init__(Graph(name), (record.name for record in symbol_graph.nodes if record.op == VARIABLE))
        self.source = symbol_graph
        self.params = params
        self.shapes = {key: parse_dims(shape) for key, shape in (shapes or {}).items()}
        self.dtypes = {key: DType.of(dtype) for key, dtype in (dtypes or {}).items()}
        self.choices = choices
        self.guessed = False
        self._results: list[Sequence[Value] | None] = [None] * len(symbol_graph.nodes)
        self._missing: list[str] = []
        self.reals: dict[Value, Value] = {}  # what quantized values of int32 stand for
        self.readers = Counter(symbol_graph.heads)
        for record in symbol_graph.nodes:
            self.readers.update(record.inputs)
        self._float = self._parameter_dtype()
        self._likely = self._likely_dtypes()

    def run(self) -> Graph:
        """The graph. Raises UnsupportedOpError with every gap, or ImportFailure with every other problem."""
        functions = import_table()
        refuse_taken(functions)
        check_inputs(self.source, self.shapes, self.dtypes, self.params or {}, self.graph)
        heads = self._heads()
        needed = needed_nodes(self.source, heads)
        for upgrade in self.source.upgrades:
            self.graph.decide(DecisionKind.UPGRADE, upgrade.node, f"{upgrade.rule}: {upgrade.text}")
        for index, record in counted(list(enumerate(self.source.nodes)), "node"):
            if index in needed and record.op != VARIABLE:
                self._import(index, record, functions.get(record.op))
        self._raise_problems()
        self._set_outputs(heads)
        self._complete_inputs()
        if self.choices.settle:
            settle_sizes(self.graph, set(self.shapes))
        else:
            infer_shapes(self.graph)
        self._report_unused()
        return self.graph

    @cached_property
    def perhaps_sparse(self) -> frozenset[int]:
        """The nodes that may give a sparse array."""
        return sparse_nodes(self.source)

    def import_inside(self, symbol_graph: NNVMGraph, graph: Graph, values: Sequence[Value]) -> list[Value]:
        """The heads of a symbol inside another, imported into `graph`; its variables are `values`, in order.

        Raises Refusal naming every node that cannot be imported, and ShapeError for other problems.
        """
        if not all(is_complete(value.type) for value in values):
            self.infer_now()
        source = replace(symbol_graph, version=self.source.version, np_shape=self.source.np_shape)
        inner = Importer(source, None, None, Choices(self.choices.keep_loss, settle=False))
        inner.graph = graph
        variables = source.variables()
        if len(variables) != len(values):
            raise Refusal(f"a symbol inside has {len(variables)} variables, the node gives it {len(values)}")
        for index, value in zip(variables, values, strict=True):
            inner._results[index] = [value]
        functions, needed = import_table(), needed_nodes(source, source.heads)
        for index, record in enumerate(source.nodes):
            if index in needed and record.op != VARIABLE:
                inner._import(index, record, functions.get(record.op))
        gaps, problems = inner.refusals.gaps, inner.refusals.problems
        if gaps:
            shown = (f"inside it {gap.operator} ({', '.join(gap.nodes)}): {gap.reason}" for gap in gaps)
            raise Refusal("; ".join(shown))
        if problems:
            raise ShapeError("; ".join(problems))
        heads = [inner._results[index] for index, _ in source.heads]
        return [found[slot] for found, (_, slot) in zip(heads, source.heads, strict=True) if found is not None]

    def fresh_name(self, wanted: str) -> str:
        """`wanted`, or with a number: a name that nothing in this graph and no variable has.

        Each symbol inside has its own names.
        """
        name = self.names.fresh(wanted)
        while name in self.graph:
            name = self.names.fresh(wanted)
        return name

    def _parameter_dtype(self) -> DType:
        floats = {tensor.dtype for tensor in (self.params or {}).values() if tensor.dtype.is_float}
        return floats.pop() if len(floats) == 1 else self.choices.assumed

    def _heads(self) -> list[tuple[int, int]]:
        nodes, heads = self.source.nodes, list(self.source.heads)
        if self.choices.keep_loss:
            return heads
        dropped = dropped_heads(self.source, self.params or ())
        for place, kind in enumerate(classify_heads(self.source, self.params or ())):
            record = nodes[heads[place][0]]
            if place in dropped:
                text = f"output of {record.op}, {kind.value}; --keep-loss keeps it"
                self.graph.decide(DecisionKind.LOSS_HEAD_REMOVED, record.name, text)
            elif kind is not Head.RESULT:
                alone = ", but the symbol has no other output: it stays" if kind.goes else ""
                self.graph.decide(
                    DecisionKind.LOSS_HEAD_KEPT, record.name, f"output of {record.op}, {kind.value}{alone}"
                )
        return [head for place, head in enumerate(heads) if place not in dropped]

    def _import(self, index: int, record: NNVMNode, function: ImportFunction | None) -> None:
        if function is None:
            function = import_of_plugin(self.graph, record)
        if function is None or means_something_else(record.op, self.source.version):
            name = canonical_name(record.op)
            self.refuse(record.op, why_not(record.op, self.source.version), record.name)
            self._break(index, record, 1 if name is None else result_count(record))
            return
        try:
            attrs, names = typed_attributes(record), node_signature(record)
            output_names = [f"{record.name}_{name}" for name in names.outputs]
            operands = [self._operand(record, slot, names.inputs) for slot in range(len(record.inputs))]
            node = ImportNode(self, record, attrs, operands, output_names)
            if attrs.unknown:
                unknown = f"{record.op} has no {', '.join(sorted(attrs.unknown))}: ignored"
                self.graph.decide(DecisionKind.UNKNOWN_ATTRIBUTE, record.name, unknown)
            check_node(node, names)
            result = function(node)
        except NODE_ERRORS as error:
            passed_over = self.choices.gaps and isinstance(error, NeedsShape)
            if isinstance(error, Refusal | FormatError) or not (passed_over or self._stands_on_broken(record)):
                self.record(record.op, error, record.name, record.attrs)
            self._break(index, record, result_count(record))
        else:
            self._take(index, record, result, output_names)

    def _take(self, index: int, record: NNVMNode, result: object, output_names: list[str]) -> None:
        values = [result] if isinstance(result, Value) else list(result)  # type: ignore[call-overload]
        for value, name in zip(values, output_names, strict=False):
            is_new = value.producer is not None and not value.sources
            if value.name != name and is_new and name not in self.graph and self.names.claim(name):
                self.graph.rename(value, name)
            if name not in value.sources:
                value.sources = (*value.sources, name)
        self._results[index] = values
        if any(self._is_broken(source, slot) for source, slot in record.inputs):
            self.broken.update(values)

    def _operand(self, record: NNVMNode, slot: int, names: tuple[str, ...]) -> Callable[[], Value]:
        source, output = record.inputs[slot]

        def operand() -> Value:
            results = self._results[source]
            if results is None:
                wanted = names[slot] if slot < len(names) else ""
                results = self._results[source] = [self._variable(self.source.nodes[source], wanted)]
            if output >= len(results) and self._is_broken(source, 0):
                return results[0]
            if output >= len(results):
                producer = self.source.nodes[source]
                raise Refusal(f"it uses output {output} of {producer.name} ({producer.op}), which is not available")
            return results[output]

        return operand

    def _variable(self, record: NNVMNode, wanted: str) -> Value:
        """A variable that is used for the first time, as the operator's input `wanted`: parameter or graph input."""
        graph, name = self.graph, record.name
        unique = graph.fresh_name(name)
        tensor = None if self.params is None else self.params.get(name)
        if tensor is not None and name not in self.shapes:
            value = graph.add_parameter(unique, tensor)
        elif (wanted in PARAMETER_INPUTS or _is_trained(record)) and name not in self.shapes:
            if self.params is not None:
                self._missing.append(name)
            dtype = self.dtypes.get(name) or stated_dtype(record)
            value = graph.add_parameter(unique, None, TensorType(dtype, declared_shape(self.source, record)))
        else:
            shape = declared_shape(self.source, record)
            if name in self.shapes:
                given = self.shapes[name]
                shape = unify_shape(given, shape) if given is None or UNKNOWN in given else given
            guessed = likely_shape(self.source, record, self.params) if shape is None and self.choices.settle else None
            if guessed is not None and (guessed.certain or self.choices.guess):
                value = self._add_input(record, unique, guessed.shape)
                self.guessed = self.guessed or not guessed.certain
                describe_open(value, guessed.why)
            else:
                value = self._add_input(record, unique, shape)
        value.sources = (name,)
        return value

    def _add_input(self, record: NNVMNode, name: str, shape: Shape | None) -> Value:
        """A graph input. A dtype that nothing states is assumed: it does not bind later inference."""
        stated = self.dtypes.get(record.name) or stated_dtype(record)
        likely = stated or self._likely.get(record.name)
        value = self.graph.add_input(name, TensorType(stated, shape))
        value.type = TensorType(likely or self._float, shape)
        if likely is None and self.params is None:
            self.graph.decide(
                DecisionKind.INPUT_DTYPE, record.name, f"nothing states it: {self._float}, as MXNet binds it"
            )
        return value

    def _likely_dtypes(self) -> dict[str, DType]:
        """The dtypes of variables as far as the symbol or the parameters say more than that all floats are one."""
        nodes = self.source.nodes
        stored = {tensor.dtype for tensor in (self.params or {}).values() if tensor.dtype.is_float}
        if len(stored) < 2 and not self.dtypes and all(stated_dtype(record) is None for record in nodes):
            return {}
        return likely_dtypes(self.source, self.params, self.dtypes)

    def _break(self, index: int, record: NNVMNode, count: int) -> None:
        """Stand-ins for the results of a node that could not be imported, so that the rest can be looked at too."""
        values = [self.graph.add_input(self.fresh_name(f"?{record.name}"), ANYTHING) for _ in range(count)]
        self.broken.update(values)
        self._results[index] = values

    def _is_broken(self, source: int, slot: int) -> bool:
        results = self._results[source]
        return results is not None and any(value in self.broken for value in results)

    def _stands_on_broken(self, record: NNVMNode) -> bool:
        return any(self._is_broken(source, slot) for source, slot in record.inputs)

    def shape_hint(self) -> str:
        from graphir.converters.mxnet.importing.examples import shape_hint

        return shape_hint(self.source, [held for held in self.graph.inputs if held not in self.broken], self.params)

    def _raise_problems(self) -> None:
        problems = self.refusals.problems
        contradictions = self._contradictions() if problems and not self.refusals.gaps else []
        problems[:0] = [*contradictions, *(f"missing parameter: {name}" for name in dict.fromkeys(self._missing))]
        self.raise_problems("the model and its parameters")

    def _contradictions(self) -> list[str]:
        """Every parameter whose shape is not what the symbol wants, found by an import that knows no parameters."""
        if self.params is None:
            return []
        bare = Importer(self.source, None, self.shapes, Choices(self.choices.keep_loss), dtypes=self.dtypes)
        try:
            wanted = bare.run()
        except GraphirError:
            wanted = bare.graph
        found = []
        for value in wanted.parameters:
            tensor = self.params.get(value.sources[0]) if value.sources else None
            if tensor is None:
                continue
            try:
                unify_shape(tensor.shape, value.shape)
            except ShapeError:
                found.append(
                    f"parameter {value.sources[0]} has the shape {list(tensor.shape)}, "
                    f"the symbol wants {format_shape(value.shape)}"
                )
        return found

    def _set_outputs(self, heads: list[tuple[int, int]]) -> None:
        names = entry_names(self.source)
        outputs: dict[Value, None] = {}  # none comes twice: what would is a copy
        for index, slot in heads:
            record = self.source.nodes[index]
            if record.op == VARIABLE and self._results[index] is None:
                self._results[index] = [self._variable(record, "")]
            results = self._results[index]
            assert results is not None
            if slot >= len(results):
                raise ImportFailure(
                    f"{record.name} ({record.op}): output {slot}, an output of the model, means nothing at inference; "
                    f"take the model's first, as in symbol[0]"
                )
            outputs[self._as_output(results[slot], names.get((index, slot), record.name), outputs)] = None
            if record.op in LOSS_HEADS:
                self.graph.decide(DecisionKind.LOSS_HEAD, record.name, LOSS_HEADS[record.op])
        self.graph.set_outputs(list(outputs))

    def _as_output(self, value: Value, name: str, outputs: Mapping[Value, None]) -> Value:
        """The value under the name that MXNet gives this output; a copy where it has to keep its own."""
        if value.name == name and value not in outputs:
            return value
        if value.producer is None or value in outputs or name in self.graph:
            copy = self.graph.add(Identity(), value, name=name, output=self.graph.fresh_name(name))
            copy.sources = (name,)
            return copy
        self.graph.rename(value, name)
        return value

    def _complete_inputs(self) -> None:
        """Add the inputs that no import function asked for but that are to stay, and put all in the symbol's order."""
        order: dict[Value, None] = {}
        for index in self.source.variables():
            record = self.source.nodes[index]
            if self._results[index] is None and self._stays_unused(record):
                self._results[index] = [self._variable(record, "")]
                said = "no output depends on it; it stays, as it was given"
                self.graph.decide(DecisionKind.UNUSED_INPUT, record.name, said)
            order.update(dict.fromkeys(self._results[index] or ()))
        held = dict.fromkeys(self.graph.inputs)
        listed = [value for value in order if value in held]
        self.graph.order_inputs([*listed, *(value for value in held if value not in order)])

    def _stays_unused(self, record: NNVMNode) -> bool:
        return self.choices.keep_given and record.name in self.shapes

    def _report_unused(self) -> None:
        labels = []
        for record in self.source.nodes:
            if record.op == VARIABLE and record.name not in self.graph and record.name not in (self.params or {}):
                labels.append(record.name)
        for name in labels:
            self.graph.decide(DecisionKind.LABEL_INPUT_REMOVED, name, "no result at inference depends on it")
        unused = [name for name in self.params or {} if name not in self.graph]
        if unused:
            self.graph.decide(DecisionKind.UNUSED_PARAMETERS, "-", f"{len(unused)} of the file: {listing(unused)}")


def _is_trained(record: NNVMNode) -> bool:
    """Whether a variable states how it is trained, as gluon does for every parameter and for no input."""
    return "__lr_mult__" in record.annotations and "__shape__" in record.annotations


__all__ = ["PARAMETER_INPUTS", "Choices", "Importer"]
