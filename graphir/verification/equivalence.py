"""Does a model compute what its source computes? Outputs, then layer by layer, in bounded memory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from numpy.typing import NDArray

from graphir.errors import VerificationError
from graphir.graph import Graph
from graphir.runtime.providers import PROVIDERS

from .candidate import OnnxCandidate
from .compare import Comparison, Verdict, compare
from .heads import Wiring, hides_errors, values_before_heads
from .hidden_heads import HiddenHead, compare_hidden, hidden_heads
from .layouts import laid_out, laid_out_inside
from .matches import Match, agreeing_outputs, other_fittings, question, split_matches, turned
from .noise import noise_floors, perturbation
from .seeded import perturbed

Array = NDArray[Any]
SLICE_BYTES = 256 << 20
PERTURBATIONS = 3
LAYERS_INSIDE = 8
RANDOM = frozenset(
    {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
)


class Reference(Protocol):
    """What the candidate is held against."""

    label: str

    @property
    def outputs(self) -> list[str]:
        """The names of the model's outputs, in order."""
        ...

    @property
    def may_lack(self) -> frozenset[str]:
        """The outputs that a candidate may lack without being wrong: losses, which have no meaning at inference."""
        ...

    def values(self) -> list[str]:
        """The names of all values that `stream` can give, in the order of computation."""
        ...

    def stream(self, feeds: Mapping[str, Array], names: Iterable[str]) -> Iterator[tuple[str, Array]]:
        """The named values, each once and when it is there, so that few need be held at a time."""
        ...

    def run(self, feeds: Mapping[str, Array], outputs: Sequence[str] | None = None) -> dict[str, Array]:
        """The model's outputs in order, or the named values."""
        ...

    def close(self) -> None:
        """Let processes and files go."""
        ...


@dataclass
class VerificationReport:
    """The result of a verification: who was compared with whom, on what, and what came out.

    `layers` is filled by a layer-by-layer verification; `first_divergence` is the first of them beyond noise. `notes`
    say what the numbers do not: outputs that were not compared, names that differ.
    """

    reference: str
    candidate: str
    feeds: dict[str, str]
    outputs: list[Comparison]
    layers: list[Comparison] = field(default_factory=list)
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all outputs."""
        order = list(Verdict)
        return max((found.verdict for found in self.outputs), key=order.index, default=Verdict.IDENTICAL)

    @property
    def ok(self) -> bool:
        """Whether every output is identical or differs by rounding only."""
        return self.verdict.passes

    @property
    def first_divergence(self) -> Comparison | None:
        """The first layer whose difference is more than rounding."""
        return next((layer for layer in self.layers if not layer.verdict.passes), None)


@dataclass(frozen=True)
class _Tolerances:
    rtol: float | None
    atol: float | None
    step: float = 0.0
    elsewhere: bool = False

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
        return compare(
            name, reference, candidate, floor=floor, rtol=self.rtol, atol=self.atol, step=self.step,
            elsewhere=self.elsewhere,
        )  # fmt: skip


def verify_against(
    reference: Reference,
    candidate: OnnxCandidate,
    feeds: Mapping[str, Array],
    *,
    graph: Graph | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    per_layer: bool = False,
    seed: int = 0,
    matches: Sequence[Match] = (),
    wiring: Wiring | None = None,
) -> VerificationReport:
    """Run both on the feeds and compare; the reference is evaluated once.

    `graph` is the candidate's graph where there is one: it tells which value is which layer of the source; without it
    values of the same name are taken for the same. The value before a saturating head (softmax, sigmoid) is compared
    too, since heads hide errors: it is known by its name, or by its place in the reference, whose `wiring` tells the
    names of the reference's own values. The noise floor of an output is what one unit in the last place of the inputs
    changes, or onnxruntime's optimisations, whichever is more. `matches` say which input and output is which, where
    names do not; where results differ and the pairing was a guess, a note asks for them if another one agrees. Raises
    VerificationError if either side fails to run, has other outputs, or there is nothing to compare.
    """
    report = VerificationReport(
        reference="",
        candidate="",
        feeds={name: f"{array.dtype}{list(array.shape)}" for name, array in feeds.items()},
        outputs=[],
    )
    own = candidate.session
    fed, given = split_matches(matches, list(feeds), list(own.inputs), reference.outputs, own.outputs)
    for match in fed.values():
        turned(feeds[match.source], match)
    report.notes += candidate.fit(feeds, {name: (match.source, match.order) for name, match in fed.items()})
    drawn = sorted({operator for operator, _ in candidate.structure.producers.values() if operator in RANDOM})
    if drawn:
        report.notes.append(f"{', '.join(drawn)} draws other numbers in every run: what depends on them differs")
    pairs = _output_pairs(reference.outputs, candidate, report.notes, given)
    found = _first_run(candidate, feeds, [name for _, name in pairs], list(fed), report.notes)
    paired = {source for source, _ in pairs}
    lacking = [name for name in reference.outputs if name not in paired and name not in reference.may_lack]
    layers = _layer_pairs(reference, candidate, graph)
    heads = values_before_heads(candidate.structure, [name for _, name in pairs], layers)
    hidden: list[HiddenHead] = []
    if not heads and hides_errors(candidate.structure, [name for _, name in pairs]):
        hidden = hidden_heads(wiring, candidate.structure, pairs, reference.values())
        if not hidden:
            report.notes.append("a softmax or the like hides errors before it, and no value before it is known to both")
    elsewhere = own.providers[0] != PROVIDERS["cpu"]
    limits = _Tolerances(rtol, atol, candidate.structure.coarsest_step, elsewhere)
    origin = graph if graph is not None else Graph()
    moved = perturbed(origin, feeds, seed)
    more = [perturbed(origin, feeds, seed + step) for step in range(1, PERTURBATIONS)]
    expected = {}
    wanted = dict.fromkeys([*(source for source, _ in pairs), *heads, *(head.source for head in hidden)])
    streamed = {*layers} if per_layer else set()
    order = dict.fromkeys([*(name for name in reference.values() if name in wanted or name in streamed), *wanted])
    part: dict[str, Array] = {}
    held = 0
    for name, array in reference.stream(feeds, order):
        if name in wanted:
            expected[name] = array
        if name in streamed:
            part[name] = array
            held += array.nbytes
            if held >= SLICE_BYTES:
                report.layers += _compare_layers(part, layers, candidate, feeds, moved, limits)
                part, held = {}, 0
    report.layers += _compare_layers(part, layers, candidate, feeds, moved, limits)

    floors = noise_floors(candidate, feeds, (moved, *more), found)
    for source, name in pairs:
        if source in given and given[source].order:
            found[name] = turned(found[name], given[source])
        elif laid_out(found[name], expected[source])[1]:
            report.notes.append(f"{name} was compared with its channels where {source} has them")
        report.outputs.append(limits.compare(source, expected[source], found[name], floors[name]))
    numb = [source for source, name in pairs if moved is not None and _is_numb(expected[source], floors[name])]
    report.outputs += [
        Comparison(name, (), 0.0, math.inf, math.inf, 0.0, 0.0, Verdict.BROKEN, "the candidate has no such output")
        for name in lacking
    ]
    if heads:
        inner = candidate.run(feeds, list(heads.values()))
        floors = perturbation(candidate, moved, inner)
        for source, name in heads.items():
            title = f"{source} (before the head)"
            report.outputs.append(limits.compare_inside(title, expected[source], inner[name], floors.get(name, 0.0)))
    if hidden:
        inner = candidate.run(feeds, [head.name for head in hidden])
        again = inner if moved is None else candidate.run(moved, list(inner))
        report.outputs += compare_hidden(hidden, expected, inner, again, limits.compare_inside)
    doubtful = [found for found in report.outputs if not found.explained]
    if report.ok and (doubtful or (numb and not (heads or hidden))):
        known = [name for name in layers if name not in reference.outputs]
        chosen = known if doubtful else known[-LAYERS_INSIDE:]
        inside = _compare_inside(reference, chosen, layers, candidate, feeds, moved, limits)
        report.outputs += [layer for layer in inside if not layer.verdict.passes]
        if numb:
            said = f"the last {len(inside)} layers were compared too" if inside else "other ones say more (--feeds)"
            report.notes.append(f"{', '.join(numb)} does not react to small changes of these inputs: {said}")
    if not report.ok and not lacking:
        wanted_outputs = {source: expected[source] for source, _ in pairs}
        report.notes += _questions(candidate, feeds, wanted_outputs, dict(pairs), (fed, given), limits)
    report.reference, report.candidate = reference.label, candidate.label
    return report


def _is_numb(output: Array, floor: float) -> bool:
    return floor == 0 and output.dtype.kind in "fV" and output.size > 0


def _compare_inside(
    reference: Reference,
    names: Sequence[str],
    layers: Mapping[str, str],
    candidate: OnnxCandidate,
    feeds: Mapping[str, Array],
    moved: Mapping[str, Array] | None,
    limits: _Tolerances,
) -> list[Comparison]:
    """These layers, in slices."""
    found: list[Comparison] = []
    part: dict[str, Array] = {}
    for name, array in reference.stream(feeds, names) if names else ():
        part[name] = array
        if sum(held.nbytes for held in part.values()) >= SLICE_BYTES:
            found += _compare_layers(part, layers, candidate, feeds, moved, limits)
            part = {}
    return found + _compare_layers(part, layers, candidate, feeds, moved, limits)


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
    stated: tuple[Mapping[str, Match], Mapping[str, Match]],
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


def _output_pairs(
    all_expected: Sequence[str], candidate: OnnxCandidate, notes: list[str], given: Mapping[str, Match]
) -> list[tuple[str, str]]:
    """Outputs of the source and of the candidate that belong together: as stated, by name, or the rest by position."""
    stated = [(name, given[name].name) for name in all_expected if name in given]
    taken = {name for _, name in stated}
    expected = [name for name in all_expected if name not in given]
    own = [name for name in candidate.session.outputs if name not in taken]
    if stated and not expected:
        return stated
    return [*stated, *_pairs_by_name(expected, own, notes)]


def _pairs_by_name(expected: Sequence[str], own: Sequence[str], notes: list[str]) -> list[tuple[str, str]]:
    """Outputs of one name, and the rest by position; those that one side lacks stay alone."""
    common = [name for name in expected if name in own]
    if not expected or not own:
        raise VerificationError("there is nothing to compare: one of the models has no outputs")
    if len(common) == len(expected):
        if common != [name for name in own if name in common]:
            notes.append(f"the outputs come in another order: {', '.join(expected)} became {', '.join(own)}")
        if len(own) > len(common):
            extra = ", ".join(name for name in own if name not in common)
            notes.append(f"outputs of the candidate alone, not compared: {extra}")
        return [(name, name) for name in expected]
    if common and len(own) < len(expected):
        lacking = ", ".join(name for name in expected if name not in own)
        notes.append(f"outputs that the candidate lacks: {lacking}")
        return [(name, name) for name in common]
    if len(own) != len(expected):
        raise VerificationError(
            f"the reference has the outputs {', '.join(expected)}, the candidate {', '.join(own)}: they do not match"
        )
    rest = iter([name for name in own if name not in common])
    paired = [(name, name if name in common else next(rest)) for name in expected]
    shown = ", ".join(f"{source} with {name}" for source, name in paired if source != name)
    notes.append(f"outputs of different names were compared by position: {shown}")
    return paired


def _layer_pairs(reference: Reference, candidate: OnnxCandidate, graph: Graph | None) -> dict[str, str]:
    """The values that both sides know, in the order of the source: source name to candidate name."""
    own: dict[str, str] = {}
    known = candidate.structure.producers
    if graph is not None:
        computed = [value for value in graph.values if value.producer is not None and value.name in known]
        own = {source: value.name for value in computed for source in value.sources}
        own |= {value.name: value.name for value in computed}
    else:
        own = {name: name for name in known}
    return {name: own[name] for name in reference.values() if name in own}


def _compare_layers(
    expected: Mapping[str, Array],
    pairs: Mapping[str, str],
    candidate: OnnxCandidate,
    feeds: Mapping[str, Array],
    moved: Mapping[str, Array] | None,
    limits: _Tolerances,
) -> list[Comparison]:
    """One slice: the candidate is run for these values only."""
    if not expected:
        return []
    found = candidate.run(feeds, list(dict.fromkeys(pairs[source] for source in expected)))
    floors = perturbation(candidate, moved, found)
    return [
        limits.compare_inside(source, array, found[pairs[source]], floors.get(pairs[source], 0.0))
        for source, array in expected.items()
    ]


__all__ = ["Reference", "VerificationReport", "verify_against"]
