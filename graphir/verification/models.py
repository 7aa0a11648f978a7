"""Two models compared: which reference is meant, what it is fed with, and what is held against it. So is what was
converted, against those who can compute its source."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphir.converters.detection import detect_format, text_format
from graphir.converters.formats import Source
from graphir.converters.kernel.live import Live
from graphir.converters.onnx.files.structure import structure_of
from graphir.converters.opening import check_taken, read_model
from graphir.converters.options import ModelOptions
from graphir.converters.parts import cut_graph
from graphir.converters.table import FORMATS
from graphir.errors import ArgumentError, ImportFailure, VerificationError
from graphir.files.regions import FileRegion, SourceFiles
from graphir.graph import Graph
from graphir.inputs.given import FeedRequest, Feeds, file_plan, golden_plan, plan_of
from graphir.inputs.sets import FeedPlan
from graphir.safety.arguments import PathLike, short_forms, with_stated
from graphir.safety.limits import Stated, bounded
from graphir.safety.memory import memory_for
from graphir.serial.equal import same_pieces
from graphir.verification.causes.minimal import check_folder
from graphir.verification.driver import verify_sets
from graphir.verification.equivalence import Models
from graphir.verification.isolated import compare_isolated
from graphir.verification.options import MEMORY_BUDGET, ComparisonOptions
from graphir.verification.pairs.matches import parse_match
from graphir.verification.pairs.sides import Sides
from graphir.verification.pieces import pieces_of
from graphir.verification.report import VerificationReport
from graphir.verification.running.candidate import OnnxCandidate
from graphir.verification.running.references import GoldenCapture, RuntimeReference, reference_of

if TYPE_CHECKING:
    from graphir.converters.formats import Format, Judge, Reference

CAPTURE = ".npz"
IMPORT_NOT_PROVEN = "export checked, import not proven"

_SHORT_FORMS = {
    **{name: ("reference_options", name) for name in ("signature", "inputs", "outputs", "format")},
    **{f"candidate_{name}": ("candidate_options", name)
       for name in ("params", "shapes", "signature", "inputs", "outputs", "format")},
    **{name: ("comparison", name) for name in ("match", "reproduce", "memory_budget")},
}  # fmt: skip
_KINDS = {"reference_options": ModelOptions, "candidate_options": ModelOptions, "comparison": ComparisonOptions}


@bounded
@short_forms(_SHORT_FORMS, _KINDS)
def verify(
    reference: Any,
    candidate: Any,
    *,
    feeds: Feeds | None = None,
    seed: int = 0,
    rtol: float | None = None,
    atol: float | None = None,
    per_layer: bool = False,
    params: PathLike | Mapping[str, object] | None = None,
    shapes: Mapping[str, object] | None = None,
    against: str = "auto",
    providers: str | Sequence[str] = "cpu",
    python: PathLike | Live | None = None,
    reference_options: ModelOptions | None = None,
    candidate_options: ModelOptions | None = None,
    comparison: ComparisonOptions | None = None,
    limits: Stated = None,
) -> VerificationReport:
    """Compare two models numerically.

    `reference` is an MXNet or TensorFlow model (a path as `load` takes it), a golden capture (.npz), an .onnx or
    .graphir.json file or a Graph; `candidate` an .onnx file, a Graph, or a path that `load` reads. Inputs come from
    `feeds` (a mapping or an .npz by the reference's input names), from the capture (which answers for its own inputs
    only), or from `seed`. `against` chooses between the live framework (`live`) and the numpy reference of MXNet or the
    imported TensorFlow graph (`reference`). Without `rtol` and `atol`, the verdict follows from the measured noise
    floor. `python` is the interpreter that has the live framework of the reference, or a `Live`, which has limits for
    it too; where it crashes or reaches one, the next judge is asked and the notes say so, unless `against` is `live`.

    `params` and `shapes` are of the reference, as for `load`. What else can be chosen about it (`format`, `signature`,
    `inputs`, `outputs`) stands in `reference_options`, that of the candidate in `candidate_options` (its `shapes` are
    the reference's where they are not stated), and the rest about the comparison in `comparison`: `match` lists which
    input or output of the reference is which of the candidate: `A=B`, or `A=B:0,2,3,1` with the order of axes in which
    a feed is handed to the candidate, or a result to the reference; `reproduce` names a new folder for the parts of
    both models around the first cause; `memory_budget` is how many bytes the comparison may take beside the weights.

    A candidate whose inputs have other names is fed by shape, then by position, one that has its channels elsewhere
    with transposed feeds; its results are then brought into the reference's order. Raises VerificationError if the
    comparison cannot be made; a difference is not an error but a verdict. A field of these objects may be a keyword of
    the call as well: `match=["a=b"]`, `outputs=...` of the reference, `candidate_outputs=...`. One that both state is
    an ArgumentError.
    """
    how = with_stated(
        comparison, ComparisonOptions, "comparison", feeds=feeds, seed=seed, rtol=rtol, atol=atol, per_layer=per_layer,
        against=against, providers=providers, live=None if python is None else Live.of(python),
    )  # fmt: skip
    chosen = with_stated(reference_options, ModelOptions, "reference_options", params=params, shapes=shapes)
    own = with_stated(candidate_options, ModelOptions, "candidate_options")
    own = replace(own, shapes=chosen.shapes) if own.shapes is None else own
    return verify_models((reference, chosen), (candidate, own), how)


def verify_models(
    reference: tuple[Any, ModelOptions], candidate: tuple[Any, ModelOptions], how: ComparisonOptions
) -> VerificationReport:
    """Compare two models, each with what is chosen of it, in a child process; see `verify`."""
    for text in how.match:
        parse_match(text)
    return compare_isolated(partial(_compared, reference, candidate), how, reference[0], candidate[0])


def _compared(
    reference: tuple[Any, ModelOptions], candidate: tuple[Any, ModelOptions], how: ComparisonOptions
) -> VerificationReport:
    if how.reproduce is not None:
        check_folder(how.reproduce)
    with memory_for("the comparison"):
        opened = _opened(*candidate)
        graph = opened.graph if isinstance(opened, Source) else opened
        made = candidate[0] if graph is None else graph
        with OnnxCandidate(made, providers=how.providers, memory=how.memory_budget) as under_test:
            report = _Check(under_test, graph, how, candidate).against(*reference)
            report.placement = under_test.session.nodes()
            row = _row_of(*reference)
            report.notes += how.unused_python("" if row is None else row.live)
    if how.reproduce is not None and not report.verdict.differs:
        report.notes.append(f"nothing was written to {how.reproduce}: nothing differs")
    return report


def verify_conversion(
    judges: Sequence[Judge],
    imported: Graph | PathLike,
    graph: Graph,
    candidate: Graph | PathLike,
    how: ComparisonOptions,
    step: float = 0.0,
    sides: Sides | None = None,
    *,
    is_turned: bool = False,
) -> VerificationReport:
    """Hold the result of a conversion against those who can compute its source, by the graph that the source became.

    `imported` is what onnxruntime runs where a judge stands for the imported model, `step` that of the coarser type
    that either side computes in. `sides` are the graphs of what the judges compute and of the candidate, which name the
    layers where results begin to differ. With `is_turned` the candidate is the source, and the judges compute what was
    written. The comparison runs in a child process.
    """
    plan, inside = plan_of(how.feeds, FeedRequest.of(graph, how.seed)), structure_of(graph)

    def compare(how: ComparisonOptions) -> VerificationReport:
        with OnnxCandidate(candidate, providers=how.providers, memory=how.memory_budget) as under_test:

            def check(reference: Reference) -> VerificationReport:
                return verify_sets(Models(reference, under_test, how, graph, inside, step, sides, is_turned), plan)

            report = hold_against(judges, imported, check, memory=how.memory_budget)
            report.placement = under_test.session.nodes()
        return report

    return compare_isolated(compare, how, imported, candidate)


def hold_against(
    judges: Sequence[Judge],
    imported: Graph | PathLike,
    check: Callable[[Reference], VerificationReport],
    *,
    memory: int = MEMORY_BUDGET,
) -> VerificationReport:
    """Check against the first judge that does not give way; the report's notes say which of them did, and why."""
    notes: list[str] = []
    *others, last = judges
    for judge in others:
        with closing(reference_of(judge, imported, memory)) as reference:
            try:
                return _noted(check(reference), judge, ())
            except tuple(judge.gives_way) as error:
                said = next(text for kind, text in judge.gives_way.items() if isinstance(error, kind))
                notes.append(said.format(error=error))
    with closing(reference_of(last, imported, memory)) as reference:
        return _noted(check(reference), last, notes)


def _noted(report: VerificationReport, judge: Judge, notes: Sequence[str]) -> VerificationReport:
    """Return the report with what is said of its judge: first of all where that was the imported graph, which an import
    that is wrong changes too."""
    if judge.note and judge.reference is None:
        report.unproven.insert(0, f"{IMPORT_NOT_PROVEN}: {judge.note}")
        report.notes += filter(None, notes)
    else:
        report.notes += filter(None, (judge.note, *notes))
    return report


@dataclass(frozen=True)
class _Check:
    """A candidate, its graph where it is not run as the file that it is, and what was given for it."""

    under_test: OnnxCandidate
    graph: Graph | None
    how: ComparisonOptions
    given: tuple[Any, ModelOptions]

    def against(self, model: Any, options: ModelOptions) -> VerificationReport:
        """Hold the candidate against a model."""
        source = _opened(model, options)
        if isinstance(source, Graph):
            return self._against_graph(source)
        if source is None and _row_of(model, options) is None:
            golden, inputs = GoldenCapture(model), self.under_test.session.inputs
            pieces = pieces_of(golden, inputs)
            if pieces is not None and self.how.feeds is None:
                return self._check(pieces, pieces.plan(list(inputs)), self.graph, None)
            return self._check(golden, golden_plan(golden.feeds, self.how.feeds, list(inputs)), self.graph, None)
        if source is None:
            return self._against_file(model, options)
        judges = source.judges(self.how.against, self.how.live)
        if not judges:
            return self._against_graph(source.graph)
        origin = source.graph
        sides = self._sides(origin)
        plan, layers = self._plan(origin, sides), self.graph or origin

        def check(reference: Reference) -> VerificationReport:
            return self._check(reference, plan, layers, sides, structure_of(origin))

        return hold_against(judges, origin, check, memory=self.how.memory_budget)

    def _against_graph(self, model: Graph) -> VerificationReport:
        with closing(RuntimeReference(model, memory=self.how.memory_budget)) as source:
            sides = self._sides(model)
            return self._check(source, self._plan(model, sides), self.graph, sides, source.structure)

    def _against_file(self, path: PathLike, options: ModelOptions) -> VerificationReport:
        """Return a file that onnxruntime runs need not become a graph; of one that would end it the graph is run."""
        with closing(RuntimeReference(path, memory=self.how.memory_budget)) as source:
            sessions = source.onnx.session, self.under_test.session
            opened = cache(lambda: read_model(path, options))
            operators = {operator for operator, _ in source.structure.producers.values()}
            if "Einsum" in operators and opened().runnable is None:
                return self._against_graph(opened().graph)

            def read() -> Graph:
                return opened().graph

            is_same = self.graph is None and _are_same(path, self.given[0])
            # The same bytes are one graph, whose weights are not read once more, unless these lie in other files.
            is_one = is_same and not source.structure.external and options == self.given[1]
            sides = Sides(read, read) if is_one else self._sides(read)
            plan = file_plan(read, options.shapes, self.how.feeds, self.how.seed, sessions, lambda: sides.candidate)
            report = self._check(source, plan, self.graph, sides, source.structure)
            report.same_files = is_same and report.ok and not (sides.changes() or sides.reason)
            return report

    def _plan(self, origin: Graph, sides: Sides) -> FeedPlan:
        inputs = self.under_test.session.inputs
        return plan_of(self.how.feeds, FeedRequest.of(origin, self.how.seed, inputs, lambda: sides.candidate))

    def _sides(self, reference: Graph | Callable[[], Graph]) -> Sides:
        """Both graphs. That of a file that is run as it is is read where it is asked for."""
        model, options = self.given
        return Sides(reference, (lambda: read_model(model, options).graph) if self.graph is None else self.graph)

    def _check(
        self, reference: Reference, plan: FeedPlan, layers: Graph | None, sides: Sides | None, inside: Any = None
    ) -> VerificationReport:
        try:
            return verify_sets(Models(reference, self.under_test, self.how, layers, inside, sides=sides), plan)
        except VerificationError as error:
            changes = [] if sides is None or type(error) is not VerificationError else sides.changes()
            if not changes:
                raise
            raise VerificationError(f"{error}; diff: {'; '.join(changes)}") from error


def _row_of(model: Any, options: ModelOptions) -> Format | None:
    """Return the row of a path's model, or of a text that is one; None for a Graph and for a golden capture.

    Raises ImportFailure and FormatError as `detect_format` does.
    """
    if isinstance(model, Graph):
        return None
    if not isinstance(model, str | os.PathLike):
        raise ArgumentError(f"expected a Graph or the path of a model, found {type(model).__name__}")
    name = options.format or text_format(model)
    if name is None and Path(model).suffix == CAPTURE:
        return None
    name = name or detect_format(model)
    if name not in FORMATS:
        raise ImportFailure(f"unknown format {name!r}; expected one of {', '.join(FORMATS)}")
    return FORMATS[name]


def _opened(model: Any, options: ModelOptions) -> Graph | Source | None:
    """Return the part that is chosen of a graph, or what is read as a model; None for a golden capture, and for a file
    that onnxruntime runs as it is. Raises ImportFailure for what cannot be chosen of it."""
    row = _row_of(model, options)
    check_taken(model, row, options)
    if isinstance(model, Graph):
        return cut_graph(model, options.outputs, options.inputs, options) if options.is_cut else model
    if row is None and options.is_cut:
        raise ImportFailure(f"{model}: a golden capture holds the results of its own inputs only and cannot be cut")
    if row is None or (row.runs and not options.is_cut):
        return None
    return read_model(model, replace(options, format=row.name))


def _are_same(first: PathLike, second: PathLike) -> bool:
    """Return whether two paths lead to one file, or to files of the same bytes."""
    if os.path.samefile(first, second):
        return True
    if os.path.getsize(first) != os.path.getsize(second):
        return False
    regions = [FileRegion(os.fspath(path), 0, os.path.getsize(path)) for path in (first, second)]
    with SourceFiles() as files:
        return same_pieces(*map(files.pieces, regions))
