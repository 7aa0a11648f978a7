"""Does a model compute what its source computes? Outputs, then layer by layer, in bounded memory.

The first set of inputs is compared with everything that there is. A further one costs a run of each model where they
agree; what is beyond the floors that were measured before goes through the whole comparison, which names causes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from graphir.analysis.cost import sample_work
from graphir.arrays import Array
from graphir.converters.kernel.live import LiveFailed
from graphir.errors import VerificationError
from graphir.graph import Graph
from graphir.runtime.providers import PROVIDERS

from .causes.layers import explain
from .grading.by_regions import can_judge, grade_by_regions, look_inside
from .grading.detections import compare_as_sets
from .grading.evidence import doubt_sentence, gather_evidence, look_for_overflow, plain_evidence, unproven
from .grading.ranking import rankings
from .numbers.compare import Comparison, same, says_nothing
from .numbers.limits import GradingLimits
from .options import ComparisonOptions
from .pairs.matches import first_run, fit, questions, turned
from .pairs.pairing import layer_pairs, missing_layers, output_pairs
from .pairs.sides import Sides
from .regions.known import known_values
from .report import VerificationReport
from .running.bench import Asked, Bench, before_head
from .running.candidate import OnnxCandidate
from .running.heads import hides_errors, is_shiftless, scores, values_before_heads
from .running.layouts import check_keys, order_outside
from .running.noise import RoundedRuns
from .running.references import RuntimeReference

if TYPE_CHECKING:
    from graphir.converters.formats import Reference
    from graphir.converters.onnx.files.structure import Structure

QUANTIZED = (
    "both models compute with 8-bit numbers: an output may differ by one step of them, taken as 1/127 of its largest "
    "magnitude, and a quantized value inside by 1, rarely 2; a wrong scale below that shows in no number"
)
ONCE = "every node is the same in both: values inside were computed once, and are no separate numbers of the candidate"
# Multiply-accumulates of a sample. All sets have 17 samples, which both models compute: at 3e10 a second, of one core,
# they take a second, as long as it takes to start and to read two models.
HEAVY = 1e9
Results = Mapping[str, Array]


@dataclass(frozen=True)
class Models:
    """Two models, how they are compared, and what is known of them.

    `graph` is the candidate's graph where there is one, and tells which value is which layer of the source; `sides` are
    the graphs of both. `inside` is what is known of the reference's own, `step` that of a coarser type that it
    computes in. `is_turned` says that the candidate is what the reference was made of.
    """

    reference: Reference
    candidate: OnnxCandidate
    how: ComparisonOptions = field(default_factory=ComparisonOptions)
    graph: Graph | None = None
    inside: Structure | None = None
    step: float = 0.0
    sides: Sides | None = None
    is_turned: bool = False

    @property
    def telling(self) -> Sides | None:
        """The graphs of both, unless the names of one say what is what in the other: it was made of that, and its
        outputs have their names, which MXNet's have not."""
        is_named = not set(self.reference.outputs).isdisjoint(self.candidate.session.outputs)
        is_needed = self.sides is not None and (not self.sides.made_of or self.how.per_layer or not is_named)
        return self.sides if is_needed else None

    @property
    def is_one_runtime(self) -> bool:
        """Whether onnxruntime runs both: nodes that are the same in both then compute the same."""
        return isinstance(self.reference, RuntimeReference)

    @cached_property
    def is_proven(self) -> bool:
        """Whether few numbers will do: onnxruntime runs the same nodes for both, and a sample is much work."""
        sides = self.sides
        if sides is None or sides.graphs is None or not self.is_one_runtime:
            return False
        return sides.proves and sample_work(sides.graphs[0]) > HEAVY and sides.are_equal

    def bench(self, feeds: Results, layers: Mapping[str, str], extra: Sequence[str]) -> Bench:
        """Return both with the limits that hold for them; runs that are made anyway give the `extra` values too."""
        candidate, inside, how = self.candidate, self.inside, self.how
        elsewhere = candidate.session.providers[0] != PROVIDERS["cpu"]
        theirs = self.reference.quantized or (inside is not None and inside.quantizes)
        quantized = candidate.structure.quantizes and theirs
        steps = {} if inside is None else inside.steps
        limits = GradingLimits(
            how.rtol, how.atol, self.step, steps, elsewhere, quantized, candidate.structure.lost_by_sums
        )
        origin = self.graph if self.graph is not None else Graph()
        rounding = RoundedRuns(candidate, origin, feeds, how.seed, limits.coarsest, extra)
        made_of = self.sides is not None and self.sides.made_of
        known = Bench(self.reference, candidate, feeds, rounding, layers, limits, inside, made_of=made_of)
        is_twin = self.is_proven and not elsewhere
        return replace(known, alone=self.is_proven, is_twin=is_twin, by_regions=can_judge(known, self.sides))


class Compared(NamedTuple):
    """A report of one set of inputs, both models on it, and what was compared of them: outputs, values before heads."""

    report: VerificationReport
    bench: Bench
    asked: list[Asked]


class Refused(Exception):
    """One or both models do not take the feeds; their sentences, "" for one that does, and the shapes of the outputs
    that the reference gives."""

    def __init__(self, reference: str, candidate: str, shapes: Mapping[str, tuple[int, ...]]) -> None:
        super().__init__(reference or candidate)
        self.reference, self.candidate, self.shapes = reference, candidate, shapes


def compare_models(models: Models, feeds: Results) -> Compared:
    """Run both on the feeds and compare them, in the order of docs/architecture.md; the reference is evaluated once.

    Raises VerificationError if a model fails to run, has other outputs, or there is nothing to compare.
    """
    reference, candidate, sides, how = models.reference, models.candidate, models.sides, models.how
    report = _empty_report(feeds)
    stated = fit(reference, candidate, feeds, how, report.notes)
    pairs = output_pairs(reference.outputs, candidate, report.notes, stated.outputs, models.telling)
    given = dict.fromkeys([*(name for _, name in pairs), *candidate.session.aside])
    results = first_run(candidate, feeds, list(given), list(stated.inputs), report.notes)
    layers = layer_pairs(reference, candidate, models.graph, models.telling)
    heads = [] if models.is_proven else _heads(candidate, pairs, layers, report.notes)

    bench = models.bench(feeds, layers, [*(name for _, name in pairs), *(head.name for head in heads)])
    about = [QUANTIZED if bench.limits.quantized else "", ONCE if how.per_layer and bench.is_twin else ""]
    about += [candidate.about_budget(), candidate.beyond_budget(feeds, per_layer=how.per_layer)]
    about += [missing_layers(reference, layers, models.telling)] if how.per_layer else []
    report.notes += filter(None, about)
    wanted = dict.fromkeys([*(source for source, _ in pairs), *(head.source for head in heads)])
    is_judged = sides is not None and (sides.tells or (bench.by_regions and reference.computes_all))
    if sides is not None and is_judged and not (how.per_layer or bench.limits.stated):
        expected = known_values(bench, sides).named(wanted)  # with what regions may ask for
    else:
        expected, report.layers = bench.evaluate(wanted, layers if how.per_layer else ())
    check_keys(pairs, reference.keys, candidate.keys)
    matched = {source: partial(turned, match=match) for source, match in stated.outputs.items() if match.order}
    outputs = [Asked(source, source, name, True, turned=matched.get(source)) for source, name in pairs]
    report.outputs = _grade(bench, [*outputs, *heads], (expected, results), sides)
    report.rankings = rankings(bench, outputs, (expected, results), report.outputs)
    by_name = {comparison.name: comparison for comparison in report.outputs}
    report.layers = [by_name.get(layer.name, layer) for layer in report.layers]
    report.notes += [
        f"{one.name} was compared with its channels where {one.source} has them" for one in outputs
        if one.turned is None and order_outside(results[one.name], expected[one.source], candidate.fitting)
    ]  # fmt: skip
    missing = _missing(reference, pairs)
    report.outputs[len(outputs) : len(outputs)] = missing
    if report.ok:
        report.outputs = look_inside(bench, report.outputs, outputs, sides)
    if report.ok:
        weighed = gather_evidence(bench, report.outputs, (outputs, heads), expected, sides)
        report.evidence, report.notes = weighed.evidence, [*report.notes, *filter(None, [weighed.note])]
        report.outputs += weighed.differing
        report.unproven += [doubt_sentence(*doubt) for doubt in unproven([weighed.evidence]).items()]
        overflown, note = look_for_overflow(bench) if bench.limits.coarsest and report.ok else ([], "")
        report.outputs += overflown
        report.notes += filter(None, [note])
    if report.verdict.differs and not missing:
        results = {source: expected[source] for source, _ in pairs}
        report.notes += questions(candidate, feeds, results, dict(pairs), stated, bench.limits)
    report.notes += _narrower(bench, report)
    if sides is not None and (report.verdict.differs or not all(layer.verdict.passes for layer in report.layers)):
        folder = how.reproduce if report.verdict.differs else None
        explain(report, replace(bench, passing=True), sides, [source for source, _ in pairs], reproduce=folder)
    report.reference, report.candidate = reference.label, candidate.label
    return Compared(report, bench, [*outputs, *heads])


def compare_again(
    compared: Compared, feeds: Results, *, stretched: bool, proving: bool
) -> tuple[VerificationReport, set[str]]:
    """Compare the first set's values on other feeds, by one run of each model; also the titles that are left out.

    Values that show nothing are left out, and a note names them: all of each is infinite or NaN in both models, or,
    where the numbers are `stretched`, one overflows. `proving` asks for evidence, given where each output was compared.

    Raises Refused, and LiveFailed for a live framework that was asked for and gives no answer: where it was not, that
    is a set without one.
    """
    _, first, asked = compared
    bench = replace(first, feeds=feeds, rounding=replace(first.rounding, base=feeds), judged={}, kept={}, passing=True,
                    alone=True)  # fmt: skip
    report = _empty_report(feeds)
    expected, results = _run_both(bench, asked)
    pairs = [pair for request in asked if (pair := bench.pair(request, expected, results)) is not None]
    silent = [pair.asked for pair in pairs if says_nothing(pair.expected) and same(pair.expected, pair.found)]
    overflown = [
        pair.asked for pair in pairs
        if stretched and pair.asked not in silent and _overflows(bench, pair.expected, pair.found)
    ]  # fmt: skip
    left = [pair.asked for pair in pairs if pair.asked not in silent and pair.asked not in overflown]
    report.outputs = bench.compare(left, expected, results)
    outputs = [request for request in asked if request.is_output]
    report.rankings = rankings(bench, [request for request in outputs if request in left], (expected, results),
                               report.outputs)  # fmt: skip
    if proving and len(left) == len(asked):
        report.evidence = plain_evidence(bench, outputs, expected, report.outputs)
    if silent:
        titles = ", ".join(request.title for request in silent)
        report.notes.append(f"all of {titles} is infinite or NaN in both models, which shows nothing")
    if overflown:
        titles = ", ".join(request.title for request in overflown)
        report.notes.append(f"{titles} overflows, or what it is made of, and was not compared")
    return report, {request.title for request in (*silent, *overflown)}


def _run_both(bench: Bench, asked: Sequence[Asked]) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return the reference's values and the candidate's. Raises Refused and LiveFailed, as `compare_again` does."""
    expected: dict[str, Array] = {}
    results: dict[str, Array] = {}
    no_reference = no_candidate = ""
    try:
        expected, _ = bench.evaluate(dict.fromkeys(request.source for request in asked), ())
    except VerificationError as error:
        if isinstance(error, LiveFailed) and bench.reference.insists:
            raise
        no_reference = str(error)
    try:
        results = bench.candidate.run_cached(bench.feeds, list(dict.fromkeys(request.name for request in asked)))
    except VerificationError as error:
        no_candidate = str(error)
    if no_reference or no_candidate:
        outputs = [request.source for request in asked if request.is_output and request.source in expected]
        raise Refused(no_reference, no_candidate, {name: expected[name].shape for name in outputs})
    return expected, results


def _empty_report(feeds: Results) -> VerificationReport:
    types = {name: f"{array.dtype}{list(array.shape)}" for name, array in feeds.items()}
    return VerificationReport(reference="", candidate="", feeds=types, outputs=[])


def _grade(
    bench: Bench, asked: Sequence[Asked], runs: tuple[Results, Results], sides: Sides | None
) -> list[Comparison]:
    """Return the comparisons of outputs and of values before heads, of which `runs` are the reference's values and the
    candidate's.

    What a few runs of the candidate do not excuse is asked of its regions at first, which takes no run of the reference
    on moved inputs. Where these differ, or cannot be judged, each value has the verdict of its own floor.
    """
    if bench.by_regions:
        graded = grade_by_regions(bench, asked, replace(bench, passing=True).compare(asked, *runs), runs, sides)
        if all(comparison.verdict.passes for comparison in graded):
            return graded
    graded = grade_by_regions(bench, asked, replace(bench, by_regions=False).compare(asked, *runs), runs, sides)
    return compare_as_sets(bench, [request for request in asked if request.is_output], graded, runs)


def _narrower(bench: Bench, report: VerificationReport) -> Iterator[str]:
    """Yield what is to be said where the candidate computes in a coarse type that the reference does not have."""
    coarse = [name for name in bench.candidate.structure.steps if name in bench.candidate.structure.producers]
    if report.verdict.differs and coarse and not bench.limits.coarsest and not bench.limits.stated:
        yield (
            f"the candidate computes {len(coarse)} values in float16 or bfloat16, and nothing is known to do so in the "
            f"reference: if that is meant, say how much may differ (--rtol)"
        )


def _heads(
    candidate: OnnxCandidate, pairs: Sequence[tuple[str, str]], layers: Mapping[str, str], notes: list[str]
) -> list[Asked]:
    """Return the values before saturating heads, as far as these see them; a note where there are heads and no such
    value is known to both."""
    own, outputs = candidate.structure, [name for _, name in pairs]
    known = values_before_heads(own, outputs, layers)
    if not known and hides_errors(own, outputs):
        notes.append("a softmax or the like hides errors before it, and no value before it is known to both")
    # Values of one name are the same; others may differ by what the head does not see.
    views = {source: source != name and is_shiftless(kind) for source, (name, kind) in known.items()}
    return [
        Asked(before_head(source), source, name, seen=partial(scores, kind) if views[source] else None)
        for source, (name, kind) in known.items()
    ]


def _missing(reference: Reference, pairs: Sequence[tuple[str, str]]) -> list[Comparison]:
    """Return the outputs that the candidate should have and has not."""
    paired = {source for source, _ in pairs}
    return [
        Comparison.without_result(name, (), "the candidate has no such output")
        for name in reference.outputs
        if name not in paired and name not in reference.may_lack
    ]


def _overflows(bench: Bench, expected: Array, found: Array) -> bool:
    """Return whether a value is infinite or NaN on one side only because numbers became too large there: anywhere on
    the way where one side computes in a narrow type, else at the end of the value's own."""
    if expected.shape != found.shape or expected.dtype.kind not in "fV" or found.dtype.kind not in "fV":
        return False
    a, b = expected.astype(np.float64), found.astype(np.float64)
    only_one = np.isfinite(a) != np.isfinite(b)
    if not only_one.any():
        return False
    if bench.limits.coarsest or bench.candidate.structure.steps:
        return True
    largest = min(float(np.finfo(array.dtype).max) for array in (expected, found))
    return bool((np.abs(np.where(np.isfinite(a), a, b)[only_one]) > largest / 2).all())
