"""Which output, and which inner value, of one model is which of another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from graphir.errors import VerificationError

from .matches import Match

if TYPE_CHECKING:
    from graphir.converters.formats import Reference
    from graphir.graph import Graph

    from .candidate import OnnxCandidate


def output_pairs(
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


def layer_pairs(reference: Reference, candidate: OnnxCandidate, graph: Graph | None) -> dict[str, str]:
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


__all__ = ["layer_pairs", "output_pairs"]
