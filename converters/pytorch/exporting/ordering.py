"""Statements in their order: which are needed, where those stand that read no input or that all blocks read, and what
they read and assign."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from operator import attrgetter

from graphir.converters.pytorch.exporting.expression import EDGE, MARK, references
from graphir.converters.pytorch.exporting.state import Statement

# How many statements that read no input may wait inside each other for their reader.
DEEPEST = 3
# Statements between readers of a value that are not in one block.
FAR = 12
READS, TARGETS, ASSIGNS, ATTRIBUTES = map(attrgetter, ("reads", "targets", "assigns", "attributes"))
PART = re.compile(rf"{MARK.pattern}\[[^\[\]{EDGE}]*\]")


def needed_statements(statements: Sequence[Statement], needed: set[int]) -> list[Statement]:
    """Return the statements that give what is needed, or something for those that do; `needed` grows by what they
    read."""
    kept: list[Statement] = []
    for statement in reversed(statements):
        if not statement.keeps and needed.isdisjoint(statement.targets):
            continue
        if statement.blocks:
            statement = replace(statement, blocks=_needed_blocks(statement.blocks, needed))
        needed.update(statement.reads)
        kept.append(statement)
    return kept[::-1]


def near_readers(statements: Iterable[Statement]) -> Iterator[Statement]:
    """Return the statements in an order where those that read no input stand before the first one that reads them."""
    waiting: dict[int, tuple[Statement, int]] = {}
    known: set[int] = set()  # what is waiting, and sizes and devices

    def released(statement: Statement) -> Iterator[Statement]:
        for number in statement.reads:
            if number in waiting:
                earlier, _ = waiting[number]
                for target in earlier.targets:
                    waiting.pop(target, None)
                    known.discard(target)
                yield from released(earlier)
        yield statement

    for statement in statements:
        if statement.is_setting:
            known.update(statement.targets)
            yield statement
            continue
        if known.issuperset(statement.reads):
            depth = 1 + max([waiting[number][1] for number in statement.reads if number in waiting], default=0)
            if depth <= DEEPEST and statement.targets and not (statement.keeps or statement.blocks):
                waiting |= dict.fromkeys(statement.targets, (statement, depth))
                known.update(statement.targets)
                continue
        yield from released(statement) if waiting else (statement,)
    while waiting:
        yield from released(waiting.pop(next(iter(waiting)))[0])


def hoisted(statements: Sequence[Statement]) -> list[Statement]:
    """Return the statements with those behind what they read whose results are read in places far from each other: what
    all blocks read, such as a mask, is made in front of the first one and not in it. What is one part of a value and
    first read far away, as a step of a sequence, is taken there."""
    reads = [statement.reads for statement in statements]
    last = last_reads(reads, ())
    first = {number: place for place in range(len(reads) - 1, -1, -1) for number in reads[place]}
    far = {
        place for place, statement in enumerate(statements) for number in statement.targets
        if last.get(number, -1) - min(place, first.get(number, place)) > FAR
    }  # fmt: skip
    if not far:
        return list(statements)
    bases: dict[int, int] = {}
    keys: list[tuple[int, bool, int]] = []
    for place, statement in enumerate(statements):
        base, is_moved = place, False
        if place in far:
            targets = [number for number in statement.targets if number in last]
            is_free = not (statement.keeps or statement.blocks or statement.is_setting)
            reader = min([first[number] for number in targets])
            if is_free and max([last[number] - first[number] for number in targets]) > FAR:
                base, is_moved = max([bases[number] for number in statement.reads if number in bases], default=-1), True
            elif reader - place > FAR and PART.fullmatch(statement.text):
                base, is_moved = reader - 1, True
        for number in statement.targets:
            bases[number] = base
        keys.append((base, is_moved, place))
    return [statements[place] for *_, place in sorted(keys)]


def _needed_blocks(
    blocks: Sequence[tuple[str, list[Statement]]], needed: set[int]
) -> list[tuple[str, list[Statement]]]:
    """Return the same for blocks: what the next iteration of a loop reads is needed too."""
    for header, _ in blocks:
        needed.update(references(header))
    count = -1
    while count != len(needed):
        count = len(needed)
        live_blocks = [(header, needed_statements(block, needed)) for header, block in blocks]
    return live_blocks


def last_reads(reads: Sequence[tuple[int, ...]], outputs: Iterable[str]) -> dict[int, int]:
    """Return by number where each value is read last of what statements read: outputs are read behind all of them."""
    last = {number: place for place, numbers in enumerate(reads) for number in numbers}
    return last | {number: len(reads) for text in outputs for number in references(text)}


def targets_of(statements: Iterable[Statement]) -> list[int]:
    """Return all that statements assign, inside blocks too."""
    return list(chain.from_iterable(map(ASSIGNS, statements)))


def reads_of(statements: Sequence[Statement], given: Iterable[int]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the values that statements read which are not given among them, and the attributes, in order."""
    if len(statements) == 1:
        reads, attributes = statements[0].reads, statements[0].attributes
        if len(reads) <= 1 and len(attributes) <= 1:
            return reads, attributes
    numbers = dict.fromkeys(chain.from_iterable(map(READS, statements)))
    for number in given:
        numbers.pop(number, None)
    return tuple(numbers), tuple(dict.fromkeys(chain.from_iterable(map(ATTRIBUTES, statements))))
