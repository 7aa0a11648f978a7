"""Which input or output of one model is which of another, as a user states it, and as numbers suggest it.

Where names do not tell, inputs and outputs are paired by shape and position, and their axes by their sizes. If results
then differ, it may be the pairing that is wrong: others are tried, and one under which the models agree becomes a
question, with the option that answers it. It never becomes a verdict.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any, NamedTuple

from graphir.analysis.channels import Order, channel_moves, fits
from graphir.arrays import Array
from graphir.errors import VerificationError
from graphir.verification.numbers.limits import GradingLimits
from graphir.verification.options import ComparisonOptions
from graphir.verification.running.candidate import OnnxCandidate
from graphir.verification.running.layouts import Fitting

if TYPE_CHECKING:
    from graphir.converters.formats import Reference

# Each is a run: all orders of four inputs.
MOST_TRIED = 24
_AXES = re.compile(r"\d+(,\d+)+")


@dataclass(frozen=True)
class Match:
    """`source` of the reference is `name` of the candidate; `order` are the axes of what is handed over (a feed to the
    candidate, a result to the reference), () for as they are."""

    source: str
    name: str
    order: Order = ()

    def __str__(self) -> str:
        return f"{self.source}={self.name}" + (f":{','.join(map(str, self.order))}" if self.order else "")


def parse_match(text: str) -> Match:
    """Read `A=B` or `A=B:0,2,3,1`; names may hold colons. Raises VerificationError.

    >>> parse_match("x=image:0"), parse_match("x=image:0:0,2,3,1")
    (Match(source='x', name='image:0', order=()), Match(source='x', name='image:0', order=(0, 2, 3, 1)))
    """
    source, sign, name = text.partition("=")
    head, colon, tail = name.rpartition(":")
    order: Order = ()
    if colon and _AXES.fullmatch(tail):
        name, order = head, tuple(map(int, tail.split(",")))
    if not source or not sign or not name:
        raise VerificationError(f"{text!r}: write A=B, as in data=input_1, or A=B:0,2,3,1 with the order of axes")
    if sorted(order) != list(range(len(order))):
        raise VerificationError(f"{text!r}: {list(order)} is no order of {len(order)} axes, which count from 0")
    return Match(source, name, order)


class Stated(NamedTuple):
    """What the user said that belongs together: inputs by the candidate's names, outputs by the reference's."""

    inputs: Mapping[str, Match]
    outputs: Mapping[str, Match]


def split_matches(
    matches: Sequence[Match], feeds: Sequence[str], inputs: Sequence[str], expected: Sequence[str], own: Sequence[str]
) -> Stated:
    """Return the matches of inputs and of outputs. Raises VerificationError for what neither model has, and for what is
    matched twice."""
    fed: dict[str, Match] = {}
    given: dict[str, Match] = {}
    for match in matches:
        if match.source in feeds and match.name in inputs:
            table, key = fed, match.name
        elif match.source in expected and match.name in own:
            table, key = given, match.source
        else:
            raise VerificationError(
                f"{match}: no input and no output of these names; the reference has the inputs {_listed(feeds)} and "
                f"the outputs {_listed(expected)}, the candidate the inputs {_listed(inputs)} and the outputs "
                f"{_listed(own)}"
            )
        if key in table:
            raise VerificationError(f"{match}: {key} is matched already, by {table[key]}")
        table[key] = match
    return Stated(fed, given)


def other_fittings(
    feeds: Mapping[str, Array], inputs: Mapping[str, Sequence[Any]], fitting: Fitting, settled: Sequence[str] = ()
) -> Iterator[Fitting]:
    """Other ways to feed the same: inputs whose names did not tell in another order, and channels moved where sizes fit
    both ways. Inputs that are `settled` stay. At most MOST_TRIED."""
    open_ones = [name for name in fitting if name not in settled]
    guessed = open_ones if any(fitting[name][0] != name for name in open_ones) else []
    chosen = ((pick, move) for pick in permutations(fitting[name][0] for name in guessed) for move in (None, 0, 1))
    count = 0
    for pick, move in chosen:
        pairs = {name: source for name, (source, _) in fitting.items()} | dict(zip(guessed, pick, strict=True))
        made: Fitting = {}
        suits = True
        for name, source in pairs.items():
            shape, own = feeds[source].shape, fitting[name]
            order = own[1] if source == own[0] else ()
            if move is not None and name not in settled and len(shape) >= 3:
                moved = channel_moves(len(shape))[move]
                order = moved if fits([shape[axis] for axis in moved], inputs[name]) else order
            made[name] = source, order
            laid = [shape[axis] for axis in order] if order else shape
            suits = suits and fits(laid, inputs[name])
        if made != fitting and suits:
            yield made
            count += 1
            if count == MOST_TRIED:
                return


def agreeing_outputs(
    expected: Mapping[str, Array],
    found: Mapping[str, Array],
    free: Mapping[str, Sequence[str]],
    passes: Callable[[str, Array, str, Array], bool],
) -> list[Match] | None:
    """Return one of the `free` results for each expected output, and an order of its axes, so that all of them pass;
    None if there is no such assignment. No result is taken twice."""
    taken: list[Match] = []
    for source, array in expected.items():
        used = {match.name for match in taken}
        match = next(
            (
                Match(source, name, order)
                for name in free[source]
                if name not in used
                for order in _orders(found[name], array)
                if passes(source, array, name, found[name].transpose(order) if order else found[name])
            ),
            None,
        )
        if match is None:
            return None
        taken.append(match)
    return taken


def _orders(found: Array, expected: Array) -> list[Order]:
    """Return the orders of axes, as they are first, that give the expected shape."""
    rank = found.ndim
    moves = channel_moves(rank) if rank >= 3 else ()
    return [
        order
        for order in ((), *moves)
        if tuple(found.shape[axis] for axis in order or range(rank)) == expected.shape
    ]


def turned(array: Array, match: Match) -> Array:
    """Return a feed or a result with its axes in a match's order. Raises VerificationError if it has not as many."""
    if match.order and len(match.order) != array.ndim:
        raise VerificationError(f"{match}: the order has {len(match.order)} axes, the array {array.ndim}")
    return array.transpose(match.order) if match.order else array


def question(fitting: Fitting, primary: Fitting, outputs: Sequence[Match], pairs: Mapping[str, str]) -> str:
    """Return what is asked where the models agree under another pairing; "" if it is no other."""
    fed = [Match(source, name, order) for name, (source, order) in fitting.items() if primary[name] != (source, order)]
    given = [match for match in outputs if match.order or pairs[match.source] != match.name]
    options = " ".join(f"--match {shlex.quote(str(match))}" for match in (*fed, *given))
    if not options:
        return ""
    return f"the models do agree if they are matched otherwise; if that is what they mean, say so: {options}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def fit(
    reference: Reference,
    candidate: OnnxCandidate,
    feeds: Mapping[str, Array],
    how: ComparisonOptions,
    notes: list[str],
) -> Stated:
    """Have the candidate take the reference's feeds; the notes say how, and what in it is random."""
    own = candidate.session
    matches = [parse_match(text) for text in how.match]
    stated = split_matches(matches, list(feeds), list(own.inputs), reference.outputs, own.outputs)
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
    """Return the candidate's outputs. Where it refuses the feeds and others suit its inputs' sizes too, those; a note
    says so."""
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
    limits: GradingLimits,
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
