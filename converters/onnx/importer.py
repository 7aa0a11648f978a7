"""From a ModelProto to a graph: every foreign meaning ends here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from graphir.converters.onnx.import_scope import Scope, names_of
from graphir.converters.onnx.import_types import TypeReader
from graphir.converters.onnx.reader import DEFAULT_DOMAINS, OnnxSource
from graphir.converters.onnx.records import DIM_PARAM, FIELD, OPSET, PRODUCER
from graphir.errors import Gap, ImportFailure, UnsupportedOpError
from graphir.graph import Graph, Value

MODEL_FIELDS = ("ir_version", "producer_name", "producer_version", "domain", "model_version", "doc_string")


@dataclass
class Trial:
    """How a trial went: whether it came to its end, and whether nothing was wrong."""

    finished: bool = False
    valid: bool = False


class Importer:
    """One import. `run` gives the graph or raises with everything that is wrong, not the first thing only."""

    def __init__(self, source: OnnxSource) -> None:
        self.source = source
        self.model = _with_functions_inlined(source.model)
        self.types = TypeReader(expressions=source.model.producer_name == PRODUCER)
        self.source_names = names_of(self.model.graph)
        self._names = set(self.source_names)
        self.graph = Graph(self.model.graph.name or "graph")
        self.broken: set[Value] = set()
        self.failures = 0
        self._opsets = source.opsets
        self._counters: dict[str, int] = {}
        self._refusals: dict[tuple[str, str], list[str]] = {}
        self._problems: list[str] = []

    def run(self) -> Graph:
        """The graph. Raises UnsupportedOpError with every gap, or ImportFailure with every other problem."""
        graph = self.graph
        self._describe(graph)
        Scope(self, self.model.graph, graph).run()
        self._raise_problems()
        for name, original in self.types.renamed.items():
            graph.metadata[f"{DIM_PARAM}{name}"] = original
        return graph

    def opset(self, domain: str, node: str) -> int:
        """The version of a domain. Raises ImportFailure if the model does not import it."""
        found = self._opsets.get("" if domain in DEFAULT_DOMAINS else domain)
        if found is None:
            shown = ", ".join(repr(known) for known in self._opsets)
            raise ImportFailure(f"node {node}: its domain {domain!r} is not in opset_import, which has {shown}")
        return found

    def fresh_name(self, wanted: str, besides: Iterable[str]) -> str:
        """`wanted`, or with a number: a name that nothing in the model has."""
        taken = set(besides)
        name, number = wanted, self._counters.get(wanted, 1)
        while name in self._names or name in taken:
            name, number = f"{wanted}_{number}", number + 1
        self._counters[wanted] = number
        self._names.add(name)
        return name

    def refuse(self, operator: str, reason: str, node: str) -> None:
        """Record that a node cannot be imported."""
        self.failures += 1
        self._refusals.setdefault((operator, reason), []).append(node)

    def problem(self, text: str) -> None:
        """Record what is wrong with the model."""
        self.failures += 1
        self._problems.append(text)

    @contextmanager
    def trial(self) -> Iterator[Trial]:
        """Try something: what was refused and recorded on the way is forgotten unless all of it is valid."""
        count, problems, decisions = self.failures, list(self._problems), len(self.graph.decisions)
        refusals = {key: list(nodes) for key, nodes in self._refusals.items()}
        outcome = Trial()
        yield outcome
        outcome.valid = outcome.finished and self.failures == count
        if not outcome.valid:
            self.failures, self._problems, self._refusals = count, problems, refusals
            del self.graph.decisions[decisions:]

    def _raise_problems(self) -> None:
        if self._refusals:
            gaps = [Gap(op, reason, tuple(nodes)) for (op, reason), nodes in self._refusals.items()]
            count = sum(len(gap.nodes) for gap in gaps)
            raise UnsupportedOpError(f"{count} node(s) of the model cannot be imported:", gaps)
        if len(self._problems) == 1:
            raise ImportFailure(self._problems[0])
        if self._problems:
            raise ImportFailure(f"{len(self._problems)} problems with the model:\n  " + "\n  ".join(self._problems))

    def _describe(self, graph: Graph) -> None:
        """Metadata as the file has it, and its own fields and versions under names with a prefix."""
        for entry in self.model.metadata_props:
            graph.metadata[entry.key] = entry.value
        for field in MODEL_FIELDS:
            stated = getattr(self.model, field)
            if stated:
                graph.metadata[f"{FIELD}{field}"] = str(stated)
        if self.model.graph.doc_string:
            graph.metadata[f"{FIELD}graph.doc_string"] = self.model.graph.doc_string
        for domain, version in self._opsets.items():
            graph.metadata[f"{OPSET}{domain}"] = str(version)
        for function in self.source.model.functions:
            graph.decide("function inlined", function.name, f"the model's own {function.domain}::{function.name}")
        if self.model.training_info:
            graph.decide("training dropped", "-", "the model's training_info has no meaning at inference")
        if self.model.graph.quantization_annotation:
            graph.decide("annotation dropped", "-", "quantization annotations do not change what is computed")


def _with_functions_inlined(model: Any) -> Any:
    """The model without functions of its own. Raises ImportFailure if onnx cannot inline them."""
    if not model.functions:
        return model
    import onnx.inliner

    try:
        return onnx.inliner.inline_local_functions(model)
    except Exception as error:  # onnx raises errors of its own of many kinds
        raise ImportFailure(f"the model's functions cannot be inlined: {error}") from error


__all__ = ["Importer"]
