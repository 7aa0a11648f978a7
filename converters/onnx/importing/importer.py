"""From a ModelProto to a graph: every foreign meaning ends here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from graphir.converters.kernel.importing import BaseImporter
from graphir.converters.onnx.files.inner import count_nodes, names_of
from graphir.converters.onnx.files.notes import text_of
from graphir.converters.onnx.files.reader import DEFAULT_DOMAINS, OnnxSource, versions_of
from graphir.converters.onnx.files.records import DIM_PARAM, FIELD, METADATA, OPSET, PRODUCER
from graphir.converters.onnx.importing.function_calls import Functions, Key, key_of, shown
from graphir.converters.onnx.importing.plugged import refuse_own
from graphir.converters.onnx.importing.scope import Scope
from graphir.converters.onnx.importing.types import TypeReader
from graphir.decisions import DecisionKind
from graphir.errors import ImportFailure
from graphir.graph import Graph
from graphir.ops.base import Operator
from graphir.safety.limits import charge_nodes, check_depth, hold_nodes

# Bytes of the attributes of a node that are kept to be found again.
LONGEST = 512


class Repeated:
    """The operators that nodes became whose import depends on their own attributes only.

    Of a model with functions none are kept: what a node means there depends on who calls it.
    """

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled
        self._operators: dict[tuple[object, ...], Operator] = {}

    def find(self, proto: Any) -> Operator | None:
        """Return the operator of a NodeProto that says what one before said, but for the names of its values."""
        return self._operators.get(_node_key(proto)) if self._operators else None

    def keep(self, proto: Any, op: Operator) -> None:
        """Keep what a NodeProto became."""
        key = _node_key(proto)
        if self._enabled and sum(map(len, key[2:])) <= LONGEST:
            self._operators[key] = op


def _node_key(proto: Any) -> tuple[Any, ...]:
    attributes = proto.attribute
    if not attributes:
        return proto.domain, proto.op_type
    return proto.domain, proto.op_type, *[attribute.SerializeToString() for attribute in attributes]


MODEL_FIELDS = ("ir_version", "producer_name", "producer_version", "domain", "model_version", "doc_string")


class Importer(BaseImporter):
    """One import. `run` gives the graph or raises with everything that is wrong, not the first thing only."""

    def __init__(self, source: OnnxSource) -> None:
        self.source_names = names_of(source.model.graph)
        super().__init__(Graph(source.model.graph.name or "graph"), self.source_names)
        self.source = source
        self.model = source.model
        self.functions = Functions(source.model.functions)
        self.repeated = Repeated(enabled=not source.model.functions)
        self.types = TypeReader(expressions=source.model.producer_name == PRODUCER)
        self._opsets = source.opsets
        self._calls: list[Key] = []
        self._depth = 0
        self._called: dict[Key, None] = {}

    def run(self) -> Graph:
        """Return the graph. Raises UnsupportedOpError with every gap, or ImportFailure with every other problem."""
        graph = self.graph
        refuse_own()
        hold_nodes(count_nodes(self.model.graph.node) + sum(count_nodes(body.node) for body in self.model.functions))
        self._describe(graph)
        Scope(self, self.model.graph, graph).run()
        self.raise_problems()
        for key in self._called:
            graph.decide(DecisionKind.FUNCTION_INLINED, key[1], f"the model's own {shown(key)}")
        for name, original in self.types.renamed.items():
            graph.metadata[f"{DIM_PARAM}{name}"] = original
        return graph

    def opset(self, domain: str, node: str) -> int:
        """Return the version of a domain. Raises ImportFailure if the model does not import it."""
        version = self._opsets.get("" if domain in DEFAULT_DOMAINS else domain)
        if version is None:
            shown = ", ".join(repr(known) for known in self._opsets)
            raise ImportFailure(f"node {node}: its domain {domain!r} is not in opset_import, which has {shown}")
        return version

    def foreign_version(self, domain: str, version: int) -> None:
        """Note the version of a domain that is kept as it is. Raises ImportFailure for a second one of the same."""
        key = f"{OPSET}{domain}"
        stored = self.graph.metadata.setdefault(key, str(version))
        if stored != str(version):
            raise ImportFailure(f"a function wants domain {domain} in version {version}, the model in version {stored}")

    def located(self, operator: str, node: str, text: str) -> str:
        """Return a problem's text with the node in front, unless it names the node itself."""
        return text if f"node {node} (" in text else f"node {node} ({operator}): {text}"

    @contextmanager
    def call(self, function: Any) -> Iterator[None]:
        """While the body of a function is imported: its own versions of the domains hold, those of the model besides.

        Raises ImportFailure for a function that calls itself.
        """
        key = key_of(function, function.name)
        if key in self._calls:
            circle = [*self._calls[self._calls.index(key) :], key]
            raise ImportFailure(f"a function calls itself: {' -> '.join(map(shown, circle))}")
        charge_nodes(max(len(function.node), 1), f"the calls of {shown(key)}")
        self._called[key] = None
        around = self._opsets
        self._calls.append(key)
        self._opsets = {**around, **versions_of(function)}
        try:
            with self.deeper(f"{shown(key)} inside functions and graphs"):
                yield
        finally:
            self._opsets = around
            self._calls.pop()

    @contextmanager
    def deeper(self, what: str) -> Iterator[None]:
        """While a graph or a function inside another is imported. Raises FormatError for one that is too deep."""
        self._depth += 1
        try:
            check_depth(self._depth, what)
            yield
        finally:
            self._depth -= 1

    def _describe(self, graph: Graph) -> None:
        """Metadata as the file has it, and its own fields and versions under names with a prefix."""
        for entry in self.model.metadata_props:
            key = text_of(entry.key)
            graph.metadata[f"{METADATA}{key}" if key.startswith(FIELD) else key] = text_of(entry.value)
        for field in MODEL_FIELDS:
            stated = getattr(self.model, field)
            if stated:
                graph.metadata[f"{FIELD}{field}"] = text_of(stated) if isinstance(stated, bytes) else str(stated)
        for domain, version in self._opsets.items():
            graph.metadata[f"{OPSET}{domain}"] = str(version)
        if self.model.training_info:
            graph.decide(DecisionKind.TRAINING_DROPPED, "-", "the model's training_info has no meaning at inference")
        if self.model.graph.quantization_annotation:
            graph.decide(
                DecisionKind.ANNOTATION_DROPPED, "-", "quantization annotations do not change what is computed"
            )
        if getattr(self.model, "configuration", None):
            graph.decide(
                DecisionKind.PLACEMENT_DROPPED, "-", "on which devices nodes run does not change what is computed"
            )
