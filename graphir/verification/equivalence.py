"""Does a model compute what its source computes? Outputs, then layer by layer, in bounded memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from graphir.arrays import Array
from graphir.graph import Graph
from graphir.runtime.providers import PROVIDERS

from .causes.layers import explain
from .grading.by_regions import can_judge, grade_by_regions, look_inside
from .grading.detections import compare_as_sets
from .grading.doubts import gather_evidence, look_for_overflow
from .grading.proof import doubt_sentence, unproven
from .grading.ranking import rankings
from .numbers.compare import Comparison
from .numbers.limits import Limits
from .options import ComparisonOptions
from .pairs.matches import turned
from .pairs.pairing import layer_pairs, missing_layers, output_pairs
from .pairs.questions import Stated, first_run, fit, questions
from .pairs.sides import Sides
from .report import VerificationReport
from .running.bench import Asked, Bench, before_head
from .running.candidate import OnnxCandidate
from .running.heads import Wiring, hides_errors, is_shiftless, scores, values_before_heads
from .running.layouts import check_keys, order_outside
from .running.noise import Rounding
from .verdict import Verdict

if TYPE_CHECKING:
    from graphir.converters.formats import Reference
    from graphir.converters.onnx.files.structure import Structure

QUANTIZED = (
    "both models compute with 8-bit numbers: an output may differ by one step of them, taken as 1/127 of its largest "
    "magnitude, and a quantized value inside by 1, rarely 2; a wrong scale below that shows in no number"
)


class Compared(NamedTuple):
    """A report of one set of inputs, both models on it, and what was compared of them: outputs, values before heads."""

    report: VerificationReport
    bench: Bench
    asked: list[Asked]


def compare_models(
    reference: Reference,
    candidate: OnnxCandidate,
    feeds: Mapping[str, Array],
    *,
    graph: Graph | None = None,
    how: ComparisonOptions | None = None,
    wiring: Wiring | Structure | None = None,
    step: float = 0.0,
    sides: Sides | None = None,
) -> Compared:
    """Run both on the feeds and compare them, in the order of docs/architecture.md; the reference is evaluated once.

    `graph` is the candidate's graph where there is one, and tells which value is which layer of the source; `sides` are
    the graphs of both. `wiring` is what is known of the reference's inside, `step` that of a coarser type that it
    computes in. Raises VerificationError if a side fails to run, has other outputs, or there is nothing to compare.
    """
    how = how or ComparisonOptions()
    fed_types = {name: f"{array.dtype}{list(array.shape)}" for name, array in feeds.items()}
    report = VerificationReport(reference="", candidate="", feeds=fed_types, outputs=[])
    stated = fit(reference, candidate, feeds, how, report.notes)
    telling = None if sides is None or (sides.made_of and not how.per_layer) else sides
    pairs = output_pairs(reference.outputs, candidate, report.notes, stated.outputs, telling)
    given = dict.fromkeys([*(name for _, name in pairs), *candidate.session.aside])
    found = first_run(candidate, feeds, list(given), list(stated.inputs), report.notes)
    layers = layer_pairs(reference, candidate, graph, telling)
    heads = _heads(candidate, pairs, layers, report.notes)

    compared = [*(name for _, name in pairs), *(head.name for head in heads)]
    bench = _bench(reference, candidate, feeds, layers, graph, wiring, how, step)
    bench = replace(bench, rounding=bench.rounding.with_outputs(compared), made_of=sides is not None and sides.made_of)
    report.notes += _about_runs(bench, how, telling)
    wanted = dict.fromkeys([*(source for source, _ in pairs), *(head.source for head in heads)])
    expected, report.layers = bench.evaluate(wanted, layers if how.per_layer else ())
    check_keys(pairs, reference.keys, candidate.keys)

    outputs = [_output(pair, stated) for pair in pairs]
    moved = _moved_once(bench, [*outputs, *(head for head in heads if head.name in found)])
    report.outputs = _grade(bench, [*outputs, *heads], (expected, found), moved, sides)
    report.rankings = rankings(bench, outputs, (expected, found), report.outputs)
    graded = {one.name: one for one in report.outputs}
    report.layers = [graded.get(layer.name, layer) for layer in report.layers]
    report.notes += _moved_channels(outputs, expected, found)
    lacking = _lacking(reference, pairs)
    report.outputs[len(outputs) : len(outputs)] = lacking
    if report.ok:
        report.outputs = look_inside(bench, report.outputs, outputs, sides)
    if report.ok:
        _weigh(bench, report, (outputs, heads), expected, (found, moved), sides)
    if report.verdict.differs and not lacking:
        results = {source: expected[source] for source, _ in pairs}
        report.notes += questions(candidate, feeds, results, dict(pairs), stated, bench.limits)
    report.notes += _narrower(bench, report)
    if sides is not None and (report.verdict.differs or not all(layer.verdict.passes for layer in report.layers)):
        explain(
            report, replace(bench, passing=True), sides, [source for source, _ in pairs],
            reproduce=how.reproduce if report.verdict.differs else None,
        )  # fmt: skip
    report.reference, report.candidate = reference.label, candidate.label
    return Compared(report, bench, [*outputs, *heads])


def _about_runs(bench: Bench, how: ComparisonOptions, sides: Sides | None) -> Iterator[str]:
    """What is to be said of both models before any numbers: 8 bits, memory, layers that are not compared."""
    candidate = bench.candidate
    said = [QUANTIZED if bench.limits.quantized else "", candidate.about_budget()]
    said += [candidate.beyond_budget(bench.feeds, per_layer=how.per_layer)]
    said += [missing_layers(bench.reference, bench.layers, sides) if how.per_layer else ""]
    yield from filter(None, said)


def _weigh(
    bench: Bench,
    report: VerificationReport,
    asked: tuple[Sequence[Asked], Sequence[Asked]],
    expected: Mapping[str, Array],
    runs: tuple[Mapping[str, Array], Mapping[str, Array]],
    sides: Sides | None,
) -> None:
    """What the agreement of outputs proves, and what ends as infinity before them."""
    weighed = gather_evidence(bench, report.outputs, asked, expected, runs, sides)
    report.evidence = weighed.evidence
    report.outputs += weighed.differing
    report.doubts = unproven([report.evidence])
    report.unproven += [doubt_sentence(name, reason) for name, reason in report.doubts.items()]
    overflown, note = look_for_overflow(bench) if bench.limits.coarsest and report.ok else ([], "")
    report.outputs += overflown
    report.notes += filter(None, (weighed.note, note))


def _bench(
    reference: Reference,
    candidate: OnnxCandidate,
    feeds: Mapping[str, Array],
    layers: Mapping[str, str],
    graph: Graph | None,
    wiring: Wiring | Structure | None,
    how: ComparisonOptions,
    step: float,
) -> Bench:
    """Both models with the limits that hold for them."""
    elsewhere = candidate.session.providers[0] != PROVIDERS["cpu"]
    theirs = reference.quantized or (wiring is not None and wiring.quantizes)
    quantized = candidate.structure.quantizes and theirs
    steps = {} if wiring is None else wiring.steps
    limits = Limits(how.rtol, how.atol, step, steps, elsewhere, quantized)
    origin = graph if graph is not None else Graph()
    rounding = Rounding(candidate, origin, feeds, how.seed, limits.coarsest)
    return Bench(reference, candidate, feeds, rounding, layers, limits, wiring)


def _output(pair: tuple[str, str], stated: Stated) -> Asked:
    """A pair of outputs; what was stated of their axes is done to the candidate's."""
    source, name = pair
    match = stated.outputs.get(source)
    return Asked(source, source, name, True, turned=partial(turned, match=match) if match and match.order else None)


def _grade(
    bench: Bench,
    asked: Sequence[Asked],
    results: tuple[Mapping[str, Array], Mapping[str, Array]],
    moved: Mapping[str, Array],
    sides: Sides | None,
) -> list[Comparison]:
    """Return the comparisons of outputs and of values before heads.

    What no floor can excuse is asked of the candidate's regions at first, which takes no run of the reference on moved
    inputs. Where these differ, or cannot be judged, each value has the verdict of its own floor.
    """
    graded = replace(bench, passing=True).compare(asked, *results, moved)
    if can_judge(bench, sides):
        graded = grade_by_regions(bench, asked, graded, results[0], sides)
    if all(one.verdict.passes for one in graded):
        return graded
    graded = bench.compare(asked, *results, moved)
    graded = grade_by_regions(bench, asked, graded, results[0], sides)
    return compare_as_sets(bench, [one for one in asked if one.is_output], graded, results)


def _moved_once(bench: Bench, outputs: Sequence[Asked]) -> dict[str, Array]:
    """The outputs of the first run on moved feeds; those that come through a coarse type are moved by its step. None
    where weights are moved with the feeds, in runs that are made where results differ."""
    found: dict[str, Array] = {}
    if bench.rounding.moves_weights:
        return found
    for coarse in (False, True):
        names = [one.name for one in outputs if (bench.limits.step_of(one.source) > 0) == coarse]
        found |= bench.rounding.first(names, coarse=coarse) if names else {}
    return found


def _moved_channels(
    outputs: Sequence[Asked], expected: Mapping[str, Array], found: Mapping[str, Array]
) -> Iterator[str]:
    for one in outputs:
        if one.turned is None and order_outside(found[one.name], expected[one.source]):
            yield f"{one.name} was compared with its channels where {one.source} has them"


def _narrower(bench: Bench, report: VerificationReport) -> Iterator[str]:
    """What is to be said where the candidate computes in a coarse type that the reference does not have."""
    coarse = [name for name in bench.candidate.structure.steps if name in bench.candidate.structure.producers]
    if report.verdict.differs and coarse and not bench.limits.coarsest and not bench.limits.stated:
        yield (
            f"the candidate computes {len(coarse)} values in float16 or bfloat16, and nothing is known to do so in the "
            f"reference: if that is meant, say how much may differ (--rtol)"
        )


def _heads(
    candidate: OnnxCandidate, pairs: Sequence[tuple[str, str]], layers: Mapping[str, str], notes: list[str]
) -> list[Asked]:
    """The values before saturating heads, as far as these see them; a note where there are heads and no such value is
    known to both."""
    own, outputs = candidate.structure, [name for _, name in pairs]
    known = values_before_heads(own, outputs, layers)
    if not known and hides_errors(own, outputs):
        notes.append("a softmax or the like hides errors before it, and no value before it is known to both")
    # Values of one name are the same; others may differ by what the head does not see.
    views = {source: source != name and is_shiftless(kind) for source, (name, kind) in known.items()}
    return [
        Asked(before_head(source), source, name, seen=partial(_seen_by, kind) if views[source] else None)
        for source, (name, kind) in known.items()
    ]


def _seen_by(kind: str, array: Array) -> Array:
    """What a head of this kind sees of a value; all of it where that cannot be told."""
    rows = scores(kind, array)
    return array if rows is None else rows


def _lacking(reference: Reference, pairs: Sequence[tuple[str, str]]) -> list[Comparison]:
    """The outputs that the candidate should have and has not."""
    paired = {source for source, _ in pairs}
    return [
        Comparison(name, (), 0.0, math.inf, math.inf, 0.0, 0.0, Verdict.BROKEN, "the candidate has no such output")
        for name in reference.outputs
        if name not in paired and name not in reference.may_lack
    ]
