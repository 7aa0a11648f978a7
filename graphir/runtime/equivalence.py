"""Does a model compute what its source computes? Outputs, then layer by layer, in bounded memory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import VerificationError
from ..graph import Graph
from .candidate import OnnxCandidate
from .compare import Comparison, Verdict, compare, difference
from .feeds import perturbed
from .heads import hides_errors, values_before_heads
from .layouts import laid_out

Array = NDArray[Any]
SLICE_BYTES = 256 << 20


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

    def compare(self, name: str, reference: Array, candidate: Array, floor: float) -> Comparison:
        candidate, _ = laid_out(candidate, reference)
        return compare(name, reference, candidate, floor=floor, rtol=self.rtol, atol=self.atol, step=self.step)


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
) -> VerificationReport:
    """Run both on the feeds and compare; the reference is evaluated once.

    `graph` is the candidate's graph where there is one: it tells which value is which layer of the source; without it
    values of the same name are taken for the same. The value before a saturating head (softmax, sigmoid) is compared
    too, since heads hide errors. The noise floor of an output is what one unit in the last place of the inputs changes,
    or onnxruntime's optimisations, whichever is more. Raises VerificationError if either side fails to run, has other
    outputs, or there is nothing to compare.
    """
    report = VerificationReport(
        reference="",
        candidate="",
        feeds={name: f"{array.dtype}{list(array.shape)}" for name, array in feeds.items()},
        outputs=[],
    )
    report.notes += candidate.fit(feeds)
    pairs = _output_pairs(reference.outputs, candidate, report.notes)
    paired = {source for source, _ in pairs}
    lacking = [name for name in reference.outputs if name not in paired and name not in reference.may_lack]
    layers = _layer_pairs(reference, candidate, graph)
    heads = values_before_heads(candidate.structure, [name for _, name in pairs], layers)
    if not heads and hides_errors(candidate.structure, [name for _, name in pairs]):
        report.notes.append("a softmax or the like hides errors before it, and no value before it is known to both")
    limits = _Tolerances(rtol, atol, candidate.structure.coarsest_step)
    moved = perturbed(graph if graph is not None else Graph(), feeds, seed)
    expected = {}
    wanted = dict.fromkeys([*(source for source, _ in pairs), *heads])
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

    names = [name for _, name in pairs]
    found = candidate.run(feeds, names)
    floors = _floors(candidate, feeds, moved, found)
    for source, name in pairs:
        if laid_out(found[name], expected[source])[1]:
            report.notes.append(f"{name} was compared with its channels where {source} has them")
        report.outputs.append(limits.compare(source, expected[source], found[name], floors[name]))
    report.outputs += [
        Comparison(name, (), 0.0, math.inf, math.inf, 0.0, 0.0, Verdict.BROKEN, "the candidate has no such output")
        for name in lacking
    ]
    if heads:
        inner = candidate.run(feeds, list(heads.values()))
        floors = _perturbation(candidate, moved, inner)
        for source, name in heads.items():
            title = f"{source} (before the head)"
            report.outputs.append(limits.compare(title, expected[source], inner[name], floors.get(name, 0.0)))
    report.reference, report.candidate = reference.label, candidate.label
    return report


def _output_pairs(expected: Sequence[str], candidate: OnnxCandidate, notes: list[str]) -> list[tuple[str, str]]:
    """Outputs of the source and of the candidate that belong together: by name, or all of them by position."""
    own = candidate.session.outputs
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
        notes.append(f"outputs that the candidate lacks, not compared: {lacking}")
        return [(name, name) for name in common]
    if len(own) != len(expected):
        raise VerificationError(
            f"the reference has the outputs {', '.join(expected)}, the candidate {', '.join(own)}: they do not match"
        )
    paired = list(zip(expected, own, strict=True))
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
    floors = _perturbation(candidate, moved, found)
    return [
        limits.compare(source, array, found[pairs[source]], floors.get(pairs[source], 0.0))
        for source, array in expected.items()
    ]


def _floors(
    candidate: OnnxCandidate,
    feeds: Mapping[str, Array],
    moved: Mapping[str, Array] | None,
    found: Mapping[str, Array],
) -> dict[str, float]:
    """For each output the relative change that rounding the inputs or another order of computation causes."""
    floors = dict.fromkeys(found, 0.0) | _perturbation(candidate, moved, found)
    with candidate.twin() as twin:
        for name, array in twin.run(feeds, list(found)).items():
            floors[name] = max(floors[name], _relative(found[name], array))
    return floors


def _perturbation(
    candidate: OnnxCandidate, moved: Mapping[str, Array] | None, found: Mapping[str, Array]
) -> dict[str, float]:
    if moved is None:
        return {}
    again = candidate.run(moved, list(found))
    return {name: _relative(array, again[name]) for name, array in found.items()}


def _relative(array: Array, again: Array) -> float:
    scale, max_abs, _ = difference(array, again)
    return max_abs / scale if scale and np.isfinite(max_abs) else 0.0


__all__ = ["Reference", "VerificationReport", "verify_against"]
