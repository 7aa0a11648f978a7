"""Does a model compute what its source computes? Outputs, then layer by layer, in bounded memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import VerificationError
from ..graph import Graph
from ..types import TensorType
from .candidate import OnnxCandidate
from .compare import Comparison, Verdict, compare, difference
from .feeds import perturbed

Array = NDArray[Any]
SLICE_BYTES = 256 << 20
SATURATING = ("Softmax", "LogSoftmax", "Sigmoid", "Hardmax", "Tanh")


class Reference(Protocol):
    """What the candidate is held against."""

    label: str

    def run(self, feeds: Mapping[str, Array], outputs: Sequence[str] | None = None) -> dict[str, Array]:
        """The model's outputs in order, or the named values of the source model."""
        ...

    def values(self) -> list[str]:
        """The names of all values that `run` can give, in the order of computation."""
        ...


@dataclass
class VerificationReport:
    """The result of a verification: who was compared with whom, on what, and what came out.

    `layers` is filled by a layer-by-layer verification; `first_divergence` is the first of them beyond noise.
    """

    reference: str
    candidate: str
    feeds: dict[str, str]
    outputs: list[Comparison]
    layers: list[Comparison] = field(default_factory=list)
    seconds: float = 0.0

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
    """Run both on the feeds and compare.

    `graph` is the candidate's graph where there is one: it tells which value is which layer of the source, and lets
    the value before a saturating head (softmax, sigmoid) be compared too, since heads hide errors. The noise floor of
    each output is what one unit in the last place of the inputs changes. Raises VerificationError if either side fails
    to run or has other outputs.
    """
    expected = reference.run(feeds)
    pairs = _output_pairs(list(expected), candidate)
    heads = _before_heads(graph, reference, [name for _, name in pairs])
    names = [name for _, name in pairs]
    found = candidate.run(feeds, [*names, *heads.values()])
    expected_heads = reference.run(feeds, list(heads)) if heads else {}
    floors = _floors(candidate, graph, feeds, found, seed)
    outputs = [
        compare(source, expected[source], found[name], floor=floors.get(name, 0.0), rtol=rtol, atol=atol)
        for source, name in pairs
    ]
    outputs += [
        compare(f"{source} (before the head)", expected_heads[source], found[name], floor=floors.get(name, 0.0),
                rtol=rtol, atol=atol)
        for source, name in heads.items()
    ]
    report = VerificationReport(
        reference=reference.label,
        candidate=candidate.label,
        feeds={name: f"{array.dtype}{list(array.shape)}" for name, array in feeds.items()},
        outputs=outputs,
    )
    if per_layer:
        report.layers = _layers(reference, candidate, graph, feeds, rtol, atol, seed)
    return report


def _output_pairs(expected: Sequence[str], candidate: OnnxCandidate) -> list[tuple[str, str]]:
    """Outputs of the source and of the candidate that belong together: by name, or all of them by position."""
    own = candidate.session.outputs
    if all(name in own for name in expected):
        return [(name, name) for name in expected]
    common = [name for name in expected if name in own]
    if common and len(own) < len(expected):
        return [(name, name) for name in common]
    if len(own) != len(expected):
        raise VerificationError(
            f"the reference has the outputs {', '.join(expected)}, the candidate {', '.join(own)}: they do not match"
        )
    return list(zip(expected, own, strict=True))


def _before_heads(graph: Graph | None, reference: Reference, outputs: Sequence[str]) -> dict[str, str]:
    """Source name to candidate name of the values that saturating heads hide."""
    if graph is None:
        return {}
    known = set(reference.values())
    found: dict[str, str] = {}
    for value in graph.outputs:
        node = value.producer
        if value.name not in outputs or node is None or node.op.name not in SATURATING or node.inputs[0] is None:
            continue
        before = node.inputs[0]
        source = next((name for name in before.sources if name in known), None)
        if source is not None and before.producer is not None:
            found[source] = before.name
    return found


def _floors(
    candidate: OnnxCandidate,
    graph: Graph | None,
    feeds: Mapping[str, Array],
    found: Mapping[str, Array],
    seed: int,
) -> dict[str, float]:
    """For each value the relative change that one unit in the last place of the inputs causes."""
    moved = perturbed(graph if graph is not None else Graph(), feeds, seed) if feeds else None
    if moved is None:
        return {}
    again = candidate.run(moved, list(found))
    floors = {}
    for name, array in found.items():
        scale, max_abs, _ = difference(array, again[name])
        floors[name] = max_abs / scale if scale and np.isfinite(max_abs) else 0.0
    return floors


def _layers(
    reference: Reference,
    candidate: OnnxCandidate,
    graph: Graph | None,
    feeds: Mapping[str, Array],
    rtol: float | None,
    atol: float | None,
    seed: int,
) -> list[Comparison]:
    """Every value that both sides know, compared in slices so that memory stays bounded."""
    if graph is None:
        raise VerificationError("a layer-by-layer comparison needs the candidate's graph")
    own = {source: value.name for value in graph.values if value.producer is not None for source in value.sources}
    own |= {value.name: value.name for value in graph.values if value.producer is not None}
    pairs = [(name, own[name]) for name in reference.values() if name in own]
    layers: list[Comparison] = []
    for part in _slices(graph, pairs):
        names = [name for _, name in part]
        expected = reference.run(feeds, [source for source, _ in part])
        found = candidate.run(feeds, names)
        floors = _floors(candidate, graph, feeds, found, seed)
        layers += [
            compare(source, expected[source], found[name], floor=floors.get(name, 0.0), rtol=rtol, atol=atol)
            for source, name in part
        ]
    return layers


def _slices(graph: Graph, pairs: Sequence[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    slices: list[list[tuple[str, str]]] = []
    room = 0
    for pair in pairs:
        type_ = graph[pair[1]].type
        elements = type_.elements() if isinstance(type_, TensorType) else 0
        size = 4 * elements if isinstance(elements, int) else SLICE_BYTES // 16
        if not slices or size > room:
            slices.append([])
            room = SLICE_BYTES
        slices[-1].append(pair)
        room -= size
    return slices


__all__ = ["Reference", "VerificationReport", "verify_against"]
