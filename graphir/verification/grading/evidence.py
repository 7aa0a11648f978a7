"""What equal outputs prove: something, if they react to the inputs, or if what comes before them was compared.

An output can agree and show nothing. It may be numb: no small change of the inputs changes it. It may be discrete:
equal indices do not show that the scores they were chosen by are equal. It may be empty. Each is shown all the same
where a value before it was compared, passes and reacts. What depends on no input in either model is shown by being
equal once. One set of inputs leaves `Evidence`; `unproven` judges that of all.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple

from graphir.arrays import Array
from graphir.verification.numbers.compare import Comparison
from graphir.verification.pairs.sides import Sides
from graphir.verification.regions.judge import judge
from graphir.verification.running.bench import Asked, Bench
from graphir.verification.running.heads import passes_on
from graphir.verification.running.noise import infinite_values

from .by_regions import can_judge

# The nearest values show an output best; each costs memory, and one that reacts suffices.
LAYERS_INSIDE = 8
NUMB = "does not react to small changes of these inputs"
EMPTY = "is empty for these inputs"
FIXED = "depends on no input in the candidate"
FAINT = "is so small that a sigmoid's rounding hides what differs"
DISCRETE = "is discrete, and equal numbers of it do not show that what they are chosen by is equal"
REMEDY = {
    NUMB: "nothing before it that does was compared; other inputs may say more (--feeds)",
    EMPTY: "nothing before it was compared; inputs for which there is something in it say more (--feeds)",
    FIXED: "one set of inputs does not show that it depends on none in the reference",
    FAINT: "nothing before it that reacts was compared; inputs for which it is larger say more (--feeds)",
    DISCRETE: "no value before it was compared",
}


@dataclass(frozen=True)
class Evidence:
    """What one set of inputs showed, by the reference's names of outputs: `doubts` says why an output shows nothing
    itself, `shown` are those of them that what comes before them shows, `digests` tells values of an output apart from
    its values in another set, and `before` does that for the values before an output, compared and equal, that did not
    react here: what is computed from integers does not, since they cannot be moved a little."""

    doubts: Mapping[str, str] = field(default_factory=dict)
    shown: frozenset[str] = frozenset()
    digests: Mapping[str, str] = field(default_factory=dict)
    before: Mapping[str, str] = field(default_factory=dict)


def doubt_sentence(name: str, reason: str) -> str:
    """Return why an output is not proven, as a sentence with what would prove it."""
    return f"{name} {reason}, and {REMEDY[reason]}"


def unproven(found: Sequence[Evidence]) -> dict[str, str]:
    """Return the outputs that no set of inputs shows to be right, though all agree, each with its reason.

    An output that was numb in each set, and yet has other values in another, does react, and so do values before it;
    one that depends on no input in the candidate, and agrees with a reference that gives the same for several sets, is
    what it should be.
    """
    doubts: dict[str, str] = {}
    for name in dict.fromkeys(name for one in found for name in one.doubts):
        reasons = [one.doubts.get(name) for one in found]
        if None in reasons or any(name in one.shown for one in found):
            continue
        if len({one.before[name] for one in found if name in one.before}) > 1:
            continue
        reason = next((reason for reason in reasons if reason != NUMB), NUMB)
        values = {one.digests.get(name) for one in found}
        if (reason == NUMB and len(values) > 1) or (reason == FIXED and len(found) > 1 and len(values) == 1):
            continue
        doubts[name] = reason or NUMB
    return doubts


def doubt(array: Array, *, reacts: bool, exact: bool, fixed: bool, faint: bool) -> str:
    """Why an output that agrees shows nothing, "" if it does. `reacts` says whether moving the inputs changes it,
    `exact` that it is computed from integers alone, `fixed` that it depends on no input in the candidate, `faint` that
    it differs by what a sigmoid's rounding of 1 is, and by more than any other value may."""
    if fixed:
        return FIXED
    if not array.size:
        return EMPTY
    if array.dtype.kind in "iubOUST":
        return "" if exact else DISCRETE
    if faint:
        return FAINT
    return "" if reacts else NUMB


def digest(array: Array) -> str:
    """Tells arrays apart, but not by how often they repeat one row: that a batch has another size is no reaction."""
    if array.ndim and len(array) and array.dtype.kind in "biufc" and (array == array[:1]).all():
        array = array[:1]
    content = repr(array.tolist()).encode() if array.dtype.kind == "O" else array.tobytes()
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()


class Weighed(NamedTuple):
    """What one set of inputs shows, values inside that differ, since outputs show nothing, and a note about them."""

    evidence: Evidence
    differing: Sequence[Comparison] = ()
    note: str = ""


def gather_evidence(
    bench: Bench,
    graded: Sequence[Comparison],
    asked: tuple[Sequence[Asked], Sequence[Asked]],
    expected: Mapping[str, Array],
    sides: Sides | None,
) -> Weighed:
    """Return what this set of inputs shows of outputs that agree.

    `asked` are the outputs and the values before heads, `expected` the reference's values; `sides` are the graphs of
    both.
    """
    if sides is not None and sides.proves:
        # Nodes that are the same prove it for all inputs, and each that differs is run by itself.
        return Weighed(Evidence())
    outputs, heads = asked
    # What rounding moves by more than one operator rounds reacts.
    least = bench.limits.rounding(bench.limits.coarsest)
    apart = {result.name for result in graded if result.relative > least}
    moved = {one.name for one in outputs if one.title in apart}
    reacting = moved | bench.reacting([one.name for one in outputs if one.name not in moved])
    doubts = _doubts(bench, outputs, expected, reacting, graded)
    shown = _shown(bench, outputs, heads, doubts)
    left = [one for one in outputs if one.source in doubts and one.source not in shown]
    inside, differing = _inside(bench, left, sides)
    shown |= _shown(bench, left, inside, doubts)
    behind = _digests_before(bench, [one for one in left if one.source not in shown], [*heads, *inside])
    numb = [name for name in doubts if doubts[name] == NUMB and (name in shown or differing)]
    note = f"{', '.join(numb)} {NUMB}: what comes before was compared too" if numb else ""
    return Weighed(Evidence(doubts, frozenset(shown), _digests(outputs, expected), behind), differing, note)


def plain_evidence(
    bench: Bench, outputs: Sequence[Asked], expected: Mapping[str, Array], graded: Sequence[Comparison]
) -> Evidence:
    """Return what outputs that agree show by themselves, without a run that asks whether they react."""
    return Evidence(_doubts(bench, outputs, expected, (), graded), digests=_digests(outputs, expected))


def _doubts(
    bench: Bench,
    outputs: Sequence[Asked],
    expected: Mapping[str, Array],
    reacting: Collection[str],
    graded: Sequence[Comparison],
) -> dict[str, str]:
    structure = bench.candidate.structure
    faint = {one.name for one in graded if one.is_faint}
    live = None if bench.inside is None else bench.inside.live
    believed = not bench.feeds or bench.reference.recorded  # a capture cannot be asked about other inputs
    doubts = {}
    for one in outputs:
        reason = doubt(
            expected[one.source], reacts=one.name in reacting, exact=one.name not in structure.real,
            fixed=one.name not in structure.live, faint=one.title in faint,
        )  # fmt: skip
        if reason and not (reason == FIXED and (believed or (live is not None and one.source not in live))):
            doubts[one.source] = reason
    return doubts


def _digests(outputs: Sequence[Asked], expected: Mapping[str, Array]) -> dict[str, str]:
    return {one.source: digest(expected[one.source]) for one in outputs}


def _compared_before(bench: Bench, outputs: Sequence[Asked], compared: Sequence[Asked]) -> dict[str, list[str]]:
    """Return the compared values that a way back from each of these outputs meets, through values that both models know
    and such as are only moved: with nothing in between that only one of the models has."""
    structure = bench.candidate.structure
    names = list(dict.fromkeys(one.name for one in compared))
    # An operator of the source may be several here, whose values the source has no names for.
    known = structure.producers.keys() if bench.made_of else structure.with_siblings({*bench.layers.values(), *names})

    def passes(name: str) -> bool:
        return name in known or passes_on(structure.producers[name][0])

    reached = {one.source: set(structure.before(one.name, passes)) for one in outputs if names}
    return {source: [name for name in names if name in met] for source, met in reached.items()}


def _digests_before(bench: Bench, outputs: Sequence[Asked], compared: Sequence[Asked]) -> dict[str, str]:
    """Return what tells the values apart that were compared before each of these outputs."""
    before = _compared_before(bench, outputs, compared)
    values = bench.candidate.run_cached(bench.feeds, list(dict.fromkeys(chain.from_iterable(before.values()))))
    return {source: " ".join(digest(values[name]) for name in names) for source, names in before.items() if names}


def _shown(
    bench: Bench, outputs: Sequence[Asked], compared: Sequence[Asked], doubts: Mapping[str, str]
) -> set[str]:
    """Return those of the doubtful outputs that a value before them shows: one that was compared and that reacts."""
    before = _compared_before(bench, [one for one in outputs if one.source in doubts], compared)
    reacting = bench.reacting(list(dict.fromkeys(chain.from_iterable(before.values()))))
    return {source for source, names in before.items() if not reacting.isdisjoint(names)}


def _inside(
    bench: Bench, outputs: Sequence[Asked], sides: Sides | None
) -> tuple[list[Asked], list[Comparison]]:
    """Compare the nearest real values before these outputs that both know: those that pass, and what differs."""
    known = {name: source for source, name in bench.layers.items() if source not in bench.reference.outputs}
    structure = bench.candidate.structure
    nearest: dict[str, None] = {}
    for one in outputs:
        near = [name for name in structure.before(one.name) if name in known and name in structure.real]
        nearest |= dict.fromkeys(known[name] for name in near[:LAYERS_INSIDE])
    asked = [Asked(source, source, bench.layers[source]) for source in nearest]
    judged = judge(bench, sides) if asked and sides is not None and can_judge(bench, sides) else None
    if isinstance(judged, tuple):
        _, judgement = judged
        differing = [judgement.alone[value] for value in (*judgement.causes, *judgement.hidden)]
        return [] if differing else asked, differing
    _, inside = bench.evaluate((), nearest) if asked else ({}, [])
    differing = [layer for layer in inside if not layer.verdict.passes]
    passing = {layer.name for layer in inside if layer.verdict.passes}
    return [one for one in asked if one.source in passing], differing


def look_for_overflow(bench: Bench) -> tuple[list[Comparison], str]:
    """Return the layers that overflow in a narrow type, and a note of those that cannot be compared.

    onnxruntime's CPU keeps float16 in float32 between operators, so that outputs do not show what ends as infinity on
    hardware that computes in float16; a value that is asked for is rounded.
    """
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
    overflown = [layer for layer in inside if not layer.verdict.passes and math.isinf(layer.relative)]
    unknown = sorted(suspects - set(narrow.values()))
    note = f"infinite in a narrow type, with nothing to compare: {', '.join(unknown[:5])}" if unknown else ""
    return overflown, note
