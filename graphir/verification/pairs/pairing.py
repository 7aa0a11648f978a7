"""Which output, and which inner value, of one model is which of another: by names, and by what the graphs say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from graphir.errors import VerificationError

from .matches import Match
from .sides import Sides, by_name, is_reshaped

if TYPE_CHECKING:
    from graphir.converters.formats import Reference
    from graphir.graph import Graph
    from graphir.verification.running.candidate import OnnxCandidate

# Names in a line that people read.
NAMED = 3
LACKING, ALONE = "outputs that the candidate lacks", "outputs of the candidate alone, not compared"


def output_pairs(
    all_expected: Sequence[str],
    candidate: OnnxCandidate,
    notes: list[str],
    given: Mapping[str, Match],
    sides: Sides | None = None,
) -> list[tuple[str, str]]:
    """Outputs of the source and of the candidate that belong together: as stated, by name, by what feeds them where
    both graphs can be had, or the rest by position."""
    paired = {name: given[name].name for name in all_expected if name in given}
    expected = [name for name in all_expected if name not in paired]
    own = [name for name in candidate.session.outputs if name not in paired.values()]
    if not (paired or (expected and own)):
        raise VerificationError("there is nothing to compare: one of the models has no outputs")
    fed = {} if sides is None or set(expected) <= set(own) else _fed_alike(expected, own, sides)
    if fed:
        shown = ", ".join(f"{source} with {name}" for source, name in fed.items())
        notes.append(f"outputs of different names were paired by what feeds them: {shown}")
        paired |= fed
        expected = [name for name in expected if name not in fed]
        own = [name for name in own if name not in fed.values()]
    if paired and not (expected and own):
        notes += [f"{what}: {', '.join(names)}" for what, names in ((LACKING, expected), (ALONE, own)) if names]
    else:
        paired |= _pairs_by_name(expected, own, notes)
    return [(name, paired[name]) for name in all_expected if name in paired]


def _fed_alike(expected: Sequence[str], own: Sequence[str], sides: Sides) -> dict[str, str]:
    """Outputs whose names are not in both models, by the values that the alignment takes for the same."""
    if sides.graphs is None:
        return {}
    left, right = sides.graphs
    outputs = {value.name: value for value in left.outputs} | {
        name: value for value in left.outputs for name in value.sources
    }
    names = {value: name for value in right.outputs for name in (*value.sources, value.name) if name in own}
    found: dict[str, str] = {}
    for source in expected:
        value = outputs.get(source)
        partner = None if value is None or source in own else sides.values.get(value)
        name = None if partner is None else names.get(partner)
        if name is not None and name not in expected and name not in found.values():
            found[source] = name
    return found


def _pairs_by_name(expected: Sequence[str], own: Sequence[str], notes: list[str]) -> dict[str, str]:
    """Return outputs of one name, and the rest by position; those that one side lacks stay alone."""
    common = [name for name in expected if name in own]
    if len(common) == len(expected):
        if common != [name for name in own if name in common]:
            notes.append(f"the outputs come in another order: {', '.join(expected)} became {', '.join(own)}")
        single = [name for name in own if name not in common]
        notes += [f"{ALONE}: {', '.join(single)}"] if single else []
        return {name: name for name in expected}
    if common and len(own) < len(expected):
        notes.append(f"{LACKING}: {', '.join(name for name in expected if name not in own)}")
        return {name: name for name in common}
    if len(own) != len(expected):
        raise VerificationError(
            f"the reference has the outputs {', '.join(expected)}, the candidate {', '.join(own)}: they do not match"
        )
    rest = iter([name for name in own if name not in common])
    paired = {name: name if name in common else next(rest) for name in expected}
    shown = ", ".join(f"{source} with {name}" for source, name in paired.items() if source != name)
    notes.append(f"outputs of different names were compared by position: {shown}")
    return paired


def layer_pairs(
    reference: Reference, candidate: OnnxCandidate, graph: Graph | None, sides: Sides | None = None
) -> dict[str, str]:
    """Return the values that both sides know, in the order of the source: source name to candidate name.

    Where both graphs can be had a name is taken only where these do not say that it is another value's there, and what
    is reshaped, as numbers laid in rows for a Gemm, is no pair: no axis of it is known to be one of the other.
    """
    own: dict[str, str] = {}
    known = candidate.structure.producers
    if graph is not None:
        computed = [value for value in graph.values if value.producer is not None and value.name in known]
        own = {source: value.name for value in computed for source in value.sources}
        own |= {value.name: value.name for value in computed}
    else:
        own = {name: name for name in known}
    if sides is None or sides.graphs is None:
        return {name: own[name] for name in reference.values() if name in own}
    sources, names = by_name(sides.graphs[0]), by_name(sides.graphs[1])
    held = {value: name for name, value in names.items() if name in known}
    paired = {
        name: held[sides.values[value]]
        for name, value in sources.items()
        if value in sides.values and sides.values[value] in held
    }
    taken = set(paired.values())
    kept = {name: other for name, other in own.items() if name not in paired and other not in taken}
    kept = {name: other for name, other in (paired | kept).items()
            if not (name in sources and other in names and is_reshaped(sources[name], names[other]))}  # fmt: skip
    return {name: kept[name] for name in reference.values() if name in kept}


def missing_layers(reference: Reference, layers: Mapping[str, str], sides: Sides | None) -> str:
    """Return which values of the reference's graph are not compared, and why; "" if all are, or it is not known. Values
    that the import made have no name in the source, and are no layers."""
    if sides is None or sides.graphs is None:
        return ""
    computed = [value for value in sides.graphs[0].values if value.producer is not None]
    named = {value.name: {value.name, *value.sources} for value in computed if value.sources} or {
        value.name: {value.name} for value in computed
    }
    given = set(reference.values())
    left = {name: names for name, names in named.items() if names.isdisjoint(layers)}
    if not left:
        return ""
    reasons = {
        "the reference does not give": [name for name, names in left.items() if names.isdisjoint(given)],
        "the candidate has no counterpart of": [name for name, names in left.items() if not names.isdisjoint(given)],
    }
    said = [
        f"{reason} {', '.join(names[:NAMED])}" + (f" and {len(names) - NAMED:,} more" if len(names) > NAMED else "")
        for reason, names in reasons.items() if names
    ]  # fmt: skip
    return f"{len(named) - len(left):,} of {len(named):,} layers compared: {'; '.join(said)}"
