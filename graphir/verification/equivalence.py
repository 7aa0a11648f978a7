"""Does a model compute what its source computes? Outputs, then layer by layer, in bounded memory."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import NDArray

from graphir.errors import VerificationError
from graphir.graph import Graph
from graphir.runtime.providers import PROVIDERS

from .candidate import OnnxCandidate
from .compare import Comparison, Verdict, compare, within_a_step
from .heads import Wiring, hides_errors, values_before_heads
from .hidden_heads import HiddenHead, compare_hidden, hidden_heads
from .layouts import laid_out, laid_out_inside
from .matches import Match, agreeing_outputs, other_fittings, question, split_matches, turned
from .noise import infinite_values, noise_floors, perturbation
from .options import ComparisonOptions
from .pairing import layer_pairs, output_pairs
from .report import VerificationReport
from .seeded import perturbed

if TYPE_CHECKING:
    from graphir.converters.formats import Reference

Array = NDArray[Any]
SLICE_BYTES = 256 << 20
PERTURBATIONS = 3
LAYERS_INSIDE = 8
QUANTIZED = (
    "both models compute with 8-bit numbers: an output may differ by one step of them, taken as 1/127 of its largest "
    "magnitude, and a quantized value inside by 1; a wrong scale below that shows in no number"
)
RANDOM = frozenset(
    {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
)


@dataclass(frozen=True)
class _Tolerances:
    rtol: float | None
    atol: float | None
    step: float = 0.0
    elsewhere: bool = False
    quantized: bool = False

    def compare(self, name: str, reference: Array, candidate: Array, floor: float) -> Comparison:
        candidate, _ = laid_out(candidate, reference)
        return self._compare(name, reference, candidate, floor)

    def compare_inside(self, name: str, reference: Array, candidate: Array, floor: float) -> Comparison:
        """The same for a value that is no output, and has the layout that suits its model."""
        return self._compare(name, reference, laid_out_inside(candidate, reference), floor)

    def compare_as_is(self, name: str, reference: Array, candidate: Array) -> Comparison:
        """The same for axes that are known to be in order, without a measured floor."""
        return self._compare(name, reference, candidate, 0.0)

    def _compare(self, name: str, reference: Array, candidate: Array, floor: float) -> Comparison:
        found = compare(
            name, reference, candidate, floor=floor, rtol=self.rtol, atol=self.atol, step=self.step,
            elsewhere=self.elsewhere,
        )  # fmt: skip
        stated = self.rtol is not None or self.atol is not None
        return within_a_step(found, reference, candidate) if self.quantized and not stated else found


class _Stated(NamedTuple):
    """What the user said that belongs together: inputs by the candidate's names, outputs by the reference's."""

    inputs: Mapping[str, Match]
    outputs: Mapping[str, Match]


class _Heads(NamedTuple):
    """Values before saturating heads: those that both models know, source name to candidate name, and others."""

    known: Mapping[str, str]
    hidden: Sequence[HiddenHead]

    @property
    def sources(self) -> list[str]:
        return [*self.known, *(head.source for head in self.hidden)]


@dataclass(frozen=True)
class _Bench:
    """Both models with what they are fed. `moved` are the feeds that rounding moved, `layers` the values that both
    know, source name to candidate name."""

    reference: Reference
    candidate: OnnxCandidate
    feeds: Mapping[str, Array]
    moved: Mapping[str, Array] | None
    layers: Mapping[str, str]
    limits: _Tolerances

    def evaluate(self, wanted: Collection[str], layers: Collection[str]) -> tuple[dict[str, Array], list[Comparison]]:
        """The reference's values that are wanted, and its layers compared in slices, from one evaluation."""
        known = self.reference.values()
        order = dict.fromkeys([*(name for name in known if name in wanted or name in layers), *wanted])
        expected: dict[str, Array] = {}
        compared: list[Comparison] = []
        part: dict[str, Array] = {}
        for name, array in self.reference.stream(self.feeds, order) if order else ():
            if name in wanted:
                expected[name] = array
            if name in layers:
                part[name] = array
                if sum(held.nbytes for held in part.values()) >= SLICE_BYTES:
                    compared += self._compare_slice(part)
                    part = {}
        return expected, compared + self._compare_slice(part)

    def _compare_slice(self, expected: Mapping[str, Array]) -> list[Comparison]:
        """The candidate is run for these values only."""
        if not expected:
            return []
        found = self.candidate.run(self.feeds, list(dict.fromkeys(self.layers[source] for source in expected)))
        floors = perturbation(self.candidate, self.moved, found)
        return [self._compare_inside(source, array, found, floors) for source, array in expected.items()]

    def _compare_inside(
        self, source: str, array: Array, found: Mapping[str, Array], floors: Mapping[str, float], title: str = ""
    ) -> Comparison:
        name = self.layers[source]
        return self.limits.compare_inside(title or source, array, found[name], floors.get(name, 0.0))

    def compare_heads(self, heads: _Heads, expected: Mapping[str, Array]) -> Iterator[Comparison]:
        """The values before saturating heads."""
        if heads.known:
            inner = self.candidate.run(self.feeds, list(heads.known.values()))
            floors = perturbation(self.candidate, self.moved, inner)
            for source in heads.known:
                yield self._compare_inside(source, expected[source], inner, floors, f"{source} (before the head)")
        if heads.hidden:
            inner = self.candidate.run(self.feeds, [head.name for head in heads.hidden])
            again = inner if self.moved is None else self.candidate.run(self.moved, list(inner))
            yield from compare_hidden(heads.hidden, expected, inner, again, self.limits.compare_inside)


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
    stated = _fit(reference, candidate, feeds, how, report.notes)
    pairs = output_pairs(reference.outputs, candidate, report.notes, stated.outputs)
    found = _first_run(candidate, feeds, [name for _, name in pairs], list(stated.inputs), report.notes)
    layers = layer_pairs(reference, candidate, graph)
    heads = _heads(reference, candidate, pairs, layers, wiring, report.notes)

    origin = graph if graph is not None else Graph()
    coarse = max(step, candidate.structure.coarsest_step)
    moved, *more = [perturbed(origin, feeds, how.seed + turn, coarse) for turn in range(PERTURBATIONS)]
    elsewhere = candidate.session.providers[0] != PROVIDERS["cpu"]
    quantized = candidate.structure.quantizes and bool(getattr(reference, "quantized", False))
    limits = _Tolerances(how.rtol, how.atol, coarse, elsewhere, quantized)
    if quantized:
        report.notes.append(QUANTIZED)
    bench = _Bench(reference, candidate, feeds, moved, layers, limits)
    wanted = dict.fromkeys([*(source for source, _ in pairs), *heads.sources])
    expected, report.layers = bench.evaluate(wanted, layers if how.per_layer else ())

    floors = noise_floors(candidate, feeds, (moved, *more), found)
    _compare_outputs(bench, report, pairs, stated, expected, found, floors)
    lacking = _lacking(reference, pairs)
    report.outputs += lacking
    report.outputs += bench.compare_heads(heads, expected)
    numb = [source for source, name in pairs if moved is not None and _is_numb(expected[source], floors[name])]
    _look_inside(bench, report, numb, blind=not heads.sources)
    if coarse and report.ok:
        _look_for_overflow(bench, report)
    if not report.ok and not lacking:
        outputs = {source: expected[source] for source, _ in pairs}
        report.notes += _questions(candidate, feeds, outputs, dict(pairs), stated, limits)
    report.reference, report.candidate = reference.label, candidate.label
    return report


def _fit(
    reference: Reference,
    candidate: OnnxCandidate,
    feeds: Mapping[str, Array],
    how: ComparisonOptions,
    notes: list[str],
) -> _Stated:
    """Have the candidate take the reference's feeds; the notes say how, and what in it is random."""
    own = candidate.session
    stated = _Stated(*split_matches(how.matches(), list(feeds), list(own.inputs), reference.outputs, own.outputs))
    for match in stated.inputs.values():
        turned(feeds[match.source], match)
    notes += candidate.fit(feeds, {name: (match.source, match.order) for name, match in stated.inputs.items()})
    drawn = sorted({operator for operator, _ in candidate.structure.producers.values() if operator in RANDOM})
    if drawn:
        notes.append(f"{', '.join(drawn)} draws other numbers in every run: what depends on them differs")
    return stated


def _heads(
    reference: Reference,
    candidate: OnnxCandidate,
    pairs: Sequence[tuple[str, str]],
    layers: Mapping[str, str],
    wiring: Wiring | None,
    notes: list[str],
) -> _Heads:
    """The values before saturating heads; a note where there are heads and no such value is known to both."""
    own, outputs = candidate.structure, [name for _, name in pairs]
    known = values_before_heads(own, outputs, layers)
    if known or not hides_errors(own, outputs):
        return _Heads(known, ())
    hidden = hidden_heads(wiring, own, pairs, reference.values())
    if not hidden:
        notes.append("a softmax or the like hides errors before it, and no value before it is known to both")
    return _Heads(known, hidden)


def _compare_outputs(
    bench: _Bench,
    report: VerificationReport,
    pairs: Sequence[tuple[str, str]],
    stated: _Stated,
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


def _look_inside(bench: _Bench, report: VerificationReport, numb: Sequence[str], *, blind: bool) -> None:
    """Where outputs agree and show little (they are in doubt, or `numb`: they do not react to the inputs, and `blind`:
    nothing before a head was compared), add the layers that differ."""
    quantized = bench.limits.quantized
    doubtful = any(not found.explained or (quantized and found.relative > 0) for found in report.outputs)
    if not report.ok or not (doubtful or (numb and blind)):
        return
    known = [name for name in bench.layers if name not in bench.reference.outputs]
    _, inside = bench.evaluate((), known if doubtful else known[-LAYERS_INSIDE:])
    report.outputs += [layer for layer in inside if not layer.verdict.passes]
    if numb:
        said = f"the last {len(inside)} layers were compared too" if inside else "other ones say more (--feeds)"
        report.notes.append(f"{', '.join(numb)} does not react to small changes of these inputs: {said}")


def _look_for_overflow(bench: _Bench, report: VerificationReport) -> None:
    """Add the layers that overflow in a narrow type. onnxruntime's CPU keeps float16 in float32 between operators, so
    that outputs do not show what ends as infinity on hardware that computes in float16; a value that is asked for is
    rounded."""
    suspects = set(infinite_values(bench.candidate, bench.feeds))
    made = bench.candidate.structure.producers
    behind = {name: operands[0] for name, (op_type, operands) in made.items() if op_type == "Cast"}
    narrow = {
        source: place
        for source, name in bench.layers.items()
        for place in (name, behind.get(name, name))
        if place in suspects
    }
    _, inside = replace(bench, layers=narrow).evaluate((), narrow)
    report.outputs += [layer for layer in inside if not layer.verdict.passes and math.isinf(layer.relative)]
    unknown = sorted(suspects - set(narrow.values()))
    if unknown:
        report.notes.append(f"infinite in a narrow type, with nothing to compare: {', '.join(unknown[:5])}")


def _is_numb(output: Array, floor: float) -> bool:
    return floor == 0 and output.dtype.kind in "fV" and output.size > 0


def _first_run(
    candidate: OnnxCandidate, feeds: Mapping[str, Array], names: Sequence[str], settled: Sequence[str], notes: list[str]
) -> dict[str, Array]:
    """The candidate's outputs. Where it refuses the feeds and others suit its inputs' sizes too, those; a note says
    so."""
    try:
        return candidate.run(feeds, names)
    except VerificationError:
        primary = candidate.fitting
        for fitting in other_fittings(feeds, candidate.session.inputs, primary, settled):
            candidate.fitting = fitting
            try:
                found = candidate.run(feeds, names)
            except VerificationError:
                continue
            ways = ", ".join(
                f"{source} to {name}" + (f" with its axes in the order {list(order)}" if order else "")
                for name, (source, order) in fitting.items()
                if primary.get(name) != (source, order)
            )
            notes.append(f"the candidate refuses the feeds as they are; it was fed {ways}")
            return found
        candidate.fitting = primary
        raise


def _questions(
    candidate: OnnxCandidate,
    feeds: Mapping[str, Array],
    expected: Mapping[str, Array],
    pairs: Mapping[str, str],
    stated: _Stated,
    limits: _Tolerances,
) -> Iterator[str]:
    """At most one: whether another pairing is meant, under which the models agree."""
    fed, given = stated
    guessed = [name for source, name in pairs.items() if source != name and source not in given]
    free = {source: [name, *(other for other in guessed if other != name)] if name in guessed else [name]
            for source, name in pairs.items()}  # fmt: skip
    primary = candidate.fitting

    def passes(source: str, wanted: Array, name: str, found: Array) -> bool:
        return limits.compare_as_is(source, wanted, found).verdict.passes

    for fitting in (primary, *other_fittings(feeds, candidate.session.inputs, primary, list(fed))):
        candidate.fitting = fitting
        try:
            found = candidate.run(feeds, list(pairs.values()))
        except VerificationError:
            continue
        finally:
            candidate.fitting = primary
        chosen = agreeing_outputs(expected, found, free, passes)
        asked = "" if chosen is None else question(fitting, primary, chosen, pairs)
        if asked:
            yield asked
            return


__all__ = ["verify_against"]
