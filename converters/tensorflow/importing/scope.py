"""Importing one flat list of nodes: the main graph, or the body of a function inside a node of another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from graphir.converters.kernel.plugged import import_by_plugin
from graphir.converters.kernel.refusals import Refusal
from graphir.converters.kernel.scope import BaseScope
from graphir.converters.tensorflow.files.records import Endpoint, TFNode
from graphir.converters.tensorflow.importing.context import Imported, ImportFunction, ImportNode, result_name
from graphir.converters.tensorflow.importing.operands import check_operands
from graphir.converters.tensorflow.importing.ops import import_table, pair_table
from graphir.converters.tensorflow.keras.context import KERAS_LAYER, import_layer
from graphir.converters.tensorflow.schema.operators import attributes_of, operator_schema, output_types
from graphir.errors import FormatError
from graphir.graph import Graph, Value
from graphir.plugins import source_operator
from graphir.safety.counted import counted
from graphir.types import ANYTHING, DType, TensorType

if TYPE_CHECKING:
    from graphir.converters.tensorflow.importing.importer import Importer


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


NOT_CONVERTED = "graphir cannot convert this operator of TensorFlow yet"
NOT_IN_TENSORFLOW = (
    "TensorFlow 2.21 has no such operator: it comes from a library of one's own; a plugin of graphir can say what it "
    "is (docs/plugins.md)"
)
# Parts of the names of operators that fetch data, which a converted model is fed with instead.
FETCHING = ("Iterator", "Dataset", "Queue", "Reader", "Optional")
FEEDING = "it fetches data; --inputs NAME (inputs= in Python) makes an input of what it gives, as in --inputs images:0"
VARIABLES = frozenset({"Variable", "VariableV2", "VarHandleOp", "AutoReloadVariable", "TemporaryVariable"})
READS = frozenset({"ReadVariableOp"})


class Scope(BaseScope[str]):
    """The nodes of one graph in the making, by their names."""

    def __init__(
        self, importer: Importer, graph: Graph, arguments: Mapping[Endpoint, Value] | None = None, depth: int = 0
    ) -> None:
        super().__init__(importer, graph)
        self.importer = importer
        self.depth = depth
        self._arguments = dict(arguments or {})
        self._used: set[Endpoint] = set()
        self._users: Counter[Endpoint] = Counter()
        self._records: dict[str, TFNode] = {}

    def run(self, nodes: Sequence[TFNode], wanted: Iterable[Endpoint]) -> None:
        """Import the nodes in order. Problems are gathered by the importer. `wanted` counts as used."""
        self._users = Counter(wanted)
        self._users.update(endpoint for node in nodes for endpoint in node.inputs)
        self._used = set(self._users)
        self._records = {node.name: node for node in nodes}
        for node in counted(nodes, "node") if not self.depth else nodes:
            self._import(node, import_layer if node.op == KERAS_LAYER else import_table().get(node.op))

    def value(self, endpoint: Endpoint) -> Value:
        """Return the value of an endpoint. Raises Refusal where its node gave no such result."""
        argument = self._arguments.get(endpoint)
        if argument is not None:
            return argument
        results = self.results[endpoint.node]
        if endpoint.slot >= len(results):
            raise Refusal(f"it uses result {endpoint.slot} of {endpoint.node}, which is not available")
        return results[endpoint.slot]

    def is_used(self, node: str, slot: int) -> bool:
        """Return whether a node that is imported, or an output, uses this result."""
        return Endpoint(node, slot) in self._used

    def producer(self, endpoint: Endpoint) -> ImportNode | None:
        """Return the node whose first result this is, if it was imported here and its result is used once."""
        record = self._records.get(endpoint.node)
        if record is None or endpoint.slot or self._users[endpoint] != 1 or record.name not in self.results:
            return None
        attrs = attributes_of(record.attrs, operator_schema(record.op), f"{record.name} ({record.op})")
        return ImportNode(self, record, attrs, [self.value(source) for source in record.inputs])

    def _import(self, record: TFNode, function: ImportFunction | None) -> None:
        importer = self.importer
        if record.op in VARIABLES:
            self._variable(record)
            return
        if record.op in READS and record.inputs:
            function = _read
        function = function or import_of_plugin(record.op)
        if function is None:
            known = operator_schema(record.op) is not None
            importer.refuse(record.op, _explain(record.op, is_known=known), record.name)
            self._break(record)
            return
        operands: list[Value] = []
        values = self.attempt(
            lambda: self._call(function, record, operands),
            (record.op, record.name, record.attrs),
            lambda: not importer.broken.isdisjoint(operands),
        )
        if values is None:
            self._break(record)
            return
        self._take(record, values)
        if not importer.broken.isdisjoint(operands):
            importer.broken.update(values)

    def _call(self, function: ImportFunction, record: TFNode, operands: list[Value]) -> object:
        operands += map(self.value, record.inputs)
        if self.importer.broken.isdisjoint(operands):
            check_operands(record.op, operands)
        attrs = attributes_of(record.attrs, operator_schema(record.op), f"{record.name} ({record.op})")
        node = ImportNode(self, record, attrs, operands)
        return (function if self.importer.pairs.isdisjoint(operands) else _pair_function(record.op))(node)

    def _take(self, record: TFNode, values: list[Value]) -> None:
        schema = operator_schema(record.op)
        results = () if schema is None else schema.outputs
        for slot, value in enumerate(values):
            is_list = slot < len(results) and results[slot].dtype == "variant"
            source = "" if is_list else f"{record.name}:{slot}"  # a list's tensor is nothing that TensorFlow has
            self.name_result(value, result_name(record.name, slot), source)
        self.results[record.name] = values

    def _variable(self, record: TFNode) -> None:
        """Take a variable as a parameter if its elements are known; reading it is the parameter itself."""
        tensor = self.importer.source.variables.get(record.name)
        if tensor is None:
            self.importer.unfrozen.append(record.name)
            self._break(record)
            return
        value = self.graph.add_parameter(self.importer.fresh_name(record.name), tensor)
        self._take(record, [value])

    def _break(self, record: TFNode) -> None:
        """Add stand-ins for the results of a node that could not be imported, so that the rest can be looked at too."""
        try:
            types = output_types(record.op, record.attrs) or [None]
        except FormatError:
            types = [None]
        slots = [endpoint.slot for endpoint in self._used if endpoint.node == record.name]
        count = max(len(types), *(slot + 1 for slot in slots), 1)
        dtypes = [*types, *[None] * (count - len(types))]
        known = [TensorType(dtype) if isinstance(dtype, DType) else ANYTHING for dtype in dtypes]
        self.results[record.name] = self.stand_ins(record.name, known)


def _read(node: ImportNode) -> Value:
    """Read a variable: its value is the variable itself."""
    return node.input(0)


def _pair_function(op: str) -> ImportFunction:
    """Return the import function for operands that are complex. Raises Refusal if there is none."""
    function = pair_table().get(op)
    if function is None:
        raise Refusal(f"complex operands; they can be used by {', '.join(sorted(pair_table()))}")
    return function


def _explain(operator: str, *, is_known: bool) -> str:
    """Return why an operator is refused, and where there is a way around it, that."""
    if not is_known:
        return NOT_IN_TENSORFLOW
    return f"{NOT_CONVERTED}: {FEEDING}" if any(part in operator for part in FETCHING) else NOT_CONVERTED
