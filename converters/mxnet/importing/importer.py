"""From MXNet's records to a graph: every foreign meaning ends here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from graphir.converters.kernel.importing import BaseImporter
from graphir.converters.kernel.refusals import NeedsShape, Refusal
from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, NNVMNode
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
from graphir.converters.mxnet.importing.ops import import_table
from graphir.converters.mxnet.importing.scope import Scope, refuse_taken
from graphir.converters.mxnet.importing.symbol_inputs import entry_names, sparse_nodes
from graphir.decisions import DecisionKind
from graphir.errors import GraphirError, ImportFailure, ShapeError
from graphir.graph import Graph, Value
from graphir.inference.engine import is_complete, parse_dims
from graphir.ops.elementwise import Identity
from graphir.safety.foreign_text import listing
from graphir.tensor import Tensor
from graphir.types import UNKNOWN, DType, Shape, TensorType, format_shape, unify_shape

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
    given shape stay inputs, labels too, even if nothing depends on them. With `training` Dropout stays.
    With `strict` NaN and infinities give what they give in MXNet, at the cost of more nodes.
    """

    keep_loss: bool = False
    keep_given: bool = False
    settle: bool = True
    guess: bool = True
    gaps: bool = False
    training: bool = False
    assumed: DType = DType.FLOAT32
    strict: bool = False


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
        graph: Graph | None = None,
    ) -> None:
        names = (record.name for record in symbol_graph.nodes if record.op == VARIABLE)
        super().__init__(Graph("graph") if graph is None else graph, names)
        self.source = symbol_graph
        self.params = params
        self.shapes = {key: parse_dims(shape) for key, shape in (shapes or {}).items()}
        self.dtypes = {key: DType.of(dtype) for key, dtype in (dtypes or {}).items()}
        self.choices = choices
        self.guessed = False
        self.scope = Scope(self, symbol_graph, self.graph)
        self._missing: list[str] = []
        self.reals: dict[Value, Value] = {}  # what quantized values of int32 stand for
        self.readers = Counter(symbol_graph.heads)
        for record in symbol_graph.nodes:
            self.readers.update(record.inputs)
        self._float = self._parameter_dtype()
        self._likely = self._likely_dtypes()

    def run(self) -> Graph:
        """Return the graph. Raises UnsupportedOpError with every gap, or ImportFailure with every other problem."""
        refuse_taken(import_table())
        check_inputs(self.source, self.shapes, self.dtypes, self.params or {}, self.graph)
        heads = self._heads()
        for upgrade in self.source.upgrades:
            self.graph.decide(DecisionKind.UPGRADE, upgrade.node, f"{upgrade.rule}: {upgrade.text}")
        self.scope.run(heads)
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
        """Return the heads of a symbol inside another, imported into `graph`; its variables are `values`, in order.

        Raises Refusal naming every node that cannot be imported, and ShapeError for other problems.
        """
        if not all(is_complete(value.type) for value in values):
            self.infer_now()
        source = replace(symbol_graph, version=self.source.version, np_shape=self.source.np_shape)
        variables = source.variables()
        if len(variables) != len(values):
            raise Refusal(f"a symbol inside has {len(variables)} variables, the node gives it {len(values)}")
        choices = Choices(self.choices.keep_loss, settle=False, strict=self.choices.strict)
        inner = Importer(source, None, None, choices, graph=graph)
        if graph is self.graph:
            inner.names = self.names  # they know the next number of each name, which has to be searched for otherwise
        inner.scope.results.update({index: [value] for index, value in zip(variables, values, strict=True)})
        inner.scope.run(source.heads, counts=False)
        gaps, problems = inner.refusals.gaps, inner.refusals.problems
        if gaps:
            shown = (f"inside it {gap.operator} ({', '.join(gap.nodes)}): {gap.reason}" for gap in gaps)
            raise Refusal("; ".join(shown))
        if problems:
            raise ShapeError("; ".join(problems))
        return [inner.scope.value(head) for head in source.heads]

    def record(self, operator: str, error: Exception, node: str, attributes: Mapping[str, object]) -> None:
        """Record one of `NODE_ERRORS` of a node; with `gaps` a node that needs a size is left out without a word."""
        if not (self.choices.gaps and isinstance(error, NeedsShape)):
            super().record(operator, error, node, attributes)

    def fresh_name(self, wanted: str) -> str:
        """Return `wanted`, or with a number: a name that nothing in this graph and no variable has.

        A symbol inside has the names of the graph that it is imported into.
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

    def variable(self, record: NNVMNode, wanted: str) -> Value:
        """Return a variable that is used for the first time, as the operator's input `wanted`: parameter or graph
        input."""
        graph, name = self.graph, record.name
        unique = graph.fresh_name(name)
        tensor = None if self.params is None else self.params.get(name)
        # gluon states how a variable is trained for every parameter and for no input
        is_trained = "__lr_mult__" in record.annotations and "__shape__" in record.annotations
        if tensor is not None and name not in self.shapes:
            value = graph.add_parameter(unique, tensor)
        elif (wanted in PARAMETER_INPUTS or is_trained) and name not in self.shapes:
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
        """Return a graph input. A dtype that nothing states is assumed: it does not bind later inference."""
        stated = self.dtypes.get(record.name) or stated_dtype(record)
        likely = stated or self._likely.get(record.name)
        value = self.graph.add_input(name, TensorType(stated, shape))
        self.graph.retype(value, TensorType(likely or self._float, shape))
        if likely is None and self.params is None:
            self.graph.decide(
                DecisionKind.INPUT_DTYPE, record.name, f"nothing states it: {self._float}, as MXNet binds it"
            )
        return value

    def _likely_dtypes(self) -> dict[str, DType]:
        """Return the dtypes of variables as far as the symbol or the parameters say more than that all floats are
        one."""
        nodes = self.source.nodes
        stored = {tensor.dtype for tensor in (self.params or {}).values() if tensor.dtype.is_float}
        if len(stored) < 2 and not self.dtypes and all(stated_dtype(record) is None for record in nodes):
            return {}
        return likely_dtypes(self.source, self.params, self.dtypes)

    def shape_hint(self) -> str:
        from graphir.converters.mxnet.importing.examples import shape_hint

        return shape_hint(self.source, [held for held in self.graph.inputs if held not in self.broken], self.params)

    def _raise_problems(self) -> None:
        problems = self.refusals.problems
        contradictions = self._contradictions() if problems and not self.refusals.gaps else []
        problems[:0] = [*contradictions, *(f"missing parameter: {name}" for name in dict.fromkeys(self._missing))]
        self.raise_problems("the model and its parameters")

    def _contradictions(self) -> list[str]:
        """Return every parameter whose shape is not what the symbol wants, found by an import that knows no
        parameters."""
        if self.params is None:
            return []
        bare = Importer(self.source, None, self.shapes, Choices(self.choices.keep_loss), dtypes=self.dtypes)
        try:
            wanted = bare.run()
        except GraphirError:
            wanted = bare.graph
        result = []
        for value in wanted.parameters:
            tensor = self.params.get(value.sources[0]) if value.sources else None
            if tensor is None:
                continue
            try:
                unify_shape(tensor.shape, value.shape)
            except ShapeError:
                result.append(
                    f"parameter {value.sources[0]} has the shape {list(tensor.shape)}, "
                    f"the symbol wants {format_shape(value.shape)}"
                )
        return result

    def _set_outputs(self, heads: list[tuple[int, int]]) -> None:
        names = entry_names(self.source)
        outputs: dict[Value, None] = {}  # none comes twice: what would is a copy
        for index, slot in heads:
            record = self.source.nodes[index]
            results = self.scope.of_node(index)
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
        """Return the value under the name that MXNet gives this output; a copy where it has to keep its own."""
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
            if index not in self.scope.results and self._stays_unused(record):
                self.scope.of_node(index)
                said = "no output depends on it; it stays, as it was given"
                self.graph.decide(DecisionKind.UNUSED_INPUT, record.name, said)
            order.update(dict.fromkeys(self.scope.results.get(index, ())))
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
