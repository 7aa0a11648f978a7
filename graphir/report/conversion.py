"""What a conversion did: from what to what, what was decided on the way, and what the proof says."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphir.converters.table import FORMATS
from graphir.graph import Decision, Graph
from graphir.safety.arguments import PathLike
from graphir.safety.foreign_text import one_line
from graphir.structure.printed import Printed
from graphir.structure.record import mutable_record, record
from graphir.structure.state import State, state_of

if TYPE_CHECKING:
    from graphir.accuracy import AccuracyReport
    from graphir.converters.formats import Ready, Source
    from graphir.verification.report import VerificationReport



@record
class WrittenFile:
    """A file that a conversion wrote, and its size in bytes."""

    path: str
    nbytes: int


@mutable_record
class ConversionReport(Printed):
    """The record of one conversion.

    `source_files` are the files that were read, `framework` what made them (`MXNet 1.9.1`), `producer` what else they
    name as their maker (an ONNX file's producer), `container` the versions of the .params format found in them.
    `inputs` and `outputs` are pairs of name and type, `state` the inputs that each run takes from the outputs of the
    last one (`graphir.structure.state`). `source_operators` and `target_operators` count nodes by
    operator, as the source's and the target's files have them. `parameter_count` and `parameter_bytes` are those of the
    source's weights that the result uses, shared ones once; `folded` those of them, by name with their number of
    elements, that are part of other weights now (a batch normalization's in a convolution's). `target_version` is the
    release or opset that was written, in words. `simplified` counts by reason what made the graph
    smaller. `graph` is what was imported, where the report's page is to draw it.
    """

    source: str
    target: str
    source_format: str
    target_format: str
    framework: str
    source_files: list[str]
    container: str
    files: list[WrittenFile]
    opset: int | None
    inputs: list[tuple[str, str]]
    outputs: list[tuple[str, str]]
    source_operators: dict[str, int]
    target_operators: dict[str, int]
    parameter_count: int
    parameter_bytes: int
    decisions: list[Decision]
    versions: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    verification: VerificationReport | None = None
    accuracy: AccuracyReport | None = None
    target_version: str = ""
    folded: dict[str, int] = field(default_factory=dict)
    producer: str = ""
    state: dict[str, State] = field(default_factory=dict)
    simplified: dict[str, int] = field(default_factory=dict)
    graph: Graph | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        model: Source,
        source: PathLike,
        target: PathLike,
        target_format: str,
        ready: Ready,
    ) -> ConversionReport:
        """Return the report of a conversion whose target is about to be written. All that a report takes from a model
        is taken here, so that nothing is written where that fails."""
        from graphir.analysis.contents import stored_bytes, weights

        graph, described = model.graph, model.description
        parameters = model.parameters() if model.folded else weights(graph)
        return cls(
            source=os.fspath(source),
            target=os.fspath(target),
            source_format=model.format,
            target_format=target_format,
            framework=described.made_by,
            source_files=list(model.files),
            container=described.container,
            files=[],
            opset=ready.opset,
            inputs=[(value.name, str(value.type)) for value in graph.inputs],
            outputs=[(value.name, str(value.type)) for value in graph.outputs],
            source_operators=dict(model.operators),
            target_operators=dict(ready.operators),
            parameter_count=sum(tensor.size for tensor in parameters.values()),
            parameter_bytes=sum(map(stored_bytes, parameters.values())),
            folded={name: tensor.size for name, tensor in model.folded.items()},
            decisions=list(graph.decisions),
            versions=_versions() | dict(ready.libraries),
            target_version=ready.version,
            producer=described.producer,
            state=state_of(graph),
        )

    def take_graph(self, graph: Graph) -> None:
        """Take inputs, outputs and decisions of the graph that is written, where it is not the source's."""
        self.inputs = [(value.name, str(value.type)) for value in graph.inputs]
        self.outputs = [(value.name, str(value.type)) for value in graph.outputs]
        self.state = state_of(graph)
        self.decisions = list(graph.decisions)

    def add_files(self, files: Iterable[PathLike]) -> None:
        """Take in what was written."""
        self.files = [WrittenFile(os.fspath(path), _size_of(path)) for path in files]

    @property
    def ok(self) -> bool:
        """Return whether the verification passed or none was requested."""
        return self.verification is None or self.verification.ok

    def grouped_decisions(self) -> dict[str, list[Decision]]:
        """Return the decisions by kind, in the order in which kinds first came up."""
        groups: dict[str, list[Decision]] = {}
        for decision in self.decisions:
            groups.setdefault(decision.kind, []).append(decision)
        return groups

    def to_text(self, *, verbose: bool = False) -> str:
        """Return the report for a terminal; with `verbose` every decision, the operator counts and every layer."""
        from graphir.structure.look import Style, harmless, look, paint

        from .parts import decisions_text, operators_text, simplified_text
        from .text import wrapped

        head = self._headline()
        if look().width is not None:
            head = wrapped(head, first="", rest="    ")
        parts = [paint(head, Style.HEADING), self._facts()]
        if verbose:
            names = self.framework, self.target_name()
            parts.append(operators_text(self.source_operators, self.target_operators, *names))
        if self.simplified:
            parts.append(simplified_text(self.simplified))
        if self.decisions:
            parts.append(decisions_text(self.grouped_decisions(), verbose=verbose))
        if self.verification is not None:
            from .verification import verification_text

            parts.append(verification_text(self.verification, verbose=verbose))
        if self.accuracy is not None:
            parts.append(self.accuracy.to_text())
        return harmless("\n\n".join(parts), has_colours=look().colour)

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain data, keys in a fixed order."""
        from .parts import by_count

        return {
            "source": self.source,
            "target": self.target,
            "source_format": self.source_format,
            "target_format": self.target_format,
            "framework": self.framework,
            "producer": self.producer,
            "source_files": list(self.source_files),
            "params_container": self.container,
            "files": [{"path": file.path, "bytes": file.nbytes} for file in self.files],
            "opset": self.opset,
            "inputs": [{"name": name, "type": type_} for name, type_ in self.inputs],
            "outputs": [{"name": name, "type": type_} for name, type_ in self.outputs],
            "state": [
                {"input": name, "output": item.output, "shape": item.shape, "initial": item.initial}
                for name, item in self.state.items()
            ],
            "source_operators": by_count(self.source_operators),
            "target_operators": by_count(self.target_operators),
            "parameters": self.parameter_count,
            "parameter_bytes": self.parameter_bytes,
            "folded": list(self.folded),
            "folded_parameters": sum(self.folded.values()),
            "simplified": dict(self.simplified),
            "decisions": [
                {"kind": decision.kind, "node": decision.node, "text": decision.text} for decision in self.decisions
            ],
            "versions": dict(self.versions),
            "seconds": round(self.seconds, 3),
            "verification": self._verification_json(),
            "accuracy": None if self.accuracy is None else self.accuracy.to_json(),
        }

    def _verification_json(self) -> dict[str, Any] | None:
        if self.verification is None:
            return None
        from .verification import verification_json

        return verification_json(self.verification)

    def to_html(self) -> str:
        """Return the report as one HTML page that needs nothing else, with the picture of `graph` where there is
        one."""
        from .html import conversion_html

        return conversion_html(self, self.graph)

    def target_name(self) -> str:
        """Return what was written, in words: `ONNX opset 23`, `MXNet 1.9.1`, `graphir`."""
        version = self.target_version or ("" if self.opset is None else f"opset {self.opset}")
        return f"{FORMATS[self.target_format].brand} {version}".rstrip()

    def _headline(self) -> str:
        read = " + ".join(Path(file).name for file in self.source_files)
        made_by = self.framework + (f", parameters {self.container}" if self.container else "")
        return one_line(f"{read} ({made_by}) -> {Path(self.target).name} ({self.target_name()})")

    def _facts(self) -> str:
        from .text import folded_text, size

        before, after = sum(self.source_operators.values()), sum(self.target_operators.values())
        lines = [f"  wrote       {one_line(file.path)}  {size(file.nbytes)}" for file in self.files]
        lines += [f"  input       {one_line(name)}  {one_line(type_)}" for name, type_ in self.inputs]
        lines += [f"  output      {one_line(name)}  {one_line(type_)}" for name, type_ in self.outputs]
        lines += [
            f"  nodes       {before:,} -> {after:,}",
            f"  parameters  {self.parameter_count:,} ({size(self.parameter_bytes)})" + folded_text(self.folded),
            f"  took        {self.seconds:.2f} s",
        ]
        return "\n".join(lines)


def _size_of(path: str | os.PathLike[str]) -> int:
    """Return the size of a file that was written; 0 while another conversion to the same target is replacing it."""
    try:
        return os.path.getsize(path)
    except FileNotFoundError:
        return 0


def _versions() -> dict[str, str]:
    import numpy as np

    from graphir import __version__

    return {"graphir": __version__, "python": sys.version.split()[0], "numpy": np.__version__}
