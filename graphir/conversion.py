"""A model file converted to another format, and the result held against what it came from."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from graphir.converters.formats import Judge, Manner, Ready, Source
from graphir.converters.kernel.live import Live
from graphir.converters.opening import read_model
from graphir.converters.options import ModelOptions
from graphir.converters.table import FORMATS
from graphir.converters.writing import after_writing, check_options, make_ready, only_text, target_format, target_of
from graphir.decisions import DecisionKind
from graphir.errors import ArgumentError, ExportFailure, GraphirError, ProviderError, VerificationError
from graphir.passes.outcome import Outcome
from graphir.report import ConversionReport
from graphir.safety.arguments import PathLike, expect, expect_mapping, short_forms, with_stated
from graphir.safety.limits import Stated, bounded
from graphir.safety.memory import memory_for
from graphir.structure.record import record
from graphir.types import DType
from graphir.verification.options import ComparisonOptions

if TYPE_CHECKING:
    from graphir.accuracy import AccuracyReport
    from graphir.graph import Graph
    from graphir.inputs.given import Feeds
    from graphir.passes.half import HalfOptions
    from graphir.verification.report import VerificationReport

BOUND = "the imported graph with its bound inputs was the reference, not the model that it came from"


_SHORT_FORMS = {
    **{name: ("model_options", name) for name in ("dtypes", "format", "keep_loss", "signature", "state", "strict")},
    **{name: ("comparison", name) for name in ("seed", "rtol", "atol", "providers", "memory_budget", "match", "live")},
}
_KINDS = {"model_options": ModelOptions, "comparison": ComparisonOptions}


@bounded
@short_forms(_SHORT_FORMS, _KINDS)
def convert(
    source: PathLike,
    target: PathLike,
    *,
    params: PathLike | Mapping[str, object] | None = None,
    shapes: Mapping[str, object] | None = None,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] | None = None,
    constants: Mapping[str, object] | None = None,
    opset: int | None = None,
    dtype: str | None = None,
    io_dtype: str = "float32",
    keep_float32: Sequence[str] = (),
    simplify: bool = False,
    verify: bool = False,
    feeds: Feeds | None = None,
    per_layer: bool = False,
    against: str = "auto",
    python: PathLike | Live | None = None,
    accuracy: PathLike | None = None,
    model_options: ModelOptions | None = None,
    comparison: ComparisonOptions | None = None,
    progress: Callable[[str], None] | None = None,
    limits: Stated = None,
    **written: object,
) -> ConversionReport:
    """Convert a model file to another format and say what was done.

    `params`, `shapes`, `inputs`, `outputs` and `limits` are as for `load`; what else can be chosen about the source
    (`format`, `dtypes`, `signature`, ...) stands in `model_options`. `constants` are values by input name: such inputs
    become parameters, so that a target can have as attributes what ONNX takes as operands (axes, shapes, k); the result
    is then held against the graph in which they are bound. `opset` and what else is `written` are options of the
    target's format, as for `save`; of a PyTorch module `names` (a file for both names of weights), `training`,
    `layout`.

    With `verify` the result is run and compared with the source (see `verify`); the report's `verification` holds the
    outcome, and the target stays either way. `feeds`, `per_layer`, `against` and `python` are as for `verify`, what
    else can be chosen (`seed`, `rtol`, `providers`, ...) stands in `comparison`. `accuracy` names an .npz of labelled
    data on which both are run (`graphir.accuracy`). `progress` is called with the name of each step.

    With `dtype`, `float16` or `bfloat16`, weights and graph become that where their numbers allow it
    (`graphir.passes.half.to_half`), inputs and outputs where `io_dtype` is the same, but not the layers that match
    `keep_float32` (names, with * and ?). `simplify` writes the smallest equal graph. Raises what `load` and `save`
    raise; nothing is written then. An error of the check that follows has a note that the target was written.

    A field of `model_options` or `comparison` may be a keyword of the call as well: `seed=1`. One that both state is an
    ArgumentError.
    """
    how = with_stated(
        comparison, ComparisonOptions, "comparison", feeds=feeds, per_layer=per_layer, against=against,
        live=None if python is None else Live.of(python),
    )  # fmt: skip
    chosen = with_stated(
        model_options, ModelOptions, "model_options", params=params, shapes=shapes, inputs=inputs, outputs=outputs,
        training=bool(written.get("training")),
    )  # fmt: skip
    stated = {name: value for name, value in {"opset": opset, **written}.items() if value is not None}
    half, smaller = half_options(dtype, io_dtype, keep_float32), Simplification() if simplify else None
    wanted = Destination(target, stated, constants, half=half, simplification=smaller)
    return convert_model(source, wanted, chosen, Proof(how, verify, accuracy), progress)


def half_options(dtype: str | None, io_dtype: str, keep: Sequence[str]) -> HalfOptions | None:
    """Return what is stated about a conversion to a narrow dtype, None without one. Raises ArgumentError for what does
    not go together."""
    if dtype is None:
        if io_dtype != "float32" or keep:
            raise ArgumentError("io_dtype and keep_float32 are for a conversion to float16 or bfloat16: give dtype")
        return None
    from graphir.passes.half import HalfOptions

    if io_dtype not in ("float32", dtype):
        raise ArgumentError(f"io_dtype={io_dtype!r}: inputs and outputs are float32 or {dtype}")
    return HalfOptions(dtype, io_dtype == dtype, keep)


@record
class Simplification:
    """The smallest equal graph is wanted; with `fuse` operators of the opset are recognised in what spells them out,
    which an old runtime may lack. Computed tensors that are no small constants may take `max_growth` bytes in all: half
    of the 2 GiB that an ONNX file without files beside it can have."""

    fuse: bool = False
    max_growth: int = 1 << 30

    def __post_init__(self) -> None:
        if expect(self.max_growth, int, "max_growth") < 0:
            raise ArgumentError(f"max_growth: expected 0 bytes or more, found {self.max_growth}")


@record
class Destination:
    """What is to be written: where, with which of the target's own options, and with which inputs bound. `report` is
    what will be written after it, which must be neither the target nor a file of the source. `half` asks for a narrow
    dtype, `simplification` for the smallest equal graph."""

    target: PathLike
    options: Mapping[str, Any] = field(default_factory=dict)
    constants: Mapping[str, object] | None = None
    report: PathLike | None = None
    half: HalfOptions | None = None
    simplification: Simplification | None = None

    def __post_init__(self) -> None:
        check_options(self.target, self.format, self.options)
        if self.constants is not None:
            expect_mapping(self.constants, "constants")

    @property
    def format(self) -> str:
        """The format that the target's name asks for."""
        return target_format(self.target)


@record
class Proof:
    """How the result is to be checked: by numbers if `verify`, by accuracy on the labelled data of `accuracy`."""

    how: ComparisonOptions
    verify: bool = False
    accuracy: PathLike | None = None


def convert_model(
    source: PathLike,
    wanted: Destination,
    options: ModelOptions,
    proof: Proof | None = None,
    progress: Callable[[str], None] | None = None,
) -> ConversionReport:
    """Convert a model file; see `convert`."""
    tell = progress or (lambda stage: None)
    started = time.perf_counter()
    model = read_model(source, options, Manner(tell=tell))
    keep_source(source, model, wanted)
    if wanted.constants:
        from graphir.passes.bind import bind_inputs

        bind_inputs(model.graph, wanted.constants)
    graph, changes = model.graph, Outcome()
    if wanted.simplification is not None:
        tell("simplifying")
        graph, changes = _simplified(graph, wanted.simplification, wanted.options.get("opset"))
    if wanted.half is not None:
        tell(f"converting to {wanted.half.dtype}")
        graph = _convert_to_half(graph, wanted.half, proof.how if proof is not None else None)
    tell(f"writing {wanted.target}")
    ready = _ready(model, graph, wanted)
    report = ConversionReport.of(model, source, wanted.target, wanted.format, ready)
    report.take_graph(graph)
    report.simplified = dict(changes.counts())
    with memory_for(f"writing {wanted.target}"), only_text(wanted.target):
        report.add_files(ready.write())
    report.seconds = time.perf_counter() - started
    if wanted.report is not None:
        report.graph = model.graph
    if proof is not None and (proof.verify or proof.accuracy is not None):
        conversion = _Conversion(model, graph, wanted, ready)
        drawn = proof.how.feeds is None and proof.accuracy is None
        with _explain_sizes(model.graph, drawn), after_writing(wanted.target, "the check of it"):
            if proof.verify:
                tell("verifying")
                report.verification = _verified(conversion, proof.how)
                if drawn and not report.verification.outputs:
                    report.verification.notes += filter(None, [_open_sizes(model.graph)])
            if proof.accuracy is not None:
                tell("measuring accuracy")
                report.accuracy = _accuracy(conversion, proof, progress)
    return report


def keep_source(source: PathLike, model: Source, wanted: Destination) -> None:
    """Raise ExportFailure for a target or a report that would overwrite a file of the source, or the other one."""
    files = {os.path.realpath(file) for file in (source, *model.files)}
    targets = target_of(wanted.format).places(wanted.target)
    reports = [path for path in (wanted.report, wanted.options.get("names")) if path is not None]
    for path in (*targets, *reports):
        if os.path.realpath(path) in files:
            raise ExportFailure(f"{path} is a file of the source; write the result elsewhere")
    if {os.path.realpath(path) for path in targets} & {os.path.realpath(path) for path in reports}:
        raise ExportFailure(f"{wanted.report} is a file of the target; write the report elsewhere")


def _simplified(graph: Graph, how: Simplification, opset: int | None) -> tuple[Graph, Outcome]:
    """Return the smallest equal graph, a copy, and what was done. What is decided about the copy is the copy's."""
    from graphir.converters.onnx.evaluator import onnx_evaluator
    from graphir.converters.onnx.exporting.context import operators_at
    from graphir.passes.clone import clone
    from graphir.passes.fusions import RECOGNITIONS
    from graphir.passes.pipelines import smallest

    copy = clone(graph)
    operators = operators_at(graph, opset, RECOGNITIONS) if how.fuse else ()
    return copy, smallest(onnx_evaluator(), operators, how.max_growth).run(copy)


def _convert_to_half(graph: Graph, half: HalfOptions, how: ComparisonOptions | None) -> Graph:
    """Return the graph in the narrow dtype, by the numbers that a run shows where it can be run."""
    from graphir.magnitudes import measure
    from graphir.passes.half import to_half
    from graphir.verification.isolated import run_in_child
    from graphir.verification.options import ComparisonOptions

    measured: dict[str, float] = {}
    reason = ""
    try:
        comparison = ComparisonOptions() if how is None else how
        measured = run_in_child(partial(measure, graph, comparison.feeds, comparison.seed), comparison)
    except (VerificationError, ExportFailure, ProviderError) as error:
        reason = str(error).splitlines()[0]
    converted = to_half(graph, half, measured)
    if reason:
        converted.decide(
            DecisionKind.HALF_PRECISION, "-", f"the model could not be run to measure its activations: {reason}"
        )
    return converted


def _ready(model: Source, graph: Graph, wanted: Destination) -> Ready:
    try:
        options = dict(wanted.options)
        if "origin" in target_of(wanted.format).options:
            options["origin"] = model.description.made_by
        if "read_graph" in target_of(wanted.format).options:
            options["read_graph"] = lambda path: read_model(path).graph
        return make_ready(graph, wanted.target, wanted.format, options)
    except ExportFailure as error:
        missing = model.missing()
        if missing:
            error.add_note(missing)
        raise


class _Conversion(NamedTuple):
    """What was read, the graph that was written of it, where, and how."""

    model: Source
    graph: Graph
    wanted: Destination
    ready: Ready


def _verified(conversion: _Conversion, how: ComparisonOptions) -> VerificationReport:
    """Return what was written, held against what it came from; against the graph where inputs are bound. Where
    onnxruntime does not run what was written, the framework that does is held against the source."""
    from graphir.verification.models import verify_conversion
    from graphir.verification.pairs.sides import Sides

    model, graph, wanted, ready = conversion
    target = target_of(wanted.format)
    imported = model.graph if wanted.constants else model.runnable or model.graph
    lives = [FORMATS[name].live if name in FORMATS else "" for name in (model.format, wanted.format)]
    live = how.live.elsewhere() if how.live is not None and lives[0] not in ("", lives[1]) else how.live
    written = ready.judges(how.against, live)
    step = 0.0
    if wanted.half is not None:
        from graphir.passes.half import form_of

        step = form_of(DType(wanted.half.dtype)).step
    judges = model.judges("reference" if wanted.constants else how.against, how.live)
    if wanted.constants and judges:
        judges = [Judge(note=BOUND)]
    if written:
        sides = Sides(ready.graph or partial(_read_written, wanted), ready.proven or model.graph, made_of=True)
        proven = ready.proven or imported
        graph = ready.proven or model.graph
        report = verify_conversion(written, proven, graph, proven, how, step, sides, is_turned=True)
        if not judges or not report.verdict.passes:
            return report
        sides = Sides(model.graph, model.graph, made_of=True)
        return _include_import(report, verify_conversion(judges, imported, model.graph, imported, how, sides=sides))
    candidate = wanted.target if target.runs else graph
    sides = Sides(model.graph, partial(_read_written, wanted) if target.runs else graph, made_of=True)
    report = verify_conversion(judges or [Judge()], imported, model.graph, candidate, how, step, sides)
    report.notes += how.unused_python("" if wanted.constants else lives[0])
    return report


def _read_written(wanted: Destination) -> Graph:
    """Return the graph of what was written."""
    return read_model(wanted.target).graph


def _include_import(exported: VerificationReport, taken_in: VerificationReport) -> VerificationReport:
    """What was written agrees with the graph; does the graph with its source? Where it does not, that is the report."""
    if not taken_in.verdict.passes and not taken_in.unproven:
        taken_in.notes.append(f"the import differs, not what was written: that agrees with {taken_in.candidate}")
        return taken_in
    exported.unproven += [said for said in taken_in.unproven if said not in exported.unproven]
    exported.seconds += taken_in.seconds
    exported.notes.append(f"the import was compared with {taken_in.reference}: {taken_in.verdict}")
    return exported


def _accuracy(conversion: _Conversion, proof: Proof, progress: Callable[[str], None] | None) -> AccuracyReport:
    """Of both sides on labelled data. The source is run by its reference, live only if that is asked for."""
    from graphir.accuracy import measure_accuracy

    model, graph, wanted, _ = conversion
    against = "live" if proof.how.against == "live" else "reference"
    judges = [] if wanted.constants else model.judges(against, proof.how.live)
    candidate = wanted.target if target_of(wanted.format).runs else graph
    judge = judges[0] if judges else Judge()
    return measure_accuracy(judge, model.graph, candidate, proof.accuracy or "", proof.how, progress)


@contextmanager
def _explain_sizes(graph: Graph, drawn: bool) -> Iterator[None]:
    """Where a run fails on inputs that were drawn, say which sizes were made up."""
    try:
        yield
    except GraphirError as error:
        if drawn:
            error.add_note(_open_sizes(graph))
        raise


def _open_sizes(graph: Graph) -> str:
    """Return what to say when a run failed on sizes that were made up, "" if none were."""
    made_up = [
        f"{value.name} is {value.type}"
        for value in graph.inputs
        if value.shape is not None and not all(isinstance(dim, int) for dim in _sizes_without_batch(value.shape))
    ]
    if not made_up:
        return ""
    return f"the sizes that stay open were made up for the check ({', '.join(made_up)}): give them with -i or --feeds"


def _sizes_without_batch(shape: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the sizes without the batch's, which tensors of three axes and more are taken to have first."""
    return shape[1:] if len(shape) > 2 else shape
