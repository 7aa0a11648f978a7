"""A model quantized by onnxruntime.quantization, and the result measured."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from graphir.accuracy import AccuracyReport, measure_accuracy, split_labels
from graphir.benchmark import IN_TURNS
from graphir.conversion import Destination, keep_source
from graphir.converters.formats import Judge, Manner
from graphir.converters.onnx.files.cut import CutModel
from graphir.converters.onnx.quantizable import describe_quantized, write_quantizable
from graphir.converters.opening import read_model
from graphir.converters.options import ModelOptions
from graphir.converters.session import QUIET
from graphir.errors import ExportFailure, VerificationError
from graphir.files.writing import replacing
from graphir.graph import Graph
from graphir.inputs.files import read_npz
from graphir.inputs.given import Feeds
from graphir.ops.traits import Rounding
from graphir.report.quantization import LeftFloat, QuantizationReport, Timing
from graphir.runtime.benchmark import measure
from graphir.runtime.machine import has_exact_8_bit_products, machine_facts
from graphir.runtime.quantizer import check_quantizer, measure_ranges, prepare_model, write_quantized
from graphir.runtime.session import EXACT_8_BIT_PRODUCTS, OnnxSession
from graphir.runtime.timing import Latency, ratio_of
from graphir.safety.arguments import PathLike, short_forms, with_stated
from graphir.safety.foreign_text import listing
from graphir.safety.isolation import forwarded
from graphir.safety.limits import Stated, bounded
from graphir.structure.names import similar_names
from graphir.structure.record import mutable_record, record
from graphir.verification.isolated import run_in_child
from graphir.verification.options import ComparisonOptions

from .layers import RANKED_ON, LayerRanking, OutputErrors, QuantizedLayer, quantized_layers
from .options import OPSET_OF_16_BITS, QuantizeOptions
from .samples import Samples, count_shared, has_batch, read_samples

# Rows of a batch; histograms need all activations of a batch at once, so one sample is a batch there.
ROWS = {"minmax": RANKED_ON, "entropy": 1, "percentile": 1}
# Users' sessions do not set what makes 8-bit products exact on old processors, and some four times slower.
AS_USED = {EXACT_8_BIT_PRODUCTS: "0"}
SATURATES = (
    "this processor has no VNNI: onnxruntime adds products of 8 bits in pairs that saturate at 16 bits, as measured "
    "here; accuracies are of exact products; --reduce-range avoids it"
)
_SHORT_FORMS = {
    **{name: ("options", name) for name in (
        "activations", "method", "per_channel", "reduce_range", "block_size", "samples", "exclude", "keep_best",
        "opset", "seconds", "threads", "seed",
    )},
    **{name: ("model_options", name) for name in ("dtypes", "format", "signature", "inputs", "outputs")},
}  # fmt: skip

WRITTEN = "onnx"  # the format that onnxruntime.quantization reads and writes


@bounded
@short_forms(_SHORT_FORMS, {"options": QuantizeOptions, "model_options": ModelOptions})
def quantize(
    source: PathLike,
    target: PathLike,
    *,
    feeds: Feeds | None = None,
    kind: str = "static",
    accuracy: PathLike | None = None,
    max_drop: float | None = None,
    max_error: float | None = None,
    params: PathLike | Mapping[str, object] | None = None,
    shapes: Mapping[str, object] | None = None,
    options: QuantizeOptions | None = None,
    model_options: ModelOptions | None = None,
    progress: Callable[[str], None] | None = None,
    limits: Stated = None,
) -> QuantizationReport:
    """Quantize a model by onnxruntime.quantization, write it as .onnx, and return what that saves and costs.

    `source`, `params`, `shapes` and `limits` are as for `load`. `kind` is `static` (8-bit weights, activations of the
    ranges that occur in the `feeds`), `dynamic` (8-bit weights, ranges found at run time) or `int4` (weights of
    products alone). `feeds` are as for `verify`: a folder or file of images, .npy or .npz, or arrays by name; a quarter
    of them, at most 32, does not calibrate and shows the error. Layers are ranked by the error that each causes when it
    alone is quantized.

    `accuracy` names an .npz of labelled data. With `max_drop` (0.005 is half a point of accuracy) or `max_error` (the
    relative error of the worst output) the worst layers stay float, as few as the limit needs by bisection. Where no
    number of them is enough, `report.reached` is False and nothing is written, unless `keep_best`. The rest of
    `options` may be keywords too: `activations` (uint8, int8, uint16, int16), `method` (minmax, entropy, percentile),
    `per_channel`, `reduce_range` (7-bit weights), `block_size` (of int4), `samples` (how many calibrate at most),
    `exclude` (nodes that stay float, with * and ?), `opset`, `seconds` and `threads` of the timing, `seed`.

    Raises ArgumentError for options that do not go together, ExportFailure for a model that cannot be quantized or has
    nothing to quantize, VerificationError for data that do not fit, and what `load` raises; nothing is written then.
    """
    how = with_stated(
        options, QuantizeOptions, "options", kind=kind, accuracy=accuracy, max_drop=max_drop, max_error=max_error
    )
    chosen = with_stated(model_options, ModelOptions, "model_options", params=params, shapes=shapes)
    return quantize_model(source, target, feeds, how, chosen, progress)


def quantize_model(
    source: PathLike,
    target: PathLike,
    feeds: Feeds | None,
    how: QuantizeOptions,
    options: ModelOptions,
    progress: Callable[[str], None] | None = None,
    page: PathLike | None = None,
) -> QuantizationReport:
    """Quantize a model; see `quantize`. `page` is the report that will be written after it."""
    started = time.perf_counter()
    how.check()
    tell = progress or (lambda stage: None)
    wanted = Destination(target, report=page)
    if wanted.format != WRITTEN:
        raise ExportFailure(f"{target}: quantized models are written as .onnx")
    version = check_quantizer(how.kind)
    model = read_model(source, options, Manner(tell=tell))
    keep_source(source, model, wanted)
    _refuse_quantized(model.graph, source)
    if how.accuracy is not None:  # what is wrong with it shows before the work
        split_labels(read_npz(how.accuracy), [value.name for value in model.graph.inputs], str(how.accuracy))
    with tempfile.TemporaryDirectory(prefix="graphir-") as folder:
        paths = os.fspath(source), os.fspath(target)
        work = _Work(*paths, model.graph, Path(folder), how, feeds, forwarded(tell) or tell)
        report = run_in_child(work.report, ComparisonOptions(), tell)
        if report.reached or how.keep_best:
            with replacing(target) as (file,), open(work.best, "rb") as best:
                shutil.copyfileobj(best, file)
            report = replace(report, is_written=True)
    return replace(report, onnxruntime=version, seconds=time.perf_counter() - started)


def _refuse_quantized(graph: Graph, source: PathLike) -> None:
    names = [node.name for node in graph.nodes if node.op.rounding is Rounding.QUANTIZES]
    if names:
        raise ExportFailure(
            f"{source} is quantized already ({listing(names, 3)}): quantize the float model that it was made from"
        )


@record
class Trial:
    """A quantized model that was measured: how many of the ranked layers stay float, and what it costs."""

    kept: int
    error: float
    accuracy: AccuracyReport | None

    @property
    def drop(self) -> float:
        """Return by how much the accuracy is lower, of 1."""
        measured = self.accuracy
        return 0.0 if measured is None else (measured.reference_correct - measured.candidate_correct) / measured.samples

    def passes(self, how: QuantizeOptions) -> bool:
        """Return whether it keeps the stated limit."""
        if how.max_drop is not None:
            return self.drop <= how.max_drop
        return how.max_error is None or self.error <= how.max_error


def fewest_kept(count: int, passes: Callable[[int], bool]) -> int | None:
    """Return the smallest number of layers, below `count`, that passes when so many of the worst stay float; None where
    no number that was tried does. Bisection takes it that more such layers do not make it worse.

    >>> fewest_kept(100, lambda kept: kept >= 37), fewest_kept(100, lambda kept: False)
    (37, None)
    """
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2 if low else 0
        if passes(middle):
            high = middle
        else:
            low = middle + 1
    return high if high < count else None


@mutable_record
class _Work:
    """One quantization: its files are in a folder of its own."""

    source: str
    target: str
    graph: Graph
    folder: Path
    how: QuantizeOptions
    feeds: Feeds | None
    tell: Callable[[str], None]
    ranges: Any = None
    ranked_on: int = 0
    trials: dict[int, Trial] = field(default_factory=dict)

    @property
    def reference(self) -> Path:
        """Return the path of the float model."""
        return self.folder / "float.onnx"

    @property
    def best(self) -> Path:
        """Return the path of the model that is to be written."""
        return self.folder / "best.onnx"

    def report(self) -> QuantizationReport:
        """Do all of it, but for writing the target."""
        how = self.how
        self.tell("writing the float model")
        opset = OPSET_OF_16_BITS if how.opset is None and how.is_16_bit else how.opset
        write_quantizable(self.graph, self.reference, opset, prepare_model)
        self.tell("collecting samples")
        rows = ROWS[how.precision.method]
        samples = read_samples(
            self.feeds, self.graph, self.folder, how.samples, how.seed, calibrates=how.kind == "static", rows=rows
        )
        if how.max_error is not None and (samples.are_drawn or not samples.held_out):
            raise VerificationError("max_error is measured on samples that did not calibrate: give more feeds")
        if how.kind == "static":
            self.tell("calibrating")
            augmented = self.folder / "augmented.onnx"
            self.ranges = measure_ranges(self.reference, samples.calibration, how.precision, augmented)
        reference = CutModel(self.reference.read_bytes())
        excluded = self._excluded([name for name, _ in reference.nodes(reference.results, ())])
        self.tell("quantizing")
        write_quantized(self.reference, self.best, how.precision, excluded, self.ranges)
        quantized = CutModel(self.best.read_bytes())
        layers = quantized_layers(reference, quantized)
        if not layers:
            raise ExportFailure(_nothing(self.graph, how, bool(excluded)))
        self.tell("ranking layers")
        ranking = LayerRanking(reference, quantized, samples.measured)
        self.ranked_on, ranked = ranking.samples, ranking.rank(layers)
        kept = self._choose(ranked, excluded, samples)
        left = self._left(reference, ranked, kept, excluded)
        return self._reported(samples, ranked, self.trials[kept], left)

    def _excluded(self, names: Sequence[str]) -> set[str]:
        """Return the nodes that match what stays float. Raises ExportFailure for what no node matches."""
        excluded: set[str] = set()
        for pattern in self.how.exclude:
            matches = {name for name in names if fnmatchcase(name, pattern)}
            if not matches:
                raise ExportFailure(f"exclude: no node is called {pattern}{similar_names(pattern, names)}")
            excluded |= matches
        return excluded

    def _choose(self, ranked: Sequence[QuantizedLayer], excluded: set[str], samples: Samples) -> int:
        """Measure models until one keeps the limit with as few float layers as possible; return how many these are. If
        none does it is the one that comes closest. Its file is `best`."""
        paths: dict[int, Path] = {}

        def passes(kept: int) -> bool:
            paths[kept] = self.best
            if kept:
                self.tell(f"quantizing with {kept} of {len(ranked)} layers in float")
                names = excluded | {name for layer in ranked[:kept] for name in layer.nodes}
                paths[kept] = self.folder / f"kept-{kept}.onnx"
                write_quantized(self.reference, paths[kept], self.how.precision, names, self.ranges)
            self.trials[kept] = self._measured(kept, paths[kept], samples)
            return self.trials[kept].passes(self.how)

        kept = fewest_kept(len(ranked), passes)
        if kept is None:
            by_drop = self.how.max_drop is not None
            kept = min(self.trials, key=lambda count: (
                self.trials[count].drop if by_drop else 0.0, self.trials[count].error, count,
            ))  # fmt: skip
        if kept:
            os.replace(paths[kept], self.best)
        return kept

    def _measured(self, kept: int, path: Path, samples: Samples) -> Trial:
        self.tell(f"measuring the error with {kept} layers in float")
        errors = OutputErrors()
        entries = {**QUIET, **AS_USED}
        sessions = [OnnxSession(file, providers=["cpu"], entries=entries) for file in (self.reference, path)]
        for batch in samples.measured:
            feeds = batch()
            expected, quantized = (session.run({name: feeds[name] for name in session.inputs}) for session in sessions)
            errors.add(expected, quantized)
        accuracy = None
        if self.how.accuracy is not None:
            accuracy = measure_accuracy(
                Judge(), self.graph, path, self.how.accuracy, ComparisonOptions(), self.tell
            )
        return Trial(kept, errors.worst, accuracy)

    def _left(
        self, reference: CutModel, ranked: Sequence[QuantizedLayer], kept: int, excluded: set[str]
    ) -> list[LeftFloat]:
        """Return what stays float, and why."""
        by_limit = {name for layer in ranked[:kept] for name in layer.nodes}
        quantized = {name for layer in ranked[kept:] for name in layer.nodes}
        rest = f"onnxruntime.quantization leaves it (kind {self.how.kind})"
        groups: dict[tuple[str, str], list[str]] = {}
        for name, operator in reference.nodes(reference.results, ()):
            if name not in quantized:
                why = f"for {self.how.target}" if name in by_limit else rest
                why = "excluded by the user" if name in excluded else why
                groups.setdefault((why, operator), []).append(name)
        return [LeftFloat(tuple(names), operator, why) for (why, operator), names in sorted(groups.items())]

    def _reported(
        self, samples: Samples, ranked: Sequence[QuantizedLayer], best: Trial, left: Sequence[LeftFloat]
    ) -> QuantizationReport:
        self.tell("timing")
        file = describe_quantized(self.best)
        return QuantizationReport(
            source=self.source, target=self.target, kind=self.how.kind, precision=self.how.precision, opset=file.opset,
            oldest=file.onnxruntime, own_operators=[name for name in file.operators if "." in name],
            sizes=(self.reference.stat().st_size, self.best.stat().st_size), error=best.error,
            error_on=samples.where, ranked_on=self.ranked_on,
            calibrated_on=sum(batch.samples for batch in samples.calibration), accuracy=best.accuracy, drop=best.drop,
            target_text=self.how.target, reached=best.passes(self.how), layers=list(ranked), kept=best.kept,
            left=list(left), trials=[(trial.kept, trial.error, trial.drop) for trial in self.trials.values()],
            timing=self._timed(samples), machine=machine_facts(),
            notes=[*samples.notes, *self._shared(samples),
                   *([] if has_exact_8_bit_products() or self.how.kind == "int4" else [SATURATES])],
        )  # fmt: skip

    def _shared(self, samples: Samples) -> list[str]:
        """Return how many labelled samples calibrated too, in words."""
        if self.how.accuracy is None or not samples.calibration:
            return []
        data, names = str(self.how.accuracy), [value.name for value in self.graph.inputs]
        labelled, labels = split_labels(read_npz(self.how.accuracy), names, data)
        count = count_shared(samples.calibration, labelled, self.graph)
        effect = ": the accuracy after is measured on them as well" if count else ""
        return [f"{count:,} of the {len(labels):,} labelled samples calibrated too{effect}"]

    def _timed(self, samples: Samples) -> Timing:
        """Return how long both take in turns on one sample, or on a batch where its size is fixed."""
        feeds = samples.measured[0]()
        if has_batch(self.graph, feeds) and not isinstance((self.graph.inputs[0].shape or (0,))[0], int):
            feeds = {name: array[:1] for name, array in feeds.items()}
        sessions = [
            OnnxSession(path, providers=["cpu"], threads=self.how.threads, entries={**IN_TURNS, **AS_USED})
            for path in (self.reference, self.best)
        ]
        calls = [session.prepared({name: feeds[name] for name in session.inputs}) for session in sessions]
        before, after = measure(calls, seconds=self.how.seconds, seed=self.how.seed).timed
        shapes = ", ".join(f"{name} {array.dtype}{list(array.shape)}" for name, array in feeds.items())
        ratio = ratio_of(before, after, self.how.seed)
        return Timing(Latency.of(before).p50, Latency.of(after).p50, ratio, self.how.threads, shapes)


def _nothing(graph: Graph, how: QuantizeOptions, is_excluded: bool) -> str:
    names = sorted({node.op.name for node in graph.nodes})
    advice = {
        "static": "it takes Conv, Gemm, MatMul and what stands between them, in float32 and outside of bodies",
        "dynamic": "it takes MatMul, Gemm and LSTM with constant weights of float32; --kind static takes Conv too",
        "int4": "it takes MatMul and Gemm with constant weights of float32; --kind static takes Conv too",
    }[how.kind]
    text = f"nothing to quantize as {how.kind}: {advice}; the model has {listing(names) if names else 'no nodes'}"
    return f"{text}; what matches exclude was left out" if is_excluded else text
