"""Does a model compute what its source computes? Outputs, then layer by layer, in bounded memory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from graphir.graph import Graph
from graphir.runtime.providers import PROVIDERS

from .bench import Bench, Heads
from .candidate import OnnxCandidate
from .compare import Comparison, Verdict
from .doubts import is_numb, look_for_overflow, look_inside
from .heads import Wiring, hides_errors, values_before_heads
from .hidden_heads import hidden_heads
from .layouts import laid_out
from .limits import Limits
from .matches import turned
from .noise import noise_floors
from .options import ComparisonOptions
from .pairing import layer_pairs, output_pairs
from .questions import Stated, first_run, fit, questions
from .report import VerificationReport
from .seeded import perturbed

if TYPE_CHECKING:
    from graphir.converters.formats import Reference

Array = NDArray[Any]
PERTURBATIONS = 3
QUANTIZED = (
    "both models compute with 8-bit numbers: an output may differ by one step of them, taken as 1/127 of its largest "
    "magnitude, and a quantized value inside by 1; a wrong scale below that shows in no number"
)


def verify_against(
    reference: Reference,
    candidate: OnnxCandidate,
    feeds: Mapping[str, Array],
    *,
    graph: Graph | None = None,
    how: ComparisonOptions | None = None,
    wiring: Wiring | None = None,
    step: float = 0.0,
) -> VerificationReport:
    """Run both on the feeds and compare; the reference is evaluated once.

    `graph` is the candidate's graph where there is one: it tells which value is which layer of the source; without it
    values of the same name are taken for the same. The value before a saturating head (softmax, sigmoid) is compared
    too, since heads hide errors: it is known by its name, or by its place in the reference, whose `wiring` tells the
    names of the reference's own values. The noise floor of an output is what one unit in the last place of the inputs
    changes, or onnxruntime's optimisations, whichever is more. `how.match` says which input and output is which, where
    names do not; where results differ and the pairing was a guess, a note asks for them if another one agrees. `step`
    is that of a coarser type that the reference computes in; that of the candidate is known. Raises
    VerificationError if either side fails to run, has other outputs, or there is nothing to compare.
    """
    how = how or ComparisonOptions()
    fed_types = {name: f"{array.dtype}{list(array.shape)}" for name, array in feeds.items()}
    report = VerificationReport(reference="", candidate="", feeds=fed_types, outputs=[])
    stated = fit(reference, candidate, feeds, how, report.notes)
    pairs = output_pairs(reference.outputs, candidate, report.notes, stated.outputs)
    found = first_run(candidate, feeds, [name for _, name in pairs], list(stated.inputs), report.notes)
    layers = layer_pairs(reference, candidate, graph)
    heads = _heads(reference, candidate, pairs, layers, wiring, report.notes)

    origin = graph if graph is not None else Graph()
    coarse = max(step, candidate.structure.coarsest_step)
    moved, *more = [perturbed(origin, feeds, how.seed + turn, coarse) for turn in range(PERTURBATIONS)]
    elsewhere = candidate.session.providers[0] != PROVIDERS["cpu"]
    quantized = candidate.structure.quantizes and bool(getattr(reference, "quantized", False))
    limits = Limits(how.rtol, how.atol, coarse, elsewhere, quantized)
    if quantized:
        report.notes.append(QUANTIZED)
    report.notes += filter(None, [candidate.beyond_budget(feeds, per_layer=how.per_layer)])
    bench = Bench(reference, candidate, feeds, moved, layers, limits)
    wanted = dict.fromkeys([*(source for source, _ in pairs), *heads.sources])
    expected, report.layers = bench.evaluate(wanted, layers if how.per_layer else ())

    floors = noise_floors(candidate, feeds, (moved, *more), found)
    _compare_outputs(bench, report, pairs, stated, expected, found, floors)
    lacking = _lacking(reference, pairs)
    report.outputs += lacking
    report.outputs += bench.compare_heads(heads, expected)
    numb = [source for source, name in pairs if moved is not None and is_numb(expected[source], floors[name])]
    look_inside(bench, report, numb, blind=not heads.sources)
    if coarse and report.ok:
        look_for_overflow(bench, report)
    if not report.ok and not lacking:
        outputs = {source: expected[source] for source, _ in pairs}
        report.notes += questions(candidate, feeds, outputs, dict(pairs), stated, limits)
    report.reference, report.candidate = reference.label, candidate.label
    return report


def _heads(
    reference: Reference,
    candidate: OnnxCandidate,
    pairs: Sequence[tuple[str, str]],
    layers: Mapping[str, str],
    wiring: Wiring | None,
    notes: list[str],
) -> Heads:
    """The values before saturating heads; a note where there are heads and no such value is known to both."""
    own, outputs = candidate.structure, [name for _, name in pairs]
    known = values_before_heads(own, outputs, layers)
    if known or not hides_errors(own, outputs):
        return Heads(known, ())
    hidden = hidden_heads(wiring, own, pairs, reference.values())
    if not hidden:
        notes.append("a softmax or the like hides errors before it, and no value before it is known to both")
    return Heads(known, hidden)


def _compare_outputs(
    bench: Bench,
    report: VerificationReport,
    pairs: Sequence[tuple[str, str]],
    stated: Stated,
    expected: Mapping[str, Array],
    found: dict[str, Array],
    floors: Mapping[str, float],
) -> None:
    """Add the pairs of outputs to the report; what was stated about their axes is done to `found`."""
    for source, name in pairs:
        if source in stated.outputs and stated.outputs[source].order:
            found[name] = turned(found[name], stated.outputs[source])
        elif laid_out(found[name], expected[source])[1]:
            report.notes.append(f"{name} was compared with its channels where {source} has them")
        report.outputs.append(bench.limits.compare(source, expected[source], found[name], floors[name]))


def _lacking(reference: Reference, pairs: Sequence[tuple[str, str]]) -> list[Comparison]:
    """The outputs that the candidate should have and has not."""
    paired = {source for source, _ in pairs}
    return [
        Comparison(name, (), 0.0, math.inf, math.inf, 0.0, 0.0, Verdict.BROKEN, "the candidate has no such output")
        for name in reference.outputs
        if name not in paired and name not in reference.may_lack
    ]


__all__ = ["verify_against"]
