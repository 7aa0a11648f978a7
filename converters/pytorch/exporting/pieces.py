"""Pieces of a network between the places where a single value leads on, and which of them are uses of one class."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, count, pairwise
from typing import Any, NamedTuple

import numpy as np

from graphir.converters.pytorch.exporting.expression import MARK, with_reference
from graphir.converters.pytorch.exporting.naming import common_scope
from graphir.converters.pytorch.exporting.ordering import targets_of
from graphir.converters.pytorch.exporting.state import ATTRIBUTE, Statement

# No block is made of less: uses, and statements and layers of one.
LEAST_USES, LEAST_STATEMENTS, LEAST_LAYERS = 2, 3, 2
LONGEST_RUN = 12
# A block within the scopes of the source's names is worth as much as one across them with so many times the statements.
WORTH_OF_SCOPE = 2
LAYER_CALL = re.compile(rf"{ATTRIBUTE.pattern}\({MARK.pattern}\)")


class Piece(NamedTuple):
    """Statements between two cuts: what they read, what is read of them behind, the attributes in their order, and
    `form`, which is equal for pieces that one class can stand for."""

    statements: tuple[Statement, ...]
    inputs: tuple[int, ...]
    exits: tuple[int, ...]
    attributes: tuple[str, ...]
    form: object

    @property
    def output(self) -> int:
        """Return the only value that is read behind it, -1 where there is no such."""
        return self.exits[0] if len(self.exits) == 1 else -1


@dataclass(frozen=True)
class Branch:
    """Layers one behind the other from an input of a piece: their statements, what they begin with and give, and which
    of the piece's other statements reads that."""

    statements: tuple[Statement, ...]
    source: int
    output: int
    reader: int


def branches_of(piece: Piece) -> Iterator[Branch]:
    """Yield the chains of layers from the piece's first input to a statement that reads another value too."""
    if len(piece.inputs) != 1 or len(piece.exits) != 1 or len(piece.statements) < LEAST_STATEMENTS - 1:
        return
    (source,) = piece.inputs
    if [source in each.reads for each in piece.statements].count(True) < 2:
        return
    if any(statement.blocks for statement in piece.statements):
        return
    readers: dict[int, list[Statement]] = defaultdict(list)
    for statement in piece.statements:
        for number in statement.reads:
            readers[number].append(statement)
    for begin in readers[source]:
        chain: list[Statement] = []
        statement = begin
        while LAYER_CALL.fullmatch(statement.text) and len(statement.targets) == 1 and not statement.pattern:
            chain.append(statement)
            (output,) = statement.targets
            if len(readers[output]) != 1:
                break
            statement = readers[output][0]
        if chain and len(readers[chain[-1].targets[0]]) == 1 and len(statement.reads) > 1:
            rest = [other for other in piece.statements if other not in chain]
            yield Branch(tuple(chain), source, chain[-1].targets[0], rest.index(statement))


def without_branch(piece: Piece, branch: Branch) -> list[Statement]:
    """Return the piece's statements as they would be if its input led where the branch does."""
    rest = [statement for statement in piece.statements if statement not in branch.statements]
    rest[branch.reader] = reading(rest[branch.reader], branch.output, branch.source)
    return rest


def reading(statement: Statement, number: int, other: int) -> Statement:
    """Return a statement that reads another value in the place of one."""
    return replace(statement, text=with_reference(statement.text, number, other))


def best_run(pieces: Sequence[Piece], last: Mapping[int, int]) -> tuple[int, list[int]] | None:
    """Return the run of pieces that is worth most as a block, with layers in it: its length, and where it begins each
    time. `last` says which piece reads a value last. Of equal ones it is the shortest, then the first one. Linear in
    the number of pieces, apart from sorting."""
    best = 0, 0, 0
    result: tuple[int, list[int]] | None = None
    for worth, shortness, earliness, starts in _repeated_runs(pieces):
        if worth < best[0]:
            break
        length, run = -shortness, pieces[-earliness : -earliness - shortness]
        factor = WORTH_OF_SCOPE if _is_in_scope(run) else 1
        if worth // WORTH_OF_SCOPE * factor < best[0]:
            continue
        if len({name for piece in run for name in piece.attributes}) < LEAST_LAYERS:
            continue
        size = sum([len(piece.statements) for piece in run])
        for alike in _by_wiring(pieces, last, length, starts.tolist()):
            places = _apart(alike, length)
            is_scope = factor > 1 and all(_is_in_scope(pieces[start : start + length]) for start in places)
            gain = (len(places) - 1) * size * (WORTH_OF_SCOPE if is_scope else 1)
            if (gain, shortness, earliness) > best and len(places) >= LEAST_USES:
                best, result = (gain, shortness, earliness), (length, places)
    return result


def _by_wiring(
    pieces: Sequence[Piece], last: Mapping[int, int], length: int, starts: Sequence[int]
) -> Iterable[list[int]]:
    """Return runs of equal forms by what their pieces read of each other: those of which the last piece alone gives
    what is read behind them."""
    result: dict[object, list[int]] = defaultdict(list)
    for start in starts:
        run, end = pieces[start : start + length], start + length
        if all(last.get(number, -1) < end for piece in run[:-1] for number in piece.exits):
            numbers: dict[int, int] = {}
            read = [n for piece in run for n in (*piece.inputs, *piece.exits)]
            result[tuple([numbers.setdefault(number, len(numbers)) for number in read])].append(start)
    return result.values()


def _repeated_runs(pieces: Sequence[Piece]) -> Iterator[tuple[int, int, int, np.ndarray[Any, Any]]]:
    """Yield the runs of equal forms that occur at least twice and are large enough: what they are worth at most, their
    length and first place as negative numbers, and where they begin; the largest of these numbers first. A longer run
    begins where a shorter one does."""
    if len(pieces) < LEAST_USES:
        return
    statements, *_, forms = zip(*pieces, strict=True)
    codes = dict(zip(dict.fromkeys(forms), count()))
    coded = np.array([*map(codes.__getitem__, forms)], np.int64)
    ends = np.array([0, *accumulate(map(len, statements))])
    starts, runs = np.arange(len(pieces)), np.zeros(len(pieces), np.int64)
    rows, places = [], []
    for length in range(1, min(LONGEST_RUN, len(pieces) // LEAST_USES) + 1):
        is_inside = starts <= len(pieces) - length
        starts = starts[is_inside]
        keys = runs[is_inside] * len(codes) + coded[starts + (length - 1)]
        order = keys.argsort(kind="stable")
        starts, keys = starts[order], keys[order]
        bounds = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1], [True])))
        counts = bounds[1:] - bounds[:-1]
        is_repeated = counts >= LEAST_USES
        starts, counts = starts[is_repeated.repeat(counts)], counts[is_repeated]
        if not len(counts):
            break
        runs = np.arange(len(counts)).repeat(counts)
        behind = counts.cumsum()
        firsts = starts[behind - counts]
        sizes = ends[firsts + length] - ends[firsts]
        uses = np.minimum(counts, (starts[behind - 1] - firsts) // length + 1)
        kept = np.flatnonzero(sizes >= LEAST_STATEMENTS)
        worths = (uses - 1) * sizes * WORTH_OF_SCOPE
        rows.append(np.stack((behind - counts, behind, -firsts, np.full(len(counts), -length), worths))[:, kept])
        places.append(starts)
    if rows:
        columns = np.concatenate(rows, axis=1)
        for place in np.lexsort(columns[2:])[::-1]:
            begin, end, earliness, shortness, worth = columns[:, place].tolist()
            yield worth, shortness, earliness, places[-shortness - 1][begin:end]


def _apart(starts: Sequence[int], length: int) -> list[int]:
    """Return the starts of runs that do not overlap, the first ones first."""
    places: list[int] = []
    end = 0
    for start in starts:
        if start >= end:
            places.append(start)
            end = start + length
    return places


def _is_in_scope(run: Sequence[Piece]) -> bool:
    """Return whether the source's names put all layers of a run into one scope."""
    return bool(common_scope([name for piece in run for name in piece.attributes]))


def merged(pieces: Sequence[Piece]) -> Piece:
    """Pieces that follow each other as one."""
    statements = tuple(statement for piece in pieces for statement in piece.statements)
    given = set(targets_of(statements))
    inputs = tuple(dict.fromkeys(number for piece in pieces for number in piece.inputs if number not in given))
    attributes = tuple(dict.fromkeys(name for piece in pieces for name in piece.attributes))
    return Piece(statements, inputs, pieces[-1].exits, attributes, None)


def with_chain_first(uses: Sequence[Piece]) -> list[Piece]:
    """Return the uses of a block with what most of them read of the one before as their first input."""
    chained = Counter(use.inputs.index(before.output) for before, use in pairwise(uses) if before.output in use.inputs)
    slot = chained.most_common(1)[0][0] if chained else 0
    return [
        use._replace(inputs=(use.inputs[slot], *use.inputs[:slot], *use.inputs[slot + 1 :])) for use in uses
    ]  # fmt: skip
