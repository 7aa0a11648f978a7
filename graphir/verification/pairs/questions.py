"""Which input and output is which where that was guessed: how the feeds go in, and what is asked of the user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from graphir.arrays import Array
from graphir.errors import VerificationError
from graphir.verification.numbers.limits import Limits
from graphir.verification.options import ComparisonOptions
from graphir.verification.running.candidate import OnnxCandidate

from .matches import Match, agreeing_outputs, other_fittings, question, split_matches, turned

if TYPE_CHECKING:
    from graphir.converters.formats import Reference


class Stated(NamedTuple):
    """What the user said that belongs together: inputs by the candidate's names, outputs by the reference's."""

    inputs: Mapping[str, Match]
    outputs: Mapping[str, Match]


def fit(
    reference: Reference,
    candidate: OnnxCandidate,
    feeds: Mapping[str, Array],
    how: ComparisonOptions,
    notes: list[str],
) -> Stated:
    """Have the candidate take the reference's feeds; the notes say how, and what in it is random."""
    own = candidate.session
    stated = Stated(*split_matches(how.matches(), list(feeds), list(own.inputs), reference.outputs, own.outputs))
    for match in stated.inputs.values():
        turned(feeds[match.source], match)
    notes += candidate.fit(feeds, {name: (match.source, match.order) for name, match in stated.inputs.items()})
    structure = candidate.structure
    drawn = sorted({structure.producers[name][0] for name in structure.random if name in structure.producers})
    if drawn:
        notes.append(f"{', '.join(drawn)} draws other numbers in every run: what depends on them differs")
    return stated


def first_run(
    candidate: OnnxCandidate, feeds: Mapping[str, Array], names: Sequence[str], settled: Sequence[str], notes: list[str]
) -> dict[str, Array]:
    """The candidate's outputs. Where it refuses the feeds and others suit its inputs' sizes too, those; a note says
    so."""
    try:
        return candidate.run_cached(feeds, names)
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


def questions(
    candidate: OnnxCandidate,
    feeds: Mapping[str, Array],
    expected: Mapping[str, Array],
    pairs: Mapping[str, str],
    stated: Stated,
    limits: Limits,
) -> Iterator[str]:
    """At most one: whether another pairing is meant, under which the models agree."""
    fed, given = stated
    guessed = [name for source, name in pairs.items() if source != name and source not in given]
    free = {source: [name, *(other for other in guessed if other != name)] if name in guessed else [name]
            for source, name in pairs.items()}  # fmt: skip
    primary = candidate.fitting

    def passes(source: str, wanted: Array, name: str, found: Array) -> bool:
        return limits.compare(source, wanted, found).verdict.passes

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
